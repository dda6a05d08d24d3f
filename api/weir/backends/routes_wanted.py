# SPDX-License-Identifier: Apache-2.0
"""The lines that static routes become, kept beside them, so that a change costs what it touches."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from weir.adapters.frr import Route
from weir.parts.delta import Delta, delta_of
from weir.parts.routes import RouteSpec


def line_of(spec: RouteSpec) -> str:
    way = spec.gateway, spec.interface, spec.blackhole, spec.distance, spec.vrf, spec.reject
    return Route(spec.destination, *way).line


class Asked:
    """What is wanted of the routes; how many of them are one line, and how many lead to one destination."""

    def __init__(self) -> None:
        self._specs: dict[str, RouteSpec] = {}
        self.lines: Counter[str] = Counter()
        self.destinations: Counter[str] = Counter()

    def become(self, wanted: Mapping[str, RouteSpec]) -> None:
        if self._specs != wanted:
            self.move(delta_of(self._specs, wanted))

    def fits(self, delta: Delta[RouteSpec]) -> bool:
        """Whether a delta begins with what is wanted here."""
        before = [*(old for old, _ in delta.set), *delta.removed]
        return all(old is None or self._specs.get(old.id) == old for old in before)

    def move(self, delta: Delta[RouteSpec]) -> None:
        for old, new in delta.set:
            if old is not None:
                self._without(old)
            self._specs[new.id] = new
            self.lines[line_of(new)] += 1
            self.destinations[new.destination] += 1
        for old in delta.removed:
            self._without(old)

    def _without(self, spec: RouteSpec) -> None:
        self._specs.pop(spec.id, None)
        for counter, key in ((self.lines, line_of(spec)), (self.destinations, spec.destination)):
            counter[key] -= 1
            if counter[key] <= 0:
                del counter[key]
