# SPDX-License-Identifier: Apache-2.0
"""Static routes: the kernel's own (`routes_own`), or FRR's configuration. A route of FRR whose next hop is
unreachable is held, but not active.

Beside what FRR puts into the kernel there is a copy of ours, used while FRR's is missing
(`standing_routes`). It follows FRR while FRR is well, and stays while daemons die, start and say their
routes again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple, Protocol

from weir.adapters import standing_routes
from weir.adapters.followed_routes import FollowedRoutes
from weir.adapters.route_messages import Entry, KernelRoute, Place
from weir.adapters.standing_routes import MAIN_TABLE
from weir.backends import routes_own
from weir.backends.backend import Comparison, Look, Topic, refuse, step
from weir.backends.routes_explained import in_frr, in_kernel, in_table
from weir.backends.routes_state import RoutesState
from weir.backends.routes_wanted import Asked, line_of
from weir.kinds.static_route import StaticRoute
from weir.model.objects import ConfigObject
from weir.parts.delta import Delta, Step
from weir.parts.effect import Effect, Sessions
from weir.parts.explained import Line
from weir.parts.routes import RouteSpec

SETTLED_S = 30.0
"""For so long after a daemon was started a route that is not in the kernel may be on its way: staticd looks
for a new zebra every 10 s."""


WHOLE_LOOK_S = 25.0
"""FRR is asked for all its lines that often at most without a reason: staticd needs 1.5 s of a processor to
print 50,000."""
FEW = 20
"""So many changed lines are looked for one by one."""
SEEN_S = 0.2
"""staticd hands a route to zebra within this."""

MOVED_MS = 1000
"""FRR puts another next hop in the place of the one before within this."""


class Daemons(Protocol):
    """The part of `Frr` that this backend uses."""

    def down_reason(self) -> str: ...
    def identity(self) -> tuple[object, ...]: ...
    def read_lines(self) -> frozenset[str]: ...
    def shown(self, lines: Sequence[str]) -> Set[str]: ...
    def check(self, lines: Sequence[str]) -> None: ...
    def change(self, add: Sequence[str], remove: Sequence[str]) -> None: ...


@dataclass(frozen=True, slots=True)
class RoutesDifference:
    """FRR's configuration lines, copies to be made or removed, and the kernel's own entries."""

    add: tuple[str, ...] = ()
    remove: tuple[str, ...] = ()
    copy: frozenset[KernelRoute] = frozenset()
    forget: frozenset[KernelRoute] = frozenset()
    put: frozenset[Entry] = frozenset()
    drop: frozenset[Entry] = frozenset()
    follow: frozenset[Entry] = frozenset()
    """Of both, those of a port that lost its link or has it again."""

    def __bool__(self) -> bool:
        return bool(self.add or self.remove or self.copy or self.forget or self.put or self.drop)

    def steps(self) -> Sequence[Step]:
        """Without what nobody did: copies follow FRR, and entries their port."""
        return [
            *(step("routes", "add", "route", line) for line in (*self.add, *_told(self.put - self.follow))),
            *(
                step("routes", "remove", "route", line)
                for line in (*self.remove, *_told(self.drop - self.follow))
            ),
        ]


class _Left(NamedTuple):
    """What was known when something was applied."""

    lines: set[str] | None
    shown: Set[str] | None
    """Which of the changed lines FRR chose from."""
    refused: Mapping[Entry, str]
    """What the kernel said against entries."""


class RoutesBackend:
    """FRR is asked for its lines when it may have others than those that were read or verified last: its
    daemons are others, one of its routes moved in the kernel that we did not move, or the last time was
    `WHOLE_LOOK_S` ago. The kernel is followed (`followed_routes`)."""

    topics: ClassVar[frozenset[Topic]] = frozenset(("routes", "links", "leases", "daemons", "uplinks"))
    is_scanned_apart: ClassVar[bool] = False

    def __init__(
        self,
        frr: Daemons,
        now_s: Callable[[], float] = time.monotonic,
        vrf_tables: Callable[[], Mapping[str, str]] = standing_routes.vrf_tables,
        kernel: FollowedRoutes | None = None,
    ) -> None:
        self._frr = frr
        self._now_s = now_s
        self._vrf_tables = vrf_tables
        self._kernel = kernel or FollowedRoutes()
        self._identity: tuple[object, ...] = ()
        self._since_s = now_s()
        self._asked = Asked()
        self._lines: set[str] | None = None
        """FRR's, as they were read or verified last; None: not known."""
        self._left: _Left | None = None
        self._looked_s = 0.0
        self._touched: set[str] = set()
        """Destinations that we changed since FRR was asked for all its lines."""
        self._open: set[Place] | None = None
        """Where the kernel's own entries may be others than asked for: found so, or not compared since one of
        the two moved. None: everywhere."""
        self._waiting: set[Place] = set()
        """Where entries were not put, as their port was not ready."""

    def read(self) -> RoutesState:
        settled = self._is_settled()
        lines, is_whole = self._known()
        if lines is None or is_whole:
            lines, is_whole = self._looked(), True
        kernel = self._kernel
        judged = kernel.installed.keys() | kernel.copies.keys() if is_whole else set(kernel.odd)
        if self._open is not None:
            self._open |= kernel.own_moved
        kernel.own_moved = set()
        return RoutesState(lines, kernel.installed, kernel.copies, settled, judged, kernel.own, kernel.ready)

    def _is_settled(self) -> bool:
        identity = self._frr.identity()
        if identity != self._identity:
            self._identity, self._since_s, self._lines = identity, self._now_s(), None
        return self._now_s() - self._since_s >= SETTLED_S

    def _known(self, *, is_due: bool = True) -> tuple[set[str] | None, bool]:
        """FRR's lines if they are known, and whether more than what changed has to be looked at. The kernel's
        routes are followed with it. With `is_due` False nothing is looked at because of its time alone."""
        is_due = is_due and self._now_s() - self._looked_s >= WHOLE_LOOK_S
        if self._lines is None or is_due or self._frr.down_reason():
            return None, True
        if not self._kernel.follow():
            self._look_at_kernel()
            return self._lines, True
        is_explained = self._kernel.moved <= self._touched
        return self._lines if is_explained else None, not is_explained

    def _looked(self) -> set[str]:
        """All of both. The kernel is read first: what FRR does meanwhile is told."""
        self._look_at_kernel()
        self._lines = set(self._frr.read_lines())
        self._looked_s, self._touched = self._now_s(), set()
        return self._lines

    def _look_at_kernel(self) -> None:
        self._kernel.look()
        self._open = None

    def diff(self, held: RoutesState, wanted: Mapping[str, RouteSpec]) -> RoutesDifference:
        self._asked.become(wanted)
        lines, destinations = self._asked.lines.keys(), self._asked.destinations
        stays = not (held.settled and lines <= held.lines)
        copy, forget = set(), set()
        for place in held.judged:
            route, kept = held.installed.get(place), held.copies.get(place)
            is_asked = place[1] in destinations
            if route is not None and is_asked:
                if route != kept:
                    copy.add(route)
            elif kept is not None and not (is_asked and stays):
                forget.add(kept)
        put, drop, follow = self._compared(held)
        return RoutesDifference(
            tuple(sorted(lines - held.lines)),
            tuple(sorted(held.lines - lines)),
            frozenset(copy),
            frozenset(forget),
            frozenset(put),
            frozenset(drop),
            frozenset(follow),
        )

    def _compared(self, held: RoutesState) -> tuple[set[Entry], set[Entry], set[Entry]]:
        """What comes, what goes, and what of both follows its port. Places where they differ
        stay open, as a caller may do nothing about them."""
        asked, moved = self._asked, self._asked.take_moved()
        places = held.own.keys() | asked.own.keys() if self._open is None else self._open | moved
        put, drop = routes_own.compared(asked, held, places)
        self._open = {entry.route.place for entry in put | drop}
        waiting = routes_own.waiting(asked, held, places)
        follow = {entry for entry in put if entry.route.place in self._waiting}
        follow |= {entry for entry in drop if entry.route.place in waiting}
        self._waiting = (self._waiting - places) | waiting
        return put, drop, follow

    def asked_of(self, name: str) -> RouteSpec | None:
        """The route that was asked for last, by its id."""
        return self._asked.spec(name)

    def diff_changed(self, delta: Delta[RouteSpec], *, is_due: bool = True) -> RoutesDifference | None:
        """By what a plan says, without comparing anything else. None: it has to be compared, as something may
        be another than it was left, or (not with `is_due` False) was not looked at for a while."""
        self._is_settled()
        held, is_whole = self._known(is_due=is_due)
        if held is None or is_whole or self._open is None or not self._asked.fits(delta):
            return None
        gone = [*(old for old, _ in delta.set if old is not None), *delta.removed]
        self._asked.move(delta)
        lines, destinations = self._asked.lines, self._asked.destinations
        unled = {spec.destination for spec in gone} - destinations.keys()
        left = self._kernel.copies_to(unled) if unled else []
        places = self._asked.take_moved()
        self._open |= places  # until a look finds them so
        kernel = self._kernel
        state = RoutesState(held, kernel.installed, kernel.copies, True, (), kernel.own, kernel.ready)
        put, drop = routes_own.compared(self._asked, state, places)
        come = {line_of(new) for _, new in delta.set if new.port is None}
        go = {line_of(old) for old in gone if old.port is None}
        return RoutesDifference(
            tuple(sorted(come - held)),
            tuple(sorted(line for line in go if line in held and line not in lines)),
            frozenset(),
            frozenset(left),
            frozenset(put),
            frozenset(drop),
        )

    def apply(self, difference: RoutesDifference) -> None:
        lines, self._lines, self._left = self._lines, None, None
        changed = [*difference.add, *difference.remove]
        refused = standing_routes.change_entries(difference.put, ())
        standing_routes.change(difference.copy, ())
        if difference.add:
            self._frr.check(difference.add)  # what FRR has already, it has taken
        shown = self._frr.shown(changed) if lines is not None and 0 < len(changed) <= FEW else None
        if changed:
            self._frr.change(difference.add, difference.remove)
            self._touched.update(line.split()[2] for line in changed)
        standing_routes.change((), difference.forget)
        refused |= standing_routes.change_entries((), difference.drop)
        self._left = _Left(lines, shown, refused)

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
        self._lines = None  # a person is told what FRR has now
        if not isinstance(item, StaticRoute):
            return  # it decides who keeps routes, and has none
        spec, held = found.wanted.get(item.id), found.held
        if spec is None:
            yield self._without(item, found)
            return
        if spec.port is not None:
            yield from in_table(spec, held)
            return
        reason = "" if line_of(spec) in held.lines else self._frr.down_reason()
        yield Line("destination", line_of(spec), reason, False) if reason else in_frr(spec, held.lines)
        table = self._vrf_tables().get(spec.vrf) if spec.vrf else MAIN_TABLE
        if table is None:
            yield Line("vrf", f"in VRF {spec.vrf}", "there is no such VRF", False)
        else:
            yield in_kernel(spec, table, held, found.wanted.values())

    def explain_added(
        self,
        found: Comparison[RoutesState, Mapping[str, RouteSpec], RoutesDifference],
        spec: RouteSpec,
        words: str,
    ) -> Line:
        """As `explain`, of a route that no object is for; `words` say what it is."""
        line = in_kernel(spec, MAIN_TABLE, found.held, found.wanted.values())
        return line._replace(field="prefix_pools", compiled=f"{words}, by {spec.gateway} on {spec.interface}")

    def _without(
        self, item: StaticRoute, found: Comparison[RoutesState, Mapping[str, RouteSpec], RoutesDifference]
    ) -> Line:
        """Of a disabled route: whether FRR has one that nobody wants."""
        place = item.destination, item.vrf
        left = [line for line in found.difference.remove if _place_of(line) == place]
        if left:
            return Line("disabled", "no route", f"FRR still has {' and '.join(left)}", False)
        if item.vrf is None and (kept := found.held.own.get((MAIN_TABLE, item.destination))):
            words = " and ".join(map(routes_own.words_of, kept))
            return Line("disabled", "no route", f"the kernel still has {words}", False)
        reason = self._frr.down_reason()
        return Line("disabled", "no route", reason or "FRR has none", None if reason else True)

    def verify(self, difference: RoutesDifference) -> None:
        """Not the copies: FRR may change its routes meanwhile, which is an event, and another look."""
        left, self._left = self._left, None
        if difference.put or difference.drop:
            self._verify_own(difference, left.refused if left else {})
        if not (difference.add or difference.remove):
            self._lines = left and left.lines
        elif left is not None and left.lines is not None and self._is_seen(difference, left.shown):
            left.lines.difference_update(difference.remove)
            left.lines.update(difference.add)
            self._lines = left.lines
        else:
            held = set(self._frr.read_lines())
            refuse(
                "routes",
                [f"FRR has not taken {line!r}" for line in difference.add if line not in held]
                + [f"FRR still has {line!r}" for line in difference.remove if line in held],
            )
            self._lines = held

    def _verify_own(self, difference: RoutesDifference, why: Mapping[Entry, str]) -> None:
        kernel = self._kernel
        if not kernel.follow():
            self._look_at_kernel()
        refuse(
            "routes",
            [
                *routes_own.missing(difference.put, kernel.own, kernel.ready, why),
                *routes_own.left(difference.drop, kernel.own),
            ],
        )

    def _is_seen(self, difference: RoutesDifference, before: Set[str] | None) -> bool:
        """Whether what comes has appeared among the routes that FRR chooses from, and what goes has vanished.

        A route that leads nowhere now is not among them: then all of FRR's lines have to be read.
        """
        add, remove = set(difference.add), set(difference.remove)
        if before is None or before & add or not remove <= before:
            return False
        until_s = self._now_s() + SEEN_S
        while self._frr.shown([*add, *remove]) != add:
            if self._now_s() >= until_s:
                return False
            time.sleep(SEEN_S / 40)
        return True


def _told(entries: Iterable[Entry]) -> list[str]:
    return sorted(map(routes_own.words_of, entries))


def _place_of(line: str) -> tuple[str, str | None]:
    """Destination and VRF of a route as FRR writes it."""
    _, _, vrf = line.partition(" vrf ")
    return line.split()[2], vrf or None


def _way(spec: RouteSpec) -> tuple[object, ...]:
    return spec.destination, spec.gateway, spec.interface, spec.blackhole, spec.vrf


def _loses(spec: RouteSpec, words: str, sessions: Sessions) -> Effect:
    return Effect("static-route", spec.id, "drops-sessions", f"{spec.destination} {words}", None, sessions)
