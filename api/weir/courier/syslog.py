# SPDX-License-Identifier: Apache-2.0
"""`python -m weir.courier.syslog PARENT ORDER`: entries of the journal as JSON lines at standard input, sent
to one server; at standard output how that goes, as JSON lines.

What cannot be sent waits in bounded memory; the oldest give way, are counted, and the server is told how many
as soon as it takes messages again. On a stream messages are sent once the other end's TCP has acknowledged
all that was written. What it had not when the connection ended is sent again, so a message may come twice.
"""

from __future__ import annotations

import fcntl
import json
import os
import select
import socket
import ssl
import struct
import sys
import termios
import time
from collections import deque
from typing import Any

from weir.courier.dial import STEP_S, Failed, dial, trusting, words_of
from weir.courier.rfc5424 import MOST_BYTES, framed, message_of, note
from weir.probes.confine import confine

WAITING_BYTES = 4 << 20
UNDER_WAY_BYTES = 256 << 10
"""So much is written ahead of what is acknowledged."""
SILENCE_S = 30
"""A server that acknowledges nothing for so long is gone: it has lost its power, or a firewall its state."""
LONGEST_LINE = 1 << 20
FIRST_WAIT_S, LONGEST_WAIT_S = 1.0, 60.0
REPORT_S = 1.0
UNBOUNDED_S = 10.0**8
STDIN, STDOUT = 0, 1


class Waiting:
    """Messages in their order, of so many bytes at most: those under way, and those that are not yet."""

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        self._held: deque[bytes] = deque()
        self._under_way: deque[bytes] = deque()
        self._bytes = 0
        self.under_way_bytes = 0
        self.lost = 0

    def __len__(self) -> int:
        """Those that are not under way."""
        return len(self._held)

    @property
    def total(self) -> int:
        return len(self._held) + len(self._under_way)

    def put(self, message: bytes) -> None:
        self._held.append(message)
        self._bytes += len(message)
        while self._held and self._bytes > self._most_bytes:
            self._bytes -= len(self._held.popleft())
            self.lost += 1

    def first(self) -> bytes:
        return self._held[0]

    def take(self) -> None:
        """The first is under way."""
        message = self._held.popleft()
        self._under_way.append(message)
        self.under_way_bytes += len(message)

    def arrived(self) -> int:
        """How many were under way, which are gone now."""
        count = len(self._under_way)
        self._under_way.clear()
        self._bytes -= self.under_way_bytes
        self.under_way_bytes = 0
        return count

    def again(self) -> None:
        """None is under way any more: they wait, before the others."""
        self._held.extendleft(reversed(self._under_way))
        self._under_way.clear()
        self.under_way_bytes = 0


class Forwarder:
    def __init__(self, order: dict[str, Any]) -> None:
        self._order = order
        self._is_stream = order["protocol"] != "udp"
        self._waiting = Waiting(order.get("waiting_bytes", WAITING_BYTES))
        self._handle: socket.socket | None = None
        self._sent = 0
        self._told_lost = self._heard_lost = 0
        """How many losses were told, and how many of these the server has acknowledged."""
        self._error: str | None = None
        self._tries = 0
        self._due_s = 0.0
        self._reported: tuple[Any, ...] = ()
        self._report_due_s = 0.0
        self._rest = b""

    def run(self) -> None:
        """Until the journal's reader has ended."""
        while self._read():
            try:
                self._look()
                self._send()
                self._look()
            except (Failed, OSError) as error:
                self._failed(error)
            self._report()

    def _read(self) -> bool:
        """What came; waits a moment for more where there is nothing to be done."""
        is_ahead = self._handle is not None and len(self._waiting) > 0
        wait_s = 0.0 if self._can_send() else 0.02 if is_ahead else 0.5
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
        is_due = time.monotonic() >= self._due_s and self._waiting.under_way_bytes < UNDER_WAY_BYTES
        return is_due and len(self._waiting) > 0

    def _look(self) -> None:
        """What has arrived of what was sent, and whether the connection has ended. Raises `OSError` where
        something has not arrived then."""
        if self._handle is None or not self._is_stream:
            return
        if not _unacknowledged_bytes(self._handle):
            self._arrived()
        if self._is_closed(self._handle):
            if self._waiting.under_way_bytes:
                raise ConnectionResetError
            self._close()

    def _arrived(self) -> None:
        if self._waiting.under_way_bytes:
            self._sent += self._waiting.arrived()
            self._heard_lost = self._told_lost
            self._error, self._tries = None, 0

    def _send(self) -> None:
        """All that waits, or until it cannot be sent."""
        if not self._can_send():
            return
        self._handle = handle = self._handle or self._opened()
        if self._waiting.lost > self._told_lost:
            lost = self._waiting.lost - self._told_lost
            text = f"{lost} messages of this router were lost before this one: there was no room for them"
            self._put(handle, note(text, self._order["facility"], self._order["router"], _now_us()))
            self._told_lost += lost
        until_s = time.monotonic() + REPORT_S
        while self._can_send() and time.monotonic() < until_s:
            self._put(handle, self._waiting.first())
            self._waiting.take()
            if not self._is_stream:
                self._arrived()

    def _opened(self) -> socket.socket:
        order = self._order
        if not self._is_stream:
            return dial(order["address"], order["port"], socket.SOCK_DGRAM)
        handle = dial(order["address"], order["port"])
        _end_in_silence(handle, order.get("silence_s", SILENCE_S))
        if order["protocol"] == "tls":
            context = trusting(order["ca_bundle"])
            return context.wrap_socket(handle, server_hostname=order["address"])
        return handle

    @staticmethod
    def _is_closed(handle: socket.socket) -> bool:
        """A server of syslog says nothing: what can be read is the end. Raises `OSError` for a connection
        that broke; of one that is encrypted only the socket knows why."""
        if code := handle.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR):
            raise OSError(code, os.strerror(code))
        return bool(select.select([handle], [], [], 0)[0]) and not _says(handle)

    def _put(self, handle: socket.socket, message: bytes) -> None:
        if self._is_stream:
            handle.sendall(framed(message))
        else:
            handle.send(message)

    def _close(self) -> None:
        if self._handle is not None:
            self._handle.close()
            self._handle = None
        self._waiting.again()
        self._told_lost = self._heard_lost

    def _failed(self, error: Exception) -> None:
        self._close()
        self._error = words_of(error)
        wait_s = min(FIRST_WAIT_S * 2 ** min(self._tries, 16), LONGEST_WAIT_S)
        self._tries += 1
        self._due_s = time.monotonic() + wait_s

    def _report(self) -> None:
        """Once a second at most, and what has changed only."""
        now = (self._sent, self._waiting.total, self._waiting.lost, self._error)
        if now == self._reported or time.monotonic() < self._report_due_s:
            return
        self._reported, self._report_due_s = now, time.monotonic() + REPORT_S
        names = ("sent", "waiting", "lost", "error")
        os.write(STDOUT, json.dumps(dict(zip(names, now, strict=True))).encode() + b"\n")


def _says(handle: socket.socket) -> bytes:
    """What it says, which nobody reads; nothing at the end, b"?" where that was no data of the stream."""
    handle.settimeout(0)
    try:
        return handle.recv(4096)
    except (BlockingIOError, ssl.SSLWantReadError):
        return b"?"
    except ssl.SSLEOFError:
        return b""
    finally:
        handle.settimeout(STEP_S)


def _end_in_silence(handle: socket.socket, silence_s: int) -> None:
    """The kernel ends the connection when its peer has acknowledged nothing for so long, whether something is
    under way (RFC 5482) or not (RFC 9293, 3.8.4)."""
    handle.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, silence_s * 1000)
    handle.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    handle.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, silence_s)
    handle.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, max(silence_s // 3, 1))


def _unacknowledged_bytes(handle: socket.socket) -> int:
    """Written, and not acknowledged by the other end's TCP (tcp(7), SIOCOUTQ)."""
    (count,) = struct.unpack("i", fcntl.ioctl(handle.fileno(), termios.TIOCOUTQ, b"\0\0\0\0"))
    return int(count)


def _now_us() -> int:
    return time.time_ns() // 1000


def main(argv: list[str]) -> int:
    parent, order = argv
    confine(int(parent), UNBOUNDED_S)
    Forwarder(json.loads(order)).run()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
