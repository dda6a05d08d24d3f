# SPDX-License-Identifier: Apache-2.0
"""The API's description, for programs (OpenAPI 3) and for people (a page without scripts)."""

from __future__ import annotations

import json
from functools import lru_cache

from flask import Response, current_app

from weir.http import docspage
from weir.http.endpoint import PUBLIC, Resource
from weir.memory import give_back_soon

resource = Resource("documentation", "This description.")


def _specification() -> str:
    """The OpenAPI document of the running application."""
    document: str = current_app.extensions["weir-openapi"]()
    give_back_soon()
    return document


@lru_cache(maxsize=1)
def _page() -> str:
    return docspage.render(json.loads(_specification()))


@resource.operation("GET", "/openapi.json", scope=PUBLIC, media={"application/json": {"type": "object"}})
def get_openapi() -> Response:
    """This API as an OpenAPI 3 document"""
    return Response(_specification(), mimetype="application/json")


@resource.operation("GET", "/docs", scope=PUBLIC, media={"text/html": {"type": "string"}})
def get_docs() -> Response:
    """This API as a page"""
    return Response(_page(), mimetype="text/html")


@resource.operation("GET", "/docs/style.css", scope=PUBLIC, media={"text/css": {"type": "string"}})
def get_docs_style() -> Response:
    """The style of that page"""
    return Response(docspage.STYLE, mimetype="text/css")
