# SPDX-License-Identifier: Apache-2.0
"""E3 and E4: softirqs that wait, and runs that take long for few packets. Thresholds are of
docs/diagnosis.md."""

from __future__ import annotations

from collections.abc import Iterator

from weir.diagnosis.processors import BUSY_SHARE, spent
from weir.diagnosis.sample import CoreTime, Softirq
from weir.diagnosis.symptom import Number, Span, Symptom

OF_PACKETS = ("HI", "TIMER", "NET_TX", "NET_RX", "TASKLET", "HRTIMER")
"""What packets and their timers wait for. Nobody is held up by RCU, SCHED and BLOCK."""
LATE_PS = 5.0
"""Waits of 1 ms and more. A guess."""
LEAST_S = 1.0
"""A shorter window is taken for so long: one wait is no rate."""
DEAR_PS = 10.0
"""Runs of 131 us and more that took 32 us and more for each packet. A guess."""
LONG_S = 131e-6


def late(span: Span) -> Iterator[Symptom]:
    """A softirq waits though its core has time. On a core that is full of softirqs the next one waits for
    those before it, which is what a router under load looks like."""
    window = span.now.softirqs
    if window is None:
        return
    full = {core.number for core in spent(span) if core.softirq_share >= BUSY_SHARE}
    for vector in OF_PACKETS:
        rows = [row for row in window.rows if row.vector == vector and row.core not in full]
        rate = sum(row.late for row in rows) / max(window.seconds, LEAST_S)
        if rate > LATE_PS:
            worst = max(rows, key=lambda row: row.wait_most_ns)
            numbers = (
                Number("late_ps", rate, "1/s", LATE_PS),
                Number("wait_most_ms", worst.wait_most_ns / 1e6, "ms", 1.0),
            )
            yield Symptom("softirq-late", vector, numbers, _behind(worst))


def long_runs(span: Span) -> Iterator[Symptom]:
    """Few packets keep a core busy for long: something is looked up for them that is long. A full load is not
    that: many packets share a run. Nor are other programs, which no softirq lets interrupt it. A hypervisor
    that runs something else meanwhile is not asked: as many runs as it can have made long are left out."""
    window = span.now.softirqs
    if window is None:
        return
    rows = [row for row in window.rows if row.dear]
    dear_ps = {row.core: row.dear / max(window.seconds, LEAST_S) for row in rows}
    rate = sum(max(each - interrupted_ps(window.spent.get(core)), 0.0) for core, each in dear_ps.items())
    if rate > DEAR_PS:
        worst = max(rows, key=lambda row: row.run_most_ns)
        numbers = (
            Number("long_ps", rate, "1/s", DEAR_PS),
            Number("run_most_ms", worst.run_most_ns / 1e6, "ms"),
        )
        yield Symptom("long-softirq", worst.vector, numbers, f"core {worst.core}, over {worst.run_task}")


def interrupted_ps(spent: CoreTime | None) -> float:
    """So many softirqs a second the hypervisor can have made long on a core: what it took from the core
    strikes softirqs by their share of its work. One tick is added to that share, as ticks tell no less. Where
    nothing is known of the core, none."""
    if spent is None or spent.total <= 0:
        return 0.0
    worked = spent.total - spent.idle - spent.stolen
    in_softirqs = min((spent.softirq + 1) / (worked + 1), 1.0) if worked > 0 else 1.0
    return spent.stolen / spent.total * in_softirqs / LONG_S


def _behind(row: Softirq) -> str:
    if row.behind:
        return f"on core {row.core} behind {row.behind}, when {row.wait_task} was to run"
    return f"on core {row.core}, when {row.wait_task} was to run"
