# SPDX-License-Identifier: Apache-2.0
"""What the API keeps of each look and each second, and what it does not when the agent is away."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest

from weir.model.problem import Unavailable
from weir.service.figures import FigureService
from weir.service.marks import MOST, marks
from weir.service.router_state import Router
from weir.store import Revision
from weir.wire.client import AgentClient

START = 1_700_000_040
"""A minute begins."""


class Bench:
    """A service that is moved by hand, a second at a time; the machine has two cores, one of them half busy,
    and loses 3 packets of sockets a second."""

    def __init__(self, path: Path | None = None) -> None:
        self.now = 0
        self.is_away = False
        self.has_looked = True
        self.looked_s: int | None = None
        """When the agent looked last; None: it looks."""
        self.unseen: dict[str, str] = {}
        self.reading = (0.0, 0)
        self.router = Router()
        self.service = FigureService(
            cast(AgentClient, self),
            path,
            lambda: self.reading,
            lambda: START + float(self.now),
            lambda: float(self.now),
        )

    def call(self, method: str) -> dict[str, Any]:
        assert method == "figures"
        if self.is_away:
            raise Unavailable("it does not answer", code="agent-away")
        look = {
            "clock_s": float(self.now if self.looked_s is None else self.looked_s),
            "gauges": {"connections": self.now},
            "counters": {"socket-drops": self.now * 3, "core-packets/0": self.now * 100},
            "unseen": self.unseen,
        }
        return {"look": look if self.has_looked else None}

    def pass_s(self, seconds: int) -> None:
        for _ in range(seconds):
            self.now += 1
            if self.is_away:
                self.router.lose("it does not answer", START + self.now)
            else:
                spent = {"user": 30, "idle": 50, "softirq": 20}
                first = {name: share * self.now for name, share in spent.items()}
                system = {
                    "cpus": [first, {"user": 0, "idle": self.now * 100}],
                    "memory": {"total_bytes": 1000, "available_bytes": 250},
                    "load": [1.5],
                }
                self.router.follow({}, {"value": []}, system, START + float(self.now), float(self.now))
            self.service.tick(self.router)

    def answer(self, *names: str, minutes: int = 3) -> dict[str, list[float | None]]:
        found = self.service.answer(names or None, minutes)
        return {
            item["figure"] + (f"/{item['subject']}" if item["subject"] else ""): item["values"]
            for item in found["items"]
        }


def test_a_minute_has_what_each_second_and_each_look_found() -> None:
    bench = Bench()
    bench.pass_s(181)
    found = bench.answer("cores", "core", "core-softirq", "memory", "load", "core-packets", "connections")
    assert found["cores"][1:] == [0.25, 0.25] and found["core/0"][1:] == [0.5, 0.5]
    assert found["core/1"][1:] == [0.0, 0.0] and found["core-softirq/0"][2] == 0.2
    assert found["memory"][2] == 0.75 and found["load"][2] == 1.5
    assert found["core-packets/0"][2] == 100
    assert found["connections"][2] == pytest.approx(150, abs=5)
    series = bench.service.answer(["cores"], 1)["items"]
    assert series[0]["most"] == [0.5], "the busiest core"
    assert list(found) == [
        "cores", "core/0", "core/1", "core-softirq/0", "core-softirq/1", "memory", "load", "core-packets/0",
        "connections",
    ]  # fmt: skip


def test_what_adds_up_is_the_sum_of_a_minute() -> None:
    bench = Bench()
    bench.pass_s(181)
    assert bench.answer("socket-drops")["socket-drops"][1:] == [180.0, 180.0]
    assert bench.service.answer(["socket-drops"], 1)["items"][0]["most"] is None


def test_dropped_packets_are_those_between_two_readings() -> None:
    bench = Bench()
    bench.pass_s(10)
    bench.reading = (START + 10.0, 0)
    bench.pass_s(60)
    bench.reading = (START + 70.0, 12)
    bench.pass_s(60)
    assert bench.answer("dropped")["dropped"] == [None, None, 12.0]
    bench.pass_s(200)
    bench.reading = (START + 320.0, 900)
    bench.pass_s(60)
    assert bench.answer("dropped", minutes=4) == {}, "nobody knows when in these four minutes it was"


def test_while_the_agent_is_away_nothing_was_measured() -> None:
    bench = Bench()
    bench.pass_s(59)
    bench.is_away = True
    bench.pass_s(120)
    bench.is_away = False
    bench.pass_s(61)
    for name, values in bench.answer("cores", "connections", "socket-drops", minutes=4).items():
        assert values[0] is not None and values[1:3] == [None, None] and values[3] is not None, name
    assert bench.answer("socket-drops", minutes=1)["socket-drops"][0] == pytest.approx(180, abs=15)


def test_what_grew_while_the_api_stood_still_is_of_no_minute() -> None:
    bench = Bench()
    bench.pass_s(59)
    bench.now += 100
    bench.pass_s(2)
    bench.pass_s(60)
    (lost,) = bench.answer("socket-drops", minutes=1)["socket-drops"]
    assert lost is not None and lost < 180


def test_an_agent_that_answers_and_does_not_look_is_not_measured() -> None:
    bench = Bench()
    bench.pass_s(59)
    bench.looked_s = 58
    bench.pass_s(122)
    found = bench.answer("connections", "cores")
    assert found["connections"][2] is None and found["cores"][2] == 0.25


def test_an_agent_that_has_not_looked_yet_says_nothing_and_what_it_cannot_see_is_told() -> None:
    bench = Bench()
    bench.has_looked = False
    bench.pass_s(61)
    assert bench.answer("connections", minutes=1) == {}
    bench.has_looked, bench.unseen = (
        True,
        {"neighbours": "no such table", "reverse_path": "no", "sockets": ""},
    )
    bench.pass_s(60)
    assert bench.service.answer(["neighbours-v4", "socket-drops"], 1)["unseen"] == [
        {"id": "neighbours-v4", "reason": "no such table"}
    ]


def test_figures_are_there_after_a_restart(tmp_path: Path) -> None:
    bench = Bench(tmp_path / "figures.db")
    bench.pass_s(121)
    bench.service.close()
    again = Bench(tmp_path / "figures.db")
    again.now = 121
    assert again.answer("cores", minutes=2) == {"cores": [0.25, 0.25]}


# -- marks ---------------------------------------------------------------------------------------------------


def revision(number: int, kind: Any = "commit", author: str = "admin", message: str = "") -> Revision:
    return Revision(number, kind, author, "", message, number * 1000, None, 1)


def head(number: int, at: float, code: str = "port-down", subject: str = "wan0") -> dict[str, Any]:
    return {"id": number, "at": at, "code": code, "subject": subject, "severity": "error", "sentence": "Oh."}


def test_marks_are_revisions_and_incidents_in_order() -> None:
    kept = [revision(3), revision(2, message="more"), revision(1)]
    found = marks(lambda most: kept[:most], [head(9, 2.5), head(8, 0.1)], 1500)
    assert [(item["kind"], item["revision"], item["incident"]) for item in found["items"]] == [
        ("commit", 2, None), ("incident", None, 9), ("commit", 3, None)
    ]  # fmt: skip
    assert found["items"][0]["sentence"] == "Revision 2 was committed by admin: more"
    assert found["whole_since_ms"] == 1500


def test_a_rollback_that_is_an_incident_is_one_mark() -> None:
    kept = [revision(2, "rollback", "confirm timer")]
    (mark,) = marks(lambda _: kept, [head(9, 2.6, "rollback", "revision 2")], 0)["items"]
    assert (mark["kind"], mark["revision"], mark["incident"], mark["at_ms"]) == ("rollback", 2, 9, 2000)


def test_what_does_not_fit_is_told() -> None:
    kept = [revision(number) for number in range(MOST + 50, 0, -1)]
    found = marks(lambda most: kept[:most], [], 0)
    assert len(found["items"]) == MOST and found["whole_since_ms"] == 51_000
    assert marks(lambda most: kept[:most], [], 200_000)["whole_since_ms"] == 200_000
