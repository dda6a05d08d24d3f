# SPDX-License-Identifier: Apache-2.0
"""The lines that static routes become, kept beside them, so that a change costs what it touches."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from weir.adapters import standing_routes
from weir.adapters.frr import Route
from weir.adapters.route_messages import Entry, Hop, KernelRoute, Place
from weir.adapters.standing_routes import MAIN_TABLE
from weir.parts.delta import Delta, delta_of
from weir.parts.routes import RouteSpec


def line_of(spec: RouteSpec) -> str:
    way = spec.gateway, spec.interface, spec.blackhole, spec.distance, spec.vrf, spec.reject
    return Route(spec.destination, *way).line


def entry_of(spec: RouteSpec) -> Entry:
    """The route that the kernel keeps."""
    assert spec.port is not None and spec.gateway is not None, "only routes by a gateway are the kernel's"
    hop = Hop(spec.gateway, spec.port, onlink=False, weight=1)
    route = KernelRoute(spec.destination, MAIN_TABLE, "unicast", (hop,))
    return Entry(standing_routes.own_metric(spec.distance), route)


class Asked:
    """What is wanted of the routes: FRR's lines, how many routes are one line and how many lead to one
    destination, by which gateways; and the kernel's entries."""

    def __init__(self) -> None:
        self._specs: dict[str, RouteSpec] = {}
        self._whole: Mapping[str, RouteSpec] | None = None
        """What was asked for last, as one; nobody changes it in place."""
        self.lines: Counter[str] = Counter()
        self.destinations: Counter[str] = Counter()
        self.gateways: Counter[tuple[str, str | None]] = Counter()
        self.own: dict[Place, Entry] = {}
        self._moved: set[Place] = set()

    def spec(self, name: str) -> RouteSpec | None:
        return self._specs.get(name)

    def become(self, wanted: Mapping[str, RouteSpec]) -> None:
        if wanted is not self._whole and self._specs != wanted:
            self.move(delta_of(self._specs, wanted))
        self._whole = wanted

    def fits(self, delta: Delta[RouteSpec]) -> bool:
        """Whether a delta begins with what is wanted here."""
        before = [*(old for old, _ in delta.set), *delta.removed]
        return all(old is None or self._specs.get(old.id) == old for old in before)

    def move(self, delta: Delta[RouteSpec]) -> None:
        """Two routes may change their places: so all go first."""
        self._whole = None
        for old in [*(old for old, _ in delta.set), *delta.removed]:
            if old is not None:
                self._without(old)
        for _, new in delta.set:
            self._specs[new.id] = new
            if new.port is not None:
                entry = entry_of(new)
                self.own[entry.route.place] = entry
                self._moved.add(entry.route.place)
            else:
                for counter, key in self._counted(new):
                    counter[key] += 1

    def take_moved(self) -> set[Place]:
        """Where what is asked of the kernel came, went or changed since this was taken last."""
        moved, self._moved = self._moved, set()
        return moved

    def _without(self, spec: RouteSpec) -> None:
        self._specs.pop(spec.id, None)
        if spec.port is not None:
            place = entry_of(spec).route.place
            self.own.pop(place, None)
            self._moved.add(place)
            return
        for counter, key in self._counted(spec):
            counter[key] -= 1
            if counter[key] <= 0:
                del counter[key]

    def _counted(self, spec: RouteSpec) -> Iterator[tuple[Counter[Any], object]]:
        yield self.lines, line_of(spec)
        yield self.destinations, spec.destination
        yield self.gateways, (spec.destination, spec.gateway)
