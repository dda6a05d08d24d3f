# SPDX-License-Identifier: Apache-2.0
"""The schedule of the checks: nothing twice, nothing too early, nothing left out."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from tests import run

ROOT = Path(__file__).resolve().parents[2]
GROUPS = [*run.GROUPS, "kernel", "newcomer"]


@pytest.fixture
def ran(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the checks in the order of their ends; a check's command is the status it ends with."""
    names: list[str] = []

    def play(check: run.Check) -> run.Outcome:
        names.append(check.name)
        return run.Outcome(check, int(check.command[0]), 0.0, "")

    monkeypatch.setattr(run, "run", play)
    monkeypatch.setattr(run, "report", lambda _: None)
    monkeypatch.setattr(run, "LOGS", tmp_path)
    return names


def test_what_needs_a_check_comes_after_it(ran: list[str]) -> None:
    needy = run.Check("needy", "unit", ["0"], needs="built")
    outcomes = run.Schedule([needy, run.Check("built", "unit", ["0"])]).run()
    assert ran == ["built", "needy"]
    assert [outcome.code for outcome in outcomes] == [0, 0]


def test_what_needs_a_check_that_failed_is_not_run_and_fails(ran: list[str]) -> None:
    needy = run.Check("needy", "unit", ["0"], needs="built", processors=run.PROCESSORS)
    outcomes = run.Schedule([needy, run.Check("built", "unit", ["1"])]).run()
    assert ran == ["built"]
    assert {outcome.check.name: outcome.code for outcome in outcomes} == {"built": 1, "needy": 1}
    assert "built failed" in outcomes[1].causes[0]


def test_what_takes_both_processors_runs_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    running: set[str] = set()
    seen: list[set[str]] = []
    lock = threading.Lock()

    def play(check: run.Check) -> run.Outcome:
        with lock:
            running.add(check.name)
            seen.append(set(running))
        with lock:
            running.discard(check.name)
        return run.Outcome(check, 0, 0.0, "")

    monkeypatch.setattr(run, "run", play)
    monkeypatch.setattr(run, "report", lambda _: None)
    ones = [run.Check(f"one {number}", "unit", []) for number in range(20)]
    run.Schedule([run.Check("both", "unit", [], processors=run.PROCESSORS), *ones]).run()
    assert {"both"} in seen
    assert all(names == {"both"} for names in seen if "both" in names)


def test_a_test_of_the_virtual_machine_runs_on_one_kernel_once() -> None:
    """Whatever it is marked with; what is `counted` has to be marked `on_ours` as well."""
    asked = [
        check.command[check.command.index("-m") + 1]
        for check in run.checks(GROUPS)
        if "tests/vm" in check.command
    ]
    for on_ours, counted in ((False, False), (True, False), (True, True)):
        marks = {"on_ours": on_ours, "counted": counted}
        assert sum(bool(eval(words, marks)) for words in asked) == 1, marks
    for path in (ROOT / "tests" / "vm").glob("test_*.py"):
        text = path.read_text()
        assert text.count("mark.counted") <= text.count("mark.on_ours"), path.name


def test_every_folder_of_tests_is_in_a_check() -> None:
    words = " ".join(word for check in run.checks(GROUPS) for word in check.command)
    folders = [path.parent.name for path in (ROOT / "tests").glob("*/test_*.py")]
    assert sorted({name for name in folders if f"tests/{name}" not in words}) == []
