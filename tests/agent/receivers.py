# SPDX-License-Identifier: Apache-2.0
"""Who takes alerts in tests: a mail server and a web server in a namespace, which can misbehave."""

from __future__ import annotations

import base64
import contextlib
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from subprocess import run
from typing import Any

from lab import netns


def certificate(folder: Path, name: str, host: str) -> tuple[Path, ssl.SSLContext]:
    """One that vouches for itself, for an address; and a server's context with it."""
    made, key = folder / f"{name}.pem", folder / f"{name}.key"
    asked = ("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")
    said = ("-days", "2", "-subj", f"/CN={name}", "-addext", f"subjectAltName=IP:{host}")
    run((*asked, *said, "-keyout", key, "-out", made), check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(made, key)
    return made, context


def listening(namespace: str, address: str, port: int = 0) -> socket.socket:
    with netns.inside(namespace):
        return socket.create_server((address, port))


@dataclass
class MailServer:
    """`way` says how it takes what comes: `takes`, `hangs`, `cuts`, `drips`, `refuses`, `not now`, `repeats`
    what it is sent to log in, `refuses one` of the recipients, `parts badly` or `never parts`. It speaks as
    RFC 5321 has it; no part of it is `smtplib`."""

    listener: socket.socket
    encrypts: ssl.SSLContext | None = None
    from_the_start: bool = False
    login: tuple[str, str] | None = None
    way: str = "takes"
    mails: list[str] = field(default_factory=list)
    commands: list[str] = field(default_factory=list)
    connections: int = 0

    @property
    def port(self) -> int:
        return int(self.listener.getsockname()[1])

    def serve(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                handle, _ = self.listener.accept()
                self.connections += 1
                threading.Thread(target=self._talk, args=(handle,), daemon=True).start()

    def _talk(self, handle: socket.socket) -> None:
        with contextlib.suppress(OSError, ssl.SSLError), handle:
            if self.way == "cuts":
                return
            if self.way == "hangs":
                handle.recv(1)
                return
            if self.from_the_start and self.encrypts:
                handle = self.encrypts.wrap_socket(handle, server_side=True)
            if self.way == "drips":
                for _ in range(60):
                    handle.sendall(b"2")
                    if threading.Event().wait(1.0):
                        return
            self._converse(handle)

    def _converse(self, handle: socket.socket) -> None:
        lines = handle.makefile("rb")

        def say(text: str) -> None:
            handle.sendall(text.encode() + b"\r\n")

        say("220 mail.test ready")
        while line := lines.readline().decode().strip():
            self.commands.append(line)
            verb = line.partition(" ")[0].upper()
            if verb == "EHLO":
                offers = ["mail.test"]
                if self.encrypts and not isinstance(handle, ssl.SSLSocket):
                    offers.append("STARTTLS")
                if self.login:
                    offers.append("AUTH PLAIN")
                for offer in offers[:-1]:
                    say(f"250-{offer}")
                say(f"250 {offers[-1]}")
            elif verb == "STARTTLS" and self.encrypts:
                say("220 go ahead")
                handle = self.encrypts.wrap_socket(handle, server_side=True)
                lines = handle.makefile("rb")
            elif verb == "AUTH":
                if self.way == "repeats":
                    say(f"535 5.7.8 {line} is not it")
                    continue
                _, user, password = base64.b64decode(line.split()[2]).decode().split("\0")
                say("235 ok" if (user, password) == self.login else f"535 5.7.8 {password} is not it")
            elif verb == "RCPT" and (
                self.way == "refuses" or (self.way == "refuses one" and "nobody@" in line)
            ):
                say("550 5.1.1 no such mailbox")
            elif verb == "DATA" and self.way == "not now":
                say("451 4.3.0 come back later")
            elif verb == "DATA":
                say("354 go on")
                self.mails.append(_until_dot(lines))
                say("250 2.0.0 Ok: queued as 4711")
            elif verb == "QUIT" and self.way == "parts badly":
                say("451 4.3.0 not yet")
            elif verb == "QUIT" and self.way == "never parts":
                handle.recv(1)
                return
            elif verb == "QUIT":
                say("221 bye")
                return
            else:
                say("250 2.1.0 Ok")


def _until_dot(lines: Any) -> str:
    found = []
    while (line := lines.readline().decode()) not in (".\r\n", ""):
        found.append(line)
    return "".join(found)


@dataclass
class WebServer:
    """`way`: `takes`, `hangs`, `cuts`, `fails` (500, with what it `says` or repeating all), `moves` (302) or
    `babbles`."""

    server: HTTPServer
    way: str = "takes"
    says: bytes = b""
    posts: list[tuple[str, dict[str, str], bytes]] = field(default_factory=list)
    connections: int = 0

    @property
    def port(self) -> int:
        return int(self.server.socket.getsockname()[1])


@contextmanager
def mail_server(namespace: str, address: str, **said: Any) -> Iterator[MailServer]:
    made = MailServer(listening(namespace, address), **said)
    threading.Thread(target=made.serve, daemon=True).start()
    try:
        yield made
    finally:
        made.listener.shutdown(socket.SHUT_RDWR)
        made.listener.close()


@contextmanager
def web_server(
    namespace: str, address: str, encrypts: ssl.SSLContext | None = None, way: str = "takes"
) -> Iterator[WebServer]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            made.connections += 1
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if made.way == "cuts":
                self.close_connection = True
                return
            if made.way == "hangs":
                self.connection.recv(1)
                return
            if made.way == "babbles":
                self.wfile.write(b"what?\r\n")
                return
            if made.way == "takes":
                made.posts.append((self.path, dict(self.headers), body))
            self.send_response({"takes": 204, "fails": 500, "moves": 302}[made.way])
            said = (made.says or str(self.headers).encode()) if made.way == "fails" else b""
            if made.way == "moves":
                self.send_header("Location", "http://192.0.2.1/elsewhere")
            self.send_header("Content-Length", str(len(said)))
            self.end_headers()
            self.wfile.write(said)

        def log_message(self, *_words: object) -> None: ...

    server = HTTPServer((address, 0), Handler, bind_and_activate=False)
    server.socket.close()
    server.socket = listening(namespace, address)
    if encrypts is not None:
        server.socket = encrypts.wrap_socket(server.socket, server_side=True)
    made = WebServer(server, way)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield made
    finally:
        server.shutdown()
        server.server_close()
