# SPDX-License-Identifier: Apache-2.0
"""Lines and pages that a packet touches, counted by a plugin of QEMU: what no machine can change.

    lab/vm/run --count-instructions --plugin build/bench/touched.so build/venv/bin/python -m bench.touched

A packet is all that the kernel does from the making of one packet to that of the next, one at a time
(bench/rig/touched.c says what is counted and what is not). Each goes to another customer, in an order
without locality. Writes to $WEIR_RUN the plugin's file of each configuration, touched-NAME, and what the
kernel says of its addresses: bench/touched_rows.py makes rows of these, bench/touched_where.py tells whose
memory it is.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, fields
from pathlib import Path

from bench import forwarding, trees, xdp_forward
from bench.fast import on_fast_path
from bench.forwarding import Configuration
from bench.instructions import edt_on_fq
from bench.paced import LEAVES, MANY
from bench.rows import OUT
from bench.trees import Trees
from weir.adapters.datapath import Datapath

PLUGIN = OUT / "touched.so"
RUN_MS, SETTLE_MS = 40, 20
"""Of the guest's time: some 6,000 packets, of which the plugin sums up all but the first 1,024."""
FEWEST = 2_000
"""Packets that a figure is made of."""
CAPACITY = 131_072


@dataclass(frozen=True, slots=True)
class Touches:
    """Of a packet, on average: lines of 64 bytes and pages of 4 KB. `near`: of these, what none of the 64
    packets before touched; `far`: none of 1,024."""

    lines: float
    pages: float
    near_lines: float
    near_pages: float
    far_lines: float
    far_pages: float

    def __sub__(self, other: Touches) -> Touches:
        return Touches(*(getattr(self, f.name) - getattr(other, f.name) for f in fields(Touches)))


@dataclass(frozen=True, slots=True)
class Origin:
    """An instruction, and what it was the first to touch in a packet, between two addresses."""

    address: int
    touches: Touches
    lowest: int
    highest: int


@dataclass(frozen=True, slots=True)
class Seen:
    """What the plugin wrote of one configuration."""

    packets: int
    origins: list[Origin]
    instructions: dict[int, float]
    """Of a packet, by the address where a block of code begins."""

    @property
    def touches(self) -> Touches:
        every = [origin.touches for origin in self.origins]
        return Touches(*(sum(getattr(one, f.name) for one in every) for f in fields(Touches)))


def read(path: Path) -> Seen:
    """A file of the plugin; raises ValueError if it is of too few packets."""
    lines = [line.split() for line in path.read_text().splitlines()]
    packets = int(lines[0][1])
    if packets < FEWEST:
        raise ValueError(f"bench: only {packets} packets were seen")
    origins, instructions = [], {}
    for kind, address, *words in lines[1:]:
        if kind == "by":
            touches = Touches(*(int(word) / packets for word in words[:6]))
            origins.append(Origin(int(address, 16), touches, int(words[6], 16), int(words[7], 16)))
        else:
            instructions[int(address, 16)] = int(words[0]) * int(words[1]) / packets
    return Seen(packets, origins, instructions)


@contextmanager
def boundary(folder: Path) -> Iterator[None]:
    """Tells the plugin where a packet begins, at the program that makes it, and so that it is to count."""
    found = re.search(
        r"^([0-9a-f]+) . bpf_prog_[0-9a-f]{16}_generate\b",
        Path("/proc/kallsyms").read_text(),
        re.MULTILINE,
    )
    if found is None:
        raise ValueError("bench: the kernel does not tell where programs of BPF are")
    told = folder / "boundary"
    told.write_text(found[1] + "\n")
    try:
        yield
    finally:
        told.unlink()


def paced(stack: ExitStack, capacity: int = CAPACITY, leaves: int = LEAVES) -> list[Configuration]:
    """The stack's path without clocks and with them."""
    shaped = Trees(stack.enter_context(Datapath.open(None, capacity=capacity, prefixes=capacity)))
    return [
        Configuration("mq-fq", trees.mq_of("fq"), addresses=leaves),
        Configuration("edt", edt_on_fq(shaped, leaves), addresses=leaves),
    ]


def every(stack: ExitStack) -> list[Configuration]:
    """Each size of a path has a datapath of its own: not all of these trees fit into one."""
    fast, fast_100k = (
        Trees(stack.enter_context(Datapath.open(None, capacity=capacity, prefixes=capacity)))
        for capacity in (2 * LEAVES, CAPACITY)
    )
    forward = stack.enter_context(xdp_forward.loaded(xdp_forward.fetch()))
    many = [
        Configuration(f"{one.name}-100k", one.prepare, addresses=MANY) for one in paced(stack, CAPACITY, MANY)
    ]
    return [
        Configuration("noqueue", trees.unshaped),
        *paced(stack, 2 * LEAVES),
        *many,
        Configuration("xdp-forward", forward, "wire", own_xdp=True),
        on_fast_path("fast", fast, fast.fast(LEAVES)),
        Configuration("xdp-forward-100k", forward, "wire", MANY, own_xdp=True),
        on_fast_path("fast-100k", fast_100k, fast_100k.fast(MANY), MANY),
    ]


def measured(
    folder: Path, configurations: Sequence[Configuration], *, with_addresses: bool = False
) -> dict[str, Seen]:
    """`folder`: where the plugin writes; and what the kernel says of addresses, if that is asked for."""
    with forwarding.Rig(configurations, LEAVES) as rig, boundary(folder):
        found = {}
        for configuration, port in rig.ports:
            rig.round(configuration, port, RUN_MS, SETTLE_MS, batch=1)
            kept = (folder / "touched").rename(folder / f"touched-{configuration.name}")
            found[configuration.name] = read(kept)
        if with_addresses:
            keep_addresses(folder)
        return found


def keep_addresses(folder: Path) -> None:
    """Of functions, and of memory that was allocated: the kernel tells root where that is, if nobody else."""
    Path("/proc/sys/kernel/kptr_restrict").write_text("1\n")
    for name in ("kallsyms", "vmallocinfo"):
        (folder / name).write_text(Path("/proc", name).read_text())


def main() -> None:
    folder = Path(os.environ["WEIR_RUN"])
    forwarding.build()
    with ExitStack() as stack:
        measured(folder, every(stack), with_addresses=True)


if __name__ == "__main__":
    main()
