# SPDX-License-Identifier: Apache-2.0
"""Run the checks of this repository: `python -m tests.run all`, or groups of them.

`lint` and `unit` take a quarter of an hour together; `long` (routers in namespaces, and units that take
minutes each), `lab`, `vm` (the virtual machine) and `e2e` (the browser) most of an hour more.

Two groups are apart from `all`. `kernel` needs the product's kernel, which takes 21 minutes of a processor to
build. What is about the image belongs to it: the disk's slots, updates and data partition; and those long
tests that need the virtual machine (marked `on_ours`) for which CI has no time. `newcomer` installs
Debian twice.

Says what it does, keeps each check's output in build/test/<name>.log, prints a failed one in full, and ends
with a table of times and the closing lines of the runners. Checks that only compute or count instructions run
side by side; those that measure traffic run alone, but for one that takes what they leave of the processors.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

from lab import node
from tests.checks import GROUPS, GUEST, IN_GUESTS, PROCESSORS, PYTEST, ROOT, Check, checks

LOGS = ROOT / "build" / "test"

CLOSING_LINE = re.compile(
    r"=*.*\b\d+ (passed|failed|errors?)\b.*"  # pytest, vitest, and our C tests
    r"|Contracts: .*"  # import-linter
    r"|Success: .*|Found \d+ errors? in .*"  # mypy
)
CAUSE = re.compile(
    r"(E  |FAILED |ERROR |error:).*|.*(Error|Rejection|Exception|originated in|\bfailed\b).*|ended: .*"
)
TOLD = re.compile(r"lab/vm/run: guest \d+ of at most \d+ .*|unsteady, .*")
"""How long a guest took, that one broke down, what passed at its second try: said of what passed as well."""
FAILED_TEST = re.compile(r"(?:FAILED|ERROR) (tests/\S+?::.+?)(?: - .*)?")
"""A line of pytest's short summary."""
IDLE_CLASS = ("chrt", "--idle", "0")
MOST_AGAIN = 3
CAUSES = 12
"""Lines of a failed check that are said again at the end, where a log that was cut off still has them."""
ESCAPES = re.compile(r"\x1b\[[0-9;]*m")


@dataclass(slots=True)
class Outcome:
    check: Check
    code: int
    seconds: float
    closing: str
    causes: list[str] = field(default_factory=list)
    told: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    """The tests, as pytest names them."""
    unsteady: list[str] = field(default_factory=list)
    """Tests that failed, and passed when they were run again alone."""
    begun_s: float = 0.0
    """By the clock of `time.monotonic`."""


def run(check: Check) -> Outcome:
    """Run one check to its end; its words go to its log."""
    LOGS.mkdir(parents=True, exist_ok=True)
    log = log_of(check)
    begun_s = time.monotonic()
    environment = environment_of(check)
    with log.open("wb") as output:
        try:
            code = subprocess.run(
                [*(IDLE_CLASS if check.computes else ()), *check.command],
                cwd=check.folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                timeout=check.limit_s,
                check=False,
            ).returncode
        except subprocess.TimeoutExpired:
            output.write(f"\nended: it took longer than {check.limit_s:.0f} s\n".encode())
            code = 124
        except FileNotFoundError as error:
            output.write(f"\n{error}\n".encode())
            code = 127
    text = ESCAPES.sub("", log.read_text(errors="replace"))
    closing = [line.strip() for line in text.splitlines() if CLOSING_LINE.fullmatch(line)]
    outcome = Outcome(check, code, time.monotonic() - begun_s, closing[-1] if closing else "")
    outcome.begun_s = begun_s
    outcome.told = list(filter(TOLD.fullmatch, text.splitlines()))
    if code != 0:
        lines = (line.strip()[:300] for line in text.splitlines())
        outcome.causes = list(filter(CAUSE.match, lines))[:CAUSES]
        outcome.failed = [found[1] for found in map(FAILED_TEST.fullmatch, text.splitlines()) if found]
    return outcome


def environment_of(check: Check) -> dict[str, str]:
    """This process' own, less what would colour the words or keep Python from storing what it compiled."""
    environment = node.environment(NO_COLOR="1", **check.environment)
    for name in ("FORCE_COLOR", "PYTHONDONTWRITEBYTECODE"):
        environment.pop(name, None)
    return environment


def collect_for_guests() -> None:
    """Keep the byte code of what guests run: their file system is read-only, and compiling is slow there."""
    command = [*PYTEST, "--collect-only", *(f"tests/{area}" for area in IN_GUESTS)]
    subprocess.run(
        command,
        cwd=ROOT,
        env=environment_of(Check("collecting", "", command)),
        stdout=subprocess.DEVNULL,
        check=False,
    )


def settled(check: Check) -> Outcome:
    """Run a check, and once more the few tests of it that failed, as CPython's `regrtest --rerun` does.

    Thousands of tests run real daemons against real time; on a busy machine one of them may fail in a run.
    What passes alone is told as unsteady, at the end of all, and is to be mended; it does not fail the check.
    """
    first = run(check)
    if first.code == 0 or not check.tests or not 0 < len(first.failed) <= MOST_AGAIN:
        return first
    again = run(check.only(first.failed))
    first.seconds += again.seconds
    first.closing += f"; again: {again.closing}"
    if again.code == 0:
        first.code, first.unsteady = 0, first.failed
    return first


def refused(check: Check) -> Outcome:
    """What the check needs is not there, and an older one that may be there would prove nothing."""
    words = f"error: not run, as {check.needs} failed"
    LOGS.mkdir(parents=True, exist_ok=True)
    log_of(check).write_text(f"{words}\n")
    return Outcome(check, 1, 0.0, "", [words])


def log_of(check: Check) -> Path:
    return LOGS / f"{check.name.replace(' ', '-')}.log"


def report(outcome: Outcome) -> None:
    mark = "passed" if outcome.code == 0 else f"FAILED (status {outcome.code})"
    print(f"{outcome.check.name}: {mark} in {outcome.seconds:.1f} s  {outcome.closing}", flush=True)
    print_told(outcome)
    print_unsteady(outcome)
    if outcome.code != 0:
        print_causes(outcome)
        words = log_of(outcome.check).read_text(errors="replace").splitlines()
        print("\n".join(f"    {line}" for line in words[-200:]), flush=True)


def print_causes(outcome: Outcome) -> None:
    for cause in outcome.causes:
        print(f"  {outcome.check.name}> {cause}", flush=True)


def print_told(outcome: Outcome) -> None:
    for line in outcome.told:
        print(f"  {outcome.check.name}> {line}", flush=True)


def print_unsteady(outcome: Outcome) -> None:
    for test in outcome.unsteady:
        print(f"  {outcome.check.name}> unsteady, failed and passed again alone: {test}", flush=True)
    if outcome.unsteady:
        print_causes(outcome)


def print_times(outcomes: list[Outcome], begun_s: float) -> None:
    """The longest first, and when each began, so that one sees what waited for what."""
    print("  seconds  begun at  processors  check")
    for outcome in sorted(outcomes, key=lambda outcome: -outcome.seconds):
        began_s = max(outcome.begun_s - begun_s, 0.0)
        print(f"{outcome.seconds:9.1f} {began_s:9.1f} {outcome.check.processors:11}  {outcome.check.name}")


class Schedule:
    """Runs checks in the order given, each as soon as its processors, the lab and what it needs are there."""

    def __init__(self, wanted: list[Check]) -> None:
        self.outcomes: list[Outcome] = []
        self._waiting = list(wanted)
        self._running: list[Check] = []
        self._changed = threading.Condition()

    def run(self) -> list[Outcome]:
        workers = [threading.Thread(target=self._work) for _ in range(PROCESSORS + 1)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        return self.outcomes

    def _work(self) -> None:
        while (check := self._next()) is not None:
            outcome = refused(check) if self._is_hopeless(check) else settled(check)
            with self._changed:
                report(outcome)
                self.outcomes.append(outcome)
                self._running.remove(check)
                self._changed.notify_all()

    def _next(self) -> Check | None:
        with self._changed:
            while self._waiting:
                check = next(filter(self._fits, self._waiting), None)
                if check is not None:
                    self._waiting.remove(check)
                    self._running.append(check)
                    print(f"running {check.name}: {' '.join(check.command)[:100]}", flush=True)
                    return check
                self._changed.wait()
            return None

    def _fits(self, check: Check) -> bool:
        lab_is_taken = check.lab and any(running.lab for running in self._running)
        unready = any(other.name == check.needs for other in (*self._running, *self._waiting))
        return self._has_room(check) and not lab_is_taken and not unready

    def _has_room(self, check: Check) -> bool:
        """Each has a processor of its own, or one that computes takes what one that waits leaves; one check
        at most has none, and not beside one that runs alone."""
        together = [*self._running, check]
        taken = [one.processors for one in together]
        if taken.count(0) > 1 or (0 in taken and PROCESSORS in taken):
            return False
        one_computes = len(together) == 2 and any(one.computes for one in together)
        if one_computes and any(one.waits for one in together):
            return True
        return sum(taken) <= PROCESSORS

    def _is_hopeless(self, check: Check) -> bool:
        return any(outcome.check.name == check.needs and outcome.code for outcome in self.outcomes)


def main() -> None:
    parser = argparse.ArgumentParser(prog="tests.run", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("groups", nargs="+", choices=["all", *GROUPS, "kernel", "newcomer"])
    groups = parser.parse_args().groups
    if "all" in groups:
        groups += GROUPS
    begun_s = time.monotonic()
    wanted = checks(groups)
    if any(check.command[0] == GUEST for check in wanted):
        collect_for_guests()
    outcomes = Schedule(wanted).run()
    failed = [outcome.check.name for outcome in outcomes if outcome.code != 0]
    print(f"\n{len(outcomes)} checks in {time.monotonic() - begun_s:.0f} s", flush=True)
    print_times(outcomes, begun_s)
    for outcome in outcomes:
        if len(outcome.told) > 1:
            print_told(outcome)
        if outcome.closing:
            print(f"{outcome.check.name}: {outcome.closing}")
    for outcome in outcomes:
        print_unsteady(outcome)
        if outcome.code != 0:
            print_causes(outcome)
    if failed:
        print(f"failed: {', '.join(failed)} (their words are in build/test)")
    print(f"{len(outcomes) - len(failed)} passed, {len(failed)} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
