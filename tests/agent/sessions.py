# SPDX-License-Identifier: Apache-2.0
"""A TCP session between two namespaces that is used all the time, and how long it was silent."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Iterator

from lab import netns

GIVEN_UP_S = 8.0
"""A session that is silent for so long is taken for one that ended."""


class Session:
    """Bytes go to the other end and back; `longest_s` is the longest time without an answer."""

    def __init__(self, near: socket.socket, far: socket.socket) -> None:
        self._near, self._far = near, far
        self.longest_s = 0.0
        self.answers = 0
        self.is_over = False
        self._answered_s = time.monotonic()
        self._stopping = False
        self._threads = [threading.Thread(target=run, daemon=True) for run in (self._echo, self._ask)]
        for thread in self._threads:
            thread.start()

    def _echo(self) -> None:
        with contextlib.suppress(OSError):
            while data := self._far.recv(1):
                self._far.sendall(data)

    def _ask(self) -> None:
        self._near.settimeout(GIVEN_UP_S)
        while not self._stopping:
            try:
                self._near.sendall(b"x")
                if not self._near.recv(1):
                    raise ConnectionError
            except OSError:
                self.is_over = not self._stopping
                return
            now_s = time.monotonic()
            self.longest_s = max(self.longest_s, now_s - self._answered_s)
            self._answered_s, self.answers = now_s, self.answers + 1
            time.sleep(0.01)

    @property
    def silent_s(self) -> float:
        """For how long it has been without an answer by now."""
        return time.monotonic() - self._answered_s

    def begin(self) -> None:
        """Count from here."""
        self.longest_s = 0.0

    def close(self) -> None:
        self._stopping = True
        for end in (self._near, self._far):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join()
        self._near.close()
        self._far.close()


@contextlib.contextmanager
def between(near_ns: str, far_ns: str, address: str, port: int) -> Iterator[Session]:
    """From a namespace to an address that another one has."""
    with netns.inside(far_ns):
        server = socket.create_server((address, port))
    with netns.inside(near_ns):
        near = socket.create_connection((address, port), timeout=5)
    far, _ = server.accept()
    server.close()
    session = Session(near, far)
    try:
        yield session
    finally:
        session.close()
