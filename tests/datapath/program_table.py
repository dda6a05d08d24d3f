# SPDX-License-Identifier: Apache-2.0
"""Keeps docs/bpf-programs.md: what each program costs, as the verifier of a kernel sees it.

sudo build/venv/bin/python -m tests.datapath.program_table     writes the section of the running kernel again
lab/vm/run build/venv/bin/python -m tests.datapath.program_table --print     and that of the virtual machine's
"""

from __future__ import annotations

import os
import platform
import re
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from tests.datapath import bpf_run
from weir.adapters.datapath import Datapath
from weir.model.problem import Unavailable

TC = {
    "weir_ingress": "tc ingress: upload class by source into the mark",
    "weir_egress": "tc egress: class, clocks of all levels, pace, police or HTB",
}
WATCH = {
    "weir_refused": "tracepoint: packets that XDP redirected and a device refused",
    "weir_updated_first": "tracepoint: a neighbour has changed; five more are like it",
}
READ = {"weir_read": "iterator: the counters of 64 lines a step, for the API"}
FAST = {
    "weir_fast": "XDP: route, class, clocks; drop, redirect or pass up",
    "weir_fast, nothing kept": "the same, asking the FIB for each packet",
    "weir_fast, flow table": "as the first, asking the kernel's flow table and translating addresses",
}
TABLE = Path(__file__).resolve().parents[2] / "docs" / "bpf-programs.md"

HEAD = """<!-- SPDX-License-Identifier: Apache-2.0 -->
# BPF programs: sizes and verifier work

Every program in every configuration, as loaded on two kernels. `python -m tests.datapath.program_table`
makes the section of the kernel it runs on. tests/datapath/test_program_table.py fails when a figure has grown
by more than 2 % on the developer's kernel with the same compiler, and reports it elsewhere, as
tests/vm/test_programs.py does on Linux 6.12.

- *instructions*: after the verifier has inlined map lookups and helpers (`xlated`)
- *machine code*: bytes after the JIT
- *verifier walked*: instructions looked at over all paths; the kernel's limit is 1,000,000
"""


class Figures(NamedTuple):
    instructions: int
    code_bytes: int
    walked: int


class Section(NamedTuple):
    """One kernel's table."""

    kernel: str
    compiler: str
    figures: dict[str, Figures]

    @property
    def series(self) -> str:
        return ".".join(self.kernel.split(".")[:2])

    def text(self) -> str:
        what = TC | FAST | READ | WATCH
        rows = [
            f"| `{name}` | {what[name]} | {f.instructions:,} | {f.code_bytes:,} | {f.walked:,} |"
            for name, f in self.figures.items()
        ]
        head = [
            f"## Linux {self.series}\n\nKernel {self.kernel}, {self.compiler}.\n",
            "| program | what it does | instructions | machine code | verifier walked |",
            "|---|---|---:|---:|---:|",
        ]
        return "\n".join([*head, *rows]) + "\n"


def compiler() -> str:
    first = subprocess.run(["clang", "--version"], capture_output=True, text=True, check=True).stdout
    return " ".join(first.splitlines()[0].split()[1:4])


def measured() -> Section:
    """Load every program in every configuration that this kernel has, and look."""
    subprocess.run(["modprobe", "-q", "nf_flow_table"], capture_output=True, check=False)
    figures: dict[str, Figures] = {}
    with Datapath.open(None, capacity=64, flow=False) as datapath:
        for name in (*TC, "weir_fast"):
            figures[name] = _figures(datapath, name)
    with Datapath.open(None, capacity=64, flow=False, hops=False) as datapath:
        figures["weir_fast, nothing kept"] = _figures(datapath, "weir_fast")
    with Datapath.open(None, capacity=64) as datapath:
        if not datapath.flow_reason():
            figures["weir_fast, flow table"] = _figures(datapath, "weir_fast")
        with suppress(Unavailable):  # some builds of Linux 6.18 refuse iterators over maps
            link = datapath.reader_fd()
            figures["weir_read"] = _figures_of(bpf_run.program_of_link(link))
            os.close(link)
        datapath.watch_refused()
        for name in WATCH:
            figures[name] = _figures(datapath, name)
    return Section(platform.release(), compiler(), figures)


def _figures(datapath: Datapath, program: str) -> Figures:
    return _figures_of(datapath.program_fd(program))


def _figures_of(fd: int) -> Figures:
    try:
        return Figures(*bpf_run.program_sizes(fd))
    finally:
        os.close(fd)


def committed() -> dict[str, Section]:
    """The sections of the table in docs, by series (`6.12`)."""
    found = {}
    for part in re.split(r"^## ", TABLE.read_text(), flags=re.MULTILINE)[1:]:
        kernel, made_by = re.findall(r"^Kernel ([^,]+), (.+)\.$", part, re.MULTILINE)[0]
        rows = re.findall(r"^\| `(.+)` \|.*\| ([\d,]+) \| ([\d,]+) \| ([\d,]+) \|$", part, re.MULTILINE)
        figures = {name: Figures(*(int(v.replace(",", "")) for v in values)) for name, *values in rows}
        section = Section(kernel, made_by, figures)
        found[section.series] = section
    return found


def main() -> None:
    section = measured()
    if "--print" in sys.argv:
        print(section.text(), end="")
        return
    sections = committed() | {section.series: section}
    parts = [sections[series].text() for series in sorted(sections, reverse=True)]
    TABLE.write_text("\n".join([HEAD, *parts]))


if __name__ == "__main__":
    main()
