# SPDX-License-Identifier: Apache-2.0
"""Operations as flask-smorest describes them, for the OpenAPI document.

They are made of what was declared, when somebody asks for the document, and are gone when it is made: the
schemas of all answers took 11 MB of a process that serves (docs/adr/0261).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from flask import Flask
from flask_smorest import Api, Blueprint

from weir.http import security
from weir.http.endpoint import PATCH_TYPE, PREFIX, PUBLIC, Declared, Resource
from weir.http.schemas.problem import Problem
from weir.http.schemas.unions import tie_to_kinds

DESCRIPTION = """The router's configuration and figures.

Every number's name carries its unit (`_bps` bit/s, `_ms`, `_bytes`). Pairs are upload and download as seen
by the queue's target. Errors are problem details (RFC 9457) with a stable `code` and, where validation
failed, `findings` that name the fields. Objects carry an `etag`; changing one needs `If-Match`.
Lists are paged: follow `next_cursor`. With `?candidate=1` a write is staged instead of committed (202).
"""


class DocumentedApi(Api):  # type: ignore[misc]  # flask-smorest has no types
    """flask-smorest with our problem document as the default response; `weir.http.problems` renders it."""

    ERROR_SCHEMA = Problem
    DEFAULT_ERROR_RESPONSE_NAME = "PROBLEM"

    def _register_error_handlers(self) -> None:
        """Errors are handled in one place for the whole application."""

    def _register_responses(self) -> None:
        content = {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}
        components = self.spec.components
        components.schema("Problem", schema=Problem)
        components.response("PROBLEM", {"description": "A problem (RFC 9457)", "content": content})
        components.response("UNPROCESSABLE_ENTITY", {"description": "Not acceptable", "content": content})

    def _register_etag_headers(self) -> None:
        """Preconditions are documented where they are required (`weir.http.endpoint`)."""

    def _register_pagination_header(self) -> None:
        """Pages carry their cursor in the body."""


def document(resources: Iterable[Resource]) -> dict[str, Any]:
    """The OpenAPI document of an application that has these."""
    app = Flask("weir", static_folder=None)
    app.config.update(
        API_TITLE="Weir",
        API_VERSION="v1",
        OPENAPI_VERSION="3.1.0",
        API_SPEC_OPTIONS={
            "info": {"description": DESCRIPTION, "license": {"name": "Apache-2.0"}},
            "security": [{"token": []}, {"session": []}],
        },
    )
    api = DocumentedApi(app)
    schemes = api.spec.components
    schemes.security_scheme("token", {"type": "http", "scheme": "bearer"})
    schemes.security_scheme("session", {"type": "apiKey", "in": "cookie", "name": security.SESSION_COOKIE})
    for resource in resources:
        api.register_blueprint(described(resource))
    tie_to_kinds(schemes.schemas)
    return dict(api.spec.to_dict())


def described(resource: Resource) -> Blueprint:
    """The resource with the documentation of its operations. It serves nothing."""
    found = Blueprint(resource.name, __name__, url_prefix=PREFIX, description=resource.description)
    for declared in resource.declared:
        view = _described(found, declared)
        found.add_url_rule(declared.rule, declared.view.__name__, view, methods=[declared.method])
    return found


def _described(found: Blueprint, declared: Declared) -> Callable[..., Any]:
    view: Any = declared.view
    if declared.query is not None:
        view = found.arguments(declared.query, location="query")(view)
    if declared.body is not None:
        view = found.arguments(declared.body, location="json")(view)
    view = found.doc(**_documentation(declared))(view)
    for code, (description, schema) in declared.also.items():
        view = found.alt_response(code, schema=schema, description=description, success=True)(view)
    for media_type, schema in declared.media.items():
        view = found.response(declared.status, schema, content_type=media_type)(view)
    if not declared.media:
        view = found.response(declared.status, declared.answers)(view)
    documented: Callable[..., Any] = view
    return documented


def _documentation(declared: Declared) -> dict[str, Any]:
    documentation: dict[str, Any] = {"operationId": declared.view.__name__}
    if declared.scope == PUBLIC:
        documentation["security"] = []
    else:
        documentation["x-scope"] = declared.scope
    content = dict(declared.upload)
    if declared.shape is not None:
        content[PATCH_TYPE if declared.method == "PATCH" else "application/json"] = declared.shape
    if content:
        documentation["requestBody"] = {
            "required": True,
            "content": {media_type: {"schema": schema} for media_type, schema in content.items()},
        }
    if declared.precondition:
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
