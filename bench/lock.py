# SPDX-License-Identifier: Apache-2.0
"""What a packet costs under the lock of a qdisc, alone and with all CPUs, for docs/root-lock.md."""

from __future__ import annotations

import os
from contextlib import ExitStack

from bench import forwarding, trees
from bench.forwarding import Configuration
from bench.rows import Row
from bench.trees import Trees
from weir.adapters.datapath import Datapath

LEAVES = 4096
ROUNDS = 7


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
                    f"lock-{name}-{kind}", f"time of a packet, {name}: {what} (docs/root-lock.md)", "ns",
                    values, must=1e6, aim=1e6, better="lower",
                )
            )  # fmt: skip
    return rows
