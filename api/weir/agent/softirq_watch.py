# SPDX-License-Identifier: Apache-2.0
"""Watches softirqs a sixteenth of the time (docs/adr/0217): between two windows nothing is attached.

After a window with long waits or runs the next one comes sooner. Nothing is pinned: what is attached is gone
with this process.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from weir.agent.watch import Watch
from weir.diagnosis.sample import Softirq, SoftirqWindow
from weir.probes.softirq_rows import Row, SoftirqRows

WINDOW_SHARE = 0.2
"""Of the time between two looks of the sampler."""
GAP_LOOKS, SOON_LOOKS = 3, 0.8
"""Times between looks that lie between two windows."""
RETRY_GAPS = 40
"""So many windows later it is tried again where the kernel refused."""


class SoftirqWatch(Watch[SoftirqRows, SoftirqWindow]):
    """Finds how long softirqs waited and ran."""

    name = "softirqs"

    def __init__(self, period_s: float, opens: Callable[[], SoftirqRows]) -> None:
        super().__init__(period_s, RETRY_GAPS * GAP_LOOKS * period_s, opens)

    def _watch(self, opened: SoftirqRows) -> None:
        """One window after the other, until the end."""
        gap_looks: float = GAP_LOOKS
        while not self._stopped.wait(gap_looks * self._period_s):
            begun_s = time.monotonic()
            opened.watch(True)
            self._stopped.wait(WINDOW_SHARE * self._period_s)
            opened.watch(False)
            seen = tuple(_softirq(row) for row in opened.read())
            self._found = SoftirqWindow(time.monotonic() - begun_s, seen)
            gap_looks = SOON_LOOKS if any(one.late or one.dear for one in seen) else GAP_LOOKS


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
