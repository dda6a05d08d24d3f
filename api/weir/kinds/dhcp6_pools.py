# SPDX-License-Identifier: Apache-2.0
"""Prefixes that a DHCPv6 server delegates to routers behind it (IA_PD, RFC 8415, 6.3): of a static prefix, or
of the one that a provider delegated to a WAN of this router."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

from weir.fields import INTERFACE_NAMES, Prefix, Ref, Text, When, Whole
from weir.kinds.static_route import StaticRoute
from weir.model import prefix
from weir.model.address import split_address
from weir.model.address_range import Span
from weir.model.delegation import LAN_BITS, MAX_SUBNET_ID, room
from weir.model.interface import Interface
from weir.model.limits import MAX_EXACT
from weir.model.objects import ConfigObject
from weir.model.prefix import parse_prefix
from weir.model.problem import Finding
from weir.model.rule import View, error

MAX_POOLS = 16
SHORTEST_BITS, LONGEST_BITS = 48, 64
"""Of a customer's prefix: a site's, and that of one network of hosts (RFC 6177)."""


@dataclass(frozen=True, slots=True)
class PrefixPool:
    """Routers that ask for a prefix get one of these."""

    prefix: Annotated[
        str, Prefix(help="All of them together, routed to this router.", example="2001:db8:1000::/40")
    ]
    length: Annotated[
        int,
        Whole(SHORTEST_BITS, LONGEST_BITS, label="Prefix length", help="Of the prefix of each router."),
    ] = 56


@dataclass(frozen=True, slots=True)
class DelegatedPool:
    """Routers that ask for a prefix get one of a part of what a WAN was given."""

    uplink: Annotated[
        str,
        Ref(
            "interface",
            INTERFACE_NAMES,
            own_rules=True,
            offered=When("dhcpv6"),
            help="The WAN that asks its provider for a prefix.",
            example="wan0",
        ),
    ]
    length: Annotated[
        int,
        Whole(SHORTEST_BITS, LONGEST_BITS, label="Prefix length", help="Of the prefix of each router."),
    ] = 60
    first_subnet: Annotated[
        int | None,
        Whole(
            0,
            MAX_SUBNET_ID,
            label="First subnet",
            help="The first /64 of the WAN's prefix that routers behind are given. null: the second half of "
            "the prefix is theirs.",
        ),
    ] = None
    last_subnet: Annotated[
        int | None,
        Whole(0, MAX_SUBNET_ID, label="Last subnet", help="The last one. null: that of the prefix."),
    ] = None

    def span(self, bits: int) -> Span | None:
        """The first and the last /64 of it in a prefix of so many bits, counted from 0; None: it has none."""
        count = room(bits)
        first = count // 2 if self.first_subnet is None else self.first_subnet
        last = count - 1 if self.last_subnet is None else min(self.last_subnet, count - 1)
        return (first, last) if first <= last and count > 1 else None

    def blocks(self, bits: int) -> Span | None:
        """Of the prefixes of its length that are in that span as a whole, the first and the last, counted
        from the begin of the prefix; None: there is none."""
        span, size = self.span(bits), 1 << LAN_BITS - self.length
        if span is None or self.length < bits:
            return None
        first, last = -(-span[0] // size), (span[1] + 1) // size - 1
        return (first, last) if first <= last else None


@dataclass(frozen=True, slots=True)
class PoolState:
    """A pool that routers behind are given prefixes of now, or why there is none."""

    prefix: Annotated[str | None, Text(50, help="All of them together; null: there is none now.")] = None
    length: Annotated[int, Whole(0, 128, label="Prefix length")] = 0
    delegated_count: Annotated[
        int, Whole(0, 2**31, label="Delegated", help="Prefixes that routers have now.")
    ] = 0
    origin: Annotated[
        str | None,
        Text(
            80,
            label="Part of",
            help="The delegated prefix that it is part of, and the WAN that was given it; null: none.",
        ),
    ] = None
    failure: Annotated[str | None, Text(400, label="Not delegated", help="Why nothing of it is given.")] = (
        None
    )


def number_of_prefixes(prefix: str, length: int) -> int:
    """How many routers can have one."""
    return min(1 << max(length - parse_prefix(prefix).length, 0), MAX_EXACT)


def meet(one: prefix.Prefix, other: prefix.Prefix) -> bool:
    return one.covers(other) or other.covers(one)


def taken_by(view: View, given: prefix.Prefix) -> str | None:
    """What of this router has a part of a prefix: a network on a link, or the destination of a static route
    that is as narrow as the prefix or narrower."""
    for interface in view.document.interfaces():
        for text in interface.addresses:
            if meet(split_address(text)[1], given):
                return f"{split_address(text)[1].text} on {interface.id}"
    for route in _routes(view):
        if given.covers(parse_prefix(route.destination)):
            return f"the destination of static route {route.id}, {route.destination}"
    return None


def _routes(view: View) -> list[StaticRoute]:
    """Those of IPv6 that are in force."""
    return view.worked_out(
        "static routes of IPv6",
        lambda: [
            item
            for item in view.document.every(StaticRoute)
            if ":" in item.destination and not item.disabled and item.vrf is None
        ],
    )


def pools_make_sense(
    view: View, server: ConfigObject, pools: tuple[PrefixPool, ...], others: list[tuple[str, PrefixPool]]
) -> Iterator[Finding]:
    """`others` are the pools that are in front of these, with the id of their server."""
    before = list(others)
    for number, pool in enumerate(pools):
        field = f"prefix_pools[{number}].prefix"
        whole = parse_prefix(pool.prefix)
        if whole.family != 6:
            yield error("not-ipv6", server, field, f"{pool.prefix} is IPv4, and DHCPv6 delegates IPv6")
            continue
        if pool.length < whole.length:
            text = f"{pool.prefix} has no room for a /{pool.length}"
            yield error("pool-too-small", server, f"prefix_pools[{number}].length", text)
        taken = taken_by(view, whole)
        if taken is not None:
            yield error("prefix-taken", server, field, f"{pool.prefix} meets {taken}")
        for name, other in before:
            if meet(whole, parse_prefix(other.prefix)):
                text = f"{pool.prefix} meets {other.prefix}, of DHCPv6 server {name}"
                yield error("pools-overlap", server, field, text)
        before.append((server.id, pool))


def delegated_pools_make_sense(
    view: View,
    server: ConfigObject,
    pools: tuple[DelegatedPool, ...],
    others: list[tuple[str, DelegatedPool]],
) -> Iterator[Finding]:
    """As `pools_make_sense`, of parts of what WANs ask for."""
    for number, pool in enumerate(pools):
        field = f"delegated_pools[{number}]"
        uplink = view.document.interface(pool.uplink)
        if uplink is None or uplink.dhcpv6 is None:
            code = "unknown-uplink" if uplink is None else "uplink-without-prefix"
            why = "is not configured" if uplink is None else "asks for no prefix: set dhcpv6 there"
            text = f"{pool.uplink}, of whose prefix routers are to be given a part, {why}"
            yield error(code, server, f"{field}.uplink", text)
            continue
        yield from _fits(server, field, pool, uplink.id, uplink.dhcpv6.pd_hint)
        span = pool.span(uplink.dhcpv6.pd_hint)
        if span is None:
            continue
        for taker in _takers(view, uplink.id):
            taken = None if taker.delegated is None else taker.delegated.subnet_id
            if taken is not None and span[0] <= taken <= span[1]:
                text = (
                    f"subnet {taken} of {uplink.id}'s prefix is that of {taker.id}, and DHCPv6 server "
                    f"{server.id} delegates subnets {span[0]} to {span[1]}"
                )
                yield error("subnet-taken", server, f"{field}.first_subnet", text)
        for name, other in others:
            theirs = other.span(uplink.dhcpv6.pd_hint) if other.uplink == pool.uplink else None
            if theirs is not None and span[0] <= theirs[1] and theirs[0] <= span[1]:
                text = (
                    f"subnets {span[0]} to {span[1]} of {uplink.id}'s prefix meet "
                    f"{theirs[0]} to {theirs[1]}, of DHCPv6 server {name}"
                )
                yield error("pools-overlap", server, f"{field}.first_subnet", text)


def _fits(server: ConfigObject, field: str, pool: DelegatedPool, uplink: str, bits: int) -> Iterator[Finding]:
    words, last = f"the /{bits} that {uplink} asks for", room(bits) - 1
    for name in ("first_subnet", "last_subnet"):
        said = getattr(pool, name)
        if said is not None and said > last:
            text = f"{words} has no subnet {said}: the last one is {last}"
            yield error("subnet-does-not-fit", server, f"{field}.{name}", text)
            return
    if pool.blocks(bits) is None:
        span = pool.span(bits)
        where = f" from subnet {span[0]} to {span[1]}" if span is not None else ""
        yield error(
            "pool-too-small", server, f"{field}.length", f"{words} has no whole /{pool.length}{where}"
        )


def _takers(view: View, uplink: str) -> list[Interface]:
    """The interfaces in force that take a part of an uplink's prefix."""
    found = view.worked_out(
        "networks of delegated prefixes",
        lambda: [item for item in view.document.interfaces() if item.delegated and not item.disabled],
    )
    return [item for item in found if item.delegated is not None and item.delegated.uplink == uplink]
