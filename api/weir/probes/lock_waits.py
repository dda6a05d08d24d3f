# SPDX-License-Identifier: Apache-2.0
"""lock-waits: how long cores spin for locks, by kind, each second again."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import closing
from typing import Any

from weir.probes.library import told
from weir.probes.lock_rows import KINDS, LockRows, Waits
from weir.probes.output import Output
from weir.probes.softirq_rows import quantile_ns
from weir.tools.lock_waits import LockWaits


def run(asked: LockWaits, output: Output, confine: Callable[[], None]) -> None:
    with closing(LockRows(told()["library"])) as counted:
        counted.watch(True)
        confine()
        begun_s = time.monotonic()
        for second in range(1, asked.seconds + 1):
            output.wait(None, begun_s + second)
            rows, took_ns = counted.read(), (time.monotonic() - begun_s) * 1e9
            for kind in KINDS:
                if of_kind := [row for row in rows if row.kind == kind]:
                    output.tell("lock", kind=kind, **_told(of_kind, took_ns))
    shares: dict[int, float] = {}
    for row in rows:
        shares[row.core] = shares.get(row.core, 0.0) + row.wait_ns / took_ns
    output.tell(
        "summary", seconds=asked.seconds, most_share_percent=round(max(shares.values(), default=0.0) * 100, 2)
    )


def _told(rows: Sequence[Waits], took_ns: float) -> dict[str, Any]:
    busiest = max(rows, key=lambda row: row.wait_ns)
    longest = max(rows, key=lambda row: row.wait_most_ns)
    p99_ns = quantile_ns([sum(counts) for counts in zip(*(row.steps for row in rows), strict=True)], 0.99)
    return {
        "waits": sum(row.waited for row in rows),
        "share_percent": round(busiest.wait_ns / took_ns * 100, 2),
        "share_on": f"core {busiest.core}",
        "wait_p99_us": None if p99_ns is None else round(p99_ns / 1000, 1),
        "wait_most_us": round(longest.wait_most_ns / 1000, 1),
        "most_on": f"core {longest.core}",
    }
