# SPDX-License-Identifier: Apache-2.0
"""Run the checks of this repository: `python -m tests.run all`, or groups of them (lint, unit, lab, vm, e2e).

Two groups are apart from `all`. `kernel` needs the product's kernel, which takes 21 minutes of a processor to
build. What is about the image belongs to it: the disk's slots, updates and data partition; and those long
tests that need the virtual machine (marked `on_ours`) for which `make test` has no time. `newcomer` installs
Debian twice.

Says what it does, keeps each check's output in build/test/<name>.log, prints a failed one in full, and ends
with the closing lines of the runners. Checks that only compute or count instructions run side by side; those
that measure traffic run alone.
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

ROOT = Path(__file__).resolve().parent.parent
LOGS = ROOT / "build" / "test"
BIN = ROOT / "build" / "venv" / "bin"
PYTEST = [str(BIN / "pytest"), "-q", "--color=no", "--durations=8", "-p", "no:cacheprovider"]
ON_OURS = ["--kernel", "build/kernel/vm/bzImage"]
COUNTING = ["--count-instructions"]
"""What else runs does not change what is measured so."""
KERNEL = "the product's kernel"
GUEST_S, TO_END_S = 900, 60
CONTRACT = "tests/http/test_contract.py"
GROUPS = ["lint", "unit", "lab", "vm", "e2e"]
ALONE = {"lab", "lifecycle", "vm", "flood", "latency", "instructions", "disks", "e2e", "kernel", "newcomer"}
"""Areas of tests that measure, or that need a lab of their own."""

CLOSING_LINE = re.compile(
    r"=*.*\b\d+ (passed|failed|errors?)\b.*"  # pytest, vitest, and our C tests
    r"|Contracts: .*"  # import-linter
    r"|Success: .*|Found \d+ errors? in .*"  # mypy
)
CAUSE = re.compile(
    r"(E  |FAILED |ERROR |error:).*|.*(Error|Rejection|Exception|originated in|\bfailed\b).*|ended: .*"
)
CAUSES = 12
"""Lines of a failed check that are said again at the end, where a log that was cut off still has them."""
PROCESSORS = 2
ESCAPES = re.compile(r"\x1b\[[0-9;]*m")


@dataclass(frozen=True, slots=True)
class Check:
    """One command. One that takes `PROCESSORS` runs alone; `lab`: it needs the one lab that there can be."""

    name: str
    group: str
    command: list[str]
    folder: Path = ROOT
    processors: int = 1
    lab: bool = False
    needs: str = ""
    """The name of a check that has to have passed, if it is among those that run."""
    limit_s: float = 600.0
    environment: dict[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class Outcome:
    check: Check
    code: int
    seconds: float
    closing: str
    causes: list[str] = field(default_factory=list)


def unit_areas() -> list[str]:
    """Folders of tests/ that hold pytest files and need neither the lab nor the virtual machine."""
    return sorted(
        f"tests/{folder.name}"
        for folder in (ROOT / "tests").iterdir()
        if folder.is_dir() and folder.name not in ALONE and any(folder.rglob("test_*.py"))
    )


def lint_checks() -> list[Check]:
    def tool(name: str, *arguments: str, folder: Path = ROOT) -> Check:
        return Check(name, "lint", [str(BIN / name), *arguments], folder)

    python = ["api/weir", "lab", "bench", "tests"]
    return [
        Check("ruff check", "lint", [str(BIN / "ruff"), "check", "--quiet", *python]),
        Check("ruff format", "lint", [str(BIN / "ruff"), "format", "--quiet", "--check", *python]),
        Check("mypy api", "lint", [str(BIN / "mypy")], ROOT / "api"),
        Check(
            "mypy lab",
            "lint",
            [str(BIN / "mypy"), "--strict", "lab", "bench"],
            environment={"MYPYPATH": "api"},
        ),
        tool("lint-imports", folder=ROOT / "api"),
        tool(
            "vulture",
            "--min-confidence",
            "100",
            "--ignore-names",
            CALLED_BY_OTHERS,
            "api/weir",
            "lab",
            "bench",
        ),
        tool(
            "codespell",
            "--quiet-level",
            "3",
            "--skip",
            CODESPELL_SKIP,
            "--ignore-words",
            "tests/repo/words.txt",
            ".",
        ),
        Check("shellcheck", "lint", ["bash", "-c", "git ls-files -z '*.sh' .ci/run | xargs -0 shellcheck"]),
        Check("clang-format", "lint", ["bash", "-c", CLANG_FORMAT]),
        Check("eslint", "lint", ["npm", "run", "--silent", "lint"], ROOT / "webui"),
    ]


CALLED_BY_OTHERS = "trace,traceback,error_status_code,error_headers,field_name,frame,signum"
"""Arguments that a library's protocol prescribes and we do not need."""
CODESPELL_SKIP = (
    "./build,./.git,*/node_modules/*,*.lock,*/package-lock.json,*.svg,*.json,*.rsc,./LICENSE,*/.*_cache/*,"
    "*/common-passwords.txt"
)
CLANG_FORMAT = (
    "git ls-files -z 'datapath/*.c' 'datapath/*.h' 'bench/*.c' | xargs -0 -r clang-format --dry-run --Werror"
)


def unit_checks() -> list[Check]:
    npm_test = ["npm", "test", "--silent", "--", "--run"]
    in_parallel = [*PYTEST, "-n", "2", "--dist", "loadfile", f"--ignore={CONTRACT}"]
    return [
        Check("vitest", "unit", npm_test, ROOT / "webui", environment={"CI": "1"}),
        Check("datapath", "unit", ["make", "test"], ROOT / "datapath"),
        # Schemathesis gives all its cases one name, so spreading them by file would drop most of them.
        Check("contract", "unit", [*PYTEST, CONTRACT], limit_s=600),
        Check("image", "unit", [str(BIN / "python"), "board/image/check.py"]),
        Check("pytest", "unit", [*in_parallel, *unit_areas()], processors=PROCESSORS, limit_s=1200),
    ]


def in_vm(
    name: str,
    group: str,
    options: list[str],
    asked: list[str],
    *,
    processors: int = 1,
    guest_s: int = GUEST_S,
) -> Check:
    """Tests in a virtual machine, which is ended before the check is."""
    command = ["lab/vm/run", "--timeout", str(guest_s), *options, *PYTEST, *asked]
    needs = KERNEL if "--kernel" in options else ""
    return Check(name, group, command, processors=processors, needs=needs, limit_s=guest_s + TO_END_S)


def vm_checks() -> list[Check]:
    return [
        in_vm("vm", "vm", [], ["-m", "not on_ours", "tests/vm"], processors=PROCESSORS),
        Check(
            "kernel", "kernel", [*PYTEST, "tests/kernel"], processors=PROCESSORS, needs=KERNEL, limit_s=1200
        ),
        in_vm(
            "vm on the product's kernel",
            "kernel",
            ON_OURS,
            ["-m", "on_ours and not counted", "tests/vm"],
            processors=PROCESSORS,
            guest_s=1200,
        ),
        Check(
            "lab in the virtual machine",
            "kernel",
            [*PYTEST, "-m", "on_ours", "tests/lifecycle"],
            processors=PROCESSORS,
            lab=True,
            needs=KERNEL,
            limit_s=600,
        ),
    ]


def kernel_build() -> Check:
    """One compiler at a time, beside what needs the other processor."""
    command = ["board/kernel/kernel", "build", "vm"]
    return Check(KERNEL, "kernel", command, limit_s=3000, environment={"JOBS": "1"})


def side_by_side_on_ours() -> list[Check]:
    """What takes one processor and needs the product's kernel."""
    return [
        in_vm("disks", "kernel", ON_OURS, ["tests/disks"], guest_s=1200),
        in_vm("order", "kernel", [*COUNTING, *ON_OURS], ["-m", "counted", "tests/vm"], guest_s=1500),
        in_vm("flood", "kernel", [*COUNTING, *ON_OURS], ["tests/flood"]),
    ]


def newcomer_checks() -> list[Check]:
    """Each has a /run of its own, and so its own lab beside this machine's."""
    tests = "tests/newcomer/test_first_minutes.py"
    named = {"newcomer on Debian 12": "bookworm or killed", "newcomer on Debian 13": "trixie"}
    limit_s = 1200.0
    patient = [*PYTEST, "-o", f"faulthandler_timeout={limit_s}"]
    return [
        Check(name, "newcomer", [*patient, "-k", words, tests], limit_s=limit_s)
        for name, words in named.items()
    ]


def checks(groups: list[str]) -> list[Check]:
    every = [
        # The long ones first, and those that run alone last.
        kernel_build(),
        *side_by_side_on_ours(),
        Check("e2e", "e2e", [*PYTEST, "tests/e2e"], lab=True, limit_s=900),
        *newcomer_checks(),
        in_vm("instructions and latency", "vm", COUNTING, ["tests/instructions", "tests/latency"]),
        Check("lifecycle", "lab", [*PYTEST, "-m", "not on_ours", "tests/lifecycle"], lab=True, limit_s=600),
        *lint_checks(),
        *unit_checks(),
        Check("lab", "lab", [*PYTEST, "tests/lab"], processors=PROCESSORS, lab=True, limit_s=900),
        *vm_checks(),
    ]
    return [check for check in every if check.group in groups]


def run(check: Check) -> Outcome:
    """Run one check to its end; its words go to its log."""
    LOGS.mkdir(parents=True, exist_ok=True)
    log = log_of(check)
    begun_s = time.monotonic()
    environment = node.environment(NO_COLOR="1", **check.environment)
    environment.pop("FORCE_COLOR", None)
    with log.open("wb") as output:
        try:
            code = subprocess.run(
                check.command,
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
    if code != 0:
        lines = (line.strip()[:300] for line in text.splitlines())
        outcome.causes = list(filter(CAUSE.match, lines))[:CAUSES]
    return outcome


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
    if outcome.code != 0:
        print_causes(outcome)
        words = log_of(outcome.check).read_text(errors="replace").splitlines()
        print("\n".join(f"    {line}" for line in words[-200:]), flush=True)


def print_causes(outcome: Outcome) -> None:
    for cause in outcome.causes:
        print(f"  {outcome.check.name}> {cause}", flush=True)


class Schedule:
    """Runs checks in the order given, each as soon as its processors, the lab and what it needs are there."""

    def __init__(self, wanted: list[Check]) -> None:
        self.outcomes: list[Outcome] = []
        self._waiting = list(wanted)
        self._running: list[Check] = []
        self._changed = threading.Condition()

    def run(self) -> list[Outcome]:
        workers = [threading.Thread(target=self._work) for _ in range(PROCESSORS)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        return self.outcomes

    def _work(self) -> None:
        while (check := self._next()) is not None:
            outcome = refused(check) if self._is_hopeless(check) else run(check)
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
        used = sum(running.processors for running in self._running)
        lab_is_taken = check.lab and any(running.lab for running in self._running)
        unready = any(other.name == check.needs for other in (*self._running, *self._waiting))
        return used + check.processors <= PROCESSORS and not lab_is_taken and not unready

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
    outcomes = Schedule(wanted).run()
    failed = [outcome.check.name for outcome in outcomes if outcome.code != 0]
    print(f"\n{len(outcomes)} checks in {time.monotonic() - begun_s:.0f} s", flush=True)
    for outcome in outcomes:
        if outcome.closing:
            print(f"{outcome.check.name}: {outcome.closing}")
    for outcome in outcomes:
        print_causes(outcome)
    if failed:
        print(f"failed: {', '.join(failed)} (their words are in build/test)")
    print(f"{len(outcomes) - len(failed)} passed, {len(failed)} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
