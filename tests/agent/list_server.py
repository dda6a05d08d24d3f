# SPDX-License-Identifier: Apache-2.0
"""A web server of lists in a namespace, which can misbehave as the ones of the world do."""

from __future__ import annotations

import gzip
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.agent.receivers import listening

PAGE = b"<!DOCTYPE html>\n<html><body>Please accept our cookies.</body></html>\n"


@dataclass
class ListServer:
    """`way`: `answers`, `fails` (404), `moves` (to `says`), `promises a gigabyte`, `sends a gigabyte`,
    `drips`, `cuts`, `bomb`, `packed`, `is a page`, `hangs`."""

    server: ThreadingHTTPServer
    says: bytes = b""
    way: str = "answers"
    tag: str = ""
    asked: list[dict[str, str]] = field(default_factory=list)
    sent_bytes: int = 0

    @property
    def port(self) -> int:
        return int(self.server.socket.getsockname()[1])


def _answered(made: ListServer, handler: BaseHTTPRequestHandler) -> None:
    made.asked.append({"path": handler.path, **dict(handler.headers)})
    body, headers, status = made.says, {"Content-Type": "text/plain"}, 200
    match made.way:
        case "fails":
            status, body = 404, b"198.51.100.0/24\n"
        case "moves":
            status, headers["Location"], body = 302, made.says.decode(), b""
        case "is a page":
            headers["Content-Type"], body = "text/html; charset=utf-8", b"198.51.100.0/24\n"
        case "packed":
            headers["Content-Encoding"], body = "gzip", gzip.compress(body)
        case "bomb":
            headers["Content-Encoding"], body = "gzip", gzip.compress(b"10.0.0.1\n" * (4 << 20))
        case "hangs":
            handler.connection.recv(1)
            return
    if made.tag and status == 200:
        headers["ETag"] = made.tag
        if handler.headers["If-None-Match"] == made.tag:
            status, body = 304, b""
    promised = {"promises a gigabyte": 1 << 30, "cuts": len(body) + 100}.get(made.way, len(body))
    handler.send_response(status)
    for name, value in headers.items():
        handler.send_header(name, value)
    if made.way not in ("sends a gigabyte", "drips"):
        handler.send_header("Content-Length", str(promised))
    handler.end_headers()
    if made.way == "sends a gigabyte":
        body = b"".join(b"10.%d.%d.%d\n" % (n >> 16, n >> 8 & 255, n & 255) for n in range(50)) * 2000
        for _ in range((1 << 30) // len(body)):
            handler.wfile.write(body)
            made.sent_bytes += len(body)
    elif made.way == "drips":
        while not threading.Event().wait(0.05):
            handler.wfile.write(b"#\n")
    else:
        handler.wfile.write(body)


@contextmanager
def list_server(
    namespace: str, address: str, encrypts: ssl.SSLContext | None = None, **said: Any
) -> Iterator[ListServer]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            with suppress(OSError):
                _answered(made, self)
            self.close_connection = True

        def log_message(self, *_words: object) -> None: ...

    server = ThreadingHTTPServer((address, 0), Handler, bind_and_activate=False)
    server.daemon_threads = True
    server.block_on_close = False
    server.socket.close()
    server.socket = listening(namespace, address)
    if encrypts is not None:
        server.socket = encrypts.wrap_socket(server.socket, server_side=True)
    made = ListServer(server, **said)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield made
    finally:
        server.shutdown()
        server.server_close()
