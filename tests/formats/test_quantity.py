# SPDX-License-Identifier: Apache-2.0
"""Rates and times as foreign files write them."""

from __future__ import annotations

import pytest

from weir.formats.libreqos.rates import mbps_to_bps
from weir.formats.quantity import rate_bps, time_ms, truth
from weir.model.limits import MAX_RATE_BPS


@pytest.mark.parametrize(
    ("text", "expected_bps"),
    [("0", 0), ("400", 400), ("64K", 64_000), ("64k", 64_000), ("1.5G", 1_500_000_000),
     ("750.25M", 750_250_000), ("unlimited", 0), ("0.0005M", 500), ("1000G", MAX_RATE_BPS)],
)  # fmt: skip
def test_rates_are_decimal(text: str, expected_bps: int) -> None:
    assert rate_bps(text) == expected_bps


@pytest.mark.parametrize(
    "text", ["", "M", "-1", "10Mbps", "1,5M", "1e6", "٣M", "1001G", "10 M", "1.M", ".5M"]
)
def test_other_rates_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="rate"):
        rate_bps(text)


@pytest.mark.parametrize(
    ("text", "expected_ms"),
    [("10s", 10_000), ("7", 7000), ("1m", 60_000), ("1d2h", 93_600_000), ("00:00:10", 10_000),
     ("8:30", 30_600_000), ("0.1", 100), ("100ms", 100), ("1m30s", 90_000), ("1w", 604_800_000), ("0s", 0)],
)  # fmt: skip
def test_times_have_units_or_are_seconds(text: str, expected_ms: int) -> None:
    assert time_ms(text) == expected_ms


@pytest.mark.parametrize("text", ["", "s", "-1s", "10x", "1 s", "5 5", "10us", "9999999w"])
def test_other_times_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="time"):
        time_ms(text)


def test_megabits_become_bits_without_rounding_error() -> None:
    assert mbps_to_bps("0.1") == 100_000
    assert mbps_to_bps(" 155 ") == 155_000_000
    assert mbps_to_bps("2.000001") == 2_000_001


def test_truth_is_spelled_out() -> None:
    assert truth("yes") and truth("TRUE") and not truth("no")
    with pytest.raises(ValueError, match="yes or no"):
        truth("1")
