# SPDX-License-Identifier: Apache-2.0
"""A moment that was kept by the clock since boot is told by the clock on the wall."""

from __future__ import annotations

import time

import pytest

from weir.store import clock

WALL_MS, SINCE_BOOT_MS = 1_700_000_000_000, 5_000_000


@pytest.fixture
def shift_ms(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """By how much the clock on the wall is beside the other; both stand still."""
    found = [0]
    monkeypatch.setattr(clock, "_offset", clock._Offset())
    monkeypatch.setattr(clock, "wall_ms", lambda: WALL_MS + found[0])
    monkeypatch.setattr(clock, "boottime_ms", lambda: SINCE_BOOT_MS)
    return found


def test_a_moment_has_one_name_however_often_it_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clock, "_offset", clock._Offset())
    begun_ms = clock.boottime_ms() - 1_234_567
    assert len({clock.wall_ms_of(begun_ms) for _ in range(50_000)}) == 1
    assert abs(clock.wall_ms_of(begun_ms) + 1_234_567 - time.time() * 1000) < 1000


@pytest.mark.parametrize("by_ms", [-1000, -1, 1, 1000])
def test_clocks_that_are_read_one_after_the_other_change_nothing(shift_ms: list[int], by_ms: int) -> None:
    assert clock.wall_ms_of(SINCE_BOOT_MS - 42) == WALL_MS - 42
    shift_ms[0] = by_ms
    assert clock.wall_ms_of(SINCE_BOOT_MS - 42) == WALL_MS - 42


@pytest.mark.parametrize("by_ms", [-86_400_000, -1001, 1001, 86_400_000])
def test_a_clock_that_is_set_is_followed(shift_ms: list[int], by_ms: int) -> None:
    assert clock.wall_ms_of(SINCE_BOOT_MS - 42) == WALL_MS - 42
    shift_ms[0] = by_ms
    assert clock.wall_ms_of(SINCE_BOOT_MS - 42) == WALL_MS + by_ms - 42


def test_a_clock_that_is_set_in_small_steps_is_followed(shift_ms: list[int]) -> None:
    for shift_ms[0] in range(0, 5000, 400):
        assert abs(clock.wall_ms_of(SINCE_BOOT_MS) - WALL_MS - shift_ms[0]) <= 1000
