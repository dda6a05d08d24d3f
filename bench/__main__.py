# SPDX-License-Identifier: Apache-2.0
"""`make bench`: measure every figure, write build/bench/*.json and docs/benchmarks.md, name what misses.

python -m bench [GROUP...]      groups: see GROUPS; all of them without arguments
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import date
from pathlib import Path

from bench import control, fast, imports, instructions, lock, paced, rates, rows, screen
from bench.rows import OUT, TABLE, Row
from lab import netns, plan
from lab.netns import LabError
from weir.model.problem import Problem

VM_TIMEOUT_S = "900"

PREAMBLE = """# Benchmarks

Written by `make bench`; do not edit. Each figure is the median of its rounds; ratios compare configurations
whose rounds were interleaved in one run. "must" is what a release has to reach, "aim" what we want; the last
column says which of them the median reaches. What is measured, and how, is in the modules of `bench/`.

"""


def in_virtual_machine() -> list[Row]:
    """The rates with EDT on fq, which the development machine's kernel may lack."""
    folder = OUT / "vm"
    command = f"{sys.executable} -m bench.rates edt $WEIR_RUN"
    subprocess.run(
        [
            str(plan.ROOT / "lab" / "vm" / "run"),
            "--timeout",
            VM_TIMEOUT_S,
            "--keep",
            str(folder),
            "bash",
            "-c",
            command,
        ],
        check=True,
        cwd=plan.ROOT,
    )
    return rows.read(folder / "rates-edt.json")


def counted_instructions() -> list[Row]:
    """Instructions per packet, in the virtual machine whose clock counts them."""
    folder = OUT / "instructions"
    command = f"{sys.executable} -m bench.instructions $WEIR_RUN"
    runner = [str(plan.ROOT / "lab" / "vm" / "run"), "--count-instructions", "--keep", str(folder)]
    subprocess.run([*runner, "bash", "-c", command], check=True, cwd=plan.ROOT)
    return instructions.rows(instructions.read(folder))


def tables() -> list[Row]:
    """The datapath's lookup tables alone, by its own program."""
    folder = plan.ROOT / "datapath"
    netns.run(["make", "-s", "-C", str(folder), "bench"])
    built = plan.BUILD / "datapath"
    printed = netns.run([str(built / "datapath_bench"), str(built / "lookup_bench.bpf.o")])
    found = [Row(**fields) for fields in json.loads(printed)]
    # The memory of a queue is measured with all its tables, by `control`.
    return [row for row in found if row.id != "kernel-bytes-per-queue"]


GROUPS: dict[str, Callable[[], list[Row]]] = {
    "paced": paced.run,
    "overload": paced.overload,
    "nat": paced.translated,
    "fast": fast.run,
    "destinations": fast.destinations,
    "lock": lock.run,
    "tables": tables,
    "imports": imports.run,
    "control": control.run,
    "screen": screen.run,
    "police": lambda: rates.run("police"),
    "instructions": counted_instructions,
    "vm": in_virtual_machine,
}


def main() -> None:
    wanted = sys.argv[1:] or list(GROUPS)
    unknown = [name for name in wanted if name not in GROUPS]
    if unknown:
        sys.exit(f"bench: there is no group {unknown[0]}; there are {', '.join(GROUPS)}")
    failed = []
    for name in wanted:
        print(f"bench: measuring {name}", flush=True)
        begun_s = time.monotonic()
        try:
            found = GROUPS[name]()
        except (LabError, Problem, OSError, subprocess.SubprocessError, AssertionError, ValueError) as error:
            reason = str(error) or type(error).__name__
            print(f"bench: {name} could not be measured: {reason}", flush=True)
            failed.append(name)
            continue
        print(f"bench: {name} took {time.monotonic() - begun_s:.0f} s", flush=True)
        rows.write(name, found)
        print(rows.table(found), flush=True)
    every = [
        row for name in GROUPS if (OUT / f"{name}.json").exists() for row in rows.read(OUT / f"{name}.json")
    ]
    write_table(every)
    missed = [row for row in every if not row.reaches_must]
    for row in missed:
        print(f"misses its must: {row.id} = {row.median:g} {row.unit} (must {row.must:g})")
    if failed:
        print(f"not measured: {', '.join(failed)}; their rows in the table are of an earlier run")
    if not missed:
        print(f"all {len(every)} rows reach their must")
    sys.exit(1 if failed else 0)


def write_table(every: list[Row]) -> None:
    machine = (
        f"Measured on {date.today().isoformat()}: {os.cpu_count()} processors ({processor()}), Linux "
        f"{platform.release()}; rates of edt in the virtual machine of `lab/vm` (emulated processors).\n\n"
    )
    TABLE.write_text(PREAMBLE + machine + rows.table(every))


def processor() -> str:
    with Path("/proc/cpuinfo").open() as lines:
        for line in lines:
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.machine()


if __name__ == "__main__":
    main()
