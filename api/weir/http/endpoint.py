# SPDX-License-Identifier: Apache-2.0
"""Declaring an operation of the API: rule, scope, shapes and documentation in one place.

Every operation states its scope; `weir.http.security` refuses whatever is not declared. Answers are plain
JSON objects, whose agreement with the documented shape is the contract tests' business, because dumping a
page of 100 queues through marshmallow costs more than reading them. The OpenAPI document is made of what is
declared here when somebody asks for it (`weir.http.describing`): nobody who serves needs it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, wraps
from typing import Any, TypeVar

from flask import Blueprint, Response, request
from marshmallow import Schema

from weir.http.parsing import BodyParser, read_object

View = TypeVar("View", bound=Callable[..., Response])
SchemaType = type[Schema] | Schema

PUBLIC = "public"
SIGNED_IN = "signed-in"
READ = "read"
SUPPORT = "support"
WRITE = "write"
ADMIN = "admin"

PATCH_TYPE = "application/merge-patch+json"
JSON_BODY_BYTES = 1 << 20
LARGE_BODY_BYTES = 64 << 20


@dataclass(frozen=True, slots=True)
class Operation:
    """What the checks before a request need to know about it."""

    scope: str
    body_types: tuple[str, ...]
    max_body_bytes: int
    streams: bool = False


@dataclass(frozen=True, slots=True)
class Declared:
    """An operation as it was declared, for who describes it: the arguments of `Resource.operation`."""

    view: Callable[..., Response]
    method: str
    rule: str
    scope: str
    answers: SchemaType | None
    status: int
    body: SchemaType | None
    shape: SchemaType | None
    query: SchemaType | None
    media: Mapping[str, Any]
    upload: Mapping[str, Any]
    precondition: bool
    also: Mapping[int, tuple[str, SchemaType | None]]


def answer(
    body: Mapping[str, Any] | None, status: int = 200, *, etag: str | None = None, **headers: str
) -> Response:
    """A JSON response; `headers` are given as `Retry_After="3"`."""
    text = "" if body is None else json.dumps(body, ensure_ascii=False, separators=(",", ":"))
    response = Response(text, status=status, mimetype="application/json")
    if body is None:
        del response.headers["Content-Type"]
    if etag is not None:
        response.headers["ETag"] = f'"{etag}"'
    for name, value in headers.items():
        response.headers[name.replace("_", "-")] = value
    return response


_PARSER = BodyParser()
PREFIX = "/api/v1"


class Resource(Blueprint):
    """A group of operations under one tag of the documentation."""

    def __init__(self, name: str, description: str) -> None:
        super().__init__(name, __name__, url_prefix=PREFIX)
        self.description = description
        self.operations: dict[str, Operation] = {}
        self.declared: list[Declared] = []

    def operation(
        self,
        method: str,
        rule: str,
        *,
        scope: str,
        answers: SchemaType | None = None,
        status: int = 200,
        body: SchemaType | None = None,
        shape: SchemaType | None = None,
        query: SchemaType | None = None,
        media: Mapping[str, Any] | None = None,
        upload: Mapping[str, Any] | None = None,
        precondition: bool = False,
        also: Mapping[int, tuple[str, SchemaType | None]] | None = None,
        max_body_bytes: int = JSON_BODY_BYTES,
        streams: bool = False,
    ) -> Callable[[View], View]:
        """Register a view.

        `body` and `query` are parsed by their schemas and passed to the view. `shape` documents a JSON
        object that the view gets as it was sent, because the model's codec is what validates it.
        `media` documents a response that is not JSON ({media type: schema}), `upload` a request body
        that is not JSON. `precondition` documents If-Match. `also` lists further success answers.
        """
        body_types = ("application/json",) if body or shape else tuple(upload or ())
        if method == "PATCH":
            body_types += (PATCH_TYPE,)

        def decorate(view: View) -> View:
            self.declared.append(
                Declared(
                    view,
                    method,
                    rule,
                    scope,
                    answers,
                    status,
                    body,
                    shape,
                    query,
                    media or {},
                    upload or {},
                    precondition,
                    also or {},
                )
            )
            self.operations[f"{self.name}.{view.__name__}"] = Operation(
                scope, body_types, max_body_bytes, streams
            )
            self.add_url_rule(rule, view.__name__, _parsed(view, query, body, shape), methods=[method])
            return view

        return decorate


def _parsed(
    view: Callable[..., Response],
    query: SchemaType | None,
    body: SchemaType | None,
    shape: SchemaType | None,
) -> Callable[..., Any]:
    """The view with what it is to get of the request: the body first, then the query."""
    wrapped: Callable[..., Any] = view
    if query is not None:
        wrapped = _PARSER.use_args(lambda _: _made(query), location="query")(wrapped)
    if body is not None:
        wrapped = _PARSER.use_args(lambda _: _made(body), location="json")(wrapped)
    return wrapped if shape is None else _with_object(wrapped)


@cache
def _made(schema: SchemaType) -> Schema:
    """One for all requests. Each copies its fields, in cycles that wait for a collection."""
    return schema() if isinstance(schema, type) else schema


def _with_object(view: Any) -> Any:
    """Pass the request's JSON object as the first argument."""

    @wraps(view)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return view(read_object(request.get_data(cache=True)), *args, **kwargs)

    return wrapper
