# SPDX-License-Identifier: Apache-2.0
"""softirqs: how long they wait and run, by vector, each second again."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import closing
from typing import Any

from weir.probes.library import told
from weir.probes.output import Output
from weir.probes.softirq_rows import Row, SoftirqRows, Steps, quantile_ns
from weir.tools.softirqs import Softirqs

GAP_S = 1.0


def run(asked: Softirqs, output: Output, confine: Callable[[], None]) -> None:
    with closing(SoftirqRows(told()["library"])) as counted:
        counted.watch(True)
        confine()
        begun_s = time.monotonic()
        rows: list[Row] = []
        for second in range(1, asked.seconds + 1):
            output.wait(None, begun_s + second * GAP_S)
            rows = counted.read()
            for vector, steps in counted.read_steps().items():
                output.tell("softirq", **_told(vector, [row for row in rows if row.vector == vector], steps))
    late, longer = sum(row.late for row in rows), sum(row.longer for row in rows)
    output.tell("summary", seconds=asked.seconds, wait_late=late, run_long=longer)


def _told(vector: str, rows: Sequence[Row], steps: Steps) -> dict[str, Any]:
    """One vector on all cores. Quantiles are the upper ends of steps a quarter of an octave wide."""
    waited = max(rows, key=lambda row: row.wait_most_ns)
    ran = max(rows, key=lambda row: row.run_most_ns)
    return {
        "vector": vector,
        "waits": sum(row.waited for row in rows),
        "wait_p50_us": _us(quantile_ns(steps.waits, 0.5)),
        "wait_p99_us": _us(quantile_ns(steps.waits, 0.99)),
        "wait_late": sum(row.late for row in rows),
        "wait_most_us": _us(waited.wait_most_ns),
        "wait_behind": behind(waited),
        "runs": sum(row.ran for row in rows),
        "run_p50_us": _us(quantile_ns(steps.runs, 0.5)),
        "run_p99_us": _us(quantile_ns(steps.runs, 0.99)),
        "run_long": sum(row.longer for row in rows),
        "run_most_us": _us(ran.run_most_ns),
        "run_on": f"core {ran.core}, {ran.run_task}",
    }


def behind(row: Row) -> str:
    """Whom the longest wait was behind: `core 1, NET_RX, python`. The task is the one that was current."""
    return ", ".join(filter(None, (f"core {row.core}", row.behind, row.wait_task)))


def _us(ns: int | None) -> float | None:
    return None if ns is None else round(ns / 1000, 1)
