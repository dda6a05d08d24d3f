# SPDX-License-Identifier: Apache-2.0
"""Lines over a stream socket, with limits in bytes and in time, and file descriptors beside them."""

from __future__ import annotations

import array
import os
import socket
import time

from weir.model.problem import Invalid, Unavailable
from weir.wire.protocol import MAX_FDS

CHUNK_BYTES = 256 << 10


class Closed(Exception):
    """The other side closed the connection; `clean` when it did so between two messages."""

    def __init__(self, clean: bool) -> None:
        super().__init__("connection closed")
        self.clean = clean


class Budget:
    """Bytes that all connections together may keep in half-received messages. Not locked: the
    owner calls it under its own lock, or has one connection only."""

    def __init__(self, limit_bytes: int) -> None:
        self.limit_bytes = limit_bytes
        self.used_bytes = 0

    def resize(self, old_bytes: int, new_bytes: int) -> bool:
        """Account for a buffer that grows or shrinks; False when there is no room for it."""
        wanted = self.used_bytes - old_bytes + new_bytes
        if new_bytes > old_bytes and wanted > self.limit_bytes:
            return False
        self.used_bytes = wanted
        return True


class LineReader:
    """Splits what a socket delivers into lines. One reader per connection, one thread at a time."""

    def __init__(self, connection: socket.socket, max_bytes: int, *, expect_fds: bool = False) -> None:
        self._socket = connection
        self._max_bytes = max_bytes
        self._expect_fds = expect_fds
        self._buffer = bytearray()
        self._scanned = 0
        self.received_fds: list[int] = []

    @property
    def buffered_bytes(self) -> int:
        return len(self._buffer)

    def take_line(self) -> bytes | None:
        """A complete line without its newline if one has arrived; `Invalid` when it is too long."""
        end = self._buffer.find(b"\n", self._scanned)
        if end < 0:
            self._scanned = len(self._buffer)
            if self._scanned > self._max_bytes:
                raise Invalid(f"a message is longer than {self._max_bytes} bytes", code="too-large")
            return None
        line = bytes(memoryview(self._buffer)[:end])
        del self._buffer[: end + 1]
        self._scanned = 0
        if len(line) > self._max_bytes:
            raise Invalid(f"a message is longer than {self._max_bytes} bytes", code="too-large")
        return line

    def receive(self, deadline: float | None) -> None:
        """Wait for more bytes. Raises `Closed`, or `TimeoutError` at `deadline` (monotonic seconds)."""
        self._socket.settimeout(None if deadline is None else max(deadline - time.monotonic(), 1e-6))
        try:
            data = self._receive_with_fds() if self._expect_fds else self._socket.recv(CHUNK_BYTES)
        except ConnectionError as error:
            raise Closed(clean=False) from error
        if not data:
            raise Closed(clean=not self._buffer)
        self._buffer += data

    def read_line(self, deadline: float | None) -> bytes:
        while (line := self.take_line()) is None:
            self.receive(deadline)
        return line

    def take_fds(self) -> list[int]:
        """The descriptors received so far; the caller closes them."""
        fds, self.received_fds = self.received_fds, []
        return fds

    def _receive_with_fds(self) -> bytes:
        size = socket.CMSG_SPACE(MAX_FDS * array.array("i").itemsize)
        data, ancillary, flags, _ = self._socket.recvmsg(CHUNK_BYTES, size, socket.MSG_CMSG_CLOEXEC)
        for level, kind, payload in ancillary:
            if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                fds = array.array("i")
                fds.frombytes(payload[: len(payload) - len(payload) % fds.itemsize])
                self.received_fds.extend(fds)
        if flags & socket.MSG_CTRUNC:
            close_all(self.take_fds())
            raise Unavailable("the agent passed more file descriptors than agreed", code="bad-answer")
        return data


def send_all(connection: socket.socket, data: bytes, deadline: float, fds: tuple[int, ...] = ()) -> None:
    """Send all bytes, the descriptors with the first. `TimeoutError` at `deadline`, `Closed` if gone."""
    view = memoryview(data)
    try:
        if fds:
            connection.settimeout(max(deadline - time.monotonic(), 1e-6))
            rights = (socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))
            view = view[connection.sendmsg([view], [rights], socket.MSG_NOSIGNAL) :]
        while view:
            connection.settimeout(max(deadline - time.monotonic(), 1e-6))
            view = view[connection.send(view, socket.MSG_NOSIGNAL) :]
    except ConnectionError as error:
        raise Closed(clean=False) from error


def close_all(fds: list[int]) -> None:
    for fd in fds:
        os.close(fd)
