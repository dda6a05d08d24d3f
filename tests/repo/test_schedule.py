# SPDX-License-Identifier: Apache-2.0
"""The schedule of the checks: nothing twice, nothing too early, nothing left out."""

from __future__ import annotations

import re
import sys
import threading
from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest

from lab import emulator
from tests import checks, run

ROOT = Path(__file__).resolve().parents[2]
GROUPS = [*checks.GROUPS, "kernel", "newcomer"]


@pytest.fixture
def ran(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the checks in the order of their ends; a check's command is the status it ends with."""
    names: list[str] = []

    def play(check: checks.Check) -> run.Outcome:
        names.append(check.name)
        return run.Outcome(check, int(check.command[0]), 0.0, "")

    monkeypatch.setattr(run, "run", play)
    monkeypatch.setattr(run, "report", lambda _: None)
    monkeypatch.setattr(run, "LOGS", tmp_path)
    return names


def test_what_needs_a_check_comes_after_it(ran: list[str]) -> None:
    needy = checks.Check("needy", "unit", ["0"], needs="built")
    outcomes = run.Schedule([needy, checks.Check("built", "unit", ["0"])]).run()
    assert ran == ["built", "needy"]
    assert [outcome.code for outcome in outcomes] == [0, 0]


def test_what_needs_a_check_that_failed_is_not_run_and_fails(ran: list[str]) -> None:
    needy = checks.Check("needy", "unit", ["0"], needs="built", processors=checks.PROCESSORS)
    outcomes = run.Schedule([needy, checks.Check("built", "unit", ["1"])]).run()
    assert ran == ["built"]
    assert {outcome.check.name: outcome.code for outcome in outcomes} == {"built": 1, "needy": 1}
    assert "built failed" in outcomes[1].causes[0]


def test_what_takes_both_processors_runs_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    running: set[str] = set()
    seen: list[set[str]] = []
    lock = threading.Lock()

    def play(check: checks.Check) -> run.Outcome:
        with lock:
            running.add(check.name)
            seen.append(set(running))
        with lock:
            running.discard(check.name)
        return run.Outcome(check, 0, 0.0, "")

    monkeypatch.setattr(run, "run", play)
    monkeypatch.setattr(run, "report", lambda _: None)
    ones = [checks.Check(f"one {number}", "unit", []) for number in range(20)]
    run.Schedule([checks.Check("both", "unit", [], processors=checks.PROCESSORS), *ones]).run()
    assert {"both"} in seen
    assert all(names == {"both"} for names in seen if "both" in names)


def test_one_that_computes_runs_beside_one_that_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    both, seen = threading.Barrier(2, timeout=10), []

    def play(check: checks.Check) -> run.Outcome:
        if check.name in ("waits", "computes"):
            both.wait()
        seen.append(check.name)
        return run.Outcome(check, 0, 0.0, "")

    monkeypatch.setattr(run, "run", play)
    monkeypatch.setattr(run, "report", lambda _: None)
    waits = checks.Check("waits", "lab", [], processors=checks.PROCESSORS, waits=True)
    run.Schedule(
        [waits, checks.Check("other", "unit", []), checks.Check("computes", "unit", [], computes=True)]
    ).run()
    assert seen[-1] == "other", "it is no background, so it waits until the two have ended"


def test_one_that_takes_no_processor_runs_beside_two_and_not_beside_one_that_runs_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    three, running, alone = threading.Barrier(3, timeout=10), set[str](), []

    def play(check: checks.Check) -> run.Outcome:
        running.add(check.name)
        if check.name == "both":
            alone.append(set(running))
        else:
            three.wait()
        running.discard(check.name)
        return run.Outcome(check, 0, 0.0, "")

    monkeypatch.setattr(run, "run", play)
    monkeypatch.setattr(run, "report", lambda _: None)
    both = checks.Check("both", "lab", [], processors=checks.PROCESSORS, waits=True)
    none = [checks.Check(f"none {number}", "unit", [], processors=0) for number in range(2)]
    ones = [checks.Check(f"one {number}", "unit", []) for number in range(4)]
    run.Schedule([both, *none, *ones, replace(both)]).run()
    assert alone == [{"both"}, {"both"}]


def test_one_that_computes_has_the_class_of_the_idle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "LOGS", tmp_path)
    told = "import os, sys; sys.exit(os.sched_getscheduler(0) != os.SCHED_IDLE)"
    command = [sys.executable, "-c", told]
    assert run.run(checks.Check("computes", "unit", command, computes=True)).code == 0
    assert run.run(checks.Check("other", "unit", command)).code == 1


def test_a_test_of_the_virtual_machine_runs_on_one_kernel_once() -> None:
    """Whatever it is marked with; what is `counted` has to be marked `on_ours` as well."""
    tests = ROOT / "tests" / "vm"
    asked = [
        (check.command[-1], check.command[check.command.index("-m") + 1])
        for check in checks.checks(GROUPS)
        if check.command[-1].startswith("tests/vm")
    ]
    for path in tests.glob("test_*.py"):
        text = path.read_text()
        assert text.count("mark.counted") <= text.count("mark.on_ours"), path.name
        places = ((False, False), (True, False), (True, True))
        for (on_ours, counted), measured in product(places, (False, True)):
            if counted and "mark.counted" not in text:
                continue
            marks = {"on_ours": on_ours, "counted": counted, "measured": measured}
            wanted = [words for where, words in asked if where in ("tests/vm", f"tests/vm/{path.name}")]
            assert sum(bool(eval(words, marks)) for words in wanted) == 1, (path.name, marks)


def test_a_check_outlasts_every_guest_that_it_may_start() -> None:
    """It would be ended without a word otherwise, in the middle of a guest that was doing well."""
    guests = [check for check in checks.checks(GROUPS) if check.command[0] == "lab/vm/run"]
    assert len(guests) > 5
    for check in guests:
        guest_s = float(check.command[check.command.index("--timeout") + 1])
        assert check.limit_s > emulator.LIVES * guest_s, check.name
        assert "-v" in check.command, check.name
        assert re.search(check.command[check.command.index("--failure") + 1], "tests/vm/a.py::b FAILED")


def test_every_folder_of_tests_is_in_a_check() -> None:
    words = " ".join(word for check in checks.checks(GROUPS) for word in check.command)
    folders = [path.parent.name for path in (ROOT / "tests").glob("*/test_*.py")]
    assert sorted({name for name in folders if f"tests/{name}" not in words}) == []


def test_a_guest_that_was_started_again_is_not_hidden(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Not even if the check passed."""
    monkeypatch.setattr(run, "LOGS", tmp_path)
    told = "lab/vm/run: guest 1 of at most 3 ended after 9 s: its kernel stalled; trying once more"
    outcome = run.run(checks.Check("guest", "vm", ["echo", told]))
    run.report(outcome)
    assert outcome.code == 0
    assert f"guest> {told}" in capsys.readouterr().out


PYTEST = """
import sys
from pathlib import Path
tests = sys.argv[2:]
runs = Path(sys.argv[1]); runs.write_text(runs.read_text() + "x")
both = ["tests/a/test_a.py::test_one[a b]", "tests/a/test_a.py::test_two"]
failed = both if tests == ["tests/a"] else tests[{keep}:]
print("E   assert 1 == 2")
for test in failed: print(f"FAILED {test} - assert 1 == 2")
print(f"{len(failed)} failed in 1.00s" if failed else "2 passed in 1.00s")
sys.exit(bool(failed))
"""


@pytest.mark.parametrize(
    ("keep", "code"), [pytest.param(2, 0, id="passes alone"), pytest.param(1, 1, id="one fails again")]
)
def test_a_few_tests_that_failed_are_run_again_alone_and_told(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    keep: int,
    code: int,
) -> None:
    monkeypatch.setattr(run, "LOGS", tmp_path)
    (runs := tmp_path / "runs").write_text("")
    words = PYTEST.replace("{keep}", str(keep))
    outcome = run.settled(checks.Check("a", "unit", [sys.executable, "-c", words, str(runs), "tests/a"], 1))
    run.report(outcome)
    said = capsys.readouterr().out
    assert (outcome.code, runs.read_text()) == (code, "xx")
    assert ("unsteady, failed and passed again alone: tests/a/test_a.py::test_one[a b]" in said) == (not code)
    assert "assert 1 == 2" in said


def test_a_check_of_which_many_tests_failed_is_not_run_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run, "LOGS", tmp_path)
    monkeypatch.setattr(run, "MOST_AGAIN", 1)
    (runs := tmp_path / "runs").write_text("")
    words = PYTEST.replace("{keep}", "2")
    check = checks.Check("a", "unit", [sys.executable, "-c", words, str(runs), "tests/a"], 1)
    assert (run.settled(check).code, runs.read_text()) == (1, "x")


def test_the_tests_of_a_check_are_the_last_words_of_its_command() -> None:
    """All that pytest runs, but the contract: its cases have one name."""
    for check in checks.checks(GROUPS):
        words = check.command[-check.tests :] if check.tests else []
        assert all(word.startswith("tests/") or word == "-s" for word in words), check.name
        of_pytest = any(word.endswith("pytest") for word in check.command)
        assert bool(check.tests) == of_pytest or check.name == "contract", check.name


def test_the_times_of_the_checks_are_told_longest_first(capsys: pytest.CaptureFixture[str]) -> None:
    times = {"short": 1.0, "long": 30.5, "middle": 4.0}
    outcomes = [run.Outcome(checks.Check(name, "unit", []), 0, time_s, "") for name, time_s in times.items()]
    run.print_times(outcomes, 0.0)
    lines = capsys.readouterr().out.splitlines()[1:]
    assert [line.split()[-1] for line in lines] == ["long", "middle", "short"]
    assert lines[0].split()[0] == "30.5"
