# SPDX-License-Identifier: Apache-2.0
"""Watches why the kernel drops packets, a sixteenth of the time (docs/adr/0232): between two windows
nothing is attached. After a window that shows a finding's rate the next one comes sooner."""

from __future__ import annotations

from weir.agent.watch import WindowWatch
from weir.diagnosis.drop_reasons import harmful
from weir.diagnosis.sample import DropRow, DropWindow
from weir.probes.dropped_rows import DroppedRows


class DropWatch(WindowWatch[DroppedRows, DropWindow]):
    """Finds the reasons of drops."""

    name = "reasons of drops"

    def _read(self, opened: DroppedRows, seconds: float) -> DropWindow:
        rows = (DropRow(row.reason, row.interface, row.packets) for row in opened.read())
        return DropWindow(seconds, tuple(rows))

    def _shows(self, found: DropWindow) -> bool:
        return any(harmful(found))
