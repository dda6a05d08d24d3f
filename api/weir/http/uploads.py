# SPDX-License-Identifier: Apache-2.0
"""The files of an upload: the body itself, or the parts of a form."""

from __future__ import annotations

from flask import request

from weir.http.problems import BadRequest

MAX_FILES = 8
DEFAULT_NAMES = {"routeros": "export.rsc", "libreqos": "ShapedDevices.csv", "csv": "queues.csv"}


def read_files(format_name: str) -> dict[str, bytes]:
    """Name to bytes. Raises BadRequest when there is no file, or too many."""
    if request.mimetype != "multipart/form-data":
        body = request.get_data(cache=False)
        if not body:
            raise BadRequest("The body is empty: send the file, or a form with files.", code="no-file")
        return {DEFAULT_NAMES[format_name]: body}
    files: dict[str, bytes] = {}
    for field, upload in request.files.items(multi=True):
        name = (upload.filename or field).replace("\\", "/").rsplit("/", 1)[-1][:255] or field[:255]
        if name in files or len(files) >= MAX_FILES:
            raise BadRequest(f"At most {MAX_FILES} files with different names.", code="too-many-files")
        files[name] = upload.read()
    if not files:
        raise BadRequest("The form has no file, or its name is not UTF-8.", code="no-file")
    return files
