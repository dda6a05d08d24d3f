# SPDX-License-Identifier: Apache-2.0
"""Watches softirqs a sixteenth of the time (docs/adr/0217): between two windows nothing is attached.

After a window with long waits or runs the next one comes sooner. Nothing is pinned: what is attached is gone
with this process.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from weir.agent.watch import WindowWatch
from weir.diagnosis.sample import CoreTime, Softirq, SoftirqWindow
from weir.model.problem import Unavailable
from weir.probes.softirq_rows import Row, SoftirqRows

Times = Mapping[int, CoreTime]


class SoftirqWatch(WindowWatch[SoftirqRows, SoftirqWindow]):
    """Finds how long softirqs waited and ran."""

    name = "softirqs"

    def __init__(self, period_s: float, opens: Callable[[], SoftirqRows], times: Callable[[], Times]) -> None:
        """`times`: what each core did since the start; may raise `Unavailable`."""
        super().__init__(period_s, opens)
        self._times = times
        self._before: Times = {}

    def _begin(self) -> None:
        self._before = self._known_times()

    def _read(self, opened: SoftirqRows, seconds: float) -> SoftirqWindow:
        now = self._known_times()
        spent = {core: _between(before, now[core]) for core, before in self._before.items() if core in now}
        return SoftirqWindow(seconds, tuple(_softirq(row) for row in opened.read()), spent)

    def _known_times(self) -> Times:
        try:
            return self._times()
        except Unavailable:
            return {}  # the sampler says so: it reads the same file

    def _shows(self, found: SoftirqWindow) -> bool:
        return any(one.late or one.dear for one in found.rows)


def _between(before: CoreTime, now: CoreTime) -> CoreTime:
    """The kernel may take back a tick of idle time."""
    return CoreTime(
        softirq=now.softirq - before.softirq,
        stolen=max(now.stolen - before.stolen, 0),
        idle=max(now.idle - before.idle, 0),
        total=now.total - before.total,
    )


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
