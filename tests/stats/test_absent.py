# SPDX-License-Identifier: Apache-2.0
"""A column of the queues' figures that can have no value says why, and is not 0."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from weir.stats.absent import IDLE, NO_CLASS, Absent, absent_of, without_delays
from weir.stats.layout import COUNTERS
from weir.stats.rates import BYTES, FAST_BYTES, PACKETS
from weir.stats.rows import WORST_US, rows

NO_FQ = "no pacing, because fq is not available"
PEER = "the device cannot send what XDP forwards"


def shaper(
    mode: str = "police", *, fast: bool = False, why: str = PEER, reason: str = NO_FQ
) -> dict[str, Any]:
    return {"mode": mode, "reason": reason, "fast_path": fast, "fast_path_reason": why}


def row(absent: Absent, *, slot: int = 1, passed: float = 1000.0, fast: float = 0.0) -> dict[str, Any]:
    figures = np.zeros((len(COUNTERS) + 4, 2))
    figures[BYTES], figures[PACKETS], figures[FAST_BYTES] = passed, passed / 100, fast
    return rows(["a"], [slot], figures, absent)[0]


def test_policing_ports_have_no_delay_and_say_why() -> None:
    found = row(absent_of({"lan0": shaper(), "wan0": shaper()}))
    assert (found["delay_us"], found["worst_delay_us"]) == (None, None)
    assert found["delay_reason"] == f"nothing waits, what is over a limit is dropped: lan0, wan0: {NO_FQ}"


def test_one_port_that_paces_gives_the_column_values() -> None:
    found = row(absent_of({"lan0": shaper("edt"), "wan0": shaper()}))
    assert (found["delay_us"], found["delay_reason"]) == ({"upload": 0.0, "download": 0.0}, None)


def test_delays_have_no_digit_that_was_not_measured() -> None:
    figures = np.zeros((len(COUNTERS) + 4, 2))
    figures[PACKETS], figures[BYTES], figures[WORST_US] = 3, 300, np.float32(12.3)
    found = rows(["a"], [1], figures, Absent())[0]
    assert found["worst_delay_us"] == {"upload": 12.3, "download": 12.3}


def test_trees_do_not_measure_delays() -> None:
    found = row(absent_of({"lan0": shaper("htb"), "wan0": shaper("htb")}))
    assert (found["delay_us"], found["delay_reason"]) == (None, "lan0, wan0: HTB does not measure it")


def test_no_port_with_a_fast_path_is_no_share_of_0() -> None:
    found = row(absent_of({"lan0": shaper(), "wan0": shaper(why="turned off")}))
    assert found["fast_share"] is None
    assert found["fast_share_reason"] == f"no port has a fast path: lan0: {PEER}; wan0: turned off"


@pytest.mark.parametrize(("fast", "share", "says"), [(0.0, 0.0, "wan0: turned off"), (1000.0, 1.0, None)])
def test_a_share_of_0_says_which_ports_are_slow(fast: float, share: float, says: str | None) -> None:
    absent = absent_of({"lan0": shaper(fast=True), "wan0": shaper(why="turned off")})
    found = row(absent, fast=fast)
    assert found["fast_share"] == share
    assert found["fast_share_reason"] == (says and f"not every port has a fast path: {says}")


def test_where_all_ports_are_fast_a_share_of_0_is_the_queues_own() -> None:
    assert row(absent_of({"lan0": shaper(fast=True)}))["fast_share_reason"] is None


@pytest.mark.parametrize(("slot", "passed", "says"), [(1, 0.0, IDLE), (0, 0.0, NO_CLASS)])
def test_a_queue_without_packets_has_neither(slot: int, passed: float, says: str) -> None:
    found = row(absent_of({"lan0": shaper("edt", fast=True)}), slot=slot, passed=passed)
    assert (found["delay_us"], found["fast_share"]) == (None, None)
    assert {found["delay_reason"], found["fast_share_reason"]} == {says}


@pytest.mark.parametrize(("absent", "waits"), [(Absent(delay=NO_FQ), [None, None]), (Absent(), [0.0, None])])
def test_a_history_without_waits_has_none(absent: Absent, waits: list[float | None]) -> None:
    history = {way: {"worst_delay_us": [0.0, None]} for way in ("upload", "download")}
    found = without_delays(history, absent)
    assert (found["upload"]["worst_delay_us"], found["delay_reason"]) == (waits, absent.delay or None)


def test_waits_that_were_measured_before_stay() -> None:
    history = {"upload": {"worst_delay_us": [0.0]}, "download": {"worst_delay_us": [7.0]}}
    assert without_delays(history, Absent(delay=NO_FQ))["delay_reason"] is None
    assert history["download"]["worst_delay_us"] == [7.0]


def test_before_the_agent_said_anything_counters_count() -> None:
    assert row(absent_of({}))["fast_share"] == 0.0


def test_many_ports_are_not_all_listed() -> None:
    absent = absent_of({f"ppp{number:03d}": shaper() for number in range(200)})
    assert absent.fast == f"no port has a fast path: ppp000, ppp001, ppp002, ppp003 and 196 more: {PEER}"
