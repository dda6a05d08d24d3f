# SPDX-License-Identifier: Apache-2.0
"""Routing protocols and filters, done by FRR. The blocks that a document asks for are Weir's as a whole: a
line that somebody typed into one is drift, and goes.

Only daemons with something to do run. What differs is given to vtysh, and all of it is read again: FRR has
accepted what it prints, and nothing else. All that takes at most `SETTLED_S`, as the commit holds the store's
write lock; longer only where a daemon has to start, or where all of them answer and the machine is busy.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Protocol

from weir.adapters.daemon import Daemon
from weir.adapters.frr import Frr
from weir.backends.backend import TOLD, Comparison, Look, Topic, by_difference, refuse, step
from weir.backends.daemons import SETTLED_S, STARTED_S
from weir.backends.frr_lines import commands, list_of, masked, parsed, paths_of
from weir.fields.secret import LOST
from weir.model.objects import ConfigObject
from weir.model.problem import ApplyFailed, Problem, Unavailable
from weir.parts.delta import Step
from weir.parts.effect import Effect
from weir.parts.explained import Line
from weir.parts.routing.block import Block, Path

READ_S = 1.0
HANGS_S = 10.0
"""A daemon that is silent for so long is started again. Not earlier: a bgpd with a million routes may be
busy."""
_BASE = "zebra"
"""It holds lists and maps as well, as vtysh gives them to every daemon."""
_POLL_S = 0.01
_ONLY_BGP = (
    "match source-protocol",
    "set local-preference",
    "set community",
    "set as-path",
    "set weight",
    "set ip next-hop",
    "set ipv6 next-hop",
)

_NOBODY: Mapping[str, Callable[[Collection[Path]], None]] = {}

Wanted = Mapping[str, Block]


class Effects(Protocol):
    """Says what a difference of blocks costs."""

    def __call__(self, look: Look[RoutingState, Wanted, RoutingDifference]) -> Iterator[Effect]: ...


@dataclass(frozen=True, slots=True)
class RoutingState:
    """The lines of each daemon that runs, and those that are to be started again as they do not answer."""

    running: frozenset[str]
    lines: Mapping[str, tuple[Path, ...]]
    hanging: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class RoutingDifference:
    """Lines that are missing where they have to be, lines that are too many, daemons to start and to stop."""

    held: RoutingState
    wanted: tuple[Path, ...] = field(repr=False)
    needed: Mapping[str, frozenset[Path]] = field(repr=False)
    new: tuple[Path, ...] = field(repr=False)
    gone: tuple[Path, ...] = field(repr=False)
    refreshed: tuple[tuple[str, str], ...] = ()
    """Daemons, and commands for them once the lines are there."""

    @property
    def start(self) -> list[str]:
        return sorted(self.needed.keys() - (self.held.running - self.held.hanging))

    @property
    def stop(self) -> list[str]:
        return sorted(self.held.running - self.needed.keys())

    def __bool__(self) -> bool:
        return bool(self.new or self.gone or self.start or self.stop)

    def steps(self) -> Sequence[Step]:
        def told(path: Path) -> str:
            return masked(" / ".join(path))

        return [
            *(step("routing", "add", "daemon", f"{name} starts") for name in self.start),
            *(step("routing", "add", "line", told(path)) for path in self.new),
            *(step("routing", "remove", "line", told(path)) for path in self.gone),
            *(step("routing", "remove", "daemon", f"{name} ends") for name in self.stop),
        ]


class RoutingBackend:
    topics: ClassVar[frozenset[Topic]] = frozenset(("daemons",))
    is_scanned_apart: ClassVar[bool] = False

    def __init__(
        self,
        frr: Frr,
        daemons: Mapping[str, Daemon],
        open_secret: Callable[[str, str], str],
        effects: Effects = lambda _look: iter(()),
        revive: Mapping[str, Callable[[Collection[Path]], None]] = _NOBODY,
        is_unfit: Callable[[Path], bool] = lambda _path: False,
        now_s: Callable[[], float] = time.monotonic,
    ) -> None:
        """`open_secret` gives the plain text of a place and what is sealed there, or raises a `Problem`.
        `revive` is what comes, by its name and with its lines, before a daemon that died is started again.
        `is_unfit` says which lines are left out with this FRR."""
        self._frr = frr
        self._daemons = daemons
        self._open = open_secret
        self._effects = effects
        self._revive = revive
        self._is_unfit = is_unfit
        self._now_s = now_s
        self._silent_since: dict[str, float] = {}

    def identity(self) -> tuple[object, ...]:
        """What differs after a daemon of FRR was started again or has died."""
        return (self._frr.identity(), *(daemon.identity() for daemon in self._daemons.values()))

    def identities(self, names: Collection[str]) -> tuple[object, ...]:
        """Of some daemons, in the order of their names; None for one that does not run."""
        return tuple(self._daemons[name].identity() for name in sorted(names))

    # -- the four of every backend ----------------------------------------------------------------------

    def read(self) -> RoutingState:
        running = frozenset(name for name, daemon in self._daemons.items() if daemon.identity() is not None)
        if not running:
            self._silent_since.clear()
            return RoutingState(running, {})
        lines, hanging = {}, set()
        for name in (name for name in (_BASE, *sorted(running)) if self._frr.listens(name)):
            try:
                lines[name] = parsed(self._frr.configuration(name, READ_S))
                self._silent_since.pop(name, None)
            except Unavailable:
                if not self._has_hung(name):
                    raise
                hanging.add(name)
        return RoutingState(running, lines, frozenset(hanging))

    def _has_hung(self, name: str) -> bool:
        return (
            name in self._daemons
            and self._now_s() - self._silent_since.setdefault(name, self._now_s()) > HANGS_S
        )

    def diff(self, held: RoutingState, wanted: Wanted) -> RoutingDifference:
        per_daemon: dict[str, list[Path]] = {}
        whole: list[Path] = []
        for block in wanted.values():
            reference = next((held.lines[n] for n in sorted(block.daemons) if n in held.lines), ())
            found = paths_of(block, reference, self._opened(block))
            paths = [path for path in found if not self._is_unfit(path)]
            whole += paths
            for name in block.daemons:
                per_daemon.setdefault(name, []).extend(p for p in paths if _concerns(name, p))
        needed = {name: frozenset(paths) for name, paths in per_daemon.items()}
        alive = {name: frozenset(lines) for name, lines in held.lines.items() if name not in held.hanging}
        missing = {p for name, paths in needed.items() for p in paths - alive.get(name, frozenset())}
        allowed = frozenset(whole)
        extra = dict.fromkeys(p for name, lines in held.lines.items() for p in lines if p not in allowed)
        new = tuple(dict.fromkeys(path for path in whole if path in missing))
        refreshed = _refreshed(wanted, (*new, *extra), alive)
        return RoutingDifference(held, tuple(whole), needed, new, tuple(extra), refreshed)

    def _opened(self, block: Block) -> dict[str, str]:
        return {place: self._open(place, value) for place, value in block.secrets if value != LOST}

    def apply(self, difference: RoutingDifference) -> None:
        try:
            for name in difference.start:
                self._start(name, difference.needed[name], time.monotonic() + STARTED_S)
            deadline_s = time.monotonic() + SETTLED_S
            if difference.new or difference.gone:
                self._write(difference, deadline_s)
            for name in difference.stop:
                self._daemons[name].stop()
            for name, command in difference.refreshed:
                self._frr.execute(command, name, max(deadline_s - time.monotonic(), 0.1))
        except Problem as problem:
            raise type(problem)(masked(problem.message), code=problem.code) from None

    def _start(self, name: str, lines: Collection[Path], deadline_s: float) -> None:
        daemon = self._daemons[name]
        died = daemon.has_died()
        daemon.stop()
        if self._frr.listens(name):
            text = (
                f"a {name} that Weir has not started is running; end it (/etc/frr/daemons) so that "
                "Weir can start its own"
            )
            raise Unavailable(text, code="daemon-foreign")
        if died and name in self._revive:
            self._revive[name](lines)
        daemon.start()
        while not self._frr.listens(name):
            if daemon.identity() is None:
                raise ApplyFailed(f"{name} ended: {daemon.said()}", code="daemon-died")
            if time.monotonic() > deadline_s:
                raise Unavailable(f"{name} does not answer", code="daemon-hangs")
            time.sleep(_POLL_S)

    def _write(self, difference: RoutingDifference, deadline_s: float) -> None:
        held = [path for lines in difference.held.lines.values() for path in lines]
        lines = commands(held, difference.new, difference.wanted)
        before = {name: self._daemons[name].identity() for name in difference.needed}
        asked = [_BASE, *difference.needed]
        try:
            said = self._frr.give(lines, asked, max(deadline_s - time.monotonic(), 0.1))
        finally:
            self._refuse_dead(before)
        if said:
            self.verify(difference, said)

    def _refuse_dead(self, before: Mapping[str, object]) -> None:
        for name, identity in before.items():
            if identity is not None and self._daemons[name].identity() != identity:
                raise ApplyFailed(f"{name} died: {self._daemons[name].said()}", code="daemon-died")

    def verify(self, difference: RoutingDifference, said: str = "") -> None:
        held = self.read()
        wrong = [f"{name} does not run" for name in difference.needed if name not in held.running]
        wrong += [f"{name} still runs" for name in difference.stop if name in held.running]
        for name, paths in difference.needed.items():
            missing = paths.intersection(difference.new) - frozenset(held.lines.get(name, ()))
            wrong += [f"{name} has not taken {masked(' / '.join(path))!r}" for path in sorted(missing)]
        left = {path for lines in held.lines.values() for path in lines}.intersection(difference.gone)
        wrong += [f"FRR still has {masked(' / '.join(path))!r}" for path in sorted(left)]
        if wrong and said:
            wrong.insert(0, masked(said))
        refuse("routing", wrong)

    def effects(self, look: Look[RoutingState, Wanted, RoutingDifference]) -> Iterator[Effect]:
        return self._effects(look)

    def explain(
        self,
        found: Comparison[RoutingState, Wanted, RoutingDifference],
        item: ConfigObject,
        told: Sequence[str],
    ) -> Iterator[Line]:
        """The blocks of an object, or the lines of its session; what has neither is told by all of FRR's."""
        key, blocks = (item.kind, item.id), found.wanted.values()
        own = [(block, "") for block in blocks if block.owner == key]
        own += [(block, peer.address) for block in blocks for peer in block.peers if peer.object == key]
        for block, neighbour in own:
            yield _explained(found.difference, block, neighbour)
        if not own:
            yield from by_difference("routing", found, told)


def _explained(difference: RoutingDifference, block: Block, neighbour: str) -> Line:
    """Whole lines, without their secrets; with `neighbour` those of that session alone."""

    def own(paths: Sequence[Path]) -> list[str]:
        return [
            masked(" / ".join(path))
            for path in paths
            if (path[0] == block.header or (block.is_numbered and path[0].startswith(f"{block.header} ")))
            and (not neighbour or f"{path[-1]} ".startswith(f"neighbor {neighbour} "))
        ]

    missing, odd = own(difference.new), own(difference.gone)
    lines = own(difference.wanted)
    words = [f"FRR lacks {'; '.join(missing[:TOLD])}"] if missing else []
    words += [f"FRR has {'; '.join(odd[:TOLD])} as well"] if odd else []
    name = f"neighbor {neighbour}" if neighbour else block.header
    system = ". ".join(words) or "FRR has them and no others"
    return Line(name, f"{len(lines)} lines of {block.header}", system, not words)


def _concerns(daemon: str, path: Path) -> bool:
    """Whether a daemon knows a line of a block that it needs: ospfd has no communities."""
    return daemon == "bgpd" or not path[-1].startswith(_ONLY_BGP)


def _refreshed(
    wanted: Wanted, changed: Sequence[Path], alive: Collection[str]
) -> tuple[tuple[str, str], ...]:
    names = {name for path in changed for name in (list_of(path[0]), path[-1].rpartition(" ")[0])}
    found = (
        (daemon, command)
        for block in wanted.values()
        for name, command in block.refreshed
        for daemon in sorted(block.daemons)
        if name in names and daemon in alive
    )
    return tuple(dict.fromkeys(found))
