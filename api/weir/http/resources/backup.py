# SPDX-License-Identifier: Apache-2.0
"""The whole configuration as one file, and back."""

from __future__ import annotations

from typing import Any

from flask import Response, request

from weir.http.context import context, me, service
from weir.http.endpoint import LARGE_BODY_BYTES, READ, WRITE, Area, answer
from weir.http.rendering import committed_json, findings_json
from weir.http.schemas import backup, changes

area = Area("backup", "The whole configuration as one file, and back. Accounts are never in it.")
MEDIA_TYPE = "application/octet-stream"
UPLOAD = {MEDIA_TYPE: {"type": "string", "format": "binary"}}


@area.operation("GET", "/backup", scope=READ, media=UPLOAD)
def download_backup() -> Response:
    """The running configuration as a file

    It holds no accounts, tokens or other secrets, and a digest of its content.
    """
    hostname = str(context().stats.router.system_answer.get("hostname") or "router")
    revision, data = service().backup.write(me(), hostname)
    response = Response(data, mimetype=MEDIA_TYPE)
    name = "".join(char for char in hostname if char.isascii() and (char.isalnum() or char in "-."))
    disposition = f'attachment; filename="weir-{name[:63]}-r{revision}.backup"'
    response.headers["Content-Disposition"] = disposition
    return response


@area.operation(
    "POST",
    "/backup/check",
    scope=WRITE,
    upload=UPLOAD,
    answers=backup.BackupReport,
    max_body_bytes=LARGE_BODY_BYTES,
)
def check_backup() -> Response:
    """What restoring a file would do; nothing is changed"""
    found = service().backup.read(me(), request.get_data(cache=False))
    return answer(
        {
            "made_at": found.made_at,
            "hostname": found.hostname,
            "release": found.release,
            "revision": found.revision,
            "objects": found.objects,
            "counts": found.counts(),
            "can_restore": not any(finding.severity == "error" for finding in found.findings),
            "findings": findings_json(found.findings),
        }
    )


@area.operation(
    "POST",
    "/backup/restore",
    scope=WRITE,
    query=backup.RestoreQuery,
    upload=UPLOAD,
    answers=changes.CommitAnswer,
    max_body_bytes=LARGE_BODY_BYTES,
)
def restore_backup(query: dict[str, Any]) -> Response:
    """Make the configuration what a file says, as one revision

    Objects that the file does not name are removed. A file that was cut or changed is refused as a whole.
    """
    data = request.get_data(cache=False)
    done = service().backup.restore(me(), data, query["message"], query["confirm_within_s"])
    return answer(committed_json(done))
