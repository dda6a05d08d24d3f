# SPDX-License-Identifier: Apache-2.0
"""Routes as rtnetlink says them (linux/rtnetlink.h): those of one protocol, and one message decoded."""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from weir.adapters.rtnl_dump import attributes, dump
from weir.model.problem import Unavailable

_GET_ROUTE = 26
_ROUTE = struct.Struct("=BBBBBBBBI")  # family, dst_len, src_len, tos, table, protocol, scope, type, flags
_NEXT_HOP = struct.Struct("=HBBi")  # length, flags, hops, ifindex
_DST, _OIF, _GATEWAY, _PRIORITY, _MULTIPATH, _TABLE, _VIA = 1, 4, 5, 6, 9, 15, 18
_ON_LINK = 4
_PROTOCOL_AT = 5
_KINDS = {6: "blackhole", 7: "unreachable", 8: "prohibit"}
"""RTN_*; all others lead somewhere."""
_FAMILIES = {int(socket.AF_INET): "inet", int(socket.AF_INET6): "inet6"}

Place = tuple[str, str]
"""The number of a table, and a destination."""


class Hop(NamedTuple):
    gateway: str
    """With its family where that is another than the route's; "" = on the link."""
    device: str
    onlink: bool
    weight: int

    @property
    def words(self) -> list[str]:
        via = ["via", *self.gateway.split()] if self.gateway else []
        return [*via, "dev", self.device, *(["onlink"] if self.onlink else [])]


class KernelRoute(NamedTuple):
    """What one route of a table does; `kind` is "unicast", "blackhole", ..."""

    destination: str
    table: str
    kind: str
    hops: tuple[Hop, ...]

    @property
    def place(self) -> Place:
        return self.table, self.destination


class Entry(NamedTuple):
    """Of one place a table may have an entry for each metric; the smallest is in use."""

    metric: int
    route: KernelRoute


def listed(protocol: int) -> Iterator[bytes]:
    """The messages of all routes of a protocol, of both families and all tables. Raises `Unavailable`."""
    try:
        for family in (socket.AF_INET, socket.AF_INET6):
            asked = _ROUTE.pack(family, 0, 0, 0, 0, protocol, 0, 0, 0)
            for body in dump(_GET_ROUTE, asked, is_filtered=True):
                if protocol_of(body) == protocol:
                    yield body
    except OSError as error:
        raise Unavailable(f"the routes cannot be read: {error.strerror}", code="netlink") from error


def owned(protocol: int) -> Iterator[Entry]:
    """The routes of a protocol, of both families and all tables. Raises `Unavailable`."""
    names = devices()
    return (decoded(body, names) for body in listed(protocol))


def protocol_of(body: bytes, start: int = 0) -> int:
    """Of a message that begins at `start`: most are somebody else's, and are not decoded."""
    return body[start + _PROTOCOL_AT]


def devices() -> dict[int, str]:
    """The names of interfaces by their index."""
    return dict(socket.if_nameindex())


def decoded(body: bytes, names: Mapping[int, str]) -> Entry:
    family, length, _, _, table, _, _, kind, flags = _ROUTE.unpack_from(body)
    found = attributes(body, _ROUTE.size)
    address = found.get(_DST, bytes(4 if family == socket.AF_INET else 16))
    words = _KINDS.get(kind, "unicast")
    hops: tuple[Hop, ...] = ()
    if words == "unicast":
        if _MULTIPATH in found:
            hops = tuple(sorted(_next_hops(found[_MULTIPATH], names)))
        else:
            hops = (_hop(found, _number(found.get(_OIF, bytes(4))), flags, 1, names),)
    where = str(_number(found[_TABLE])) if _TABLE in found else str(table)
    route = KernelRoute(f"{_text(family, address)}/{length}", where, words, hops)
    return Entry(_number(found.get(_PRIORITY, bytes(4))), route)


def _next_hops(data: bytes, names: Mapping[int, str]) -> Iterator[Hop]:
    """struct rtnexthop, one after the other."""
    place = 0
    while place + _NEXT_HOP.size <= len(data):
        length, flags, hops, ifindex = _NEXT_HOP.unpack_from(data, place)
        if length < _NEXT_HOP.size:
            return
        found = attributes(data[place + _NEXT_HOP.size : place + length])
        yield _hop(found, ifindex, flags, hops + 1, names)
        place += length + 3 & ~3


def _hop(found: Mapping[int, bytes], ifindex: int, flags: int, weight: int, names: Mapping[int, str]) -> Hop:
    gateway = ""
    if _GATEWAY in found:
        address = found[_GATEWAY]
        gateway = _text(socket.AF_INET if len(address) == 4 else socket.AF_INET6, address)
    elif _VIA in found:  # struct rtvia
        (family,) = struct.unpack_from("=H", found[_VIA])
        gateway = f"{_FAMILIES.get(family, family)} {_text(family, found[_VIA][2:])}"
    device = names.get(ifindex, f"if{ifindex}" if ifindex else "")
    return Hop(gateway, device, bool(flags & _ON_LINK), weight)


def _text(family: int, address: bytes) -> str:
    return socket.inet_ntop(family, address)


def _number(data: bytes) -> int:
    return int(struct.unpack_from("=I", data)[0])
