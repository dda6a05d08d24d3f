# SPDX-License-Identifier: Apache-2.0
"""Incidents: what began, and the seconds around it (docs/adr/0212). The statistics' thread calls `tick`."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any

from weir.model.problem import NotFound, Problem, Unavailable
from weir.service.router_state import Router
from weir.stats.incident_files import KEPT, IncidentFiles
from weir.stats.incidents import AROUND_S, Event, Recorder, Wanted
from weir.store import Revision
from weir.store.transaction import ROLLBACK_TIMER
from weir.wire.client import AgentClient

if TYPE_CHECKING:
    from weir.stats.queues import QueueFigures

Json = dict[str, Any]
FINDINGS_S = 5.0
"""As often as the agent looks."""
AWAY_S = 5.0
GONE_S = 3.0
"""An interface that is there again by then, as a session of PPPoE that began again, is no news."""
MEANT_S = 10.0
"""An interface that goes so soon after a commit, or before it, went because of it."""
INTERFACES, QUEUES = 16, 24
"""Of these there are figures in one incident, at most."""
BUSIEST = 12
RANKED_S = 5.0
"""Who was busy up to twice so long ago is kept as well: what a pulled cable cut off has no rate any more."""
OF_QUEUES = ("rate_bps", "drops_ps", "worst_delay_us")


@dataclass(frozen=True, slots=True)
class Told:
    """What others know: revisions of the configuration newer than a number, the names of queues, and commits
    that the system refused."""

    revisions: Callable[[int], Sequence[Revision]]
    names: Callable[[Sequence[str]], Mapping[str, str]]
    failed: deque[str]


@dataclass(frozen=True, slots=True)
class Now:
    """What the sampler has: the agent's last answers, the queues' figures, and the revision (None: it is not
    known now)."""

    router: Router
    figures: Callable[[], QueueFigures]
    revision: int | None


class IncidentService:
    """Reading is thread-safe."""

    def __init__(
        self,
        agent: AgentClient,
        folder: Path | None,
        told: Told,
        wall: Callable[[], float] = time.time,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """In memory without a folder. `wall` gives Unix seconds, `clock` monotonic ones."""
        self._agent = agent
        self._told = told
        self._wall = wall
        self._clock = clock
        self.since = wall()
        """Since when it looks (Unix seconds)."""
        self._files = IncidentFiles(folder)
        self._now: Now | None = None
        self._recorder = Recorder(self._files, self._look)
        self._recorder.resume(self.since, clock())
        self._due = self._ranked_due = clock()
        self._busy: deque[tuple[list[str], list[str]]] = deque(maxlen=2)
        """Interfaces and queues."""
        self._findings: dict[tuple[str, str], Json] | None = None
        self._ports: dict[str, tuple[bool, bool]] = {}
        self._missing: dict[str, float] = {}
        """Since when (monotonic)."""
        self._revision: int | None = None
        self._changed_at: float | None = None
        self._was_away: bool | None = None
        """None: it did not answer so far."""

    def tick(self, now: Now) -> None:
        """Look whether something began. Once a second."""
        self._now = now
        is_away = now.router.lost_at is not None
        cores = None if is_away else now.router.system()["cpu_busy"]
        self._recorder.take(self._wall(), self._clock(), cores, list(self._happened(now)))
        if not is_away and self._clock() >= self._ranked_due:
            self._ranked_due = self._clock() + RANKED_S
            self._busy.append(_busiest(now))

    # --- what begins ---

    def _happened(self, now: Now) -> Iterator[Event]:
        yield from self._revisions(now.revision)
        while self._told.failed:
            yield Event("commit-failed", "configuration", "error", self._told.failed.popleft())
        if now.router.lost_at is not None:
            yield from self._away(now.router, now.router.lost_at)
            return
        if self._was_away:
            yield Event("agent-back", "agent", "notice", "The agent answers again.", begins=False)
        self._was_away = False
        yield from self._changed_ports(now.router.kernel_interfaces(), self._clock())
        if self._clock() >= self._due:
            self._due = self._clock() + FINDINGS_S
            yield from self._changed_findings()

    def _away(self, router: Router, lost_at: float) -> Iterator[Event]:
        if self._was_away is False and self._wall() - lost_at >= AWAY_S:
            self._was_away = True
            reason = router.lost_reason or "it does not answer"
            yield Event("agent-away", "agent", "error", f"The agent is away: {reason}")

    def _revisions(self, revision: int | None) -> Iterator[Event]:
        known = self._revision
        if revision is None or revision == known:
            return
        if known is not None:
            self._changed_at = self._clock()
        self._revision = revision
        for item in self._told.revisions(known) if known is not None and revision > known else ():
            yield event_of(item)

    def _changed_ports(self, interfaces: Mapping[str, Json], clock: float) -> Iterator[Event]:
        """A port that loses its carrier, or goes without a commit, begins something; one that is switched off
        or comes up is told."""
        for name, (had_link, _) in self._ports.items():
            if had_link and name not in interfaces:
                self._missing.setdefault(name, clock)
        for name, since in list(self._missing.items()):
            if name in interfaces:
                del self._missing[name]
            elif clock - since >= GONE_S:
                del self._missing[name]
                is_meant = self._changed_at is not None and clock - self._changed_at < MEANT_S
                yield Event("port-gone", name, "error", f"{name} is gone.", begins=not is_meant)
        before, self._ports = self._ports, {name: _link(item) for name, item in interfaces.items()}
        for name, (has_link, is_up) in self._ports.items():
            had_link = before[name][0] if name in before else has_link
            if has_link and not had_link:
                yield Event("port-up", name, "notice", f"{name} is up.", begins=False)
            elif had_link and not has_link and is_up:
                yield Event("port-down", name, "error", f"{name} lost its carrier.")
            elif had_link and not has_link:
                yield Event("port-off", name, "notice", f"{name} was switched off.", begins=False)

    def _changed_findings(self) -> Iterator[Event]:
        """A notice is about how the router is set up, and stands after each start: it is told."""
        try:
            answer = self._agent.call("findings")["findings"]
        except Problem:
            return  # the figures say already that the agent is away
        found = {(item["code"], item["subject"]): item for item in answer}
        before, self._findings = self._findings, found
        if before is None:
            return
        for key in found.keys() - before.keys():
            severity = found[key]["severity"]
            yield Event(*key, severity, found[key]["sentence"], begins=severity != "notice")
        for key in before.keys() - found.keys():
            text = f"It ended: {before[key]['sentence']}"
            yield Event(*key, "notice", text, begins=False)

    # --- the figures ---

    def _look(self, wanted: Wanted) -> Json:
        """The last two minutes of what it is about, of what was kept already, and of what is busiest now or
        was some seconds ago."""
        now = self._now
        if now is None:
            return {"interfaces": [], "queues": []}
        figures = now.figures()
        interfaces, queues = zip(_busiest(now), *self._busy, strict=True)
        names = [wanted.subject, *wanted.interfaces, *_in_turn(interfaces)]
        ids = [wanted.subject, *wanted.queues, *_in_turn(queues)]
        known = [name for name in dict.fromkeys(ids) if figures.unmeasured(name) == ""][:QUEUES]
        ports = (_of_interface(now.router, name) for name in dict.fromkeys(names))
        return {
            "interfaces": [found for found in ports if found is not None][:INTERFACES],
            "queues": [_series(name, figures.recent(name, "2m"), OF_QUEUES) for name in known],
            "names": dict(self._told.names(known)),
        }

    # --- requests ---

    def listed(self) -> Json:
        """The answer of `diagnosis/incidents`, the newest first; times in Unix seconds."""
        return {
            "since": self.since,
            "kept": KEPT,
            "around_s": AROUND_S,
            "problems": self._files.problems,
            "items": self._files.heads(),
        }

    def one(self, number: int) -> Json:
        """The answer of `diagnosis/incidents/{id}`. Raises `NotFound`, `Unavailable` (`incident-damaged`)."""
        found = self._files.read(number)
        if found is not None:
            return found
        damaged = self._files.why_damaged(number)
        if damaged is not None:
            raise Unavailable(damaged, code="incident-damaged", path=f"incident/{number}")
        raise NotFound(f"there is no incident {number}", code="no-incident", path=f"incident/{number}")


def _busiest(now: Now) -> tuple[list[str], list[str]]:
    """The interfaces with most traffic now, and the queues that lose most and that are busiest, in turn."""
    rankings = [now.figures().ranking(order, BUSIEST) for order in ("drops", "rate_total")]
    return list(now.router.busiest(BUSIEST)), list(_in_turn(rankings))


def _in_turn(rankings: Iterable[Sequence[str]]) -> Iterator[str]:
    """The first of each, then the second of each."""
    return filter(None, chain(*zip_longest(*rankings)))


def folder_beside(statistics: Path | None) -> Path | None:
    """`weir-statistics.db` -> `weir-statistics-incidents` in the same folder."""
    return None if statistics is None else statistics.with_name(f"{statistics.stem}-incidents")


def event_of(item: Revision) -> Event:
    """A revision as something that happened."""
    subject, message = f"revision {item.number}", f": {item.message}" if item.message else ""
    if item.kind != "rollback":
        text = f"Revision {item.number} was committed by {item.author}{message}"
        return Event("commit", subject, "notice", text, begins=False)
    if item.author == ROLLBACK_TIMER:
        return Event("rollback", subject, "warning", f"The configuration was rolled back{message}")
    return Event("rollback", subject, "notice", f"{item.author} rolled a change back{message}")


def _of_interface(router: Router, name: str) -> Json | None:
    try:
        return _series(name, router.interface_history(name, "2m"), ("rate_bps", "drops_ps"))
    except NotFound:
        return None


def _series(name: str, history: Json, kept: Sequence[str]) -> Json:
    ways = {
        way: {figure: figures[figure] for figure in kept}
        for way, figures in history.items()
        if isinstance(figures, dict)
    }
    return {"id": name, "start": history["start"], "ways": ways}


def _link(item: Json) -> tuple[bool, bool]:
    """Whether it is up with a carrier, and whether it is switched on."""
    is_up = bool(item.get("up"))
    return is_up and bool(item.get("carrier", True)), is_up
