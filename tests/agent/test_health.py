# SPDX-License-Identifier: Apache-2.0
"""When this system is called good, when the machine is restarted, and when neither."""

from __future__ import annotations

import http.server
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from weir.adapters.rauc import Rauc, Slot, Slots
from weir.agent.health import ASK_AGAIN_S, Health, Limits, conclude, insisted, watch
from weir.model.problem import Problem, Unavailable
from weir.wire.client import AgentClient
from weir.wire.server import AgentServer

LIMITS = Limits(steady_s=20, give_up_s=300)


class Clock:
    """Time that passes when somebody waits."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        return self.now_s

    def pause(self, seconds: float) -> None:
        self.now_s += seconds


def watched(wrong_until_s: float, clock: Clock, back_at_s: float = -1.0) -> str:
    def complaint() -> str:
        return "API: no" if clock.now_s < wrong_until_s or clock.now_s == back_at_s else ""

    return watch(complaint, LIMITS, clock=clock, pause=clock.pause)


def test_all_must_be_well_for_a_while() -> None:
    clock = Clock()
    assert watched(40, clock) == ""
    assert clock.now_s == 60


def test_a_relapse_starts_the_wait_again() -> None:
    clock = Clock()
    assert watched(0, clock, back_at_s=15) == ""
    assert clock.now_s == 36


def test_what_does_not_become_well_is_given_up_with_its_reason() -> None:
    clock = Clock()
    assert watched(10_000, clock) == "API: no"
    assert clock.now_s == LIMITS.give_up_s


class Loader(Rauc):
    def __init__(self, other_good: bool) -> None:
        super().__init__(Path("/nonexistent"))
        self.other_good = other_good
        self.marked: list[tuple[str, str]] = []

    def mark(self, what: str, slot: str) -> None:
        self.marked.append((what, slot))

    def status(self) -> Slots:
        slots = (Slot("A", True, True, None, None), Slot("B", False, self.other_good, None, None))
        return Slots("weir-x86_64", "A", "A", slots)


@pytest.mark.parametrize(
    ("wrong", "other_good", "marked", "restarts"),
    [("", True, [("good", "booted")], 0), ("API: no", True, [], 1), ("API: no", False, [], 0)],
)
def test_good_is_told_and_only_a_way_out_is_taken(
    wrong: str, other_good: bool, marked: list[tuple[str, str]], restarts: int
) -> None:
    loader, restarted = Loader(other_good), []
    assert conclude(wrong, loader, lambda: restarted.append(1), LIMITS) is (not wrong)
    assert (loader.marked, len(restarted)) == (marked, restarts)


def test_rauc_that_fails_is_asked_again_for_half_an_hour(caplog: pytest.LogCaptureFixture) -> None:
    clock, late = Clock(), Unavailable("rauc did not answer in time", code="program-timeout")
    answers: Iterator[str | Problem] = iter([late, late, "marked"])

    def ask() -> str:
        found = next(answers, late)
        if isinstance(found, Problem):
            raise found
        return found

    assert insisted(ask, LIMITS, clock=clock, pause=clock.pause) == "marked"
    assert clock.now_s == 2 * ASK_AGAIN_S
    told = [record.getMessage() for record in caplog.records]
    assert told == ["rauc did not answer in time; asking again every 10 s"], "once"
    clock.now_s = 0.0
    with pytest.raises(Unavailable):
        insisted(ask, LIMITS, clock=clock, pause=clock.pause)
    assert clock.now_s == LIMITS.ask_s


@pytest.mark.parametrize(("wrong", "asked"), [("", "mark"), ("API: no", "status")])
def test_neither_a_good_slot_nor_a_way_out_is_missed_when_rauc_fails_once(
    wrong: str, asked: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    loader, restarted, times = Loader(True), list[int](), list[int]()
    answer = getattr(loader, asked)

    def fail_first(*words: str) -> object:
        times.append(1)
        if len(times) == 1:
            raise Unavailable("rauc did not answer in time", code="program-timeout")
        return answer(*words)

    monkeypatch.setattr(loader, asked, fail_first)
    monkeypatch.setattr("weir.agent.health.ASK_AGAIN_S", 0.0)
    conclude(wrong, loader, lambda: restarted.append(1), LIMITS)
    assert len(times) == 2
    assert (len(loader.marked), len(restarted)) == ((0, 1) if wrong else (1, 0))


@contextmanager
def api(status: int) -> Iterator[tuple[str, int]]:
    class Live(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status if self.path == "/api/v1/system/live" else 404)
            self.end_headers()

        def log_message(self, *words: object) -> None:
            """Tests are quiet."""

    server = http.server.HTTPServer(("127.0.0.1", 0), Live)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield "127.0.0.1", server.server_port
    finally:
        server.shutdown()
        thread.join(5)
        server.server_close()


@pytest.fixture
def agent(tmp_path: Path) -> Iterator[tuple[dict[str, Any], AgentClient]]:
    """What the agent answers, and a client of it."""
    told: dict[str, Any] = {"state": "ok", "capabilities": [{"id": "frr", "available": True, "reason": ""}]}
    path = tmp_path / "agent.sock"
    server = AgentServer(path, {"status": lambda _params, _peer: told}, allowed_uids={os.getuid()})
    server.start()
    client = AgentClient(path)
    try:
        yield told, client
    finally:
        client.close()
        server.stop()


def test_agent_routing_and_api_are_all_looked_at(agent: tuple[dict[str, Any], AgentClient]) -> None:
    told, client = agent
    with api(200) as address:
        health = Health(client, address)
        assert health.complaint() == ""
        told["state"] = "failed"
        assert health.complaint().startswith("agent: ")
        told["store"] = None
        assert health.complaint() == "agent: it is 'failed': see its log"
        told["store"] = {"ok": False, "reason": "the disk is full"}
        assert health.complaint() == "agent: it is 'failed': the disk is full"
        told["state"] = "ok"
        told["capabilities"] = [{"id": "frr", "available": False, "reason": "staticd is down"}]
        assert health.complaint() == "routing: staticd is down"
        told["capabilities"] = []
        told["data"] = {"state": "failed", "message": "it was not mounted", "free_bytes": 0}
        assert health.complaint() == "data: it was not mounted"
        told["data"] = {"state": "damaged", "message": "another slot would not mend it", "free_bytes": 0}
        assert health.complaint() == ""
    assert health.complaint().startswith("API: it does not answer")
    with api(500) as address:
        assert Health(client, address).complaint() == "API: it answers 500"


def test_an_agent_that_is_down_is_a_complaint(tmp_path: Path) -> None:
    client = AgentClient(tmp_path / "absent.sock")
    assert Health(client, ("127.0.0.1", 1)).complaint().startswith("agent: ")
