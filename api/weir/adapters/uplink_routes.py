# SPDX-License-Identifier: Apache-2.0
"""A default route for each uplink that only its own checks use.

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

FIRST_METRIC, LAST_METRIC = BEHIND_ALL + 0x1000, BEHIND_ALL + 0x10FF


class UplinkRoute(NamedTuple):
    gateway: str
    """"" = on the link."""
    device: str
    metric: int


def read() -> frozenset[UplinkRoute]:
    """Raises `Unavailable`."""
    return frozenset(
        UplinkRoute(route.hops[0].gateway, route.hops[0].device, metric)
        for metric, route in owned(OUR_PROTO)
        if FIRST_METRIC <= metric <= LAST_METRIC and route.place == (MAIN_TABLE, EVERYTHING) and route.hops
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
    place = f"table {MAIN_TABLE} proto {OUR_PROTO} metric {route.metric}"
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
