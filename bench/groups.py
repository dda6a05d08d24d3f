# SPDX-License-Identifier: Apache-2.0
"""The groups of figures. Each is measured in a process of its own:

python -m bench.groups NAME      writes build/bench/NAME.json
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from bench import (
    control,
    fast,
    growth,
    imports,
    instructions,
    large,
    likeness,
    lock,
    paced,
    rates,
    routing,
    rows,
    screen,
    sets,
    soak,
    survival,
    torch,
    touched_rows,
)
from bench.rows import OUT, Row
from lab import netns, plan
from lab.netns import LabError
from weir.model.problem import Problem

VM = [str(plan.ROOT / "lab" / "vm" / "run")]
OUR_KERNEL = plan.BUILD / "kernel" / "vm" / "bzImage"


@dataclass(frozen=True, slots=True)
class Group:
    """Figures that are measured together; `ids` are those of which something is demanded."""

    run: Callable[[], list[Row]]
    limit_s: int
    """It is stopped after that time, for the others to be measured; about three times what it takes."""
    ids: Sequence[str]


def in_virtual_machine() -> list[Row]:
    """The rates with EDT on fq, which the development machine's kernel may lack."""
    folder = OUT / "vm"
    command = f"{sys.executable} -m bench.rates edt $WEIR_RUN"
    runner = [*VM, "--timeout", "900", "--keep", str(folder)]
    subprocess.run([*runner, "bash", "-c", command], check=True, cwd=plan.ROOT)
    return rows.read(folder / "rates-edt.json")


def counted_instructions() -> list[Row]:
    """Instructions per packet, in the virtual machine whose clock counts them, and on the product's kernel
    where that was built (`make kernel`)."""
    found = instructions.rows(counted("instructions"))
    if OUR_KERNEL.exists():
        found += instructions.rows_of_ours(counted("instructions-ours", "--kernel", str(OUR_KERNEL)))
    return found


def counted(name: str, *options: str) -> dict[str, float]:
    folder = OUT / name
    command = f"{sys.executable} -m bench.instructions $WEIR_RUN"
    runner = [*VM, "--count-instructions", *options, "--keep", str(folder)]
    subprocess.run([*runner, "bash", "-c", command], check=True, cwd=plan.ROOT)
    return instructions.read(folder)


def tables() -> list[Row]:
    """The datapath's lookup tables alone, by its own program."""
    folder = plan.ROOT / "datapath"
    netns.run(["make", "-s", "-C", str(folder), "bench"])
    # Real time, as the rig's generators: what else this machine does must not spoil a round.
    printed = netns.run(["chrt", "--fifo", "1", str(plan.BUILD / "datapath" / "datapath_bench")])
    return [Row.of(**fields) for fields in json.loads(printed)]


def of_sizes(*names: str) -> list[str]:
    return [f"{name}-{size}" for size in ("10k", "100k") for name in names]


GROUPS: dict[str, Group] = {
    "touched": Group(touched_rows.run, 900, ("lines-paced-100k", "pages-paced-100k")),
    "instructions": Group(counted_instructions, 960, ("insn-paced", "insn-fast", "insn-conforming")),
    "tables": Group(tables, 120, ("lookup-v4-ns", "lookup-v6-ns", "lookup-v4-mb", "apply-10k", "apply-one")),
    "paced": Group(paced.run, 240, ("paced-4096x3", "paced-4096x3-vs-htb", "paced-100kx3", "policed-4096x3")),
    "overload": Group(paced.overload, 300, ("overload",)),
    "nat": Group(paced.translated, 120, ("paced-4096x3-nat-vs-htb",)),
    "fast": Group(fast.run, 240, ("fast-4096x3", "fast-100kx3-vs-4096", "fast-vs-xdp-forward")),
    "destinations": Group(fast.destinations, 120, ("random-dst-fast", "random-dst-kernel")),
    "torch": Group(torch.run, 900, ("torch-fast",)),
    "lock": Group(lock.run, 240, ()),
    "imports": Group(
        imports.run,
        480,
        of_sizes("read-routeros", "read-libreqos", "read-csv", "reread-routeros", "write-routeros"),
    ),
    "control": Group(
        control.run,
        900,
        (
            "import-10k-report",
            "import-10k-commit",
            "import-100k-report",
            "import-100k-commit",
            "change-one-p50",
            "change-one-p99",
            "list-100-p99",
            "sse-20-core",
            "rss-100k",
            "kernel-bytes-per-queue",
            "lookup-bytes-per-queue",
        ),
    ),
    "large": Group(
        large.run,
        3000,
        (
            "rollback-100k-late",
            "diff-50k-first",
            "diff-50k-page",
            "import-100k-peak",
            "commit-50k-peak",
            "change-during-50k-p99",
            "live-sort-100k",
        ),
    ),
    "sets": Group(sets.run, 900, ("set-100k-load", "set-entry-one", "rule-one", "rule-one-2k")),
    "growth": Group(growth.run, 1800, ("store-growth",)),
    "likeness": Group(likeness.run, 900, ("unlike-frames",)),
    "routes": Group(routing.routes, 600, ("route-50k-load", "route-one")),
    "bgp": Group(routing.neighbors, 600, ("bgp-neighbor-one",)),
    "screen": Group(screen.run, 240, ("scroll-10k-fps", "scroll-kind-10k-fps", "live-100-ms")),
    "opened": Group(screen.opened, 480, ("open-page-ms",)),
    "soak": Group(soak.run, 2 * 3600, ("soak-api", "soak-agent")),
    "survival": Group(
        survival.run, 1800, ("unlimited-worst", "damaged-database-loaded", "damaged-copy-loaded")
    ),
    "police": Group(
        partial(rates.run, "police"),
        900,
        [f"rate-error-police-{mbit}" for mbit in rates.UDP_MBIT["police"]] + rates.tcp_ids("police"),
    ),
    "vm": Group(
        in_virtual_machine,
        960,
        [f"rate-error-edt-{mbit}" for mbit in rates.UDP_MBIT["edt"]] + rates.tcp_ids("edt"),
    ),
}


def main() -> None:
    name = sys.argv[1]
    try:
        found = GROUPS[name].run()
    except (LabError, Problem, OSError, subprocess.SubprocessError, AssertionError, ValueError) as error:
        sys.exit(f"bench: {name} could not be measured: {error or type(error).__name__}")
    rows.write(name, found)
    print(rows.table(found), flush=True)


if __name__ == "__main__":
    main()
