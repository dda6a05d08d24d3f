# SPDX-License-Identifier: Apache-2.0
"""Serving the built user interface: hashed assets for a year, the rest fresh."""

from __future__ import annotations

import mimetypes
from pathlib import Path

from flask import Flask, Response, request, send_file
from werkzeug.exceptions import NotFound
from werkzeug.security import safe_join

from weir.http.problems import render_http

FOREVER = "public, max-age=31536000, immutable"
NOT_BUILT = (
    "<!doctype html><html lang=en><title>Weir</title><h1>Weir</h1><p>The API answers; the user interface "
    "is not installed here. Build it with <code>make webui</code>, or read the "
    "<a href=/api/v1/docs>API documentation</a>."
)


def serve(app: Flask, static_dir: Path | None) -> None:
    """Answer what no operation of the API matches: files, and the index for routes of the browser."""
    root = static_dir.resolve() if static_dir else None

    def answer_unmatched(error: NotFound) -> Response:
        path = request.path.lstrip("/")
        if request.method not in ("GET", "HEAD") or path == "api" or path.startswith("api/"):
            return render_http(error)
        return page(root, path)

    app.register_error_handler(404, answer_unmatched)


def page(root: Path | None, path: str) -> Response:
    """The file of this path; the index for a route of the browser; a hint when nothing is built."""
    if root is None or not (root / "index.html").is_file():
        return Response(NOT_BUILT, mimetype="text/html")
    found = find_file(root, path)
    if found is not None:
        return send(found, FOREVER if path.startswith("assets/") else "no-cache")
    if path.startswith("assets/"):
        return render_http(NotFound(f"There is no /{path[:200]}."))
    return send(root / "index.html", "no-cache")


def find_file(root: Path, path: str) -> Path | None:
    """The file of a URL path inside the root, or None."""
    joined = safe_join(str(root), path) if path and "\0" not in path else None
    if joined is None:
        return None
    found = Path(joined)
    try:
        inside = found.resolve().is_relative_to(root)
        return found if inside and found.is_file() else None
    except OSError:
        return None


def send(file: Path, cache: str) -> Response:
    """The file, compressed when a `.gz` lies beside it and the browser takes it.

    A Range is ignored (RFC 9110, 14.2): no file is large, and werkzeug refuses several by an exception,
    which the error handler that this is called from would turn into 500.
    """
    request.environ.pop("HTTP_RANGE", None)
    mimetype = mimetypes.guess_type(file.name)[0] or "application/octet-stream"
    packed = file.with_name(file.name + ".gz")
    use_packed = "gzip" in request.headers.get("Accept-Encoding", "") and packed.is_file()
    response = send_file(packed if use_packed else file, mimetype=mimetype, conditional=True, etag=True)
    if use_packed:
        response.headers["Content-Encoding"] = "gzip"
    response.headers["Vary"] = "Accept-Encoding"
    response.headers["Cache-Control"] = cache
    return response
