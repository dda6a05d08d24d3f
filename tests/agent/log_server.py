# SPDX-License-Identifier: Apache-2.0
"""A server of logs by TCP and TLS, for tests: messages are counted in octets (RFC 6587, 3.4.1)."""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading

from tests.agent.receivers import listening

SERVER = "203.0.113.1"


class Logs:
    """A server of logs on a stream; `cuts` closes each connection at once."""

    def __init__(self, namespace: str, context: ssl.SSLContext | None = None, port: int = 0) -> None:
        self.listener = listening(namespace, SERVER, port)
        self.port = int(self.listener.getsockname()[1])
        self.context = context
        self.frames: list[str] = []
        self.open: list[socket.socket] = []
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                handle, _ = self.listener.accept()
                threading.Thread(target=self._take, args=(handle,), daemon=True).start()

    def _take(self, handle: socket.socket) -> None:
        with contextlib.suppress(OSError, ValueError):
            if self.context is not None:
                handle = self.context.wrap_socket(handle, server_side=True)
            self.open.append(handle)
            stream = handle.makefile("rb")
            while True:
                length = b""
                while (byte := stream.read(1)) != b" ":
                    length += byte
                    if not byte:
                        return
                self.frames.append(stream.read(int(length)).decode())

    def close(self) -> None:
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        for handle in self.open:
            with contextlib.suppress(OSError):
                handle.shutdown(socket.SHUT_RDWR)
            handle.close()
