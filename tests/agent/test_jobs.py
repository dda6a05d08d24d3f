# SPDX-License-Identifier: Apache-2.0
"""Jobs over restarts, with a wrong clock and a full disk: each is done once, and what was not is told."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from tests.agent.rig import Rig, running
from tests.polling import until
from weir.agent import jobs as module
from weir.agent.job_memory import JobMemory
from weir.agent.jobs import Jobs
from weir.backends.held import HeldBackend
from weir.kinds.job import Job
from weir.model.document import Document
from weir.model.problem import Conflict, Unavailable
from weir.parts.jobs import JOBS

START = datetime(2026, 7, 1, 12, 0, tzinfo=UTC)
NIGHTLY = Job("nightly", time="04:30")


class Machine:
    """A clock, a number of the start, and what its jobs did."""

    def __init__(self, path: Path, *items: Job) -> None:
        self.path, self.now, self.up_s, self.boot = path, START, 86_400.0, 1
        self.restarts: list[datetime] = []
        self.goes_down = True
        self.refusal: Conflict | None = None
        self.loaded = True
        self.has(*items)
        self.begin()

    def has(self, *items: Job) -> None:
        self.held = HeldBackend(JOBS)
        self.held._held = JOBS.wanted(Document(items))

    def begin(self) -> None:
        """Another process of the agent."""
        self.jobs = Jobs(
            self.held,
            JobMemory(self.path),
            self._restart,
            lambda: self.loaded,
            zone=lambda: ZoneInfo("Europe/Berlin"),
            now=lambda: self.now,
            up_s=lambda: self.up_s,
            boot=lambda: str(self.boot),
        )

    def _restart(self) -> None:
        if self.refusal is not None:
            raise self.refusal
        self.restarts.append(self.now)
        if self.goes_down:
            self.starts(timedelta(minutes=2))

    def starts(self, off: timedelta) -> None:
        self.now, self.up_s, self.boot = self.now + off, 20.0, self.boot + 1
        self.begin()

    def passes(self, minutes: float, step_min: float = 0.5) -> None:
        for _ in range(int(minutes / step_min)):
            self.jobs.turn()
            self.now += timedelta(minutes=step_min)
            self.up_s += step_min * 60

    def runs(self) -> list[tuple[str, str]]:
        found = self.jobs.table()["job_runs"]({}, None)["runs"]  # type: ignore[arg-type,index,call-overload]
        return [(run["result"], run["detail"]) for run in found]

    def state(self, name: str = "nightly") -> Any:
        return self.jobs.learn(None).get(name)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path / "jobs.json", NIGHTLY)


def test_it_restarts_once_a_night_and_says_that_the_router_is_back(machine: Machine) -> None:
    machine.passes(3 * 24 * 60)
    assert [at.astimezone(ZoneInfo("Europe/Berlin")).strftime("%d %H:%M") for at in machine.restarts] == [
        "02 04:30",
        "03 04:30",
        "04 04:30",
    ]
    assert [result for result, _ in machine.runs()] == ["done"] * 3
    assert machine.state() == {
        "last_run": "2026-07-04T02:30:00Z",
        "last_result": "done",
        "last_detail": None,
        "next_run": "2026-07-05T02:30:00Z",
    }


def test_an_agent_that_is_killed_right_after_the_restart_was_asked_for_does_not_ask_again(
    machine: Machine,
) -> None:
    machine.goes_down = False
    machine.passes(15 * 60)
    assert len(machine.restarts) == 1
    machine.begin()
    machine.passes(60)
    assert len(machine.restarts) == 1
    assert machine.runs() == [("failed", "the router did not go down")]


def test_what_was_missed_is_told_once_and_not_caught_up(machine: Machine) -> None:
    machine.passes(1)
    machine.starts(timedelta(days=3))
    machine.passes(30)
    ((result, why),) = machine.runs()
    assert (result, machine.restarts) == ("missed", []) and why.endswith("3 times")
    assert machine.state()["next_run"] == "2026-07-05T02:30:00Z"


def test_one_that_catches_up_is_done_once_when_the_router_has_been_up_for_a_while(tmp_path: Path) -> None:
    machine = Machine(tmp_path / "jobs.json", Job("nightly", time="04:30", catch_up=True))
    machine.passes(1)
    machine.starts(timedelta(days=3))
    machine.up_s = 3600.0
    machine.passes(24 * 60 - 90)
    assert len(machine.restarts) == 2, "the missed one, and that of the night"
    assert [result for result, _ in machine.runs()] == ["done", "done"]


def test_a_router_that_has_just_started_is_restarted_by_no_job(tmp_path: Path) -> None:
    machine = Machine(tmp_path / "jobs.json", *(Job(f"j{n}", time=f"04:{n:02d}") for n in range(0, 60, 5)))
    machine.passes(24 * 60)
    assert len(machine.restarts) == 3, "each has 15 minutes before it"
    gaps = [after - before for before, after in zip(machine.restarts, machine.restarts[1:], strict=False)]
    assert min(gaps) > timedelta(minutes=15)
    assert sum("nothing restarts it so soon" in why for _, why in machine.runs()) == 9


def test_two_that_are_due_at_once_restart_it_once(tmp_path: Path) -> None:
    machine = Machine(tmp_path / "jobs.json", NIGHTLY, Job("other", time="04:30"))
    machine.goes_down = False
    machine.passes(15 * 60)
    assert len(machine.restarts) == 1
    assert ("refused", "another job was under way") in machine.runs()


def test_days_with_a_change_of_the_clock_have_it_once(tmp_path: Path) -> None:
    for day, due in (("2026-03-28", "01:00"), ("2026-10-24", "00:30")):
        machine = Machine(tmp_path / f"{day}.json", Job("nightly", time="02:30"))
        machine.now = datetime.fromisoformat(f"{day}T12:00").replace(tzinfo=UTC)
        machine.passes(24 * 60)
        assert [at.strftime("%H:%M") for at in machine.restarts] == [due], day


def test_a_clock_that_is_not_set_makes_nothing_due_and_forgets_nothing(machine: Machine) -> None:
    machine.passes(1)
    machine.starts(timedelta(0))
    real, machine.now = machine.now, datetime(1970, 1, 1, tzinfo=UTC)
    machine.passes(5)
    machine.now = real + timedelta(days=2)
    machine.up_s = 3600.0
    machine.passes(5)
    assert (machine.restarts, [result for result, _ in machine.runs()]) == ([], ["missed"])


def test_before_the_configuration_is_loaded_no_job_is_forgotten(machine: Machine) -> None:
    machine.passes(1)
    items = machine.held._held
    machine.loaded, machine.held._held = False, {}
    machine.starts(timedelta(days=1))
    machine.passes(5)
    machine.loaded, machine.held._held = True, items
    machine.passes(1)
    assert [result for result, _ in machine.runs()] == ["missed"]


def test_a_disk_that_cannot_be_written_restarts_nothing(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine.passes(1)
    machine.now = datetime(2026, 7, 2, 2, 30, tzinfo=UTC)

    def full(*_args: Any, **_options: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("weir.adapters.files.replace", full)
    with pytest.raises(Unavailable, match="No space left"):
        machine.jobs.turn()
    assert machine.restarts == []


def test_a_restart_that_is_refused_says_why(machine: Machine) -> None:
    machine.refusal = Conflict("an update is being installed", code="update-running")
    machine.passes(15 * 60)
    assert machine.runs() == [("failed", "an update is being installed")]
    assert machine.state()["last_detail"] == "an update is being installed"


def test_a_memory_that_is_damaged_begins_again(machine: Machine) -> None:
    machine.path.write_text('{"known": 7}')
    machine.begin()
    machine.passes(15 * 60)
    assert len(machine.restarts) == 1


def test_what_was_told_is_not_told_again_also_by_another_agent(machine: Machine) -> None:
    machine.passes(15 * 60)
    number = machine.jobs.table()["job_runs"]({}, None)["runs"][-1]["number"]  # type: ignore[arg-type,index,call-overload]
    machine.jobs.table()["job_runs_told"]({"number": number}, None)  # type: ignore[arg-type]
    machine.begin()
    assert machine.runs() == [] and machine.state()["last_result"] == "done"


def test_an_agent_on_a_machine_without_slots_restarts_nothing_and_says_so() -> None:
    """The real one, whose memory says that the job is due."""
    with running() as rig:
        rig.commit(Job("now", every_h=1))
        path = rig.folder / "jobs.json"
        until("the job is known", lambda: path.exists() and "now" in json.loads(path.read_text())["known"])
        assert state_of(rig)["next_run"]
        rig.kill_agent()
        found = json.loads(path.read_text())
        for name in ("begun_ms", "until_ms"):
            found["known"]["now"][name] -= 3600 * 1000
        path.write_text(json.dumps(found))
        rig.start_agent()
        until("it was due", lambda: "last_result" in state_of(rig), 60.0)
        assert state_of(rig)["last_result"] in ("failed", "refused"), state_of(rig)
        (run,) = rig.agent.call("job_runs")["runs"]
        assert run["job"] == "now" and run["action"] == "restart"


def state_of(rig: Rig) -> dict[str, Any]:
    found: dict[str, Any] = rig.agent.call("state", {"kind": "job"})["objects"].get("now", {})
    return found


def test_the_time_zone_is_that_of_the_file(tmp_path: Path) -> None:
    link = tmp_path / "localtime"
    assert module.local_zone(link) is UTC
    link.symlink_to("/usr/share/zoneinfo/Europe/Berlin")
    assert START.astimezone(module.local_zone(link)).hour == 14
