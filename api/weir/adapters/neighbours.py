# SPDX-License-Identifier: Apache-2.0
"""Neighbours whose hardware address is old, and telling the kernel who is in use (linux/neighbour.h)."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from typing import NamedTuple

from weir.adapters.rtnl_dump import attribute, attributes, dump, request
from weir.model.problem import Unavailable

_NEW_NEIGHBOUR, _GET_NEIGHBOUR = 28, 30
_NEIGHBOUR = struct.Struct("=BxxxiHBB")  # family, ifindex, state, flags, type
_DST, _LLADDR = 1, 2
_STALE = 4
_USE = 1
_ETHERNET_BYTES = 6


class Neighbour(NamedTuple):
    """`address` in network byte order; `flags` are the kernel's."""

    family: int
    ifindex: int
    flags: int
    address: bytes
    mac: bytes


def stale_neighbours() -> list[Neighbour]:
    """Those whose address was not confirmed lately: the kernel asks again only for what it uses itself.
    Raises `Unavailable`."""
    found = []
    try:
        for body in dump(_GET_NEIGHBOUR, _NEIGHBOUR.pack(0, 0, 0, 0, 0)):
            family, ifindex, state, flags, _ = _NEIGHBOUR.unpack_from(body)
            if state != _STALE:
                continue
            held = attributes(body, _NEIGHBOUR.size)
            mac = held.get(_LLADDR, b"")
            if _DST in held and len(mac) == _ETHERNET_BYTES:
                found.append(Neighbour(family, ifindex, flags, held[_DST], mac))
    except OSError as error:
        raise Unavailable(f"the neighbours cannot be read: {error.strerror}", code="netlink") from error
    return found


def use(neighbours: Iterable[Neighbour]) -> None:
    """As when the stack sends them a packet: if nothing confirms an address within 5 s, the kernel asks for
    it. Raises `Unavailable`; a neighbour that went meanwhile is no error."""
    try:
        request(_NEW_NEIGHBOUR, [_used(neighbour) for neighbour in neighbours])
    except OSError as error:
        raise Unavailable(f"the neighbours cannot be used: {error.strerror}", code="netlink") from error


def _used(neighbour: Neighbour) -> bytes:
    head = _NEIGHBOUR.pack(neighbour.family, neighbour.ifindex, _STALE, neighbour.flags | _USE, 0)
    return head + attribute(_DST, neighbour.address)
