# SPDX-License-Identifier: Apache-2.0
"""Serving the built user interface: hashed assets for a year, the rest fresh."""

from __future__ import annotations

import mimetypes
from pathlib import Path

from flask import Flask, Response, request, send_file
from werkzeug.exceptions import MethodNotAllowed, NotFound
from werkzeug.security import safe_join

FOREVER = "public, max-age=31536000, immutable"
NOT_BUILT = (
    "<!doctype html><html lang=en><title>Weir</title><h1>Weir</h1><p>The API answers; the user interface "
    "is not installed here. Build it with <code>make webui</code>, or read the "
    "<a href=/api/v1/docs>API documentation</a>."
)


def serve(app: Flask, static_dir: Path | None) -> None:
    """Register the catch-all for everything outside of /api/."""
    root = static_dir.resolve() if static_dir else None

    def page(path: str = "") -> Response:
        if path == "api" or path.startswith("api/"):
            raise NotFound(f"There is no /{path[:200]} in this API.")
        if request.method not in ("GET", "HEAD"):
            raise MethodNotAllowed(["GET", "HEAD"])
        if root is None or not (root / "index.html").is_file():
            return Response(NOT_BUILT, mimetype="text/html")
        found = find_file(root, path)
        if found is None:
            if path.startswith("assets/"):
                raise NotFound(f"There is no /{path[:200]}.")
            found = root / "index.html"
        return send(found, FOREVER if path.startswith("assets/") else "no-cache")

    app.add_url_rule("/", "page", page, defaults={"path": ""}, methods=["GET"])
    app.add_url_rule("/<path:path>", "page", page, methods=["GET", "POST", "PUT", "PATCH", "DELETE"])


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
    """The file, compressed when a `.gz` lies beside it and the browser takes it."""
    mimetype = mimetypes.guess_type(file.name)[0] or "application/octet-stream"
    packed = file.with_name(file.name + ".gz")
    use_packed = "gzip" in request.headers.get("Accept-Encoding", "") and packed.is_file()
    response = send_file(packed if use_packed else file, mimetype=mimetype, conditional=True, etag=True)
    if use_packed:
        response.headers["Content-Encoding"] = "gzip"
    response.headers["Vary"] = "Accept-Encoding"
    response.headers["Cache-Control"] = cache
    return response
