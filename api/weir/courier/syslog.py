# SPDX-License-Identifier: Apache-2.0
"""`python -m weir.courier.syslog PARENT ORDER`: entries of the journal as JSON lines at standard input, sent
to one server; at standard output how that goes, as JSON lines.

What cannot be sent waits in bounded memory; the oldest give way, are counted, and the server is told how many
as soon as it takes messages again.
"""

from __future__ import annotations

import json
import os
import select
import socket
import sys
import time
from collections import deque
from typing import Any

from weir.courier.dial import STEP_S, Failed, dial, trusting, words_of
from weir.courier.rfc5424 import MOST_BYTES, framed, message_of, note
from weir.probes.confine import confine

WAITING_BYTES = 4 << 20
LONGEST_LINE = 1 << 20
FIRST_WAIT_S, LONGEST_WAIT_S = 1.0, 60.0
REPORT_S = 1.0
UNBOUNDED_S = 10.0**8
STDIN, STDOUT = 0, 1


class Waiting:
    """Messages in their order, of so many bytes at most."""

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        self._bytes = 0
        self._held: deque[bytes] = deque()
        self.lost = 0

    def __len__(self) -> int:
        return len(self._held)

    def put(self, message: bytes) -> None:
        self._held.append(message)
        self._bytes += len(message)
        while self._bytes > self._most_bytes:
            self.take()
            self.lost += 1

    def first(self) -> bytes:
        return self._held[0]

    def take(self) -> None:
        self._bytes -= len(self._held.popleft())


class Forwarder:
    def __init__(self, order: dict[str, Any]) -> None:
        self._order = order
        self._waiting = Waiting(order.get("waiting_bytes", WAITING_BYTES))
        self._handle: socket.socket | None = None
        self._sent = 0
        self._told_lost = 0
        self._error: str | None = None
        self._tries = 0
        self._due_s = 0.0
        self._reported: tuple[Any, ...] = ()
        self._report_due_s = 0.0
        self._rest = b""

    def run(self) -> None:
        """Until the journal's reader has ended."""
        while self._read():
            self._send()
            self._report()

    def _read(self) -> bool:
        """What came; waits a moment for more where there is nothing to be done."""
        wait_s = 0.0 if self._can_send() else 0.5
        if not select.select([STDIN], [], [], wait_s)[0]:
            return True
        data = os.read(STDIN, 1 << 16)
        *lines, self._rest = (self._rest + data).split(b"\n")
        self._rest = self._rest if len(self._rest) <= LONGEST_LINE else b""
        order = self._order
        for line in lines:
            message = message_of(line, order["facility"], order["router"], MOST_BYTES[order["protocol"]])
            if message is not None:
                self._waiting.put(message)
        return bool(data)

    def _can_send(self) -> bool:
        return len(self._waiting) > 0 and time.monotonic() >= self._due_s

    def _send(self) -> None:
        """All that waits, or until it cannot be sent."""
        if not self._can_send():
            return
        try:
            handle = self._connected()
            if self._waiting.lost > self._told_lost:
                lost = self._waiting.lost - self._told_lost
                text = f"{lost} messages of this router were lost before this one: there was no room for them"
                self._put(handle, note(text, self._order["facility"], self._order["router"], _now_us()))
                self._told_lost += lost
            until_s = time.monotonic() + REPORT_S
            while len(self._waiting) and time.monotonic() < until_s:
                self._put(handle, self._waiting.first())
                self._waiting.take()
                self._sent += 1
            self._error, self._tries = None, 0
        except (Failed, OSError) as error:
            self._failed(error)

    def _connected(self) -> socket.socket:
        """The connection, or a new one where the server has closed it."""
        if self._handle is not None and self._order["protocol"] != "udp" and self._is_closed(self._handle):
            self._handle.close()
            self._handle = None
        if self._handle is None:
            self._handle = self._opened()
        return self._handle

    def _opened(self) -> socket.socket:
        order = self._order
        if order["protocol"] == "udp":
            return dial(order["address"], order["port"], socket.SOCK_DGRAM)
        handle = dial(order["address"], order["port"])
        if order["protocol"] == "tls":
            context = trusting(order["ca_bundle"])
            return context.wrap_socket(handle, server_hostname=order["address"])
        return handle

    @staticmethod
    def _is_closed(handle: socket.socket) -> bool:
        """A server of syslog says nothing: what can be read is the end."""
        return bool(select.select([handle], [], [], 0)[0]) and not _says(handle)

    def _put(self, handle: socket.socket, message: bytes) -> None:
        if self._order["protocol"] == "udp":
            handle.send(message)
        else:
            handle.sendall(framed(message))

    def _failed(self, error: Exception) -> None:
        if self._handle is not None:
            self._handle.close()
            self._handle = None
        self._error = words_of(error)
        wait_s = min(FIRST_WAIT_S * 2 ** min(self._tries, 16), LONGEST_WAIT_S)
        self._tries += 1
        self._due_s = time.monotonic() + wait_s

    def _report(self) -> None:
        """Once a second at most, and what has changed only."""
        now = (self._sent, len(self._waiting), self._waiting.lost, self._error)
        if now == self._reported or time.monotonic() < self._report_due_s:
            return
        self._reported, self._report_due_s = now, time.monotonic() + REPORT_S
        names = ("sent", "waiting", "lost", "error")
        os.write(STDOUT, json.dumps(dict(zip(names, now, strict=True))).encode() + b"\n")


def _says(handle: socket.socket) -> bytes:
    """What it says, which nobody reads; nothing at the end, b"?" where that was no data of the stream."""
    handle.settimeout(0.1)
    try:
        return handle.recv(4096)
    except TimeoutError:
        return b"?"
    finally:
        handle.settimeout(STEP_S)


def _now_us() -> int:
    return time.time_ns() // 1000


def main(argv: list[str]) -> int:
    parent, order = argv
    confine(int(parent), UNBOUNDED_S)
    Forwarder(json.loads(order)).run()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
