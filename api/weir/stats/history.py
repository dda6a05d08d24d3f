# SPDX-License-Identifier: Apache-2.0
"""The last two minutes by the second, in bounded memory: 6 bytes for a sample (`weir.stats.samples`).

The seconds cover `SECOND_SLOTS` slots (12 MB): everybody on a small router; on a large one those that were
looked at or were among the busiest lately.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from weir.stats.codes import F32
from weir.stats.samples import RECORD, Records, encode

SECONDS = 120
SECOND_SLOTS = 8192
I64 = npt.NDArray[np.int64]


class Ring:
    """`length` equally spaced records of a growing number of columns; the oldest at `position`."""

    def __init__(self, length: int, record: np.dtype[np.void] = RECORD) -> None:
        self.length = length
        self.columns = 0
        self.position = 0
        self._used = 0
        """Rows that ever held a sample; the kernel gives memory to the others when they do."""
        self._records: Records = np.zeros((length, 0), record)

    def resize(self, columns: int) -> None:
        if columns == self.columns:
            return
        common = min(columns, self.columns)
        new = np.zeros((self.length, columns), self._records.dtype)
        new[: self._used, :common] = self._records[: self._used, :common]
        self._records, self.columns = new, columns

    def push(self, records: Records) -> None:
        self._records[self.position] = records
        self._advance()

    def skip(self, samples: int) -> None:
        """Time passed without a sample."""
        for _ in range(min(samples, self.length)):
            self._records[self.position] = 0
            self._advance()

    def _advance(self) -> None:
        self._used = max(self._used, self.position + 1)
        self.position = (self.position + 1) % self.length

    def clear(self, columns: npt.NDArray[np.bool_] | I64) -> None:
        self._records[: self._used, columns] = 0

    def column(self, column: int) -> Records:
        """The records of a column, the oldest first."""
        order = (np.arange(self.length) + self.position) % self.length
        found: Records = self._records[order, column]
        return found


class SecondHistory:
    """The ring of seconds: which slots have a place in it."""

    def __init__(self, slots: int = SECOND_SLOTS) -> None:
        self.capacity = slots
        self.ring = Ring(SECONDS)
        self._place_of: OrderedDict[int, int] = OrderedDict()
        self._lines: I64 = np.zeros(0, np.int64)
        self._changed = False

    def watch(self, slots: Iterable[int]) -> None:
        """Give slots a place, at the cost of those that were not asked for the longest."""
        for slot in slots:
            place = self._place_of.get(slot)
            if place is not None:
                self._place_of.move_to_end(slot)
                continue
            if len(self._place_of) < self.capacity:
                place = len(self._place_of)
                if (place + 1) * 2 > self.ring.columns:
                    self.ring.resize(min(max(256, self.ring.columns * 2), self.capacity * 2))
            else:
                _, place = self._place_of.popitem(last=False)
                self.ring.clear(np.array([place * 2, place * 2 + 1]))
            self._place_of[slot] = place
            self._changed = True

    def forget(self, slots: Iterable[int]) -> None:
        """The slots belong to other queues now."""
        for slot in slots:
            place = self._place_of.get(slot)
            if place is not None:
                self.ring.clear(np.array([place * 2, place * 2 + 1]))

    def skip(self, seconds: int) -> None:
        """Nothing was measured for so long."""
        self.ring.skip(seconds)

    def push(self, figures: tuple[F32, ...], measured: npt.NDArray[np.bool_]) -> None:
        """The figures of `weir.stats.samples.FIGURES` of all lines; none is known if not `measured`."""
        if self._changed:
            lines = np.zeros(self.ring.columns, np.int64)
            for slot, place in self._place_of.items():
                lines[place * 2 : place * 2 + 2] = (slot * 2, slot * 2 + 1)
            self._lines, self._changed = lines, False
        if not len(self._lines):
            return
        lines = np.where(self._lines < len(figures[0]), self._lines, 0)
        records = encode(np.stack([figure[lines] for figure in figures]))
        records[~measured[lines]] = 0
        self.ring.push(records)

    def place(self, slot: int) -> int | None:
        return self._place_of.get(slot)
