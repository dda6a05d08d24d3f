# SPDX-License-Identifier: Apache-2.0
"""What the kernel's routes say that `bpf_fib_lookup` does not tell XDP, by rtnetlink (linux/rtnetlink.h).

It chooses among several next hops without the hash that the stack has of a packet, looks at the MTU of a
device, not at that of a route, and knows no marks: where connections keep their uplinks, what takes a default
route is the stack's.
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field

from weir.adapters.datapath_records import ANY_SIZE
from weir.adapters.plain_routes import PlainRoutes
from weir.adapters.rtnl_dump import attributes, dump
from weir.adapters.uplink_routes import LAST_TABLE, TABLES
from weir.model.problem import Unavailable

_GET_ROUTE = 26
_ROUTE = struct.Struct("=BBBBBBBBI")  # family, dst_len, src_len, tos, table, protocol, scope, type, flags
_NEXT_HOP = struct.Struct("=HBBi")  # length, flags, hops, ifindex
_UNICAST = 1
_REFUSED = (2, 3, 4, 5)  # local, broadcast, anycast, multicast
_DST, _OIF, _PRIORITY, _METRICS, _MULTIPATH, _TABLE, _NH_ID = 1, 4, 6, 8, 9, 15, 30
_METRIC_MTU = 2
_LOOPBACK = 127 << 24
"""The whole net is local, and what comes from it is never the fast path's (bpf/forward.h)."""


@dataclass(slots=True)
class RouteFacts:
    """`largest_bytes`: by the index of an interface, the largest packet that surely leaves by it as the FIB
    tells XDP; 0 where routes by it share their packets with others. `refused`: the IPv4 addresses from
    which the stack takes no packets; None when they are a whole net."""

    largest_bytes: dict[int, int] = field(default_factory=dict)
    refused: set[int] | None = field(default_factory=set)
    hidden: bool = False
    """A route does not say which interfaces it leaves by."""
    kept: set[int] = field(default_factory=set)
    """The interfaces of uplinks that connections keep, by index."""
    regions: bytes | None = None
    """Where answers of the FIB over IPv4 are alike, as `PlainRoutes.regions`; None: they may not be kept."""

    def largest(self, ifindex: int) -> int:
        return 0 if self.hidden else self.largest_bytes.get(ifindex, ANY_SIZE)


def read_route_facts() -> RouteFacts:
    """From all tables of this thread's network namespace. Raises `Unavailable`."""
    facts = RouteFacts()
    defaults: dict[tuple[int, ...], int] = {}
    plain = PlainRoutes()
    try:
        for family in (socket.AF_INET, socket.AF_INET6):
            for body in dump(_GET_ROUTE, _ROUTE.pack(family, *[0] * 8)):
                found = attributes(body, _ROUTE.size)
                if body[0] == socket.AF_INET:
                    table = _number(found[_TABLE]) if _TABLE in found else body[4]
                    plain.note(_ROUTE.unpack_from(body), table, found)
                if body[7] == _UNICAST:
                    _note_ways(facts, defaults, body, found)
                elif body[7] in _REFUSED and body[0] == socket.AF_INET:
                    _note_refused(facts, body, found)
        facts.regions = plain.regions()
    except OSError as error:
        raise Unavailable(f"the routes cannot be read: {error.strerror}", code="netlink") from error
    facts.kept = {ifindex for key, ifindex in defaults.items() if TABLES <= key[2] <= LAST_TABLE}
    if facts.kept:
        facts.largest_bytes.update(dict.fromkeys(defaults.values(), 0))
    return facts


def _note_ways(
    facts: RouteFacts, defaults: dict[tuple[int, ...], int], body: bytes, found: dict[int, bytes]
) -> None:
    family, length, _, tos, table, *_ = _ROUTE.unpack_from(body)
    if _MULTIPATH in found:
        facts.largest_bytes.update(dict.fromkeys(_next_hops(found[_MULTIPATH]), 0))
        return
    if _OIF not in found:
        facts.hidden = facts.hidden or _NH_ID in found
        return
    ifindex = _number(found[_OIF])
    if _METRICS in found and (mtu := attributes(found[_METRICS], 0).get(_METRIC_MTU)):
        facts.largest_bytes[ifindex] = min(facts.largest_bytes.get(ifindex, ANY_SIZE), _number(mtu))
    if length == 0:  # of equal default routes the stack takes one whose gateway answers
        key = (
            family,
            tos,
            *(_number(found[kind]) if kind in found else table for kind in (_TABLE, _PRIORITY)),
        )
        if key in defaults:
            facts.largest_bytes[ifindex] = facts.largest_bytes[defaults[key]] = 0
        defaults[key] = ifindex


def _note_refused(facts: RouteFacts, body: bytes, found: dict[int, bytes]) -> None:
    address = int.from_bytes(found.get(_DST, bytes(4)), "big")
    if body[1] != 32 and address != _LOOPBACK:
        facts.refused = None
    elif facts.refused is not None and body[1] == 32:
        facts.refused.add(address)


def _next_hops(data: bytes) -> Iterator[int]:
    """The interfaces of struct rtnexthop, one after the other."""
    place = 0
    while place + _NEXT_HOP.size <= len(data):
        length, _, _, ifindex = _NEXT_HOP.unpack_from(data, place)
        yield ifindex
        place += max(length + 3 & ~3, _NEXT_HOP.size)


def _number(data: bytes) -> int:
    return int(struct.unpack_from("=I", data)[0])
