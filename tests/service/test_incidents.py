# SPDX-License-Identifier: Apache-2.0
"""What begins an incident, what is only told beside others, and whose figures it has."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import pytest

from tests.http.agent import port_of
from weir.model.problem import NotFound, Unavailable
from weir.service.incidents import INTERFACES, IncidentService, Now, Told
from weir.service.router_state import Router
from weir.stats.queues import QueueFigures
from weir.store import Revision
from weir.wire.client import AgentClient

PORTS = ("lan0", "wan0")
START = 1_700_000_000


def finding(code: str, subject: str, severity: str = "warning") -> dict[str, str]:
    return {"code": code, "subject": subject, "severity": severity, "sentence": f"{subject} is ill."}


class Busy(QueueFigures):
    """Of queues that all are measured; who is busy now is set by hand."""

    now: Sequence[str] = ()

    def ranking(self, by: str, count: int) -> list[str]:
        return list(self.now)[:count]

    def unmeasured(self, queue_id: str) -> str:
        return ""


class Bench:
    """An incident service that is moved by hand, a second at a time."""

    def __init__(self, folder: Path | None = None) -> None:
        self.now = 0
        self.findings: list[dict[str, str]] = []
        self.is_away = False
        self.ports: dict[str, dict[str, Any]] = {name: port_of(name, 1) for name in PORTS}
        self.revision = 1
        self.kept: list[Revision] = []
        self.failed: deque[str] = deque()
        self.router = Router()
        self.figures = Busy()
        told = Told(self._after, self._names, self.failed)
        self.service = IncidentService(
            cast(AgentClient, self), folder, told, lambda: START + float(self.now), lambda: float(self.now)
        )

    def call(self, method: str) -> dict[str, Any]:
        assert method == "findings"
        return {"findings": self.findings}

    def _after(self, number: int) -> Sequence[Revision]:
        return [item for item in self.kept if item.number > number]

    def _names(self, ids: Sequence[str]) -> Mapping[str, str]:
        return {queue_id: f"name of {queue_id}" for queue_id in ids}

    def commit(self, kind: Any, author: str, message: str) -> None:
        self.revision += 1
        self.kept.append(Revision(self.revision, kind, author, "", message, 0, None, 1))

    def pass_s(self, seconds: int) -> None:
        for _ in range(seconds):
            self.now += 1
            wall = START + float(self.now)
            if self.is_away:
                self.router.lose("it does not answer", wall)
            else:
                counted = {"counted_ns": round(self.now * 1e9)}
                answer = {"value": [port | counted for port in self.ports.values()]}
                self.router.follow({}, answer, {"cpus": [{"user": 0, "idle": self.now}]}, wall, self.now)
            self.service.tick(Now(self.router, lambda: self.figures, self.revision))

    def begun(self) -> list[tuple[str, str]]:
        return [(item["code"], item["subject"]) for item in self.service.listed()["items"]]

    def told(self, number: int) -> list[str]:
        return [event["sentence"] for event in self.service.one(number)["events"]]


@pytest.fixture
def bench() -> Bench:
    made = Bench()
    made.findings = [finding("one-core-works", "core 0")]
    made.pass_s(6)
    return made


def test_what_was_so_when_it_first_looked_did_not_begin(bench: Bench) -> None:
    bench.pass_s(20)
    assert bench.begun() == [] and bench.service.listed()["problems"] == []


def test_a_finding_begins_an_incident_and_its_end_is_told(bench: Bench) -> None:
    bench.findings = [*bench.findings, finding("ring-overrun", "eth1"), finding("one-lock", "eth1", "notice")]
    bench.pass_s(6)
    assert bench.begun() == [("ring-overrun", "eth1")], "a notice is told only"
    bench.findings = []
    bench.pass_s(120)
    assert bench.told(1).count("eth1 is ill.") == 2
    assert "It ended: eth1 is ill." in bench.told(1)


def test_a_port_without_carrier_and_one_that_is_gone_begin_incidents(bench: Bench) -> None:
    bench.ports["wan0"] |= {"carrier": False}
    bench.pass_s(1)
    gone = bench.ports.pop("lan0")
    bench.pass_s(5)
    assert bench.begun() == [("port-gone", "lan0"), ("port-down", "wan0")]
    bench.ports |= {"lan0": gone, "wan0": port_of("wan0", 2)}
    bench.pass_s(120)
    assert bench.told(2)[-1] == "wan0 is up."
    assert [item["id"] for item in bench.service.one(1)["interfaces"]] == ["wan0", "lan0"]


def test_a_port_that_is_switched_off_or_was_removed_by_a_commit_is_told_only(bench: Bench) -> None:
    bench.ports["wan0"] |= {"up": False, "carrier": False}
    bench.pass_s(1)
    del bench.ports["lan0"]
    bench.pass_s(2)  # the store tells of a commit after the kernel followed it
    bench.commit("commit", "admin", "")
    bench.pass_s(5)
    assert bench.begun() == []


def test_a_session_that_begins_again_at_once_is_no_news(bench: Bench) -> None:
    for _ in range(3):
        port = bench.ports.pop("wan0")
        bench.pass_s(2)
        bench.ports["wan0"] = port
        bench.pass_s(2)
    assert bench.begun() == []


def test_an_agent_that_is_away_begins_one_and_a_short_restart_does_not(bench: Bench) -> None:
    bench.is_away = True
    bench.pass_s(4)
    bench.is_away = False
    bench.pass_s(1)
    assert bench.begun() == []
    bench.is_away = True
    bench.pass_s(30)
    bench.is_away = False
    bench.pass_s(120)
    assert bench.begun() == [("agent-away", "agent")]
    found = bench.service.one(1)
    assert found["events"][-1]["sentence"] == "The agent answers again."
    rates = found["interfaces"][0]["ways"]["rx"]["rate_bps"]
    assert rates[119] is None and rates[114] == rates[200] == 0.0, "no figure is made up"


def test_a_commit_that_fails_or_goes_back_begins_one_and_others_are_told(bench: Bench) -> None:
    bench.commit("commit", "admin", "more for acme")
    bench.pass_s(5)
    assert bench.begun() == []
    bench.commit("rollback", "rollback timer", "revision 2 was not confirmed")
    bench.failed.append("A commit by admin failed, and nothing was changed: no room")
    bench.pass_s(1)
    assert bench.begun() == [("commit-failed", "configuration"), ("rollback", "revision 3")]
    assert bench.told(1) == [
        "Revision 2 was committed by admin: more for acme",
        "The configuration was rolled back: revision 2 was not confirmed",
        "A commit by admin failed, and nothing was changed: no room",
    ]
    bench.commit("rollback", "ops", "")
    bench.pass_s(1)
    assert bench.service.one(3)["sentence"] == "ops rolled a change back"


def test_the_port_that_it_is_about_is_in_it_however_idle(bench: Bench) -> None:
    for number in range(40):
        bench.ports[f"busy{number}"] = port_of(f"busy{number}", number)
    for _ in range(3):
        for name, port in bench.ports.items():
            if name.startswith("busy"):
                bench.ports[name] = port | {"rx_bytes": port["rx_bytes"] + 1000}
        bench.pass_s(1)
    bench.ports["wan0"] |= {"carrier": False}
    bench.pass_s(121)
    ids = [item["id"] for item in bench.service.one(1)["interfaces"]]
    assert ids[0] == "wan0" and len(ids) <= INTERFACES


def test_who_was_busy_until_the_cable_was_pulled_is_in_it(bench: Bench) -> None:
    """The agent tells of it with a poll, and of rates of zero with the same one or the one before."""
    bench.ports["lan0"] |= {"rx_bytes": 10**9}
    for number in range(60):
        bench.ports[f"port{number}"] = port_of(f"port{number}", number)
    bench.figures.now = ["cut-off", *(f"q{number}" for number in range(11))]
    bench.pass_s(6)
    bench.figures.now = [f"on-another-port{number}" for number in range(12)]
    for number in range(60):
        bench.ports[f"port{number}"]["rx_bytes"] += 10**6
    bench.ports["wan0"] |= {"carrier": False}
    bench.pass_s(1)
    found = bench.service.one(1)
    assert {"cut-off", "on-another-port0"} <= {item["id"] for item in found["queues"]}
    assert "lan0" in {item["id"] for item in found["interfaces"]}


def test_incidents_are_there_after_a_restart_and_what_cannot_be_had_is_named(tmp_path: Path) -> None:
    first = Bench(tmp_path / "incidents")
    first.pass_s(2)
    for number in range(2):
        first.failed.append(f"It failed {number}.")
        first.pass_s(700)
    (tmp_path / "incidents" / "1.incident").write_bytes(b"")
    again = Bench(tmp_path / "incidents").service
    assert [item["id"] for item in again.listed()["items"]] == [2]
    assert again.one(2)["sentence"] == "It failed 1."
    with pytest.raises(Unavailable, match="incident 1 cannot be read") as damaged:
        again.one(1)
    assert damaged.value.code == "incident-damaged" and len(again.listed()["problems"]) == 1
    with pytest.raises(NotFound, match="no incident 7"):
        again.one(7)
