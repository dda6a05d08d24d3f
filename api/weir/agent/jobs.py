# SPDX-License-Identifier: Apache-2.0
"""Jobs at their hours (docs/adr/0237).

One thread looks every half minute. What is due is written down before it is done, durably: a restart that
comes in the midst of it does not do it again. No job restarts a router that has just started.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Mapping
from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from weir.agent.job_memory import JobMemory, Known, Run
from weir.backends.held import HeldBackend
from weir.loop import Loop
from weir.model.moment import moment
from weir.model.problem import Invalid, Problem
from weir.parts.jobs import JobSpec
from weir.store.clock import boot_id
from weir.wire.server import Handler, Peer

LOOK_S = 30.0
LATE = timedelta(minutes=2)
"""What was due longer ago was missed."""
UP_S = 900.0
"""A router that runs for less restarts by no job: there is time to sign in and to take the job away."""
GOING_DOWN = timedelta(minutes=10)
BACK = timedelta(hours=1)
"""A clock that goes back by more was wrong before."""
SET_SINCE = datetime(2026, 1, 1, tzinfo=UTC)
"""A clock that shows an earlier time is not set yet."""


def local_zone(path: Path) -> tzinfo:
    """The time zone of such a file (tzfile(5)); UTC where there is none."""
    try:
        with path.open("rb") as file:
            return ZoneInfo.from_file(file)
    except (OSError, ValueError):
        return UTC


class Jobs:
    def __init__(
        self,
        held: HeldBackend[JobSpec],
        memory: JobMemory,
        restart: Callable[[], None],
        is_loaded: Callable[[], bool] = lambda: True,
        *,
        zone: Callable[[], tzinfo] = lambda: UTC,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        up_s: Callable[[], float] = lambda: time.clock_gettime(time.CLOCK_BOOTTIME),
        boot: Callable[[], str] = boot_id,
    ) -> None:
        """`restart` raises a `Problem` where the machine may not go down. Before the configuration is loaded
        nobody knows which jobs there are."""
        self._held, self._memory, self._restart = held, memory, restart
        self._is_loaded = is_loaded
        self._zone, self._now, self._up_s, self._boot = zone, now, up_s, boot
        self._lock = threading.Lock()
        self._loop = Loop("jobs", self.turn, first_s=LOOK_S, again_s=LOOK_S)
        held.changed = lambda _held: self._loop.wake()

    def start(self) -> None:
        self._loop.start()

    def stop(self) -> None:
        self._loop.stop()

    # -- doing them ------------------------------------------------------------------------------------------

    def turn(self) -> float:
        """Do what is due. Raises `Unavailable` where that cannot be written down: then nothing is done."""
        now = self._now()
        if now < SET_SINCE or not self._is_loaded():
            return LOOK_S
        with self._lock:
            self._settle(now)
            wanted = self._held.read()
            self._begin(wanted, now)
            due = [(at, spec) for spec in wanted.values() if (at := self._next(spec)) <= now]
            for _, spec in sorted(due, key=lambda each: (each[0], each[1].id)):
                self._do(spec, now)
        return LOOK_S

    def _begin(self, wanted: Mapping[str, JobSpec], now: datetime) -> None:
        """New and changed jobs count from now on, and so do all when the clock was set back."""
        known = {name: each for name, each in self._memory.known.items() if name in wanted}
        for name, spec in wanted.items():
            held = known.get(name)
            if held is None or held.spec != repr(spec) or _at(held.until_ms) > now + BACK:
                known[name] = Known(repr(spec), _ms(now), _ms(now))
        if known != self._memory.known:
            self._memory.keep(known)

    def _next(self, spec: JobSpec) -> datetime:
        known = self._memory.known[spec.id]
        return spec.next(_at(known.until_ms), _at(known.begun_ms), self._zone())

    def _do(self, spec: JobSpec, now: datetime) -> None:
        """The last time that it was due, of several; those before were missed with it."""
        known, zone, due = self._memory.known[spec.id], self._zone(), self._next(spec)
        count = 1
        while (later := spec.next(due, _at(known.begun_ms), zone)) <= now:
            due, count = later, count + 1
        result, detail = self._judged(spec, now - due, count)
        run = Run(0, spec.id, spec.action, _ms(due), _ms(now), result, detail, self._boot())
        after = {**self._memory.known, spec.id: Known(known.spec, known.begun_ms, _ms(due))}
        self._memory.keep(after, run)
        if result == "started":
            number = self._memory.runs[-1].number
            try:
                self._restart()
            except Problem as problem:
                self._memory.settle(number, "failed", problem.message[:300])

    def _judged(self, spec: JobSpec, late: timedelta, count: int) -> tuple[str, str]:
        if late > LATE and not spec.catches_up:
            times = "once" if count == 1 else f"{count} times"
            return "missed", f"the router was off or did not know the time when it was due, {times}"
        up_s = self._up_s()
        if up_s < UP_S:
            return (
                "refused",
                f"the router had started {up_s / 60:.0f} min before: nothing restarts it so soon",
            )
        if any(run.result == "started" for run in self._memory.runs):
            return "refused", "another job was under way"
        return "started", ""

    def _settle(self, now: datetime) -> None:
        """What became of a restart is known when the router is back, or is still up."""
        for run in [run for run in self._memory.runs if run.result == "started"]:
            if run.boot != self._boot():
                self._memory.settle(run.number, "done", "")
            elif now > _at(run.at_ms) + GOING_DOWN:
                self._memory.settle(run.number, "failed", "the router did not go down")

    # -- telling of them -------------------------------------------------------------------------------------

    def table(self) -> Mapping[str, Handler]:
        return {"job_runs": self._runs, "job_runs_told": self._note_told}

    def _runs(self, _params: dict[str, Any], _peer: Peer) -> dict[str, Any]:
        """What is not in the audit trail yet, the oldest first."""
        with self._lock:
            told, runs = self._memory.told, self._memory.runs
        names = ("number", "job", "action", "due_ms", "at_ms", "result", "detail")
        return {"runs": [{name: getattr(run, name) for name in names} for run in runs if run.number > told]}

    def _note_told(self, params: dict[str, Any], _peer: Peer) -> dict[str, Any]:
        """The audit trail has them up to `number`. Raises `Invalid`, `Unavailable`."""
        number = params.get("number")
        if type(number) is not int:
            raise Invalid("number must be a whole number", code="bad-request", path="number")
        with self._lock:
            if number > self._memory.told:
                self._memory.keep(self._memory.known, told=number)
        return {}

    def learn(self, _ids: Collection[str] | None) -> Mapping[str, Mapping[str, Any]]:
        found: dict[str, dict[str, Any]] = {}
        with self._lock:
            for run in self._memory.runs:
                found[run.job] = {
                    "last_run": moment(run.due_ms),
                    "last_result": run.result,
                    "last_detail": run.detail or None,
                }
            for name, spec in self._held.read().items():
                if name in self._memory.known:
                    found.setdefault(name, {})["next_run"] = moment(_ms(self._next(spec)))
        return found


def _at(ms: int) -> datetime:
    return datetime.fromtimestamp(ms / 1000, UTC)


def _ms(at: datetime) -> int:
    return int(at.timestamp() * 1000)
