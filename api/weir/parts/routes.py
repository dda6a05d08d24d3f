# SPDX-License-Identifier: Apache-2.0
"""Static routes, one for each that is enabled."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from weir.kinds.static_route import StaticRoute
from weir.model.document import Change, Document
from weir.model.objects import ConfigObject
from weir.parts.delta import Delta
from weir.parts.kept_by_kernel import decides, ports_of
from weir.parts.part import SHAPING, ObjectsPart


@dataclass(frozen=True, slots=True)
class RouteSpec:
    """A static route: by a gateway (perhaps with an interface), by an interface, or a blackhole."""

    id: str
    destination: str
    gateway: str | None
    interface: str | None
    blackhole: bool
    distance: int
    vrf: str | None = None
    reject: bool = False
    """Senders are told that there is no way (RFC 7084, WPD-5)."""
    port: str | None = None
    """Behind which its gateway is, when the kernel keeps it; None: FRR does."""


class RoutesPart(ObjectsPart[RouteSpec]):
    """A route depends on the others to its destination, and on what else decides who keeps it."""

    name, what, of = "routes", "route", StaticRoute
    made_of = frozenset(("static-route", "interface", "bgp", "ospf"))
    after = ("network", SHAPING, "forwarding")  # traffic comes when everything else is ready for it

    def key(self, entry: RouteSpec) -> str:
        return entry.id

    def entry(self, item: StaticRoute) -> RouteSpec | None:
        """As if FRR kept it."""
        if item.disabled:
            return None
        return RouteSpec(
            item.id, item.destination, item.gateway, item.interface, item.blackhole, item.distance, item.vrf
        )

    def wanted(self, document: Document) -> Mapping[str, RouteSpec]:
        return self._entries(sorted(document.every(StaticRoute), key=lambda route: route.id), document)

    def _entries(self, routes: Iterable[StaticRoute], document: Document) -> Mapping[str, RouteSpec]:
        """`routes` are all that there are to their destinations."""
        routes = list(routes)
        ports = ports_of(routes, document)
        found = ((route.id, self.entry(route)) for route in routes)
        return {
            name: replace(entry, port=ports[name]) if name in ports else entry
            for name, entry in found
            if entry is not None
        }

    def moved(
        self, before: Mapping[str, RouteSpec], document: Document, changes: Sequence[Change]
    ) -> tuple[Mapping[str, RouteSpec], Delta[RouteSpec]]:
        of_routes = [change for change in changes if change.kind == StaticRoute.kind]
        if any(decides(change) for change in changes if change.kind != StaticRoute.kind):
            after = self.wanted(document)
            return after, self.delta(before, after)
        states = [state for change in of_routes for state in (change.old, change.new)]
        destinations = {state.destination for state in states if isinstance(state, StaticRoute)}
        routes = (route for route in document.every(StaticRoute) if route.destination in destinations)
        after = self._entries(sorted(routes, key=lambda route: route.id), document) if destinations else {}
        gone = {change.id for change in of_routes} - after.keys()
        delta: Delta[RouteSpec] = Delta(
            [(before.get(name), new) for name, new in after.items() if before.get(name) != new],
            [before[name] for name in sorted(gone) if name in before],
        )
        return self.applied(before, delta), delta

    def told(self, wanted: Mapping[str, RouteSpec], item: ConfigObject) -> Iterator[str]:
        return super().told(wanted, item) if isinstance(item, StaticRoute) else iter(())

    def text(self, old: RouteSpec | None, new: RouteSpec) -> str:
        via = "blackhole" if new.blackhole else " ".join(filter(None, (new.gateway, new.interface)))
        vrf = f" in VRF {new.vrf}" if new.vrf else ""
        return f"{new.destination}{vrf} via {via} distance {new.distance}"


ROUTES = RoutesPart()
