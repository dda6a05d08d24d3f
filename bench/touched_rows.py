# SPDX-License-Identifier: Apache-2.0
"""Rows of what a packet touches, and of the instructions that each of our programs takes of it."""

from __future__ import annotations

import re
import subprocess
import sys
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from bench import forwarding, touched
from bench.rows import OUT, Row
from bench.touched import Seen
from lab import plan

FOLDER = OUT / "touched"
PAIRS = {
    "paced-4096": ("edt", "mq-fq", "4,096 queues in 3 levels (edt): beyond mq with fq leaves"),
    "paced-100k": ("edt-100k", "mq-fq-100k", "100,000 queues in 3 levels (edt): beyond mq with fq leaves"),
    "fast-4096": ("fast", "xdp-forward", "fast path, 4,096 queues in 3 levels: beyond xdp-forward"),
    "fast-100k": (
        "fast-100k",
        "xdp-forward-100k",
        "fast path, 100,000 queues in 3 levels: beyond xdp-forward",
    ),
}
"""Row -> what is counted less what."""
ALONE = {
    "noqueue": "the kernel's forwarding, no qdisc",
    "mq-fq-100k": "the kernel's forwarding, mq with fq leaves",
    "edt-100k": "100,000 queues in 3 levels (edt)",
    "xdp-forward-100k": "xdp-forward, frames from a link",
    "fast-100k": "fast path, 100,000 queues in 3 levels, frames from a link",
}
KINDS = {
    "near": ("", "that none of the 64 packets before touched"),
    "far": ("far-", "that none of the 1,024 packets before touched"),
    "all": ("all-", "in all"),
}
"""Field of Touches -> part of the row's id, and what is counted."""
SHOWN = {"paced-4096": ("near", "all"), "paced-100k": ("near", "far", "all"), "fast-4096": ("near",)}
SHOWN["fast-100k"] = ("near", "far")
"""In all, the fast path touches less than xdp-forward."""
LEAST = 5
"""Instructions of a packet below which a program has no row."""


def run() -> list[Row]:
    """In the virtual machine whose clock counts instructions."""
    forwarding.build()
    command = f"{sys.executable} -m bench.touched"
    runner = [str(plan.ROOT / "lab" / "vm" / "run"), "--count-instructions", "--plugin", str(touched.PLUGIN)]
    subprocess.run([*runner, "--keep", str(FOLDER), "bash", "-c", command], check=True, cwd=plan.ROOT)
    return rows(FOLDER)


def rows(folder: Path) -> list[Row]:
    """Of the files that a guest has left."""
    names = {*ALONE, *(name for pair in PAIRS.values() for name in pair[:2])}
    seen = {name: touched.read(folder / f"touched-{name}") for name in sorted(names)}
    symbols = Symbols(folder)
    return [*beyond(seen), *alone(seen), *of_programs(seen, symbols)]


def beyond(seen: dict[str, Seen]) -> Iterator[Row]:
    for id, (name, than, what) in PAIRS.items():
        more = seen[name].touches - seen[than].touches
        for kind in SHOWN[id]:
            part, counted = KINDS[kind]
            for unit in ("lines", "pages"):
                value = getattr(more, unit if kind == "all" else f"{kind}_{unit}")
                yield _row(
                    f"{unit}-{part}{id}", f"{unit} of memory touched per packet {counted}, {what}", value
                )


def alone(seen: dict[str, Seen]) -> Iterator[Row]:
    for name, what in ALONE.items():
        for unit in ("lines", "pages"):
            value = getattr(seen[name].touches, unit)
            yield _row(f"{unit}-of-{name}", f"{unit} of memory touched per packet in all, {what}", value)


def of_programs(seen: dict[str, Seen], symbols: Symbols) -> Iterator[Row]:
    for name, what in ALONE.items():
        for program, value in sorted(symbols.programs(seen[name]).items()):
            if value >= LEAST:
                id = f"insn-program-{program.removeprefix('weir_')}-{name}"
                yield _row(id, f"instructions of {program} per packet, {what}", value, "instructions")


def _row(id: str, what: str, value: float, unit: str = "") -> Row:
    return Row.of(id, what, unit or id.partition("-")[0], [round(value, 2)], "lower")


class Symbols:
    """The guest kernel's functions, programs among them, by their addresses."""

    def __init__(self, folder: Path) -> None:
        lines = (line.split() for line in (folder / "kallsyms").read_text().splitlines())
        self._found = sorted((int(address, 16), name) for address, _, name, *_ in lines)
        self._addresses = [address for address, _ in self._found]

    def name(self, address: int) -> str:
        """Programs without the hash of their code: of the function that an address is in."""
        name = self._found[bisect_right(self._addresses, address) - 1][1]
        return re.sub(r"^bpf_prog_[0-9a-f]{16}_", "", name)

    def programs(self, seen: Seen) -> dict[str, float]:
        """Instructions of a packet by program or function of one, ours alone."""
        found: Counter[str] = Counter()
        for address, instructions in seen.instructions.items():
            found[self.name(address)] += instructions  # type: ignore[assignment]
        return {name: value for name, value in found.items() if name.startswith("weir_")}
