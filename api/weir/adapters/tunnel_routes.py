# SPDX-License-Identifier: Apache-2.0
"""Routes into tunnels, which carry our protocol number and go with their interface.

Copies of static routes and the routes of uplinks' checks have that number as well, and metrics behind all
others.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from weir.adapters.netlink import OUR_PROTO
from weir.adapters.route_messages import owned
from weir.adapters.standing_routes import BEHIND_ALL, batch


class TunnelRoute(NamedTuple):
    destination: str
    device: str
    table: str
    """Its number."""


def read() -> frozenset[TunnelRoute]:
    """Of all tables. Raises `Unavailable`."""
    return frozenset(
        TunnelRoute(route.destination, route.hops[0].device, route.table)
        for metric, route in owned(OUR_PROTO)
        if route.hops and metric < BEHIND_ALL
    )


def change(add: Iterable[TunnelRoute], remove: Iterable[TunnelRoute]) -> dict[TunnelRoute, str]:
    """Make routes, then remove others; why that was not done of some."""
    return batch(
        [
            *((route, _line("replace", route)) for route in add),
            *((route, _line("del", route)) for route in remove),
        ]
    )


def _line(verb: str, route: TunnelRoute) -> str:
    where = f"{route.destination} dev {route.device} table {route.table} proto {OUR_PROTO}"
    return f"route {verb} {where}"
