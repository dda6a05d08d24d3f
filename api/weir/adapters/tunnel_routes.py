# SPDX-License-Identifier: Apache-2.0
"""Routes into tunnels, which carry our protocol number and go with their interface.

Copies of static routes and the routes of uplinks' checks have that number as well, and other metrics.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from weir.adapters.netlink import OUR_PROTO
from weir.adapters.process import run
from weir.adapters.route_messages import decoded, devices, listed
from weir.adapters.standing_routes import METRIC
from weir.adapters.uplink_routes import is_one as is_uplinks


class TunnelRoute(NamedTuple):
    destination: str
    device: str
    table: str
    """Its number."""


def read() -> frozenset[TunnelRoute]:
    """Of all tables. Raises `Unavailable` or `ApplyFailed`."""
    names = devices()
    found = (decoded(body, names) for body in listed(OUR_PROTO))
    return frozenset(
        TunnelRoute(route.destination, route.hops[0].device, route.table)
        for metric, route in found
        if route.hops and metric != METRIC and not is_uplinks(metric)
    )


def change(add: Iterable[TunnelRoute], remove: Iterable[TunnelRoute]) -> None:
    """Raises `ApplyFailed` naming what the kernel did not take."""
    lines = [*(_line("replace", route) for route in add), *(_line("del", route) for route in remove)]
    if lines:
        run(["ip", "-batch", "-"], text="\n".join(lines) + "\n")


def _line(verb: str, route: TunnelRoute) -> str:
    version = "-6 " if ":" in route.destination else ""
    where = f"{route.destination} dev {route.device} table {route.table} proto {OUR_PROTO}"
    return f"{version}route {verb} {where}"
