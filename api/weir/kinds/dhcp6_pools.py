# SPDX-License-Identifier: Apache-2.0
"""Prefixes that a DHCPv6 server delegates to routers behind it (IA_PD, RFC 8415, 6.3)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

from weir.fields import Prefix, Whole
from weir.kinds.static_route import StaticRoute
from weir.model import prefix
from weir.model.address import split_address
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

    @property
    def count(self) -> int:
        """How many routers can have one."""
        return min(1 << max(self.length - parse_prefix(self.prefix).length, 0), MAX_EXACT)


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
