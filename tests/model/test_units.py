# SPDX-License-Identifier: Apache-2.0
"""Rates and durations as typed and as shown; the rate vectors are shared with the browser's tests."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.model.strategies import patient
from weir.model.limits import MAX_RATE_BPS
from weir.model.problem import Invalid
from weir.model.units import (
    format_duration_ms,
    format_rate,
    format_rate_exact,
    format_rate_long,
    parse_duration_ms,
    parse_rate_bps,
)

VECTORS = json.loads((Path(__file__).parents[1] / "vectors" / "rates.json").read_text())


@pytest.mark.parametrize("vector", VECTORS["accepted"], ids=lambda vector: vector["input"])
def test_rates_mean_what_people_type(vector: dict[str, object]) -> None:
    assert parse_rate_bps(str(vector["input"])) == vector["rate_bps"]


@pytest.mark.parametrize("vector", VECTORS["rejected"], ids=lambda vector: vector["input"])
def test_other_texts_are_refused_by_name(vector: dict[str, str]) -> None:
    with pytest.raises(Invalid) as caught:
        parse_rate_bps(vector["input"])
    assert repr(vector["input"]) in caught.value.message


@patient
@given(st.integers(0, MAX_RATE_BPS))
def test_exact_rates_are_read_back(rate_bps: int) -> None:
    assert parse_rate_bps(format_rate_exact(rate_bps)) == rate_bps
    assert abs(parse_rate_bps(format_rate(rate_bps)) - rate_bps) <= rate_bps * 0.006


@pytest.mark.parametrize(
    ("rate_bps", "short", "long"),
    [
        (0, "0", "unlimited"),
        (400, "400", "400 bit/s"),
        (999, "999", "999 bit/s"),
        (1000, "1k", "1 kbit/s"),
        (12_400_000, "12.4M", "12.4 Mbit/s"),
        (999_600_000, "1G", "1 Gbit/s"),
        (2_500_000_000, "2.5G", "2.5 Gbit/s"),
    ],
)
def test_rates_are_shown_with_three_digits(rate_bps: int, short: str, long: str) -> None:
    assert format_rate(rate_bps) == short
    assert format_rate_long(rate_bps) == long


@pytest.mark.parametrize(
    ("text", "duration_ms"),
    [("10s", 10_000), ("1m30s", 90_000), ("100ms", 100), ("0.1", 100), ("1d2h", 93_600_000), ("7", 7000)],
)
def test_durations_are_read(text: str, duration_ms: int) -> None:
    assert parse_duration_ms(text) == duration_ms


@patient
@given(st.integers(0, 10**10))
def test_durations_are_read_back(duration_ms: int) -> None:
    assert parse_duration_ms(format_duration_ms(duration_ms)) == duration_ms


@patient
@given(st.text())
def test_any_text_is_a_number_or_invalid(text: str) -> None:
    for parse in (parse_rate_bps, parse_duration_ms):
        try:
            assert parse(text) >= 0
        except Invalid as problem:
            assert problem.message
