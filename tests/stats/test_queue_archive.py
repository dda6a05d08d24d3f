# SPDX-License-Identifier: Apache-2.0
"""What figures of queues leave in the archive, and find there again."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.stats.queue_rig import DOWN, Rig
from weir.stats.archive import MONTH, WEEK, Archive
from weir.stats.samples import encode, figures_of


def test_the_day_is_kept_in_the_archive_over_a_restart(tmp_path: Path) -> None:
    path = tmp_path / "statistics.db"
    rig = Rig(Archive(path))
    rig.maps.place("a", 1)
    rig.maps.place("idle", 2)
    rig.follow()
    for _ in range(22):
        rig.maps.count("a", DOWN, bytes=7_500_000, packets=10)
        rig.second(60)
    again = Rig(Archive(path))
    again.now = rig.now
    again.maps.place("a", 7)
    again.maps.place("idle", 8)
    again.follow()
    again.second()
    day = again.figures.recent("a", "24h")
    known = [value for value in day["download"]["rate_bps"] if value is not None]
    assert len(day["download"]["rate_bps"]) == 144
    assert known[-1] == pytest.approx(1_000_000, rel=0.01)
    assert 0.0 in again.figures.recent("idle", "24h")["download"]["rate_bps"]
    assert rig.figures.recent("nobody", "24h")["upload"]["rate_bps"] == [None] * 144


def test_the_week_and_the_month_are_made_of_the_day(tmp_path: Path) -> None:
    """Means over the steps that were recorded, the longest wait, and what a restart missed."""
    path = tmp_path / "statistics.db"
    keys = np.array([5, 128 + 5], np.uint64)
    first = 24_000  # begins an hour, and a span of four
    archive = Archive(path)
    for step in range(first, first + 30):
        if step - first == 4:
            continue  # nothing ran in these ten minutes
        figures = np.zeros((6, 4), np.float32)
        figures[0, 0] = 2_000_000 if (step - first) % 2 == 0 else 0
        figures[5, 0] = 1_000 + step - first
        figures[0, 2] = 500 if step - first == 7 else 0
        archive.write(step, keys, encode(figures).reshape(2, 2))
        if step % 5 == 0:  # others were missed
            archive.fold(step)
        if step - first == 10:
            archive.close()
            archive = Archive(path)
    archive.fold(first + 29)
    hour = archive.read(5, first // 6 + 4, WEEK)
    assert (hour["rate"][:, 0] > 0).sum() == 5
    rates = figures_of(hour[:, 0])[0][-5:]
    assert rates == pytest.approx([800_000, *[1_000_000] * 4], rel=0.01)
    assert figures_of(hour[:, 0])[5][-5:] == pytest.approx([1_005, 1_011, 1_017, 1_023, 1_029], rel=0.06)
    assert figures_of(archive.read(133, first // 6 + 4, WEEK)[:, 0])[0][-4] == pytest.approx(
        500 / 6, rel=0.01
    )
    month = archive.read(5, first // 24, MONTH)
    assert len(month) == 180 and (month["rate"][:, 0] > 0).sum() == 1
    assert figures_of(month[:, 0])[0][-1] == pytest.approx((800_000 + 3 * 1_000_000) / 4, rel=0.01)
    archive.write(first + 24 * 200, keys, encode(np.ones((6, 4), np.float32)).reshape(2, 2))
    archive.fold(first + 24 * 200)
    assert not archive.read(5, first // 24, MONTH)["rate"].any(), "older than 30 days"
    archive.close()
    archive.fold(first)  # the thread may be late


def test_a_damaged_archive_is_started_over(tmp_path: Path) -> None:
    path = tmp_path / "statistics.db"
    path.write_bytes(b"this is no database" * 100)
    archive = Archive(path)
    assert not archive.read(5, 1000)["rate"].any()
    archive.close()
