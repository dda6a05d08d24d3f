# SPDX-License-Identifier: Apache-2.0
"""Writes docs/bpf-programs.md: what each program costs, as the verifier of this kernel sees it.

sudo build/venv/bin/python -m tests.datapath.program_table > docs/bpf-programs.md
"""

from __future__ import annotations

import os
import platform
import re
import subprocess
import time
from pathlib import Path

from tests.datapath import bpf_run
from weir.adapters.datapath import Datapath

PROGRAMS = {
    "weir_ingress": "tc ingress: upload class by source into the mark",
    "weir_egress": "tc egress: class, clocks of all levels, pace, police or HTB",
    "weir_fast": "XDP: route, class, clocks; drop, redirect or pass up",
}
TABLE = Path(__file__).resolve().parents[2] / "docs" / "bpf-programs.md"

HEAD = """<!-- SPDX-License-Identifier: Apache-2.0 -->
# BPF programs: sizes and verifier work

Made by `python -m tests.datapath.program_table`; tests/datapath/test_program_table.py fails when a figure has
grown by more than 2 % on the same kernel and compiler, and reports it with others.

- *instructions*: after the verifier has inlined map lookups and helpers (`xlated`)
- *machine code*: bytes after the JIT
- *verifier walked*: instructions looked at over all paths; the kernel's limit is 1,000,000
"""


def compiler() -> str:
    first = subprocess.run(["clang", "--version"], capture_output=True, text=True, check=True).stdout
    return " ".join(first.splitlines()[0].split()[1:4])


def measured() -> dict[str, tuple[int, int, int]]:
    """Program -> (instructions, bytes of machine code, instructions the verifier walked)."""
    found = {}
    with Datapath.open(None, capacity=64) as datapath:
        for name in PROGRAMS:
            fd = datapath.program_fd(name)
            found[name] = bpf_run.program_sizes(fd)
            os.close(fd)
    return found


def committed() -> tuple[str, str, dict[str, tuple[int, int, int]]]:
    """(kernel, compiler, figures) of the table in docs."""
    text = TABLE.read_text()
    rows = re.findall(r"^\| `(\w+)` \|.*\| ([\d,]+) \| ([\d,]+) \| ([\d,]+) \|$", text, re.MULTILINE)
    figures = {name: tuple(int(value.replace(",", "")) for value in values) for name, *values in rows}
    kernel, made_by = re.findall(r"^Kernel ([^,]+), (.+)\.$", text, re.MULTILINE)[0]
    return kernel, made_by, figures  # type: ignore[return-value]


def main() -> None:
    began = time.monotonic()
    figures = measured()
    print(HEAD)
    print(f"Kernel {platform.release()}, {compiler()}.\n")
    print("| program | what it does | instructions | machine code | verifier walked |")
    print("|---|---|---:|---:|---:|")
    for name, (instructions, code_bytes, walked) in figures.items():
        print(f"| `{name}` | {PROGRAMS[name]} | {instructions:,} | {code_bytes:,} | {walked:,} |")
    print(f"\nAll programs were loaded, verified and compiled in {time.monotonic() - began:.1f} s.")


if __name__ == "__main__":
    main()
