# SPDX-License-Identifier: Apache-2.0
"""Static routes, as FRR's configuration. A route whose next hop is unreachable is held, but not active.

Beside what FRR puts into the kernel there is a copy of ours, used while FRR's is missing
(`standing_routes`). It follows FRR while FRR is well, and stays while daemons die, start and say their
routes again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Protocol

from weir.adapters import standing_routes
from weir.adapters.frr import Route, without_distance
from weir.adapters.standing_routes import MAIN_TABLE, KernelRoute
from weir.backends.backend import Comparison, Look, Topic, refuse, step
from weir.kinds.static_route import StaticRoute
from weir.model.objects import ConfigObject
from weir.parts.delta import Delta, Step
from weir.parts.effect import Effect, Sessions
from weir.parts.explained import Line
from weir.parts.routes import RouteSpec

SETTLED_S = 30.0
"""For so long after a daemon was started a route that is not in the kernel may be on its way: staticd looks
for a new zebra every 10 s."""


MOVED_MS = 1000
"""FRR puts another next hop in the place of the one before within this."""


class Daemons(Protocol):
    """The part of `Frr` that this backend uses."""

    def down_reason(self) -> str: ...
    def identity(self) -> tuple[object, ...]: ...
    def read_lines(self) -> frozenset[str]: ...
    def check(self, lines: Sequence[str]) -> None: ...
    def change(self, add: Sequence[str], remove: Sequence[str]) -> None: ...


@dataclass(frozen=True, slots=True)
class RoutesState:
    """FRR's lines; its routes in the kernel and our copies of them; whether FRR has run for a while."""

    lines: frozenset[str]
    installed: frozenset[KernelRoute]
    copies: frozenset[KernelRoute]
    settled: bool


@dataclass(frozen=True, slots=True)
class RoutesDifference:
    """FRR's configuration lines, and copies to be made or removed."""

    add: tuple[str, ...]
    remove: tuple[str, ...]
    copy: frozenset[KernelRoute]
    forget: frozenset[KernelRoute]

    def __bool__(self) -> bool:
        return bool(self.add or self.remove or self.copy or self.forget)

    def steps(self) -> Sequence[Step]:
        """Without the copies, which nobody asks for: they follow FRR."""
        return [
            *(step("routes", "add", "route", line) for line in self.add),
            *(step("routes", "remove", "route", line) for line in self.remove),
        ]


class RoutesBackend:
    topics: ClassVar[frozenset[Topic]] = frozenset(("routes", "leases", "daemons"))
    is_scanned_apart: ClassVar[bool] = False

    def __init__(
        self,
        frr: Daemons,
        now_s: Callable[[], float] = time.monotonic,
        vrf_tables: Callable[[], Mapping[str, str]] = standing_routes.vrf_tables,
    ) -> None:
        self._frr = frr
        self._now_s = now_s
        self._vrf_tables = vrf_tables
        self._identity: tuple[object, ...] = ()
        self._since_s = now_s()

    def read(self) -> RoutesState:
        identity = self._frr.identity()
        if identity != self._identity:
            self._identity, self._since_s = identity, self._now_s()
        installed, copies = standing_routes.read()
        settled = self._now_s() - self._since_s >= SETTLED_S
        return RoutesState(self._frr.read_lines(), installed, copies, settled)

    def diff(self, held: RoutesState, wanted: Mapping[str, RouteSpec]) -> RoutesDifference:
        lines = frozenset(_line(spec) for spec in wanted.values())
        destinations = {spec.destination for spec in wanted.values()}
        ours = {route for route in held.installed if route.destination in destinations}
        keep = {route.place for route in ours}
        if not (held.settled and lines <= held.lines):
            keep |= {route.place for route in held.copies if route.destination in destinations}
        return RoutesDifference(
            tuple(sorted(lines - held.lines)),
            tuple(sorted(held.lines - lines)),
            frozenset(ours - held.copies),
            frozenset(route for route in held.copies if route.place not in keep),
        )

    def apply(self, difference: RoutesDifference) -> None:
        standing_routes.change(difference.copy, ())
        if difference.add:
            self._frr.check(difference.add)  # what FRR has already, it has taken
        if difference.add or difference.remove:
            self._frr.change(difference.add, difference.remove)
        standing_routes.change((), difference.forget)

    def effects(self, look: Look[RoutesState, Mapping[str, RouteSpec], RoutesDifference]) -> Iterator[Effect]:
        """By what is asked for: reading 50,000 routes costs more than changing one."""
        delta: Delta[RouteSpec] = look.delta or Delta()
        others = {(s.destination, s.vrf) for s in look.wanted.values()} if delta.removed else set()
        for spec in delta.removed:
            if (spec.destination, spec.vrf) not in others:
                yield _loses(spec, "has no route of its own any more", look.sessions([spec.destination]))
        for old, new in delta.set:
            if old is None or _way(old) == _way(new):
                continue
            if new.blackhole or old.destination != new.destination or old.vrf != new.vrf:
                words = "is dropped" if new.blackhole else "has no route of its own any more"
                yield _loses(replace(old, id=new.id), words, look.sessions([old.destination]))
            else:
                text = f"{new.destination} is reached by {new.gateway or new.interface}"
                yield Effect("static-route", new.id, "resets", text, MOVED_MS)

    def explain(
        self,
        found: Comparison[RoutesState, Mapping[str, RouteSpec], RoutesDifference],
        item: ConfigObject,
        told: Sequence[str],
    ) -> Iterator[Line]:
        """Whether FRR has the route, and whether it is in use: FRR holds those back that lead nowhere now."""
        spec, held = found.wanted.get(item.id), found.held
        if spec is None:
            assert isinstance(item, StaticRoute), "the part is made of nothing else"
            yield self._without(item, found)
            return
        reason = "" if _line(spec) in held.lines else self._frr.down_reason()
        yield Line("destination", _line(spec), reason, False) if reason else _in_frr(spec, held.lines)
        table = self._vrf_tables().get(spec.vrf) if spec.vrf else MAIN_TABLE
        if table is None:
            yield Line("vrf", f"in VRF {spec.vrf}", "there is no such VRF", False)
        else:
            yield _in_kernel(spec, table, held, found.wanted.values())

    def _without(
        self, item: StaticRoute, found: Comparison[RoutesState, Mapping[str, RouteSpec], RoutesDifference]
    ) -> Line:
        """Of a disabled route: whether FRR has one that nobody wants."""
        place = item.destination, item.vrf
        left = [line for line in found.difference.remove if _place_of(line) == place]
        if left:
            return Line("disabled", "no route", f"FRR still has {' and '.join(left)}", False)
        reason = self._frr.down_reason()
        return Line("disabled", "no route", reason or "FRR has none", None if reason else True)

    def verify(self, difference: RoutesDifference) -> None:
        """Not the copies: FRR may change its routes meanwhile, which is an event, and another look."""
        if not (difference.add or difference.remove):
            return
        held = self._frr.read_lines()
        refuse(
            "routes",
            [f"FRR has not taken {line!r}" for line in difference.add if line not in held]
            + [f"FRR still has {line!r}" for line in difference.remove if line in held],
        )


def _in_frr(spec: RouteSpec, lines: frozenset[str]) -> Line:
    line = _line(spec)
    if line in lines:
        return Line("destination", line, "FRR has it", True)
    start = " ".join(line.split()[:3]) + " "
    near = sorted(other for other in lines if other.startswith(start))
    if not near:
        return Line("destination", line, "FRR has no route of Weir to this destination", False)
    by_distance = [other for other in near if without_distance(other) == without_distance(line)]
    words = f"FRR has {' and '.join(by_distance or near)}"
    return Line("distance" if by_distance else "gateway", line, words, False)


def _place_of(line: str) -> tuple[str, str | None]:
    """Destination and VRF of a route as FRR writes it."""
    _, _, vrf = line.partition(" vrf ")
    return line.split()[2], vrf or None


def _in_kernel(spec: RouteSpec, table: str, held: RoutesState, wanted: Collection[RouteSpec]) -> Line:
    """FRR's own, or else our copy of it, in one routing table."""
    place = spec.destination, table
    found, kept = (
        [route for route in routes if (route.destination, route.table) == place]
        for routes in (held.installed, held.copies)
    )
    meant = "in use while its next hop can be reached"
    better = [
        other.id
        for other in wanted
        if (other.destination, other.vrf) == (spec.destination, spec.vrf) and other.distance < spec.distance
    ]
    if not found and not kept:
        return Line(
            "in use", meant, "not in the kernel: FRR installs it when its next hop can be reached", False
        )
    ways = "; ".join(sorted(map(_words_of, found or kept)))
    words = ways if found else f"{ways}, kept by Weir in place of FRR's"
    if any(_leads(route, spec) for route in found or kept):
        return Line("in use", meant, words, True)
    if better:
        return Line("in use", f"waits behind {', '.join(sorted(better))}", words, True)
    return Line("in use", meant, f"by {words}: whether that leads to the gateway is not known", None)


def _leads(route: KernelRoute, spec: RouteSpec) -> bool:
    """Whether the kernel's route has the way that is asked for."""
    if spec.blackhole:
        return route.kind == "blackhole"
    return any(
        (spec.gateway is None or hop.gateway.split()[-1:] == [spec.gateway])
        and (spec.interface is None or hop.device == spec.interface)
        for hop in route.hops
    )


def _words_of(route: KernelRoute) -> str:
    return route.kind if not route.hops else ", ".join(" ".join(hop.words) for hop in route.hops)


def _way(spec: RouteSpec) -> tuple[object, ...]:
    return spec.destination, spec.gateway, spec.interface, spec.blackhole, spec.vrf


def _loses(spec: RouteSpec, words: str, sessions: Sessions) -> Effect:
    return Effect("static-route", spec.id, "drops-sessions", f"{spec.destination} {words}", None, sessions)


def _line(spec: RouteSpec) -> str:
    return Route(spec.destination, spec.gateway, spec.interface, spec.blackhole, spec.distance, spec.vrf).line
