# SPDX-License-Identifier: Apache-2.0
"""Declaring an operation of the API: rule, scope, shapes and documentation in one place.

Every operation states its scope; `weir.http.security` refuses whatever is not declared. The
parsing and the OpenAPI document come from flask-smorest; answers are plain JSON objects, whose
agreement with the documented shape is the contract tests' business, because dumping a page of 100
queues through marshmallow costs more than reading them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import wraps
from typing import Any, TypeVar

from flask import Response, request
from flask_smorest import Blueprint
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


class Resource(Blueprint):  # type: ignore[misc]  # flask-smorest has no types
    """A group of operations under one tag of the documentation."""

    ARGUMENTS_PARSER = BodyParser()

    def __init__(self, name: str, description: str) -> None:
        super().__init__(name, __name__, url_prefix="/api/v1", description=description)
        self.operations: dict[str, Operation] = {}

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
            wrapped: Any = view
            if query is not None:
                wrapped = self.arguments(query, location="query", as_kwargs=False)(wrapped)
            if body is not None:
                wrapped = self.arguments(body, location="json")(wrapped)
            if shape is not None:
                wrapped = _with_object(wrapped)
            wrapped = self.doc(**_documentation(view, method, scope, shape, upload, precondition))(wrapped)
            for code, (description, schema) in (also or {}).items():
                wrapped = self.alt_response(code, schema=schema, description=description, success=True)(
                    wrapped
                )
            wrapped = self._with_response(wrapped, status, answers, media)
            self.operations[f"{self.name}.{view.__name__}"] = Operation(
                scope, body_types, max_body_bytes, streams
            )
            self.add_url_rule(rule, view.__name__, wrapped, methods=[method])
            return view

        return decorate

    def _with_response(
        self, view: Any, status: int, answers: SchemaType | None, media: Mapping[str, Any] | None
    ) -> Any:
        for media_type, schema in (media or {}).items():
            view = self.response(status, schema, content_type=media_type)(view)
        if not media:
            view = self.response(status, answers)(view)
        return view


def _with_object(view: Any) -> Any:
    """Pass the request's JSON object as the first argument."""

    @wraps(view)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return view(read_object(request.get_data(cache=True)), *args, **kwargs)

    return wrapper


def _documentation(
    view: Callable[..., Any],
    method: str,
    scope: str,
    shape: SchemaType | None,
    upload: Mapping[str, Any] | None,
    precondition: bool,
) -> dict[str, Any]:
    documentation: dict[str, Any] = {"operationId": view.__name__}
    if scope == PUBLIC:
        documentation["security"] = []
    else:
        documentation["x-scope"] = scope
    content = dict(upload or {})
    if shape is not None:
        content[PATCH_TYPE if method == "PATCH" else "application/json"] = shape
    if content:
        documentation["requestBody"] = {
            "required": True,
            "content": {media_type: {"schema": schema} for media_type, schema in content.items()},
        }
    if precondition:
        documentation["parameters"] = [
            {
                "in": "header",
                "name": "If-Match",
                "required": False,
                "schema": {"type": "string", "maxLength": 128},
                "description": "The object's etag. Changing an existing object without it is refused (428).",
            }
        ]
    return documentation
