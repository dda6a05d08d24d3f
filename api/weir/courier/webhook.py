# SPDX-License-Identifier: Apache-2.0
"""One POST with JSON. No redirect is followed, so the token goes where it was meant for and nowhere else."""

from __future__ import annotations

import json
import socket
from http.client import HTTPConnection
from typing import Any
from urllib.parse import urlsplit

from weir.courier.dial import STEP_S, Failed, dial, trusting
from weir.redaction import redacted

_READ_BYTES = 4096
"""Of an answer that is no success: enough to show, and for a secret that is dropped at the end of it."""
_SHOWN_CHARS = 300
_PORTS = {"http": 80, "https": 443}


class _Connection(HTTPConnection):
    def __init__(self, handle: socket.socket, host: str, port: int) -> None:
        super().__init__(host, port, timeout=STEP_S)
        self.sock = handle


def send(order: dict[str, Any]) -> str:
    """The status that it answered. Raises `Failed`, `OSError` or `HTTPException`."""
    parts = urlsplit(order["url"])
    host, port = str(parts.hostname), parts.port or _PORTS[parts.scheme]
    handle = dial(host, port)
    if parts.scheme == "https":
        handle = trusting(order["ca_bundle"]).wrap_socket(handle, server_hostname=host)
    connection = _Connection(handle, host, port)
    headers = {"Host": parts.netloc, "Content-Type": "application/json", "User-Agent": "weir"}
    if order["secret"]:
        headers[order["header"]] = order["secret"]
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    try:
        connection.request("POST", target, json.dumps(order["body"]).encode(), headers)
        answer = connection.getresponse()
        said = f"{answer.status} {answer.reason}".strip()
        if 200 <= answer.status < 300:
            return said
        more = _shown(answer.read(_READ_BYTES), order["secret"])
        moved = answer.getheader("Location")
    finally:
        connection.close()
    if moved:
        more = f"it moved to {moved}, which is not followed"
    raise Failed(f"it answered {said}{f': {more}' if more else ''}")


def _shown(said: bytes, secret: str) -> str:
    """The start of it; the secret is gone before anything is cut, so no part of it stays."""
    text = redacted(said.decode("utf-8", "replace"), secret, is_cut=len(said) == _READ_BYTES)
    return " ".join(text.split())[:_SHOWN_CHARS]
