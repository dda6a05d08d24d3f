# SPDX-License-Identifier: Apache-2.0
"""The API's description, for programs (OpenAPI 3) and for people (a page without scripts)."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any

from flask import Response, current_app

from weir.http import docspage
from weir.http.endpoint import PUBLIC, Resource

resource = Resource("documentation", "This description.")


def specification() -> dict[str, Any]:
    """The OpenAPI document of the running application."""
    document: dict[str, Any] = current_app.extensions["weir-openapi"]()
    return document


@lru_cache(maxsize=1)
def _page() -> str:
    return docspage.render(specification())


@resource.operation("GET", "/openapi.json", scope=PUBLIC, media={"application/json": {"type": "object"}})
def get_openapi() -> Response:
    """This API as an OpenAPI 3 document"""
    return Response(json.dumps(specification(), ensure_ascii=False), mimetype="application/json")


@resource.operation("GET", "/docs", scope=PUBLIC, media={"text/html": {"type": "string"}})
def get_docs() -> Response:
    """This API as a page"""
    return Response(_page(), mimetype="text/html")


@resource.operation("GET", "/docs/style.css", scope=PUBLIC, media={"text/css": {"type": "string"}})
def get_docs_style() -> Response:
    """The style of that page"""
    return Response(docspage.STYLE, mimetype="text/css")
