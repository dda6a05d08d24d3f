# SPDX-License-Identifier: Apache-2.0
"""Watches how long cores spin for locks, a sixteenth of the time (docs/adr/0233): between two windows
nothing is attached, and a lock that is free never comes by. After a window with much spinning the next comes
sooner."""

from __future__ import annotations

from weir.agent.watch import WindowWatch
from weir.diagnosis.locks import SPIN_SHARE, spin_shares
from weir.diagnosis.sample import LockRow, LockWindow
from weir.probes.lock_rows import LockRows


class LockWatch(WindowWatch[LockRows, LockWindow]):
    """Finds cores that spin."""

    name = "lock waits"

    def _read(self, opened: LockRows, seconds: float) -> LockWindow:
        rows = (LockRow(row.core, row.wait_ns, row.wait_most_ns) for row in opened.read())
        return LockWindow(seconds, tuple(rows))

    def _shows(self, found: LockWindow) -> bool:
        return any(share > SPIN_SHARE for share in spin_shares(found).values())
