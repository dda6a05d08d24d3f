# SPDX-License-Identifier: Apache-2.0
"""docs/benchmarks.md, from what was measured."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from bench import lock, rows
from bench.rows import OUT, Row
from lab import plan

PAGE = plan.ROOT / "docs" / "benchmarks.md"
NOTES = OUT / "groups"
MACHINES = Path(__file__).parent / "machines.md"
"""What the ratios were elsewhere, by hand."""

PREAMBLE = """<!-- SPDX-License-Identifier: Apache-2.0 -->
# Benchmarks

Written by `make bench`; do not edit. Each figure is the median of its rounds; ratios compare configurations
whose rounds were interleaved in one run. "must" is what a release has to reach, "aim" what we want; the last
column says which of them the median reaches; rows without them are there to compare with. What is measured,
and how, is in the modules of `bench/`.

"""
MACHINE_FREE = ("touched", "instructions")
"""Groups that are counted in an emulator: no machine and no load changes them."""
COUNTED = Path(__file__).parent / "counted.md"
"""What those count and what not."""


@dataclass(frozen=True, slots=True)
class Measured:
    """When a group was measured, how long that took, the machine's load (1 min) when it began, and its
    processor."""

    group: str
    at: str
    took_s: int
    load: float
    machine: str = ""


def note(measured: Measured) -> None:
    NOTES.mkdir(parents=True, exist_ok=True)
    (NOTES / f"{measured.group}.json").write_text(json.dumps(asdict(measured)) + "\n")


def read_measured() -> dict[str, Measured]:
    every = [Measured(**json.loads(path.read_text())) for path in NOTES.glob("*.json")]
    return {measured.group: measured for measured in every}


def write(
    found: Mapping[str, Sequence[Row]], measured: Mapping[str, Measured], missing: Sequence[str]
) -> None:
    """The whole page; `found` by group, `missing` the demanded rows that nobody has measured."""
    every = [row for group in found.values() for row in group]
    counted = [row for name in MACHINE_FREE for row in found.get(name, [])]
    timed = [row for name, group in found.items() if name not in MACHINE_FREE for row in group]
    words = [PREAMBLE, COUNTED.read_text().partition("\n")[2], "\n", rows.table(counted)]
    words += ["\n## Measured on one machine\n\n", machine(), rows.table(timed)]
    if missing:
        words.append(f"\nNot measured: {', '.join(f'`{id}`' for id in missing)}.\n")
    words += ["\n", times([measured[name] for name in found if name in measured])]
    words += [MACHINES.read_text(), "\n", lock.page(every)]
    PAGE.write_text("".join(words))


def machine() -> str:
    return (
        f"{os.cpu_count()} processors ({processor()}), Linux {platform.release()}, but for groups whose line "
        "below names another machine. A ratio holds for the machine that it was measured on. The group vm is "
        "measured in the virtual machine of `lab/vm` (emulated processors).\n\n"
    )


def times(measured: Sequence[Measured]) -> str:
    lines = ["| group | measured at | took | load before | processor |", "|---|---|---:|---:|---|"]
    lines += [f"| {one.group} | {one.at} | {one.took_s} s | {one.load} | {one.machine} |" for one in measured]
    return "\n".join(lines) + "\n"


def processor() -> str:
    with Path("/proc/cpuinfo").open() as lines:
        for line in lines:
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.machine()
