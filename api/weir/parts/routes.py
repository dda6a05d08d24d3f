# SPDX-License-Identifier: Apache-2.0
"""Static routes, one for each that is enabled."""

from __future__ import annotations

from dataclasses import dataclass

from weir.kinds.static_route import StaticRoute
from weir.parts.part import SHAPING, ObjectsPart


@dataclass(frozen=True, slots=True)
class RouteSpec:
    """A static route for FRR: by a gateway (perhaps with an interface), by an interface, or a blackhole."""

    id: str
    destination: str
    gateway: str | None
    interface: str | None
    blackhole: bool
    distance: int
    vrf: str | None = None
    reject: bool = False
    """Senders are told that there is no way (RFC 7084, WPD-5)."""


class RoutesPart(ObjectsPart[RouteSpec]):
    name, what, of = "routes", "route", StaticRoute
    made_of = frozenset(("static-route",))
    after = ("network", SHAPING, "forwarding")  # traffic comes when everything else is ready for it

    def key(self, entry: RouteSpec) -> str:
        return entry.id

    def entry(self, item: StaticRoute) -> RouteSpec | None:
        if item.disabled:
            return None
        return RouteSpec(
            item.id, item.destination, item.gateway, item.interface, item.blackhole, item.distance, item.vrf
        )

    def text(self, old: RouteSpec | None, new: RouteSpec) -> str:
        via = "blackhole" if new.blackhole else " ".join(filter(None, (new.gateway, new.interface)))
        vrf = f" in VRF {new.vrf}" if new.vrf else ""
        return f"{new.destination}{vrf} via {via} distance {new.distance}"


ROUTES = RoutesPart()
