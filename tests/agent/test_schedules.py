# SPDX-License-Identifier: Apache-2.0
"""Time windows in the agent: what happens at their edges, on ordinary days and when clocks are put forward or
back, and that nobody else's entries are touched."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from weir.agent.configuration import Configuration
from weir.agent.executor import Synced, Timing
from weir.agent.following import Following
from weir.compiler import Compiled, Plan
from weir.model.document import Change
from weir.model.objects import Pair, Queue, TimeWindow
from weir.parts.registry import PARTS
from weir.store import ConfigStore

BERLIN = ZoneInfo("Europe/Berlin")
WORKDAYS = ("mon", "tue", "wed", "thu", "fri")
EVERY_DAY = (*WORKDAYS, "sat", "sun")
HOUR = 60


class Clock:
    """The time of a place: moved by instants, read as the people there read it."""

    def __init__(self, local: datetime) -> None:
        self.instant = local.replace(tzinfo=BERLIN).astimezone(UTC)

    def __call__(self) -> datetime:
        return self.instant.astimezone(BERLIN).replace(tzinfo=None)

    def advance(self, minutes: int) -> None:
        self.instant += timedelta(minutes=minutes)


class RecordingKernel:
    """Takes every plan and keeps those that do something."""

    def __init__(self) -> None:
        self.plans: list[Plan] = []
        self.tables = SimpleNamespace(read_keys=dict)

    registered = PARTS
    stages: tuple[str, ...] = ()

    def touched(self, _plan: Plan) -> list[str]:
        return []

    def pass_time(self, _wanted: Compiled) -> tuple[str, ...]:
        return ()

    def read_once(self) -> AbstractContextManager[None]:
        return nullcontext()

    def sync(self, wanted: Compiled, parts: Iterable[str] = ()) -> Synced:
        return Synced()

    def execute(self, plan: Plan, before: Compiled, packed: object = None) -> Timing:
        if plan:
            self.plans.append(plan)
        return Timing(0.0, 0.0)


class Router:
    """An configuration without a kernel, at a place's time."""

    def __init__(self, folder: Path, queues: list[Queue], starts: datetime) -> None:
        self.clock, self.kernel = Clock(starts), RecordingKernel()
        self.store = ConfigStore.open(folder / "weir.db", create=True)
        with self.store.write() as transaction:
            changes = [Change("queue", queue.id, None, queue) for queue in queues]
            transaction.append(kind="commit", author="test", message="", changes=changes)
        sharing: Any = SimpleNamespace(reset=lambda _: None, follow=lambda _: None)
        following = Following(self.store, None)
        self.configuration = Configuration(self.kernel, sharing, following, 1024, self.clock)  # type: ignore[arg-type]
        assert self.configuration.open_store()

    def is_open(self, address: str) -> bool:
        held = self.configuration.compiled.shaping.prefixes
        return any(key.text == address for key in held)

    def minutes_open(self, address: str, minutes: int) -> list[str]:
        """The local minutes at which the address is limited, looked at each minute as the reconciler does."""
        found = []
        for _ in range(minutes):
            self.configuration.pass_time()
            if self.is_open(address):
                found.append(f"{self.clock():%H:%M}")
            self.clock.advance(1)
        return found

    def close(self) -> None:
        self.store.close()


@pytest.fixture
def started(tmp_path: Path) -> Iterator[Any]:
    routers: list[Router] = []

    def start(starts: datetime, *queues: Queue) -> Router:
        routers.append(Router(tmp_path, list(queues), starts))
        return routers[-1]

    yield start
    for router in routers:
        router.close()


def windowed(start_min: int, end_min: int, days: tuple[str, ...] = EVERY_DAY, number: int = 1) -> Queue:
    return Queue(
        f"q{number}",
        f"q{number}",
        (f"10.0.0.{number}/32",),
        max_limit_bps=Pair(1_000_000, 1_000_000),
        time=TimeWindow(start_min, end_min, days),
    )


def test_the_start_minute_belongs_to_a_window_and_the_end_minute_does_not(started: Any) -> None:
    router = started(datetime(2026, 1, 5, 7, 58), windowed(8 * HOUR, 8 * HOUR + 3))
    assert router.minutes_open("10.0.0.1/32", 8) == ["08:00", "08:01", "08:02"]


def test_a_window_opens_on_its_days_only(started: Any) -> None:
    router = started(datetime(2026, 1, 9, 8, 30), windowed(8 * HOUR, 9 * HOUR, WORKDAYS))
    assert router.is_open("10.0.0.1/32"), "a Friday"
    for opens in (False, False, True):
        router.clock.advance(24 * HOUR)
        router.configuration.pass_time()
        assert router.is_open("10.0.0.1/32") is opens


def test_two_queues_make_a_night(started: Any) -> None:
    """A window does not go over midnight: one ends at 24:00, the other begins at 00:00."""
    late, early = windowed(23 * HOUR + 58, 24 * HOUR), windowed(0, 2, number=2)
    router = started(datetime(2026, 1, 5, 23, 57), late, early)
    assert router.minutes_open("10.0.0.1/32", 6) == ["23:58", "23:59"]
    router.clock.advance(-6)
    assert router.minutes_open("10.0.0.2/32", 7) == ["00:00", "00:01"]


def test_clocks_put_forward_skip_what_lies_in_the_gap(started: Any) -> None:
    """2026-03-29: after 01:59 comes 03:00."""
    router = started(datetime(2026, 3, 29, 1, 58), windowed(2 * HOUR, 3 * HOUR + 2))
    assert router.minutes_open("10.0.0.1/32", 6) == ["03:00", "03:01"]


def test_a_window_inside_the_gap_does_not_open_that_day(started: Any) -> None:
    router = started(datetime(2026, 3, 29, 1, 58), windowed(2 * HOUR, 2 * HOUR + 30))
    assert router.minutes_open("10.0.0.1/32", 6) == []


def test_clocks_put_back_open_a_window_twice(started: Any) -> None:
    """2026-10-25: after 02:59 comes 02:00 once more."""
    router = started(datetime(2026, 10, 25, 1, 58), windowed(2 * HOUR, 2 * HOUR + 2))
    assert router.minutes_open("10.0.0.1/32", 70) == ["02:00", "02:01", "02:00", "02:01"]


def test_an_edge_touches_only_the_queue_concerned(started: Any) -> None:
    others = [Queue(f"c{n}", f"c{n}", (f"10.1.{n >> 8}.{n & 255}/32",)) for n in range(500)]
    router = started(datetime(2026, 1, 5, 7, 59), windowed(8 * HOUR, 9 * HOUR), *others)
    slots = router.configuration.compiled.slots()
    for minutes, action in ((1, "add"), (60, "remove")):
        router.configuration.pass_time()
        router.kernel.plans.clear()
        router.clock.advance(minutes)
        router.configuration.pass_time()
        (plan,) = router.kernel.plans
        (step,) = plan.steps()
        assert (step.action, step.what) == (action, "prefix")
        assert step.text.startswith("10.0.0.1/32")
    assert router.configuration.compiled.slots() == slots, (
        "a queue outside its window keeps class and counters"
    )


def test_minutes_without_an_edge_do_nothing(started: Any) -> None:
    router = started(datetime(2026, 1, 5, 8, 0), windowed(8 * HOUR, 9 * HOUR))
    for _ in range(59):
        router.clock.advance(1)
        router.configuration.pass_time()
    assert router.kernel.plans == []
