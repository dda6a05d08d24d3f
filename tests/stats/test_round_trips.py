# SPDX-License-Identifier: Apache-2.0
"""The past of a queue's round trips: what was read of the programs' table, kept, and made of longer spans."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from tests.stats.maps import Maps
from tests.stats.queue_rig import DOWN, UP, Rig
from weir.model.problem import Unavailable
from weir.stats.archive import DAY, MONTH, WEEK, Archive
from weir.stats.codes import DELAY_US
from weir.stats.delays import Delays
from weir.stats.layout import Counters, Layout
from weir.stats.round_trips import READ_EVERY, RoundTripTable, StepTrips
from weir.stats.samples import encode, figures_of

WITHIN = 0.08
"""Two codes of 4 %: of the reading, and of the mean."""
BEFORE = Path(__file__).with_name("archive_v2.sql")
FIRST = 24_000


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    found = Rig(Archive(tmp_path / "statistics.db"))
    yield found
    found.counters.close()
    found.maps.close()


def begin(rig: Rig) -> None:
    """Queue a, and a table that was read once."""
    rig.maps.place("a", 1)
    rig.follow()
    rig.second()


def known(rig: Rig, name: str, way: str, window: str = "24h") -> list[float]:
    return [value for value in rig.figures.recent(name, window)[way]["round_trip_us"] if value is not None]


def ten_minutes(rig: Rig, *trips_us: float, name: str = "a") -> None:
    """With traffic, and a reading of the table after each of these."""
    for number in range(10 * 60 // READ_EVERY):
        rig.maps.count(name, DOWN, bytes=10_000, packets=10)
        if number < len(trips_us):
            rig.maps.round_trip(name, DOWN, trips_us[number])
        rig.second(0.25)
        for _ in range(READ_EVERY - 1):
            rig.second(0.25)
    rig.now = (rig.now // 600 + 1) * 600
    rig.second()


def test_ten_minutes_are_the_geometric_mean_of_what_was_read(rig: Rig) -> None:
    begin(rig)
    ten_minutes(rig, 10_000, 40_000)
    assert known(rig, "a", "download") == [pytest.approx(20_000, rel=WITHIN)]
    assert known(rig, "a", "upload") == []


def test_a_row_counts_once_and_as_the_median_of_its_samples(rig: Rig) -> None:
    begin(rig)
    rig.maps.round_trip("a", UP, 30_000, 900_000, 20_000)
    lines, medians = rig.counters.round_trips()
    assert lines.tolist() == [2] and medians.tolist() == [pytest.approx(30_000, rel=0.01)]
    assert len(rig.counters.round_trips()[0]) == 0


def test_of_what_was_there_before_nobody_knows_how_old_it_is(rig: Rig) -> None:
    rig.maps.place("a", 1)
    rig.maps.round_trip("a", UP, 30_000)
    assert len(rig.counters.round_trips()[0]) == 0
    rig.maps.round_trip("a", UP, 30_000)
    assert len(rig.counters.round_trips()[0]) == 1


def test_ten_minutes_without_a_sample_stay_empty_and_idle_is_no_round_trip(rig: Rig) -> None:
    begin(rig)
    ten_minutes(rig)
    ten_minutes(rig, 10_000)
    ten_minutes(rig)
    assert known(rig, "a", "download") == [pytest.approx(10_000, rel=WITHIN)]
    rates = rig.figures.recent("a", "24h")["download"]["rate_bps"]
    assert sum(rate is not None for rate in rates) >= 3


def test_another_queue_in_the_slot_does_not_get_them(rig: Rig) -> None:
    begin(rig)
    rig.maps.round_trip("a", DOWN, 10_000)
    for _ in range(READ_EVERY):
        rig.second(0.1)
    rig.maps.free("a")
    rig.maps.place("b", 1)
    rig.follow()
    ten_minutes(rig, name="b")
    assert known(rig, "b", "download") == []


def test_they_follow_a_queue_to_another_slot() -> None:
    trips = StepTrips()
    nothing = np.zeros(0, np.int64)
    trips.deal(4, np.arange(4), nothing, nothing)
    trips.add(np.array([2, 3, 99]), np.array([10_000, 20_000, 5], np.float32))
    trips.deal(6, np.array([1, 5]), np.array([1]), np.array([5]))
    found = DELAY_US.values(trips.take())
    assert found[5].tolist() == pytest.approx([10_000, 20_000], rel=WITHIN)
    assert not found[:5].any() and not trips.take().any()


def test_seconds_and_minutes_have_none(rig: Rig) -> None:
    begin(rig)
    rig.maps.round_trip("a", DOWN, 10_000)
    rig.second()
    for window in ("2m", "1h"):
        assert rig.figures.recent("a", window)["download"]["round_trip_us"] is None


def test_an_hour_is_the_mean_of_the_steps_that_have_one(tmp_path: Path) -> None:
    archive = Archive(tmp_path / "statistics.db")
    keys = np.array([5, 6], np.uint64)
    for step in range(FIRST, FIRST + 6):
        trips = np.zeros((2, 2), np.uint8)
        if step < FIRST + 2:
            trips[0, 1] = DELAY_US.encode(np.array([10_000 if step == FIRST else 40_000], np.float32))[0]
        archive.write(step, keys, encode(np.full((6, 4), 50, np.float32)).reshape(2, 2), trips)
    archive.fold(FIRST + 5)
    hour = archive.read(5, FIRST // 6, WEEK)
    assert DELAY_US.values(hour["trip"])[-1].tolist() == [0, pytest.approx(20_000, rel=WITHIN)]
    assert not archive.read(6, FIRST // 6, WEEK)["trip"].any()
    archive.close()


def test_what_the_release_before_wrote_is_kept(tmp_path: Path) -> None:
    """Rows of both forms stand side by side, and hours are made of both."""
    path = tmp_path / "statistics.db"
    database = sqlite3.connect(path)
    database.executescript(BEFORE.read_text())
    database.close()
    archive = Archive(path, groups=2)
    assert (archive.read(5, FIRST + 12, DAY)["rate"][:, 1] > 1).sum() == 13
    assert (archive.read(5, FIRST // 6 + 1, WEEK)["rate"][:, 1] > 1).sum() == 2
    trips = DELAY_US.encode(np.full((1, 2), 30_000, np.float32))
    figures = encode(np.full((6, 2), 1000, np.float32)).reshape(1, 2)
    for step in range(FIRST + 13, FIRST + 24):
        archive.write(step, np.array([5], np.uint64), figures, trips)
    archive.fold(FIRST + 23)
    archive.close()
    again = Archive(path, groups=2)
    week = again.read(5, FIRST // 6 + 3, WEEK)
    rates = figures_of(week[:, 1])[0][-4:]
    assert rates == pytest.approx([8e6, 8e6, (8e6 + 5000) / 6, 1000], rel=0.02)
    assert DELAY_US.values(week["trip"][-4:, 1]) == pytest.approx([0, 0, 30_000, 30_000], rel=WITHIN)
    assert (again.read(5, FIRST // 24, MONTH)["rate"][:, 1] > 1).sum() == 1
    again.close()


def test_a_file_of_an_unknown_version_is_started_over(tmp_path: Path) -> None:
    path = tmp_path / "statistics.db"
    database = sqlite3.connect(path)
    database.executescript(BEFORE.read_text())
    database.execute("PRAGMA user_version = 1")
    database.close()
    archive = Archive(path, groups=2)
    assert not archive.read(5, FIRST + 12)["rate"].any()
    archive.close()


def test_a_layout_of_round_trips_that_is_not_understood_is_a_problem(rig: Rig) -> None:
    with pytest.raises(Unavailable):
        RoundTripTable({"rows": 16}, rig.maps.duplicates()[3])


def test_a_table_that_cannot_be_read_leaves_the_rest_measured() -> None:
    maps = Maps(64)
    layout, (details, classes, waits, _) = maps.layout(), maps.duplicates()
    nothing = os.open(os.devnull, os.O_RDONLY)
    table = RoundTripTable(layout["round_trips"], nothing)
    counters = Counters(Layout.read(layout), details, classes, Delays(layout["delays"], waits), trips=table)
    for _ in range(2):
        assert [len(found) for found in counters.round_trips()] == [0, 0]
    assert counters.read(0, 2).shape[0] == 2
    counters.close()
    maps.close()
