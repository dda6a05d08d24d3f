# SPDX-License-Identifier: Apache-2.0
"""Instructions per forwarded packet, counted by QEMU: a figure that no other load on the machine changes.

    lab/vm/run --count-instructions build/venv/bin/python -m bench.instructions FOLDER

Guest time is the number of instructions, so a round's nanoseconds over its packets are instructions per
packet; what it costs to make a packet is measured alone and taken off. Caches and contention are not in it.
Writes instructions.json to FOLDER; the committed figures are in docs/instructions.md.
"""

from __future__ import annotations

import json
import platform
import re
import statistics
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from operator import attrgetter
from pathlib import Path

from bench import forwarding, trees
from bench.demands import DEMANDS
from bench.forwarding import Configuration
from bench.rows import Row
from bench.trees import Trees
from lab import plan
from weir.adapters.datapath import Datapath

LEAVES = 256
ROUNDS = 3
RUN_MS = 50
TABLE = plan.ROOT / "docs" / "instructions.md"
NOWHERE = Configuration("nowhere", trees.unshaped, "nowhere")
"""What making a packet costs."""
GATES = {"insn-paced": ("edt", "mq-fq"), "insn-fast": ("fast", "wire")}
"""Ratio -> what is divided by what."""

WHAT = {
    "noqueue": "the kernel's forwarding, no qdisc, frames as from a driver",
    "mq-fq": "the kernel's forwarding, mq with fq leaves",
    "edt": "three levels of clocks on mq with fq leaves",
    "htb-fq-codel": "HTB with three levels and an fq_codel leaf, class by BPF",
    "cake": "CAKE, one queue",
    "wire": "the kernel's forwarding, no qdisc, frames from a link",
    "fast": "the fast path with three levels of clocks, frames from a link",
}

HEAD = """<!-- SPDX-License-Identifier: Apache-2.0 -->
# Instructions per packet

Made by `lab/vm/run --count-instructions` and `bench.instructions`; tests/instructions fails when a ratio is
more than 2 % above this table with the same kernel and compiler, and reports it with others. 64-byte UDP
packets, each to another of 256 customers, on one emulated processor; what making a packet costs is taken off.
`insn-paced` is clocks on mq and fq over mq and fq; `insn-fast` the fast path over the kernel's, from a link.
"""


def compiler() -> str:
    first = subprocess.run(["clang", "--version"], capture_output=True, text=True, check=True).stdout
    return " ".join(first.splitlines()[0].split()[1:4])


def edt_on_fq(shaped: Trees, leaves: int = LEAVES) -> forwarding.Prepare:
    def prepare(port: forwarding.Port) -> None:
        trees.mq_of("fq")(port)
        shaped.stack("edt", leaves)(port)

    return prepare


GATED = ("mq-fq", "edt", "wire", "fast")
"""All that the ratios need."""


def measured(names: Sequence[str] = tuple(WHAT)) -> dict[str, float]:
    """Instructions per packet of the configurations, the median of the rounds."""
    forwarding.build()
    with ExitStack() as stack:
        shaped = Trees(stack.enter_context(Datapath.open(None, capacity=4096)))
        every = [
            Configuration("noqueue", trees.unshaped),
            Configuration("mq-fq", trees.mq_of("fq")),
            Configuration("edt", edt_on_fq(shaped)),
            Configuration("htb-fq-codel", shaped.htb(LEAVES, "fq_codel")),
            Configuration("cake", trees.qdisc("cake unlimited")),
            Configuration("wire", trees.unshaped, "wire"),
            Configuration("fast", shaped.fast(LEAVES), "wire", own_xdp=True, before=shaped.keep_answers),
        ]
        wanted = [configuration for configuration in every if configuration.name in names]
        rig = stack.enter_context(forwarding.Rig([*wanted, NOWHERE], LEAVES))
        return per_packet(rig)


def per_packet(
    rig: forwarding.Rig, figure: Callable[[forwarding.Rate], float] = attrgetter("counted")
) -> dict[str, float]:
    """Instructions of each configuration of a rig that has `NOWHERE` as well, for each packet that is
    counted in `figure`."""
    rates = rig.measure(ROUNDS, RUN_MS)
    making = statistics.median(1e9 / rate.made for rate in rates.pop(NOWHERE.name))
    return {
        name: round(statistics.median(1e9 / figure(rate) for rate in found) - making, 1)
        for name, found in rates.items()
    }


def ratios(figures: dict[str, float]) -> dict[str, float]:
    return {id: round(figures[over] / figures[under], 4) for id, (over, under) in GATES.items()}


def rows(figures: dict[str, float]) -> list[Row]:
    """The gates, the fast path against noqueue without a link, and what each path costs."""
    found = [gate(id, *GATES[id], figures) for id in GATES]
    found.append(gate("insn-fast-plain", "fast", "noqueue", figures))
    for name, value in figures.items():
        found.append(
            Row.of(
                f"insn-of-{name}", f"instructions per packet, {WHAT[name]}", "instructions", [value], "lower"
            )
        )
    return found


def rows_of_ours(figures: dict[str, float]) -> list[Row]:
    """What shaping takes altogether of a packet that need not wait, on the product's kernel."""
    what = f"instructions per packet, {WHAT['edt']}: over {WHAT['noqueue']}, on the product's kernel"
    found = [Row.of("insn-conforming", what, "ratio", [figures["edt"] / figures["noqueue"]])]
    for name in ("noqueue", "mq-fq", "edt"):
        what = f"instructions per packet on the product's kernel, {WHAT[name]}"
        found.append(Row.of(f"insn-ours-of-{name}", what, "instructions", [figures[name]], "lower"))
    return found


def gate(id: str, over: str, under: str, figures: dict[str, float]) -> Row:
    what = f"instructions per packet, {WHAT[over]}: over {WHAT[under]}"
    return Row.of(id, what, "ratio", [figures[over] / figures[under]], "lower")


def committed() -> tuple[str, str, dict[str, float]]:
    """(kernel, compiler, ratios) of the table in docs."""
    text = TABLE.read_text()
    kernel, made_by = re.findall(r"^Kernel ([^,]+), (.+)\.$", text, re.MULTILINE)[0]
    return kernel, made_by, {id: float(value) for id, value in re.findall(r"`(insn-\w+)`.*: ([\d.]+)", text)}


def table(figures: dict[str, float]) -> str:
    lines = [HEAD, f"Kernel {platform.release()}, {compiler()}.", "", "| path | instructions |", "|---|---:|"]
    lines += [f"| {WHAT[name]} | {value:,.0f} |" for name, value in figures.items()]
    lines += [
        "",
        *(
            f"- `{id}`, must {DEMANDS[id].must}, aim {DEMANDS[id].aim}: {value}"
            for id, value in ratios(figures).items()
        ),
    ]
    return "\n".join(lines) + "\n"


def read(folder: Path) -> dict[str, float]:
    """What `main` wrote."""
    figures: dict[str, float] = json.loads((folder / "instructions.json").read_text())
    return figures


def main() -> None:
    """Write instructions.json and instructions.md (as docs/instructions.md) to a folder."""
    figures = measured()
    folder = Path(sys.argv[1])
    (folder / "instructions.json").write_text(json.dumps(figures) + "\n")
    (folder / "instructions.md").write_text(table(figures))


if __name__ == "__main__":
    main()
