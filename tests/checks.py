# SPDX-License-Identifier: Apache-2.0
"""The checks that tests/run.py runs: of code, of units, in the lab and in virtual machines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from lab import emulator

ROOT = Path(__file__).resolve().parent.parent
BIN = ROOT / "build" / "venv" / "bin"
PYTEST = [str(BIN / "pytest"), "-q", "--color=no", "--durations=8", "-p", "no:cacheprovider"]
BY_TEST = ["-v" if word == "-q" else word for word in PYTEST]
"""Says each test before it runs and after it, so that a guest that hangs is one that says nothing."""
FAILURE = r"\b(FAILED|ERROR)\b"
ON_OURS = ["--kernel", "build/kernel/vm/bzImage"]
COUNTING = ["--count-instructions"]
TOUCHED = ["--plugin", "build/bench/touched.so"]
"""What else runs does not change what is measured so."""
KERNEL = "the product's kernel"
GUEST_S, TO_END_S = 1500, 60
SILENCE_S = {"counting": 400, "other": 600}
"""Without a word. A test in a guest has to end sooner, on a busy machine as well: beside a load of 17 the
slowest counted one took 162 s. Guests that do not count have never been seen to stand still."""
CONTRACT = "tests/http/test_contract.py"
GROUPS = ["lint", "unit", "long", "lab", "vm", "e2e"]
"""The first two are `make test`, which has a quarter of an hour (docs/adr/0213)."""
ALONE = {
    "disks",
    "disturbance",
    "e2e",
    "flood",
    "instructions",
    "kernel",
    "lab",
    "latency",
    "lifecycle",
    "newcomer",
    "vm",
}
"""Areas of tests that measure, or that need a lab of their own."""
GUEST = "lab/vm/run"
IN_GUESTS = ["vm", "instructions", "latency", "disks", "flood"]
"""Areas of tests that run in virtual machines."""

PROCESSORS = 2


@dataclass(frozen=True, slots=True)
class Check:
    """One command. One that takes `PROCESSORS` runs alone, one that takes none waits nearly all the time and
    runs beside others; `lab`: it needs the one lab that there can be."""

    name: str
    group: str
    command: list[str]
    tests: int = 0
    """So many words at the command's end say which tests; 0: it has none that can be run alone."""
    folder: Path = ROOT
    processors: int = 1
    lab: bool = False
    needs: str = ""
    """The name of a check that has to have passed, if it is among those that run."""
    limit_s: float = 600.0
    environment: dict[str, str] = field(default_factory=dict)
    waits: bool = False
    """It measures with both processors, and leaves them idle most of the time."""
    computes: bool = False
    """It only computes, so it may take what a check that `waits` leaves: the kernel's idle class gets a
    processor when nobody else wants it, and loses it at once."""

    def only(self, tests: Sequence[str]) -> Check:
        """The same with these tests alone, once more."""
        command = [*self.command[: -self.tests], *tests]
        environment = {**self.environment, "WEIR_AGAIN": "1"}
        return replace(
            self, name=f"{self.name} again", command=command, tests=len(tests), environment=environment
        )


WITH_ROUTERS = ["tests/agent", "tests/crash"]
"""Areas whose tests have routers of their own in namespaces. Each waits for daemons and timers half of the
time, and some of them measure."""

LARGE = "tests/service/test_memory_limit.py"
"""Five minutes of a processor, to measure memory."""
COMPUTING = [
    f"tests/{name}" for name in ("compiler", "diagnosis", "formats", "kinds", "model", "stats", "store")
]
"""Areas without daemons and timers, whose tests can wait for a processor as long as it takes."""


def unit_areas() -> list[str]:
    """The other folders of tests/ that hold pytest files and need neither the lab nor the virtual machine."""
    areas = {
        f"tests/{folder.name}"
        for folder in (ROOT / "tests").iterdir()
        if folder.is_dir() and folder.name not in ALONE and any(folder.rglob("test_*.py"))
    }
    return sorted(areas - {*WITH_ROUTERS, *COMPUTING})


def spread(workers: int) -> list[str]:
    """Pytest with so many processes, each of which takes whole files."""
    return [*PYTEST, "-n", str(workers), "--dist", "loadfile"]


def _lint(
    name: str, command: list[str], *, folder: Path = ROOT, environment: dict[str, str] | None = None
) -> Check:
    return Check(name, "lint", command, folder=folder, environment=environment or {}, computes=True)


def lint_checks() -> list[Check]:
    def tool(name: str, *arguments: str, folder: Path = ROOT) -> Check:
        return _lint(name, [str(BIN / name), *arguments], folder=folder)

    python = ["api/weir", "lab", "bench", "tests"]
    return [
        _lint("ruff check", [str(BIN / "ruff"), "check", "--quiet", *python]),
        _lint("ruff format", [str(BIN / "ruff"), "format", "--quiet", "--check", *python]),
        _lint("mypy api", [str(BIN / "mypy")], folder=ROOT / "api"),
        _lint(
            "mypy lab",
            [str(BIN / "mypy"), "--config-file", "api/pyproject.toml", "lab", "bench"],
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
            "--ignore-regex",
            NAMES,
            ".",
        ),
        _lint("shellcheck", ["bash", "-c", "git ls-files -z '*.sh' .ci/run | xargs -0 shellcheck"]),
        _lint("clang-format", ["bash", "-c", CLANG_FORMAT]),
        _lint("eslint", ["npm", "run", "--silent", "lint"], folder=ROOT / "webui"),
    ]


CALLED_BY_OTHERS = "trace,traceback,error_status_code,error_headers,field_name,frame,signum"
"""Arguments that a library's protocol prescribes and we do not need."""
NAMES = r"\b[a-z]+([A-Z][a-z0-9]*)+\b"
"""TypeScript's, such as `untilS` and `onText`, are no words."""
CODESPELL_SKIP = (
    "./build,./.git,*/node_modules/*,*.lock,*/package-lock.json,*.svg,*.json,*.rsc,./LICENSE,*/.*_cache/*,"
    "*/common-passwords.txt"
)
CLANG_FORMAT = (
    "git ls-files -z 'datapath/*.c' 'datapath/*.h' 'bench/*.c' | xargs -0 -r clang-format --dry-run --Werror"
)


def unit_checks() -> list[Check]:
    npm_test = ["npm", "test", "--silent", "--", "--run"]
    areas = unit_areas()
    return [
        Check(
            "pytest",
            "unit",
            [*spread(2), f"--ignore={CONTRACT}", f"--ignore={LARGE}", *areas],
            tests=len(areas),
            limit_s=2700,
        ),
        Check(
            "vitest",
            "unit",
            npm_test,
            folder=ROOT / "webui",
            limit_s=900,
            environment={"CI": "1"},
            computes=True,
        ),
        Check("computing", "unit", [*spread(2), *COMPUTING], len(COMPUTING), limit_s=1800, computes=True),
        Check("datapath", "unit", ["make", "test"], folder=ROOT / "datapath"),
        Check("image", "unit", [str(BIN / "python"), "board/image/check.py"]),
    ]


GRACE = "tests/agent/test_learnt_by_ospf.py"
"""It waits between kills. A daemon has some seconds to come back, which it needs a processor for: not beside
five others."""


def routers_check() -> Check:
    command = [*spread(6), f"--ignore={GRACE}", *WITH_ROUTERS]
    return Check("routers", "long", command, tests=len(WITH_ROUTERS), processors=PROCESSORS, limit_s=2700)


def long_checks() -> list[Check]:
    """Beside the routers: units that take minutes each. In the idle class beside the guest they delayed what
    it measures."""
    return [
        # Schemathesis gives all its cases one name, so spreading them by file would drop most of them.
        Check("contract", "long", [*PYTEST, CONTRACT], limit_s=900),
        Check("memory", "long", [*PYTEST, LARGE], 1, limit_s=900),
        Check("grace", "long", [*PYTEST, GRACE], 1, processors=0),
    ]


def in_vm(
    name: str,
    group: str,
    options: list[str],
    tests: list[str],
    *,
    marked: str = "",
    processors: int = 1,
    guest_s: int = GUEST_S,
    waits: bool = False,
) -> Check:
    """Tests in a virtual machine, which is ended, and started again if it broke down, before the check is."""
    silence_s = SILENCE_S["counting" if COUNTING[0] in options else "other"]
    watched = ["--timeout", str(guest_s), "--silence", str(silence_s), "--failure", FAILURE]
    wanted = ["-m", marked] if marked else []
    command = [GUEST, *watched, *options, *BY_TEST, *wanted, *tests]
    needs = KERNEL if "--kernel" in options else ""
    limit_s = emulator.LIVES * guest_s + TO_END_S
    return Check(
        name, group, command, len(tests), processors=processors, needs=needs, limit_s=limit_s, waits=waits
    )


def kernel_checks() -> list[Check]:
    """What takes both processors and needs the product's kernel."""
    return [
        Check(
            "kernel",
            "kernel",
            [*PYTEST, "tests/kernel"],
            1,
            processors=PROCESSORS,
            needs=KERNEL,
            limit_s=1200,
        ),
        in_vm(
            "vm on the product's kernel",
            "kernel",
            ON_OURS,
            ["tests/vm"],
            marked="on_ours and not counted",
            processors=PROCESSORS,
            guest_s=1200,
        ),
        Check(
            "lab in the virtual machine",
            "kernel",
            [*PYTEST, "-m", "on_ours", "tests/lifecycle"],
            1,
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


def counted_checks() -> list[Check]:
    """A guest for each file, so that one that is started again costs the time of one file."""
    files = sorted((ROOT / "tests" / "vm").glob("test_*.py"))
    return [
        in_vm(
            f"counted {path.stem.removeprefix('test_')}",
            "kernel",
            [*COUNTING, *ON_OURS],
            [f"tests/vm/{path.name}"],
            marked="counted",
        )
        for path in files
        if "mark.counted" in path.read_text(encoding="utf-8")
    ]


def side_by_side_on_ours() -> list[Check]:
    """What takes one processor and needs the product's kernel."""
    return [
        in_vm("disks", "kernel", ON_OURS, ["tests/disks"], guest_s=1200),
        *counted_checks(),
        in_vm("latency on the product's kernel", "kernel", [*COUNTING, *ON_OURS], ["tests/latency"]),
        # One test, which says between its floods how it went (-s).
        in_vm("flood", "kernel", [*COUNTING, *ON_OURS], ["-s", "tests/flood"]),
    ]


def newcomer_checks() -> list[Check]:
    """Each has a /run of its own, and so its own lab beside this machine's."""
    tests = "tests/newcomer/test_first_minutes.py"
    named = {"newcomer on Debian 12": "bookworm or killed", "newcomer on Debian 13": "trixie"}
    limit_s = 1200.0
    patient = [*PYTEST, "-o", f"faulthandler_timeout={limit_s}"]
    return [
        Check(name, "newcomer", [*patient, "-k", words, tests], 1, limit_s=limit_s)
        for name, words in named.items()
    ]


def checks(groups: list[str]) -> list[Check]:
    every = [
        # Those that run alone first, then the long ones: at the end there is something for each processor.
        routers_check(),
        Check(
            "lab", "lab", [*PYTEST, "tests/lab"], 1, processors=PROCESSORS, lab=True, limit_s=900, waits=True
        ),
        in_vm(
            "vm", "vm", [], ["tests/vm"], marked="measured and not on_ours", processors=PROCESSORS, waits=True
        ),
        kernel_build(),
        *side_by_side_on_ours(),
        Check("e2e", "e2e", [*PYTEST, "tests/e2e"], 1, lab=True, limit_s=1800),
        in_vm(
            "vm beside others", "vm", [], ["tests/vm"], marked="not measured and not on_ours", guest_s=2400
        ),
        *unit_checks(),
        *long_checks(),
        *newcomer_checks(),
        in_vm(
            "instructions and latency",
            "vm",
            [*COUNTING, *TOUCHED],
            ["tests/instructions", "tests/latency"],
        ),
        Check(
            "lifecycle", "unit", [*PYTEST, "-m", "not on_ours", "tests/lifecycle"], 1, lab=True, limit_s=600
        ),
        # It counts packets, which a busy machine delays and does not lose.
        Check("disturbance", "lab", [*PYTEST, "tests/disturbance"], 1, lab=True, limit_s=900),
        *lint_checks(),
        *kernel_checks(),
    ]
    return [check for check in every if check.group in groups]
