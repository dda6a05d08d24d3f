# SPDX-License-Identifier: Apache-2.0
"""A round trip beside those of the customer's own week: when it is slower, and when that is not known."""

from __future__ import annotations

import pytest

from tests.diagnosis.lines import at, healthy
from weir.diagnosis.line import judge
from weir.diagnosis.measured import Usual
from weir.diagnosis.thresholds import SLOWER_TIMES, SLOWER_US, USUAL_HOURS
from weir.diagnosis.usual import is_slower, usual_of


def test_the_usual_one_is_the_median_of_the_hours_in_which_some_were_seen() -> None:
    hours = [None] * 100 + [10_000.0] * 40 + [90_000.0] * 28
    assert usual_of(hours) == Usual(68, 10_000.0)


def test_too_few_hours_tell_nothing_and_how_many_they_were_is_said() -> None:
    hours = [None] * (168 - USUAL_HOURS + 1) + [10_000.0] * (USUAL_HOURS - 1)
    usual = usual_of(hours)
    assert usual == Usual(USUAL_HOURS - 1, None)
    found = at(judge(healthy(device_round_trip_us=90_000.0, device_usual=usual)), "device")
    assert found.state == "clear", "slower than what?"
    assert "the usual round trip to the device (23 of at least 24 hours with one in the last 7 days)" in (
        found.unknown
    )
    numbers = {item.name: (item.value, item.threshold) for item in found.numbers}
    assert numbers["device_usual_hours"] == (USUAL_HOURS - 1, USUAL_HOURS)
    assert "device_usual_ms" not in numbers


@pytest.mark.parametrize(
    ("trip_us", "usual_us", "slower"),
    [
        (SLOWER_TIMES * 30_000, 30_000, True),
        (SLOWER_TIMES * 30_000 - 1, 30_000, False),
        (5_000 + SLOWER_US, 5_000, True),
        (5_000 + SLOWER_US - 1, 5_000, False),
        (None, 5_000, False),
        (900_000, None, False),
    ],
)
def test_slower_is_twice_as_long_and_at_least_20_ms(
    trip_us: float | None, usual_us: float | None, slower: bool
) -> None:
    assert is_slower(trip_us, Usual(100, usual_us)) is slower


def test_what_is_slower_than_usual_comes_before_what_is_always_slow() -> None:
    """A satellite's 420 ms are nothing new; the radio at home is."""
    always = {"internet_round_trip_us": 420_000.0, "internet_usual": Usual(160, 410_000.0)}
    answer = judge(healthy(device_round_trip_us=60_000.0, device_usual=Usual(160, 20_000.0), **always))
    assert answer.culprit is not None and answer.culprit.code == "slower-device-side"
    assert at(answer, "internet").state == "trouble"


def test_as_fast_as_usual_is_ruled_out_with_both_numbers() -> None:
    found = at(judge(healthy()), "device")
    assert "round trip 4 ms (usual in the last 7 days: 3 ms)." in found.sentence
    numbers = {item.name: (item.value, item.threshold) for item in found.numbers}
    assert numbers["device_usual_ms"] == (3.0, None)
    assert numbers["device_usual_times"] == (pytest.approx(4 / 3), SLOWER_TIMES)
    assert numbers["device_longer_ms"] == (1.0, SLOWER_US / 1000)
    assert not any("usual" in item for item in found.unknown)
