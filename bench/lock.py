# SPDX-License-Identifier: Apache-2.0
"""What a packet costs under the lock of a qdisc, alone and with all CPUs, and the model made of it."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from bench import forwarding, trees
from bench.forwarding import Configuration
from bench.rows import Row
from bench.trees import Trees
from weir.adapters.datapath import Datapath

LEAVES = 4096
ROUNDS = 7
MODEL = Path(__file__).parent / "root-lock.md"
MANY_CORES, UNSHAPED_MPPS = 48, 14.1
"""The documents' machine, and what it forwards with a lock per core."""
CORES = (8, 16, 48)


@dataclass(frozen=True, slots=True)
class Machine:
    """What two cores of a machine tell of it, in ns of a packet: unshaped, what EDT adds with 4,096 and with
    100,000 queues, and from one packet to the next through HTB's lock."""

    name: str
    unshaped: float
    edt: float
    edt_100k: float
    htb: float

    def mpps(self, cores: int) -> tuple[float, float, float, float]:
        """Predicted for mq, EDT with 4,096 and with 100,000 queues, and HTB, in millions a second."""
        free = [cores * 1e3 / (self.unshaped + added) for added in (0.0, self.edt, self.edt_100k)]
        return free[0], free[1], free[2], min(cores * 1e3 / (self.unshaped + self.htb), 1e3 / self.htb)


ELSEWHERE = (
    Machine("a slow one, 1.68 Mp/s on two cores", 1190, 113, 285, 1280),
    Machine("a fast one, 6.1 Mp/s on two cores", 328, 101, 281, 1285),
)
"""From ratios that were measured there: the last two columns of bench/machines.md."""


def nanoseconds(cpus: int) -> dict[str, list[float]]:
    """Time of one packet on one of `cpus` CPUs, by configuration."""
    with ExitStack() as stack:
        shaped = Trees(stack.enter_context(Datapath.open(None, capacity=16_384)))
        configurations = [
            Configuration("unshaped", trees.unshaped),
            Configuration("pfifo", trees.qdisc("pfifo limit 1000")),
            Configuration("htb", trees.by_u32(LEAVES)),
            Configuration("edt", shaped.stack("edt", LEAVES)),
        ]
        rates = stack.enter_context(forwarding.Rig(configurations, LEAVES, cpus)).measure(ROUNDS)
    return {name: [cpus * 1e9 / rate.counted for rate in found] for name, found in rates.items()}


def run() -> list[Row]:
    """`alone`: time above unshaped on one CPU, which for a qdisc is nearly all under its lock. `served`:
    time from one packet to the next with all CPUs, which for a saturated lock is the time it serves one."""
    forwarding.build()
    cpus = os.cpu_count() or 1
    alone, together = nanoseconds(1), nanoseconds(cpus)
    rows = []
    for name in ("pfifo", "htb", "edt"):
        above = [a - b for a, b in zip(alone[name], alone["unshaped"], strict=True)]
        served = [value / cpus for value in together[name]]
        for kind, what, values in (
            ("alone", "above unshaped on one CPU", above),
            ("served", f"from packet to packet on {cpus} CPUs", served),
        ):
            rows.append(
                Row.of(
                    f"lock-{name}-{kind}", f"time of a packet, {name}: {what}", "ns",
                    values, better="lower",
                )
            )  # fmt: skip
    return rows


def machines(rows: Iterable[Row]) -> list[Machine]:
    """Those elsewhere, and the one that the rows are of if all was measured there."""
    found = {row.id: row.median for row in rows}
    needed = ("unshaped-mpps", "paced-4096x3-ns", "paced-100kx3-ns", "peer-htb")
    if any(id not in found for id in needed):
        return list(ELSEWHERE)
    mpps, edt, edt_100k, htb = (found[id] for id in needed)
    cpus = os.cpu_count() or 1
    name = f"this one, {mpps:.2f} Mp/s on {cpus} cores"
    return [*ELSEWHERE, Machine(name, cpus * 1e3 / mpps, edt, edt_100k, 1e3 / (mpps * htb))]


def predicted(machines: Iterable[Machine]) -> str:
    """The table's rows, in Mp/s."""
    lines = []
    for machine in machines:
        for cores in CORES:
            figures = " | ".join(shown(value, 1) for value in machine.mpps(cores))
            lines.append(f"| {machine.name} | {cores} | {figures} |")
    return "\n".join(lines)


def page(rows: Iterable[Row]) -> str:
    """The model, with what was measured put in; a dash for what was not."""
    rows = list(rows)
    ns = {row.id: row.median for row in rows if row.id.startswith("lock-")}
    words = {"cpus": str(os.cpu_count())}
    for name in ("pfifo", "htb", "edt"):
        alone, served = ns.get(f"lock-{name}-alone"), ns.get(f"lock-{name}-served")
        words[f"{name}_alone"] = shown(alone, 0)
        words[f"{name}_served"] = shown(served, 0)
        words[f"{name}_ceiling"] = shown(served and 1e3 / served, 2)
        words[f"{name}_free"] = shown(alone and 1e3 / alone, 1)
    outside_ns = MANY_CORES * 1e3 / UNSHAPED_MPPS
    own = ns.get("lock-edt-alone")
    words["edt_many"] = shown(own and MANY_CORES * 1e3 / (outside_ns + own), 1)
    words["edt_share"] = shown(own and outside_ns / (outside_ns + own), 2)
    words["predicted"] = predicted(machines(rows))
    return MODEL.read_text().partition("\n")[2].format(**words)


def shown(value: float | None, digits: int) -> str:
    return "-" if value is None else f"{value:,.{digits}f}"
