# SPDX-License-Identifier: Apache-2.0
"""Interfaces have a past, also for who looks at them after a reload."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from weir.model.problem import NotFound
from weir.service.router_state import Router
from weir.stats import interfaces
from weir.stats.archive import DAY, Archive
from weir.stats.interfaces import GROUPS, InterfaceHistory

MIDNIGHT = 1_700_006_400.0
NOON = 1_700_000_000 // 60 * 60.0


def sample(rx_bps: float, tx_bps: float = 0.0, tx_drops_ps: float = 0.0) -> dict[str, float]:
    return {"rx_bps": rx_bps, "tx_bps": tx_bps, "rx_drops_ps": 0.0, "tx_drops_ps": tx_drops_ps}


def test_two_minutes_are_kept_by_the_second_and_gaps_stay_empty() -> None:
    history = InterfaceHistory()
    history.push({"wan0": sample(1000, 2000, 4)}, NOON)
    history.push({"wan0": sample(3000)}, NOON + 3)
    found = history.recent("wan0", "2m")
    assert found is not None
    assert (found["step_s"], found["start"] + 119) == (1, NOON + 3)
    last = found["rx"]["rate_bps"][-5:]
    assert last == [None, pytest.approx(1000, rel=1e-3), None, None, pytest.approx(3000, rel=1e-3)]
    assert found["tx"]["drops_ps"][-4] == pytest.approx(4, rel=0.05)


def test_an_hour_is_kept_as_the_mean_of_each_minute() -> None:
    history = InterfaceHistory()
    for second in range(180):
        history.push({"lan0": sample(100_000.0 * (second // 60 + 1))}, NOON + second)
    history.push({"lan0": sample(0)}, NOON + 180)
    found = history.recent("lan0", "1h")
    assert found is not None
    assert (found["step_s"], found["start"] + 60 * 60) == (60, NOON + 180)
    expected = [None, *(pytest.approx(value, rel=1e-3) for value in (100_000, 200_000, 300_000))]
    assert found["rx"]["rate_bps"][-4:] == expected


def test_an_interface_that_came_later_has_no_past_and_one_that_went_keeps_its() -> None:
    history = InterfaceHistory()
    history.push({"lan0": sample(1000)}, NOON)
    history.push({"wan0": sample(2000)}, NOON + 1)
    wan, lan = history.recent("wan0", "2m"), history.recent("lan0", "2m")
    assert wan is not None
    assert lan is not None
    assert wan["rx"]["rate_bps"][-2:] == [None, pytest.approx(2000, rel=1e-3)]
    assert lan["rx"]["rate_bps"][-2:] == [pytest.approx(1000, rel=1e-3), None]


def of_day(archive: Archive, minutes: range, bps: float, name: str = "lan0") -> InterfaceHistory:
    """An hour's sampling by the minute, which ends after the last one."""
    history = InterfaceHistory(archive)
    for minute in (*minutes, minutes.stop):
        history.push({name: sample(bps, 2 * bps, 4)}, MIDNIGHT + minute * 60)
    return history


def test_thirty_days_are_kept_over_a_restart(tmp_path: Path) -> None:
    path = tmp_path / "interfaces.db"
    archive = Archive(path, GROUPS, keeps_idle=True)
    of_day(archive, range(0, 60), 1e6)
    archive.fold(int(MIDNIGHT) // DAY.step_s + 5)
    archive.close()
    archive = Archive(path, GROUPS, keeps_idle=True)
    history = of_day(archive, range(90, 100), 3e6)
    day, week = history.recent("lan0", "24h"), history.recent("lan0", "7d")
    assert day is not None and week is not None
    assert (day["step_s"], day["start"] + 144 * 600) == (600, MIDNIGHT + 100 * 60)
    one, three = pytest.approx(1e6, rel=1e-3), pytest.approx(3e6, rel=1e-3)
    assert day["rx"]["rate_bps"][-11:] == [None, *[one] * 6, None, None, None, three]
    assert day["tx"]["rate_bps"][-1] == pytest.approx(6e6, rel=1e-3)
    assert day["tx"]["drops_ps"][-1] == pytest.approx(4, rel=0.05)
    assert week["rx"]["rate_bps"][-2:] == [None, one]
    archive.close()


def test_an_idle_interface_was_measured_and_one_that_was_not_there_was_not(tmp_path: Path) -> None:
    archive = Archive(tmp_path / "interfaces.db", GROUPS, keeps_idle=True)
    of_day(archive, range(0, 10), 0.0)
    history = of_day(archive, range(10, 20), 1e6, name="wan0")
    idle, new = history.recent("lan0", "24h"), history.recent("wan0", "24h")
    assert idle is not None and new is not None
    assert idle["rx"]["rate_bps"][-3:] == [None, 0, None]
    assert new["rx"]["rate_bps"][-3:] == [None, None, pytest.approx(1e6, rel=1e-3)]
    assert history.recent("never0", "24h") is None
    archive.fold(int(MIDNIGHT) // DAY.step_s + 5)
    hour = of_day(archive, range(60, 61), 1e6, name="wan0").recent("wan0", "7d")
    assert hour is not None
    assert hour["rx"]["rate_bps"][-1] == pytest.approx(1e6, rel=1e-3), (
        "the mean is that of the time it was there"
    )
    archive.close()


def test_an_archive_that_cannot_be_written_costs_the_past_and_nothing_else(tmp_path: Path) -> None:
    archive = Archive(tmp_path / "interfaces.db", GROUPS, keeps_idle=True)
    archive.close()
    history = of_day(archive, range(0, 20), 1e6)
    assert history.recent("lan0", "1h") is not None


def answer(read_s: float, rx_bytes: int) -> dict[str, Any]:
    """Of the agent, which read the counters then."""
    port = {"name": "lan0", "rx_bytes": rx_bytes, "tx_bytes": 0, "counted_ns": round(read_s * 1e9)}
    return {"value": [port]}


def test_the_agents_counters_become_history() -> None:
    router = Router()
    for second, counted in enumerate((0, 1000, 3000)):
        router.follow({}, answer(second, counted), {}, NOON + second, 50.0 + second)
    found = router.interface_history("lan0", "2m")
    assert (found["id"], found["window"]) == ("lan0", "2m")
    assert found["rx"]["rate_bps"][-2:] == [pytest.approx(8000, rel=1e-3), pytest.approx(16000, rel=1e-3)]
    with pytest.raises(NotFound):
        router.interface_history("nosuch0", "1h")


def test_an_answer_that_came_late_has_the_rate_of_the_time_that_was_counted() -> None:
    """The agent answers after a commit: 1,000 bytes a second were shown as 4,000, and then as 200."""
    router = Router()
    shown = []
    for asked_s, read_s in ((0, 0), (1, 1), (2, 5), (6, 6)):
        router.follow({}, answer(read_s, read_s * 1000), {}, NOON + asked_s, 50.0 + asked_s)
        shown.append(router.interfaces()["items"][0]["rx_bps"])
    assert shown == [0, 8000, 8000, 8000]


def test_a_new_interface_takes_the_place_of_one_that_is_gone_and_nothing_of_its_past(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(interfaces, "MAX_INTERFACES", 2)
    history = InterfaceHistory()
    history.push({"ppp0": sample(1000), "wan0": sample(2000)}, NOON)
    history.push({"wan0": sample(3000), "ppp1": sample(4000)}, NOON + 1)
    history.push({"wan0": sample(3000), "ppp1": sample(4000), "ppp2": sample(5000)}, NOON + 2)
    assert history.recent("ppp0", "2m") is None
    assert history.recent("ppp2", "2m") is None
    kept, new = history.recent("wan0", "2m"), history.recent("ppp1", "2m")
    assert kept is not None and new is not None
    assert kept["rx"]["rate_bps"][-3:] == [pytest.approx(bps, rel=1e-3) for bps in (2000, 3000, 3000)]
    assert new["rx"]["rate_bps"][-3:] == [None, *[pytest.approx(4000, rel=1e-3)] * 2]
