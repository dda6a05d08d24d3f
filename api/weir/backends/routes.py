# SPDX-License-Identifier: Apache-2.0
"""Static routes, as FRR's configuration. A route whose next hop is unreachable is held, but not active."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from weir.adapters.frr import Frr, Route
from weir.backends.backend import refuse, step
from weir.compiler.types import RouteSpec, Step


@dataclass(frozen=True, slots=True)
class RoutesDifference:
    """FRR's configuration lines; `whole` is every line that is wanted."""

    add: tuple[str, ...]
    remove: tuple[str, ...]
    whole: frozenset[str]

    def __bool__(self) -> bool:
        return bool(self.add or self.remove)

    def steps(self) -> Sequence[Step]:
        return [
            *(step("routes", "add", "route", line) for line in self.add),
            *(step("routes", "remove", "route", line) for line in self.remove),
        ]


class RoutesBackend:
    def __init__(self, frr: Frr) -> None:
        self._frr = frr

    def read(self) -> frozenset[str]:
        return self._frr.read_lines()

    def diff(self, held: frozenset[str], wanted: Mapping[str, RouteSpec]) -> RoutesDifference:
        lines = frozenset(_line(spec) for spec in wanted.values())
        return RoutesDifference(tuple(sorted(lines - held)), tuple(sorted(held - lines)), lines)

    def apply(self, difference: RoutesDifference) -> None:
        if difference.add:
            self._frr.check(sorted(difference.whole))
        self._frr.change(difference.add, difference.remove)

    def verify(self, difference: RoutesDifference) -> None:
        held = self.read()
        refuse(
            "routes",
            [f"FRR has not taken {line!r}" for line in difference.add if line not in held]
            + [f"FRR still has {line!r}" for line in difference.remove if line in held],
        )


def _line(spec: RouteSpec) -> str:
    return Route(spec.destination, spec.gateway, spec.interface, spec.blackhole, spec.distance, spec.vrf).line
