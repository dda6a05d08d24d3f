# SPDX-License-Identifier: Apache-2.0
"""The sampler: once a second it reads the counters and asks the agent, then wakes the streams.

Counters are read from mapped memory, so queue figures go on while the agent restarts; what only the
agent knows (interfaces, CPU) then stands still and is marked stale.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from weir.accounts.principal import Principal
from weir.loop import Loop
from weir.model.problem import Problem
from weir.service.drops import DropsService
from weir.service.figures import FigureService, path_beside
from weir.service.incidents import IncidentService, Now
from weir.service.lazy import once
from weir.service.router_state import Router
from weir.service.state_feed import Asked, StateFeed
from weir.service.tree_drops import TreeDropsService
from weir.stats.absent import without_delays
from weir.stats.fanout import Fanout, Stream, event
from weir.wire.client import AgentClient

if TYPE_CHECKING:
    from weir.stats.layout import Counters
    from weir.stats.queues import QueueFigures

log = logging.getLogger("weir.stats")
Json = dict[str, Any]
TOPICS = ("queues", "interfaces", "system", "config", "states")
LEASES, FINDINGS = "leases", "findings"
"""Topics for those who ask for them: only then is the agent asked."""
TICK_S = 1.0
LATE_S = 5.0
LOOK_S = 0.5
"""How often credentials of open streams are looked at: a revoked one's ends within a second."""
RETRY_MS = 2000


@dataclass(frozen=True, slots=True)
class Wanted:
    """What one stream carries; equal ones share their frames."""

    topics: tuple[str, ...]
    ids: tuple[str, ...] | None
    top: int | None
    states: Asked = ()


@dataclass(frozen=True, slots=True)
class Head:
    """The configuration now: its revision, and whether it has all queues that were asked for."""

    revision: int
    queue_count: int
    has_all: bool


class StatsService:
    """Figures of now and of the recent past.

    `config_event` gives the data of the stream's `config` event, `head` tells of the configuration now.
    """

    def __init__(
        self,
        agent: AgentClient,
        archive_path: Path | None,
        max_streams: int,
        config_event: Callable[[], Json],
        permitted: Callable[[tuple[str, str]], bool],
        head: Callable[[Sequence[str]], Head],
        states: StateFeed,
        findings: Callable[[Json], Json],
        incidents: IncidentService,
    ) -> None:
        """Without an archive the day is empty. A database that cannot be written is reported in the log."""
        self._agent = agent
        self._made = once(lambda: _figures(archive_path))
        self.router = Router(archive_path and archive_path.with_name(f"{archive_path.stem}-interfaces.db"))
        self.drops = DropsService(agent, lambda: self._figures.take_drops())
        self.figures = FigureService(agent, path_beside(archive_path), self.drops.counted)
        self.incidents = incidents
        self.trees = TreeDropsService()
        self._config_event = config_event
        self._permitted = permitted
        self._head = head
        self.states = states
        self._findings_json = findings
        self._followed: int | None = None
        """The revision whose classes are sampled."""
        self._config: Json | None = None
        self._fanout: Fanout[Wanted] = Fanout(max_streams)
        self._counters: Counters | None = None
        self._generation = -1
        self._config_changed = False
        self._leases_told: int | None = None
        """The number of the last change of a lease that streams know of; None: nobody asks."""
        self._lease_changes: list[Json] = []
        self._findings: Json | None = None
        self._findings_changed = False
        self._started_at: Any = None
        self._last_reading = 0.0
        self._tick = 0
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._stream_guard = Loop(
            "weir-stream-guard", self._watch_credentials, first_s=LOOK_S, again_s=LOOK_S
        )

    @property
    def _figures(self) -> QueueFigures:
        return self._made()

    # --- the sampler ---

    def start(self) -> None:
        """Begin to sample in a thread of its own."""
        self._thread = threading.Thread(target=self._run, name="weir-sampler", daemon=True)
        self._thread.start()
        self._stream_guard.start()
        asked = (self._stop, self._asked_states)
        threading.Thread(target=self.states.run, args=asked, name="weir-states", daemon=True).start()

    def stop(self) -> None:
        """End the sampler and all streams."""
        self._stop.set()
        self._stream_guard.end()
        self._fanout.close()
        if self._thread is not None:
            self._thread.join(timeout=5)
        if self._counters is not None:
            self._counters.close()
            self._counters = None
        self.figures.close()

    def _run(self) -> None:
        due = time.monotonic()
        while not self._stop.is_set():
            try:
                self.tick()
            except Problem as problem:
                log.warning("no sample: %s", problem.message)
            except Exception:
                log.exception("the sampler failed; it goes on")
            due = max(due + TICK_S, time.monotonic() - LATE_S)
            self._stop.wait(max(due - time.monotonic(), 0))

    def _watch_credentials(self) -> float:
        self.end_refused_streams()
        return LOOK_S

    def _asked_states(self) -> set[Asked]:
        return {wanted.states for wanted in self._fanout.filters() if wanted.states}

    def end_refused_streams(self) -> None:
        """End the streams of sessions and tokens that are good no more."""
        self._fanout.close_refused(self._permitted)

    def tick(self) -> None:
        """Take one sample and publish it. The sampler's thread calls it; tests may instead."""
        self._ask_agent()
        now = time.time()  # the agent may have taken its time
        if self._counters is not None:
            clock = time.monotonic()
            elapsed_s = clock - self._last_reading
            self._last_reading = clock
            if elapsed_s > LATE_S:
                self._figures.forget_readings()
                elapsed_s = TICK_S
            self._figures.sample(self._counters, now, max(elapsed_s, 0.05))
        self._tick += 1
        self._follow_leases()
        self._follow_findings()
        self.drops.tick()
        self.figures.tick(self.router)
        self._publish()
        self.incidents.tick(Now(self.router, self._made, (self._config or {}).get("revision")))

    def _ask_agent(self) -> None:
        asked_at = time.time()
        try:
            with self._agent.connection() as connection:
                status = connection.call("status")
                interfaces, system = connection.call("interfaces"), connection.call("system")
                self.router.follow(status, interfaces, system, time.time(), time.monotonic())
                if self._counters is None or status.get("started_at") != self._started_at:
                    answer, descriptors = connection.call_for_fds("counters_fd")
                    self._map(answer.get("layout", {}), descriptors)
                    self._started_at = status.get("started_at")
                answer = connection.call("slots", {"since": self._generation})
            if self._counters is not None and answer["generation"] != self._generation:
                self._follow_slots(answer, self._counters)
            self.trees.tick(self._agent, status.get("shapers") or {}, self._made)
            self._followed = status.get("revision")
        except Problem as problem:
            self.router.lose(problem.message, asked_at)
            self.trees.lose(problem.message, self._made)

    def _follow_leases(self) -> None:
        """What came and went since the last tick; from the first one on that somebody asks."""
        self._lease_changes = []
        if not any(LEASES in chosen.topics for chosen in self._fanout.filters()):
            self._leases_told = None
            return
        try:
            answer = self._agent.call("lease_changes", {"after": self._leases_told})
        except Problem:
            return  # the stream says already that the agent is away
        if self._leases_told is not None:
            self._lease_changes = answer["changes"]
        self._leases_told = answer["number"]

    def _follow_findings(self) -> None:
        """What ails the router now, and whether that is news."""
        if not any(FINDINGS in chosen.topics for chosen in self._fanout.filters()):
            self._findings, self._findings_changed = None, False
            return
        try:
            found = self._findings_json(self._agent.call("findings"))
        except Problem:
            return  # the stream says already that the agent is away
        self._findings_changed = _lasting(found) != _lasting(self._findings)
        self._findings = found

    def _follow_slots(self, answer: Json, counters: Counters) -> None:
        """The agent tells what changed since the generation that we know, or everything (`full`)."""
        figures = self._figures
        if answer.get("full", True):
            figures.set_slots(answer["slots"], counters)
        else:
            figures.change_slots(answer["slots"], answer.get("removed", ()), counters)
        self._generation = answer["generation"]

    def _map(self, layout: Json, descriptors: list[int]) -> None:
        """Take new maps into use (first contact, or the agent was restarted and may have made others)."""
        from weir.service.sampling import counters_of

        counters = counters_of(layout, descriptors)
        if self._counters is not None:
            self._counters.close()
        self._counters = counters
        self._generation = -1
        self._figures.forget_readings()

    # --- requests ---

    def _stale(self) -> tuple[float | None, str | None]:
        """Since when and why the queues' figures are not fresh."""
        if self._counters is not None and time.time() - self._figures.at < LATE_S:
            return None, None
        return self.router.lost_at or self._figures.at, self.router.lost_reason or "No sample was taken yet."

    def queues(self, ids: Sequence[str]) -> Json:
        """Figures of these queues, in this order."""
        self._figures.watch(ids)
        return self._queues(ids)

    def _queues(self, ids: Sequence[str]) -> Json:
        since, reason = self._stale()
        return {
            "at": self._figures.at,
            "stale_since": since,
            "stale_reason": reason,
            "items": self._figures.figures(ids, self.router.absent),
        }

    def top(self, count: int, by: str) -> Json:
        """The busiest queues. `by` is one of `weir.stats.queues.ORDERS`, or `load` (share of the limit)."""
        counters = self._counters
        if by != "load":
            ids = self._figures.ranking(by, count)
        else:
            ids = [] if counters is None else self._figures.ranking_by_load(counters, count)
        found = self._queues(ids)
        unknown = self._unknown(ids) if found["stale_since"] is None else None
        return (
            found if unknown is None else {**found, "stale_since": self._figures.at, "stale_reason": unknown}
        )

    def _unknown(self, ids: Sequence[str]) -> str | None:
        """Why a ranking says nothing of the queues that there are now; None when it does."""
        measured, classes = self._figures.coverage()
        if classes and measured * 2 < classes:
            return f"{measured} of {classes} queues were measured so far."
        head = self._head(ids)
        if head.revision == self._followed:
            return None
        if self.router.lost_at is not None:
            return f"Revision {head.revision} changed the configuration and the agent has not answered since."
        if head.has_all and measured * 2 >= head.queue_count:
            return None
        return f"The queues of revision {head.revision} were not measured yet."

    def ranking(self, by: str, count: int) -> list[str]:
        """Ids of the busiest queues, the busiest first; those without traffic are not among them."""
        return self._figures.ranking(by, count)

    def largest(self, ids: Sequence[str], direction: int) -> tuple[str, float] | None:
        """The queue of these that has most upload (0) or download (1) now, and how much in bit/s."""
        return self._figures.largest(ids, direction)

    def unmeasured(self, queue_id: str) -> str:
        """Why a queue has no figures; "" where it has."""
        return self._figures.unmeasured(queue_id)

    def history(self, queue_id: str, window: str) -> Json:
        """Samples of the last `2m`, `1h`, `24h`, `7d` or `30d`, the oldest first."""
        found = {"id": queue_id, "window": window, **self._figures.recent(queue_id, window)}
        return without_delays(found, self.router.absent)

    # --- streams ---

    def stream(
        self,
        topics: Sequence[str] | None,
        ids: Sequence[str] | None,
        top: int | None,
        by: Principal,
        states: Sequence[str] | None = None,
    ) -> Stream:
        """Server-sent events until the reader goes away or may not read any more. `states` are kinds, or
        `kind/id`, of which it tells what is learnt.

        Raises Unavailable when there are too many streams, and NotFound for a kind without state.
        """
        wanted = Wanted(
            tuple(name for name in (*TOPICS, LEASES, FINDINGS) if name in (topics or TOPICS)),
            tuple(ids) if ids is not None else None,
            top,
            tuple(sorted(set(states or ()))) if "states" in (topics or TOPICS) else (),
        )
        if wanted.states:
            self.states.begin(wanted.states)
        first = f"retry: {RETRY_MS}\n\n".encode() + self._frame(wanted, always=True)
        return self._fanout.stream(wanted, first, (by.via, by.credential_id))

    def _publish(self) -> None:
        try:
            config = self._config_event()
        except Problem as problem:
            log.warning("no configuration event: %s", problem.message)
            config = self._config or {}
        self._config_changed = _without_clock(config) != _without_clock(self._config or {})
        self._config = config
        self._fanout.publish(self._frame, lambda wanted: self._frame(wanted, always=True))

    def _frame(self, wanted: Wanted, always: bool = False) -> bytes:
        """What one tick sends to the streams of a filter."""
        events: list[tuple[str, Json]] = []
        if "config" in wanted.topics and self._config and (always or self._config_changed):
            events.append(("config", self._config))
        learnt = self.states.event(wanted.states, always=always) if wanted.states else None
        if learnt is not None:
            events.append(("states", learnt))
        since, reason = self._stale()
        if since is not None or self.router.lost_at is not None:
            at = since if since is not None else self.router.lost_at
            why = reason or self.router.lost_reason
            events.append(("stale", {"at": time.time(), "since": at, "reason": why}))
        if "queues" in wanted.topics and since is None:
            events.append(("queues", self._wanted_queues(wanted)))
        if LEASES in wanted.topics and self._lease_changes:
            events.append((LEASES, {"items": self._lease_changes}))
        if FINDINGS in wanted.topics and self._findings and (always or self._findings_changed):
            events.append((FINDINGS, self._findings))
        if self.router.lost_at is None and self.router.measured:
            if "interfaces" in wanted.topics:
                events.append(("interfaces", self.router.interfaces()))
            if "system" in wanted.topics:
                events.append(("system", self.router.system()))
        return b"".join(event(name, data, self._tick) for name, data in events)

    def _wanted_queues(self, wanted: Wanted) -> Json:
        if wanted.ids is not None:
            return self.queues(wanted.ids)
        return self.top(wanted.top or 10, "rate_download")


def _without_clock(config: Json) -> Json:
    """The event without what changes by itself each second."""
    pending = config.get("pending")
    kept = {name: value for name, value in pending.items() if name != "seconds_left"} if pending else None
    return {**config, "pending": kept}


def _lasting(found: Json | None) -> Json | None:
    """Findings without what each look changes: their numbers and times."""
    if found is None:
        return None
    named = [(item["code"], item["subject"], item["doubt"]) for item in found["findings"]]
    return {"findings": named, "unseen": found["not_looked_at"], "trials": found["trials"]}


def _figures(archive_path: Path | None) -> QueueFigures:
    from weir.service.sampling import queue_figures

    return queue_figures(archive_path)
