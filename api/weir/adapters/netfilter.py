# SPDX-License-Identifier: Apache-2.0
"""Messages of nfnetlink as bytes (uapi/linux/netfilter/nfnetlink.h)."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from weir.model.problem import Unavailable

_NETLINK_NETFILTER = 12
BEGIN, END = 16, 17
"""Around the messages of one transaction."""
_HEADER = struct.Struct("=IHHII")
_ATTRIBUTE = struct.Struct("=HH")
FAMILY_INET, FAMILY_ARP, FAMILY_BRIDGE = 1, 3, 7
_BUFFER_BYTES = 64 << 20
_TIMEOUT_S = 30.0


def opened() -> socket.socket:
    """A socket that speaks with nfnetlink in this network namespace. Raises `Unavailable`."""
    try:
        link = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _NETLINK_NETFILTER)
    except OSError as error:
        raise Unavailable(f"nftables cannot be asked: {error.strerror}", code="no-nftables") from error
    link.settimeout(_TIMEOUT_S)
    link.setsockopt(socket.SOL_SOCKET, 32, _BUFFER_BYTES)  # SO_SNDBUFFORCE
    link.setsockopt(socket.SOL_SOCKET, 33, _BUFFER_BYTES)  # SO_RCVBUFFORCE
    link.bind((0, 0))
    return link


class _Kept(threading.local):
    """Its network namespace, and the socket."""

    found: tuple[int, socket.socket] | None = None


_kept = _Kept()


@contextmanager
def kept() -> Iterator[socket.socket]:
    """As `opened`, one for each thread that stays open: the kernel lets nobody close one before it has freed
    what the last transaction removed, which takes milliseconds (6.18). What is raised within closes it, for
    an answer that nobody took must not be the next one's.
    """
    namespace = Path("/proc/thread-self/ns/net").stat().st_ino
    found, _kept.found = _kept.found, None
    if found is not None and found[0] == namespace:
        link = found[1]
    else:
        if found is not None:
            found[1].close()
        link = opened()
    try:
        yield link
    except BaseException:
        link.close()
        raise
    _kept.found = namespace, link


def message(
    kind: int, flags: int, number: int, body: bytes, resource: int = 0, family: int = FAMILY_INET
) -> bytes:
    """With both headers; `number` comes back with the answer."""
    family = 0 if kind in (BEGIN, END) else family
    head = _HEADER.pack(_HEADER.size + 4 + len(body), kind, flags, number, 0)
    return head + struct.pack("!BBH", family, 0, resource) + body


def attribute(kind: int, value: bytes) -> bytes:
    return _ATTRIBUTE.pack(4 + len(value), kind) + value + b"\0" * (-len(value) % 4)


def messages(data: bytes) -> Iterator[tuple[int, int, bytes]]:
    """Kind, number and payload behind netlink's header."""
    at = 0
    while at + _HEADER.size <= len(data):
        length, kind, _, number, _ = _HEADER.unpack_from(data, at)
        yield kind, number, data[at + _HEADER.size : at + length]
        at += (length + 3) & ~3


def attributes(data: bytes, at: int = 0) -> Iterator[tuple[int, bytes]]:
    """Type, without its flags, and value of each attribute from a byte on."""
    while at + _ATTRIBUTE.size <= len(data):
        length, kind = _ATTRIBUTE.unpack_from(data, at)
        yield kind & 0x3FFF, data[at + _ATTRIBUTE.size : at + length]
        at += (length + 3) & ~3
