# SPDX-License-Identifier: Apache-2.0
"""Every error becomes an RFC 9457 problem document here, and only here."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from http import HTTPStatus
from typing import Any

from flask import Flask, Response, request
from werkzeug.exceptions import HTTPException

from weir.http.answers import findings_json
from weir.http.refusals import FAILED, MEDIA_TYPE, document
from weir.model import problem as model
from weir.model.problem import Finding, Problem
from weir.model.reader import shown

log = logging.getLogger("weir.http")

_STATUS: tuple[tuple[type[Problem], int], ...] = (
    (model.NotFound, 404),
    (model.Conflict, 409),
    (model.PreconditionFailed, 412),
    (model.PreconditionRequired, 428),
    (model.Unauthenticated, 401),
    (model.Forbidden, 403),
    (model.Throttled, 429),
    (model.Unavailable, 503),
    (model.ApplyFailed, 502),
    (model.Unsupported, 422),
    (model.Invalid, 422),
)


class BadRequest(Problem):
    """The request cannot be read at all."""

    default_code = "bad-request"


class UnsupportedMediaType(Problem):
    default_code = "unsupported-media-type"


class InvalidRequest(model.Invalid):
    """The request was read, and fields of it are not acceptable."""

    @classmethod
    def of(cls, messages: Any) -> InvalidRequest:
        """From marshmallow's or webargs' nested messages, `{"json": {"name": ["..."]}}`."""
        findings = []
        for location, below in messages.items() if isinstance(messages, Mapping) else [("json", messages)]:
            for field, message in _flatten(below, ()):
                findings.append(Finding("error", "invalid-field", message, "request", location, field))
        first = findings[0] if findings else None
        text = f"{first.field}: {first.message}" if first and first.field else first and first.message
        return cls(
            text or "The request is not acceptable.",
            code="invalid-request",
            path=first.field if first else None,
            findings=findings,
        )


def _flatten(messages: Any, path: tuple[str, ...]) -> Iterator[tuple[str | None, str]]:
    if isinstance(messages, Mapping):
        for key, below in messages.items():
            yield from _flatten(below, path if key == "_schema" else (*path, str(key)))
    else:
        for message in messages if isinstance(messages, list) else [messages]:
            yield ".".join(path) or None, str(message)


def status_of(problem: Problem) -> int:
    if isinstance(problem, BadRequest):
        return 400
    if isinstance(problem, UnsupportedMediaType):
        return 415
    return next((status for kind, status in _STATUS if isinstance(problem, kind)), 500)


def _document(
    status: int, code: str, detail: str, path: str | None = None, findings: tuple[Finding, ...] = ()
) -> Response:
    text = document(status, code, detail, path, findings_json(findings))
    return Response(text, status=status, mimetype=MEDIA_TYPE)


def render(problem: Problem) -> Response:
    status = status_of(problem)
    response = _document(status, problem.code, problem.message, problem.path, problem.findings)
    if isinstance(problem, model.Throttled):
        response.headers["Retry-After"] = str(problem.retry_after_s)
    if status == 401:
        response.headers["WWW-Authenticate"] = 'Bearer realm="weir"'
    if status == 503:
        response.headers["Retry-After"] = str(getattr(problem, "retry_after_s", None) or 2)
    return response


def render_http(error: HTTPException) -> Response:
    """Errors of Flask and Werkzeug: no route, method, size, and so on."""
    status = error.code or 500
    if status < 400:
        return Response(status=status, headers=error.get_headers())
    phrase = HTTPStatus(status).phrase
    detail = f"There is nothing at {shown(request.path)}." if status == 404 else error.description or phrase
    response = _document(status, phrase.lower().replace(" ", "-"), detail)
    for name, value in error.get_headers():
        if name.lower() == "allow":
            response.headers[name] = value
    return response


def render_unexpected(error: Exception) -> Response:
    """A defect: logged with its trace, answered without internals."""
    log.error("unexpected error", exc_info=error)
    return _document(500, FAILED.code, FAILED.detail)


def register(app: Flask) -> None:
    app.register_error_handler(Problem, render)
    app.register_error_handler(HTTPException, render_http)
    app.register_error_handler(Exception, render_unexpected)
