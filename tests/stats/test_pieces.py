# SPDX-License-Identifier: Apache-2.0
"""The counters of many lines are read in pieces, with rests between them."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import numpy as np
import pytest

from tests.polling import until
from tests.stats.queue_rig import UP, Rig
from weir.stats import rates
from weir.stats.layout import CHUNK_LINES
from weir.stats.rates import RateTable


@pytest.fixture
def pieces() -> Iterator[Rig]:
    """Its lines are read in three pieces."""
    found = Rig(slots=CHUNK_LINES + 100)
    found.maps.place("first", 1)
    found.maps.place("last", CHUNK_LINES + 1)
    found.follow()
    yield found
    found.counters.close()
    found.maps.close()


def test_a_piece_that_is_read_later_than_last_time_has_the_rate_of_its_own_time(pieces: Rig) -> None:
    """The first reading rests between its pieces, the second one does not."""
    table, clock = RateTable(), Steps(0.01)
    lines = (CHUNK_LINES + 2) * 2
    table.resize(np.zeros(lines, np.uint32), np.ones(lines, bool))
    table.sample(pieces.counters, 1.0, clock.go_on, clock)
    rested_s = clock.rested_s
    assert rested_s == pytest.approx(2 * 2 * 0.01)
    for name in ("first", "last"):
        pieces.maps.count(name, UP, bytes=1000, packets=1)
    table.sample(pieces.counters, 1.0, lambda seconds: None, clock)
    bytes_per_s = table.per_s[0]
    assert bytes_per_s[2] == 1000
    assert bytes_per_s[(CHUNK_LINES + 1) * 2] == pytest.approx(1000 / (1 - rested_s))


class Steps:
    """A clock that goes on by so many seconds whenever it is looked at."""

    def __init__(self, step_s: float) -> None:
        self.now_s = self.rested_s = 0.0
        self._step_s = step_s

    def __call__(self) -> float:
        self.now_s += self._step_s
        return self.now_s

    def go_on(self, seconds: float) -> None:
        self.now_s += seconds
        self.rested_s += seconds


def test_who_wants_to_read_does_not_wait_for_the_rests_of_a_reading(
    pieces: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rates, "_REST", 1e9)
    monkeypatch.setattr(rates, "_MOST_REST_S", 300.0)
    sampling = threading.Thread(target=pieces.second, daemon=True)
    sampling.start()

    def read() -> bool:
        return len(pieces.figures.figures(["first"])) == 1 and not sampling.is_alive()

    until("the sample is taken", read, within_s=30)
