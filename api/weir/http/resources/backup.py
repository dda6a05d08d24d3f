# SPDX-License-Identifier: Apache-2.0
"""The whole configuration as one file, and back."""

from __future__ import annotations

from typing import Any
from urllib.parse import unquote

from flask import Response, request

from weir.http.answers import findings_json
from weir.http.context import context, me, service
from weir.http.endpoint import LARGE_BODY_BYTES, READ, WRITE, Resource, answer
from weir.http.rendering import committed_json
from weir.http.schemas import backup, changes

resource = Resource("backup", "The whole configuration as one file, and back. Accounts are never in it.")
MEDIA_TYPE = "application/octet-stream"
UPLOAD = {MEDIA_TYPE: {"type": "string", "format": "binary"}}


PASSPHRASE = "Weir-Backup-Passphrase"


@resource.operation("GET", "/backup", scope=READ, query=backup.BackupQuery, media=UPLOAD)
def download_backup(query: dict[str, Any]) -> Response:
    """The running configuration as a file

    It holds no accounts or tokens, and a digest of its content. Secrets are left out and named in its first
    line; with `secrets=1` they are in it, for those who know the passphrase.
    """
    revision, data = service().backup.write(me(), context().hostname, secrets=query["secrets"])
    response = Response(data, mimetype=MEDIA_TYPE)
    response.headers["Content-Disposition"] = context().attachment(f"r{revision}", "backup")
    return response


@resource.operation("PUT", "/backup/passphrase", scope=WRITE, body=backup.PassphraseInput, status=204)
def choose_backup_passphrase(body: dict[str, Any]) -> Response:
    """Choose the passphrase of secrets in backups

    The router keeps only a key that follows from it. Another one is chosen by those who know the present one.
    """
    service().backup.choose_passphrase(me(), body["passphrase"], body["old"])
    return answer(None, 204)


def _passphrase() -> str | None:
    """The header in which a client sends it, percent-encoded: a query would be in logs."""
    given = request.headers.get(PASSPHRASE)
    return None if given is None else unquote(given)


@resource.operation(
    "POST",
    "/backup/check",
    scope=WRITE,
    upload=UPLOAD,
    answers=backup.BackupReport,
    max_body_bytes=LARGE_BODY_BYTES,
)
def check_backup() -> Response:
    """What restoring a file would do; nothing is changed

    The header `Weir-Backup-Passphrase` (percent-encoded) opens the secrets of a file. Without it those of
    this router stay, and the findings name those that have to be entered again.
    """
    found = service().backup.read(me(), request.get_data(cache=False), _passphrase())
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


@resource.operation(
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
    `Weir-Backup-Passphrase` is as in the check.
    """
    data = request.get_data(cache=False)
    done = service().backup.restore(me(), data, query["message"], query["confirm_within_s"], _passphrase())
    return answer(committed_json(done))
