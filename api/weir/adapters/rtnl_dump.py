# SPDX-License-Identifier: Apache-2.0
"""rtnetlink as bytes (netlink(7)): tables that may be long and of which little is looked at, and changes of
what pyroute2 has no words for."""

from __future__ import annotations

import os
import socket
import struct
from collections.abc import Iterator

_HEADER = struct.Struct("=IHHII")
_ATTRIBUTE = struct.Struct("=HH")
_TYPE_MASK = 0x3FFF
_REQUEST, _ACK, _DUMP = 1, 4, 0x300
CREATE, EXCLUSIVE, APPEND = 0x400, 0x200, 0x800
"""Flags of a change: what is not there is made; it must not be there; it stands beside others of its key."""
_ERROR, _DONE = 2, 3
_SOL_NETLINK, _STRICT_CHECK = 270, 12
_RECEIVE_BYTES = 1 << 16
_TIMEOUT_S = 5.0


def dump(kind: int, body: bytes, *, is_filtered: bool = False) -> Iterator[bytes]:
    """Every message of the answer, without its header. Raises OSError; a table may change meanwhile.

    With `is_filtered` the kernel gives only what `body` names, as far as it can (NETLINK_GET_STRICT_CHK).
    """
    with _connected() as link:
        if is_filtered:
            link.setsockopt(_SOL_NETLINK, _STRICT_CHECK, 1)
        link.send(_HEADER.pack(_HEADER.size + len(body), kind, _REQUEST | _DUMP, 1, 0) + body)
        while True:
            data = link.recv(_RECEIVE_BYTES)
            place = 0
            while place + _HEADER.size <= len(data):
                length, answer, *_ = _HEADER.unpack_from(data, place)
                if answer in (_ERROR, _DONE):
                    _raise_if_failed(data, place)
                    return
                yield data[place + _HEADER.size : place + length]
                place += length + 3 & ~3


def request(kind: int, bodies: list[bytes]) -> None:
    """Ask for changes one by one, whose failure does not matter: what they are about may be gone."""
    with _connected() as link:
        for body in bodies:
            link.send(_HEADER.pack(_HEADER.size + len(body), kind, _REQUEST | _ACK, 1, 0) + body)
            link.recv(_RECEIVE_BYTES)


def ask(kind: int, body: bytes) -> bytes:
    """The one message that answers, without its header. Raises OSError with the kernel's reason."""
    with _connected() as link:
        link.send(_HEADER.pack(_HEADER.size + len(body), kind, _REQUEST, 1, 0) + body)
        data = link.recv(_RECEIVE_BYTES)
        if _HEADER.unpack_from(data)[1] == _ERROR:
            _raise_if_failed(data, 0)
        return data[_HEADER.size :]


def change(kind: int, body: bytes, flags: int = 0) -> None:
    """Ask for one change; `flags` say whether something is made. Raises OSError with the kernel's reason."""
    with _connected() as link:
        link.send(_HEADER.pack(_HEADER.size + len(body), kind, _REQUEST | _ACK | flags, 1, 0) + body)
        _raise_if_failed(link.recv(_RECEIVE_BYTES), 0)


def each_attribute(data: bytes, place: int = 0) -> Iterator[tuple[int, bytes]]:
    """The attributes from `place` on, as (type, payload); one type may come several times."""
    while place + _ATTRIBUTE.size <= len(data):
        size, kind = _ATTRIBUTE.unpack_from(data, place)
        if size < _ATTRIBUTE.size:
            break
        yield kind & _TYPE_MASK, data[place + _ATTRIBUTE.size : place + size]
        place += size + 3 & ~3


def attributes(data: bytes, place: int = 0) -> dict[int, bytes]:
    """The attributes from `place` on: type -> payload."""
    return dict(each_attribute(data, place))


def attribute(kind: int, value: bytes) -> bytes:
    return _ATTRIBUTE.pack(_ATTRIBUTE.size + len(value), kind) + value + bytes(-len(value) % 4)


def _connected() -> socket.socket:
    link = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, socket.NETLINK_ROUTE)
    link.settimeout(_TIMEOUT_S)
    return link


def _raise_if_failed(data: bytes, place: int) -> None:
    """The end of a dump and an error alike carry a negative errno, or 0."""
    number = -struct.unpack_from("=i", data, place + _HEADER.size)[0]
    if number > 0:
        raise OSError(number, os.strerror(number))
