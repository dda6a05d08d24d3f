# SPDX-License-Identifier: Apache-2.0
"""One question by one interface, and its answer: ping (RFC 792), TCP (RFC 9293), HTTP (RFC 9112) or DNS
(RFC 1035).

A question is a generator that yields what it waits for, so that one thread can ask many. It returns what was
heard, and raises `OSError` for what went wrong. The caller ends it by `close` when the time is over.
"""

from __future__ import annotations

import os
import re
import select
import socket
from collections.abc import Callable, Generator, Mapping
from itertools import count
from typing import NamedTuple

from weir.probes.echo import EchoSocket
from weir.probes.lookup import query

MOST_BYTES = 512
"""Of an answer that are looked at."""
_PING_BYTES = 32
_numbers = count(1)


class Waiting(NamedTuple):
    """A socket, and POLLIN or POLLOUT."""

    handle: socket.socket
    events: int


class Asked(NamedTuple):
    device: str
    target: str
    port: int
    host: str


Question = Generator[Waiting, None, str]


def ping(asked: Asked) -> Question:
    echo = EchoSocket(4, asked.device)
    with echo.socket:
        number = next(_numbers) & 0xFFFF
        echo.ask(asked.target, number, _PING_BYTES)
        while True:
            yield Waiting(echo.socket, select.POLLIN)
            heard = echo.hear()
            if heard is not None and heard.number == number:
                if heard.why:
                    raise OSError(0, f"{heard.sender}: {heard.why}")
                if heard.sender == asked.target:
                    return "answers"


def tcp(asked: Asked) -> Question:
    with _socket(asked.device, socket.SOCK_STREAM) as handle:
        yield from _connected(handle, asked)
        return "accepts connections"


def http(asked: Asked) -> Question:
    with _socket(asked.device, socket.SOCK_STREAM) as handle:
        yield from _connected(handle, asked)
        host = asked.host or asked.target
        handle.send(
            f"GET / HTTP/1.1\r\nHost: {host}\r\nUser-Agent: weir\r\nConnection: close\r\n\r\n".encode("ascii")
        )
        heard = b""
        while b"\n" not in heard and len(heard) < MOST_BYTES:
            yield Waiting(handle, select.POLLIN)
            more = handle.recv(MOST_BYTES)
            if not more:
                break
            heard += more
        return _judged(heard)


def _judged(heard: bytes) -> str:
    found = re.match(rb"HTTP/1\.[01] ([1-5][0-9][0-9])\b", heard)
    if found is None:
        raise OSError(0, "what came is no answer of HTTP")
    status = int(found[1])
    if status >= 400:
        raise OSError(0, f"answers {status}")
    return f"answers {status}"


def dns(asked: Asked) -> Question:
    number = int.from_bytes(os.urandom(2), "big")
    with _socket(asked.device, socket.SOCK_DGRAM) as handle:
        handle.connect((asked.target, asked.port))
        handle.send(query(number, asked.host, "A" if asked.host else "NS"))
        while True:
            yield Waiting(handle, select.POLLIN)
            heard = handle.recv(MOST_BYTES)
            if len(heard) >= 12 and heard[:2] == number.to_bytes(2, "big") and heard[2] & 0x80:
                return "answers"


KINDS: Mapping[str, Callable[[Asked], Question]] = {"ping": ping, "tcp": tcp, "http": http, "dns": dns}


def _socket(device: str, kind: int) -> socket.socket:
    handle = socket.socket(socket.AF_INET, kind)
    try:
        handle.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, device.encode() + b"\0")
        handle.setblocking(False)
    except OSError:
        handle.close()
        raise
    return handle


def _connected(handle: socket.socket, asked: Asked) -> Generator[Waiting, None, None]:
    try:
        handle.connect((asked.target, asked.port))
    except BlockingIOError:
        yield Waiting(handle, select.POLLOUT)
    number = handle.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
    if number:
        raise OSError(number, os.strerror(number))
