# SPDX-License-Identifier: Apache-2.0
"""What the queues of HTB classes dropped, by line, from the kernel's counters: our programs hand such packets
to the tree and count them as passed (docs/adr/0242)."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

F32 = npt.NDArray[np.float32]
I64 = npt.NDArray[np.int64]
Reading = tuple[str, int, int, int]
"""Port, slot, direction (0 is upload), packets dropped since the queue of the class was made; 32 bits."""
_WRAPS = 1 << 32


class TreeDrops:
    """Not thread-safe."""

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Slots were dealt again, or nobody has a tree: the next reading is a first one."""
        self._last: dict[tuple[str, int], int] = {}
        self._at_s = 0.0
        self.lines: I64 = np.zeros(0, np.int64)
        """Those of which something was dropped since `forget`."""
        self.per_s: F32 = np.zeros(0, np.float32)
        """Packets that each of them dropped a second, between the last two readings."""
        self.totals: npt.NDArray[np.float64] = np.zeros(0)

    def take(self, readings: Iterable[Reading], clock_s: float) -> None:
        """One reading of all queues that ever dropped something, at a time of a steady clock."""
        elapsed_s = max(clock_s - self._at_s, 1e-3)
        grown: dict[int, int] = {}
        totals = dict(zip(self.lines.tolist(), self.totals.tolist(), strict=True))
        for port, slot, direction, packets in readings:
            line = slot * 2 + direction
            more = self._more(port, line, packets)
            grown[line] = grown.get(line, 0) + (more if self._at_s else 0)
            totals[line] = totals.get(line, 0) + more
            self._last[port, line] = packets
        self._at_s = clock_s
        self.lines = np.fromiter(totals, np.int64, len(totals))
        self.per_s = np.array([grown.get(line, 0) / elapsed_s for line in totals], np.float32)
        self.totals = np.fromiter(totals.values(), np.float64, len(totals))

    def _more(self, port: str, line: int, packets: int) -> int:
        """Since the last reading. A queue that was made again began at zero."""
        before = self._last.get((port, line), 0)
        if packets >= before:
            return packets - before
        return packets - before + _WRAPS if before - packets > _WRAPS // 2 else packets
