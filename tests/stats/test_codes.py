# SPDX-License-Identifier: Apache-2.0
"""Figures as they are kept: their codes, and the hour of all queues in bounded memory."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weir.stats.codes import DELAY_US, PACKETS_PS, RATE_BPS
from weir.stats.hour import BLOCK_LINES, Hour
from weir.stats.samples import FIGURES, figures_of


@settings(deadline=None)
@given(st.floats(1.0, 1e13))
def test_a_rate_survives_its_code(rate: float) -> None:
    code = RATE_BPS.encode(np.array([rate], np.float32))
    assert RATE_BPS.decode(code)[0] == pytest.approx(rate, rel=1e-3)


@settings(deadline=None)
@given(st.floats(0.01, 1e8))
def test_drops_survive_their_code(drops: float) -> None:
    code = PACKETS_PS.encode(np.array([drops], np.float32))
    assert PACKETS_PS.decode(code)[0] == pytest.approx(drops, rel=0.05)


@settings(deadline=None)
@given(st.floats(1, 1e8))
def test_delays_survive_their_code(delay_us: float) -> None:
    code = DELAY_US.encode(np.array([delay_us], np.float32))
    assert DELAY_US.decode(code)[0] == pytest.approx(delay_us, rel=0.04)


def test_nothing_and_zero_are_different() -> None:
    assert RATE_BPS.decode(np.array([0, 1], np.uint16)) == [None, 0.0]
    assert RATE_BPS.encode(np.array([0.0], np.float32))[0] == 1


def _hour_of(slots: int, busy_share: float, waiting_share: float) -> Hour:
    """Busy lines had traffic of any rate; of them those that waited had marks, drops and waits."""
    random, hour = np.random.default_rng(7), Hour()
    nobody = np.zeros(0, np.int64)
    hour.deal(slots, nobody, nobody, nobody, 0)
    for minute in range(60):
        figures = np.zeros((len(FIGURES), slots * 2), np.float32)
        busy = random.random(slots * 2) < busy_share
        waiting = busy & (random.random(slots * 2) < waiting_share)
        figures[0, busy] = np.exp(random.uniform(5, 22, busy.sum()))
        for figure, most in ((1, 100), (2, 100), (5, 1e5)):
            figures[figure, waiting] = random.uniform(0, most, waiting.sum())
        figures[3] = figures[1] * random.random(slots * 2)
        hour.push(minute, figures)
    return hour


@pytest.mark.parametrize(
    ("busy_share", "waiting_share", "most_mb"), [(0, 0, 0.6), (0.4, 0.1, 22), (1, 0.1, 34), (1, 1, 62)]
)
def test_the_hour_of_100_000_queues_is_bounded(
    busy_share: float, waiting_share: float, most_mb: float
) -> None:
    """What nobody used takes next to nothing; the last one is as bad as it can be."""
    slots = BLOCK_LINES
    held = _hour_of(slots, busy_share, waiting_share).held_bytes
    assert held / slots * 100_000 / 1e6 < most_mb


def test_an_hour_is_read_back_as_it_was_written() -> None:
    hour = Hour()
    nobody = np.zeros(0, np.int64)
    hour.deal(3000, nobody, nobody, nobody, 0)
    figures = np.zeros((len(FIGURES), 6000), np.float32)
    figures[0] = np.arange(6000) * 1000 + 1
    for minute in range(100, 170):
        hour.push(minute, figures)
    last = hour.read(2999, 171)
    assert (last["rate"][-2:] == 0).all()
    assert last["rate"][:2].any()
    assert figures_of(last[:-2, 1])[0] == pytest.approx(figures[0, -1], rel=0.004)
    moved = np.array([5]), np.array([2999]), np.array([5])
    hour.deal(3000, *moved, 172)
    assert (hour.read(5, 171) == last).all()
