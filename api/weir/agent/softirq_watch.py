# SPDX-License-Identifier: Apache-2.0
"""Watches softirqs a sixteenth of the time (docs/adr/0217): between two windows nothing is attached.

After a window with long waits or runs the next one comes sooner. Nothing is pinned: what is attached is gone
with this process.
"""

from __future__ import annotations

from weir.agent.watch import WindowWatch
from weir.diagnosis.sample import Softirq, SoftirqWindow
from weir.probes.softirq_rows import Row, SoftirqRows


class SoftirqWatch(WindowWatch[SoftirqRows, SoftirqWindow]):
    """Finds how long softirqs waited and ran."""

    name = "softirqs"

    def _read(self, opened: SoftirqRows, seconds: float) -> SoftirqWindow:
        return SoftirqWindow(seconds, tuple(_softirq(row) for row in opened.read()))

    def _shows(self, found: SoftirqWindow) -> bool:
        return any(one.late or one.dear for one in found.rows)


def _softirq(row: Row) -> Softirq:
    return Softirq(
        row.core,
        row.vector,
        row.late,
        row.dear,
        row.wait_most_ns,
        row.behind,
        row.wait_task,
        row.run_most_ns,
        row.run_task,
    )
