# SPDX-License-Identifier: Apache-2.0
"""One POST with JSON. No redirect is followed, so the token goes where it was meant for and nowhere else."""

from __future__ import annotations

import json
import socket
from http.client import HTTPConnection
from typing import Any
from urllib.parse import urlsplit

from weir.courier.dial import STEP_S, Failed, dial, trusting

_SHOWN_BYTES = 300
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
        more = " ".join(answer.read(_SHOWN_BYTES).decode("utf-8", "replace").split())
        moved = answer.getheader("Location")
    finally:
        connection.close()
    if moved:
        more = f"it moved to {moved}, which is not followed"
    raise Failed(f"it answered {said}{f': {more}' if more else ''}")
