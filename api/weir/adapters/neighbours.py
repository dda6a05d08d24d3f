# SPDX-License-Identifier: Apache-2.0
"""The hosts that the kernel knows by ARP and neighbour discovery (linux/neighbour.h), and telling it which
are in use."""

from __future__ import annotations

import errno
import socket
import struct
from collections.abc import Iterable, Iterator
from ipaddress import ip_address
from typing import NamedTuple

from weir.adapters.rtnl_dump import ask, attribute, attributes, dump, request
from weir.model.problem import Unavailable

_NEW_NEIGHBOUR, _DELETE_NEIGHBOUR, _GET_NEIGHBOUR = 28, 29, 30
_NEIGHBOUR = struct.Struct("=BxxxiHBB")  # family, ifindex, state, flags, type
_DST, _LLADDR, _CACHE_INFO = 1, 2, 3
_CONFIRMED = struct.Struct("=I")
_TICKS_PER_S = 100
"""USER_HZ, which every architecture that Weir runs on has."""
_USE = 1
_ETHERNET_BYTES = 6

REACHABLE, STALE, FAILED, WITHOUT_ARP, PERMANENT = 0x02, 0x04, 0x20, 0x40, 0x80


class Neighbour(NamedTuple):
    """`address` in network byte order; `flags` and `state` are the kernel's. `mac` is empty while none
    answered, `confirmed_s` seconds since one was confirmed."""

    family: int
    ifindex: int
    flags: int
    address: bytes
    mac: bytes
    state: int
    confirmed_s: float


def neighbours() -> Iterator[Neighbour]:
    """All but those that need no resolution (multicast, loopback). Raises `Unavailable`."""
    try:
        for body in dump(_GET_NEIGHBOUR, _NEIGHBOUR.pack(0, 0, 0, 0, 0)):
            found = _decoded(body)
            if found is not None and found.state != WITHOUT_ARP:
                yield found
    except OSError as error:
        raise Unavailable(f"the neighbours cannot be read: {error.strerror}", code="netlink") from error


def neighbour_at(ifindex: int, address: str) -> Neighbour | None:
    """What the kernel knows of one address behind an interface; None: nothing. Raises `Unavailable`."""
    host = ip_address(address)
    family = socket.AF_INET if host.version == 4 else socket.AF_INET6
    asked = _NEIGHBOUR.pack(family, ifindex, 0, 0, 0) + attribute(_DST, host.packed)
    try:
        return _decoded(ask(_GET_NEIGHBOUR, asked))
    except OSError as error:
        if error.errno == errno.ENOENT:
            return None
        raise Unavailable(f"the neighbours cannot be read: {error.strerror}", code="netlink") from error


def _decoded(body: bytes) -> Neighbour | None:
    family, ifindex, state, flags, _ = _NEIGHBOUR.unpack_from(body)
    held = attributes(body, _NEIGHBOUR.size)
    if _DST not in held:
        return None
    mac = held.get(_LLADDR, b"")
    if state in (0, FAILED) or len(mac) != _ETHERNET_BYTES:
        mac = b""
    (ticks,) = _CONFIRMED.unpack_from(held.get(_CACHE_INFO, bytes(4)))
    return Neighbour(family, ifindex, flags, held[_DST], mac, state, ticks / _TICKS_PER_S)


def stale_neighbours() -> list[Neighbour]:
    """Those whose address was not confirmed lately: the kernel asks again only for what it uses itself.
    Raises `Unavailable`."""
    return [neighbour for neighbour in neighbours() if neighbour.state == STALE and neighbour.mac]


def use(neighbours: Iterable[Neighbour]) -> None:
    """As when the stack sends them a packet: if nothing confirms an address within 5 s, the kernel asks for
    it. Raises `Unavailable`; a neighbour that went meanwhile is no error."""
    try:
        request(_NEW_NEIGHBOUR, [_used(neighbour) for neighbour in neighbours])
    except OSError as error:
        raise Unavailable(f"the neighbours cannot be used: {error.strerror}", code="netlink") from error


def _used(neighbour: Neighbour) -> bytes:
    head = _NEIGHBOUR.pack(neighbour.family, neighbour.ifindex, STALE, neighbour.flags | _USE, 0)
    return head + attribute(_DST, neighbour.address)


def forget(neighbours: Iterable[Neighbour]) -> None:
    """The kernel asks for their addresses before it sends there again. One that went meanwhile is no error.
    Raises `Unavailable`."""
    asked = [
        _NEIGHBOUR.pack(item.family, item.ifindex, 0, 0, 0) + attribute(_DST, item.address)
        for item in neighbours
    ]
    try:
        request(_DELETE_NEIGHBOUR, asked)
    except OSError as error:
        raise Unavailable(f"the neighbours cannot be forgotten: {error.strerror}", code="netlink") from error
