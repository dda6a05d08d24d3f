# SPDX-License-Identifier: Apache-2.0
"""A default route for each uplink that only its own checks use, and one in a table of its own for the
connections that keep it (`uplink_rules.py`).

A socket that is bound to an interface (`SO_BINDTODEVICE`) takes the best route by that interface, and FRR
puts only the best default route of all into the kernel. These have our protocol number and metrics behind all
others, so nothing else takes them as long as there is another default route. FRR reads the first byte as the
distance of 255, so it never takes one for a route.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import NamedTuple

from weir.adapters.netlink import OUR_PROTO
from weir.adapters.process import run
from weir.adapters.route_messages import owned
from weir.adapters.standing_routes import BEHIND_ALL, MAIN_TABLE, batch
from weir.kinds.uplink import EVERYTHING
from weir.model.problem import Unavailable

TABLES, LAST_TABLE = OUR_PROTO << 24, (OUR_PROTO << 24) + 0xFFFFFF
"""An uplink's own table has the index of its interface in the low bits."""
FIRST_METRIC, LAST_METRIC = BEHIND_ALL + 0x1000, BEHIND_ALL + 0x10FF


class UplinkRoute(NamedTuple):
    gateway: str
    """"" = on the link."""
    device: str
    metric: int
    table: str = MAIN_TABLE


def table_of(ifindex: int) -> str:
    return str(TABLES | ifindex & LAST_TABLE - TABLES)


def read() -> frozenset[UplinkRoute]:
    """Raises `Unavailable`."""
    return frozenset(
        UplinkRoute(route.hops[0].gateway, route.hops[0].device, metric, route.table)
        for metric, route in owned(OUR_PROTO)
        if FIRST_METRIC <= metric <= LAST_METRIC
        and route.destination == EVERYTHING
        and (route.table == MAIN_TABLE or TABLES <= int(route.table) <= LAST_TABLE)
        and route.hops
    )


def change(put: Iterable[UplinkRoute], remove: Iterable[UplinkRoute]) -> dict[UplinkRoute, str]:
    """Remove routes, then make others; why that was not done of some."""
    return batch(
        [
            *((route, _line("del", route)) for route in remove),
            *((route, _line("replace", route)) for route in put),
        ]
    )


def _line(verb: str, route: UplinkRoute) -> str:
    via = f"via {route.gateway} " if route.gateway else ""
    onlink = " onlink" if route.gateway else ""
    place = f"table {route.table} proto {OUR_PROTO} metric {route.metric}"
    return f"route {verb} default {via}dev {route.device}{onlink} {place}"


def default_devices() -> tuple[str, ...]:
    """The interfaces that the IPv4 default route in use leaves by. Raises `Unavailable` or `ApplyFailed`."""
    command = f"ip -j -4 route show default table {MAIN_TABLE}"
    try:
        found = json.loads(run(command.split()) or "[]")
    except ValueError as error:
        raise Unavailable(f"{command} printed no JSON: {error}", code="bad-answer") from error
    best = min(found, key=lambda item: item.get("metric", 0), default=None)
    if best is None or "linkdown" in best.get("flags", ()):
        return ()
    return tuple(str(hop["dev"]) for hop in best.get("nexthops", (best,)) if "dev" in hop)
