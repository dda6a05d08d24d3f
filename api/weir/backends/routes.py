# SPDX-License-Identifier: Apache-2.0
"""Static routes, as FRR's configuration. A route whose next hop is unreachable is held, but not active.

Beside what FRR puts into the kernel there is a copy of ours, used while FRR's is missing
(`standing_routes`). It follows FRR while FRR is well, and stays while daemons die, start and say their
routes again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Protocol

from weir.adapters import standing_routes
from weir.adapters.frr import Route
from weir.adapters.standing_routes import KernelRoute
from weir.backends.backend import Look, Topic, refuse, step
from weir.parts.delta import Delta, Step
from weir.parts.effect import Effect, Sessions
from weir.parts.routes import RouteSpec

SETTLED_S = 30.0
"""For so long after a daemon was started a route that is not in the kernel may be on its way: staticd looks
for a new zebra every 10 s."""


MOVED_MS = 1000
"""FRR puts another next hop in the place of the one before within this."""


class Daemons(Protocol):
    """The part of `Frr` that this backend uses."""

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
    """FRR's configuration lines (`whole`: every one that is wanted), and copies to be made or removed."""

    add: tuple[str, ...]
    remove: tuple[str, ...]
    whole: frozenset[str]
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

    def __init__(self, frr: Daemons, now_s: Callable[[], float] = time.monotonic) -> None:
        self._frr = frr
        self._now_s = now_s
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
            lines,
            frozenset(ours - held.copies),
            frozenset(route for route in held.copies if route.place not in keep),
        )

    def apply(self, difference: RoutesDifference) -> None:
        standing_routes.change(difference.copy, ())
        if difference.add:
            self._frr.check(sorted(difference.whole))
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


def _way(spec: RouteSpec) -> tuple[object, ...]:
    return spec.destination, spec.gateway, spec.interface, spec.blackhole, spec.vrf


def _loses(spec: RouteSpec, words: str, sessions: Sessions) -> Effect:
    return Effect("static-route", spec.id, "drops-sessions", f"{spec.destination} {words}", None, sessions)


def _line(spec: RouteSpec) -> str:
    return Route(spec.destination, spec.gateway, spec.interface, spec.blackhole, spec.distance, spec.vrf).line
