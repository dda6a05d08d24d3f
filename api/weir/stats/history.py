# SPDX-License-Identifier: Apache-2.0
"""The recent past of every queue in bounded memory: two minutes by the second, an hour by the minute.

Both rings hold codes (`weir.stats.codes`), rate and drops of every line, 3 bytes per sample. The hour
covers all lines (36 MB at 200,000). The seconds cover `SECOND_SLOTS` slots: everybody on a small
router; on a large one those that were looked at or were among the busiest lately.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from weir.stats.codes import DROPS_PS, F32, RATE_BPS, Codes

MINUTES = 60
SECONDS = 120
SECOND_SLOTS = 8192
I64 = npt.NDArray[np.int64]


class Ring:
    """`length` equally spaced samples of a growing number of columns; the newest at `at(0)`."""

    def __init__(self, length: int, columns: int = 0) -> None:
        self.length = length
        self.columns = columns
        self.position = 0
        self._used = 0
        """Rows that ever held a sample; the kernel gives memory to the others when they do."""
        self.rates: Codes = np.zeros((length, columns), np.uint16)
        self.drops: Codes = np.zeros((length, columns), np.uint8)

    def resize(self, columns: int) -> None:
        if columns == self.columns:
            return
        common = min(columns, self.columns)
        for name in ("rates", "drops"):
            old: Codes = getattr(self, name)
            new = np.zeros((self.length, columns), old.dtype)
            new[: self._used, :common] = old[: self._used, :common]
            setattr(self, name, new)
        self.columns = columns

    def push(self, rates: Codes, drops: Codes) -> None:
        self.rates[self.position] = rates
        self.drops[self.position] = drops
        self._advance()

    def skip(self, samples: int) -> None:
        """Time passed without a sample."""
        for _ in range(min(samples, self.length)):
            self.rates[self.position] = 0
            self.drops[self.position] = 0
            self._advance()

    def _advance(self) -> None:
        self._used = max(self._used, self.position + 1)
        self.position = (self.position + 1) % self.length

    def clear(self, columns: npt.NDArray[np.bool_] | I64) -> None:
        self.rates[: self._used, columns] = 0
        self.drops[: self._used, columns] = 0

    def column(self, column: int) -> tuple[Codes, Codes]:
        """Rates and drops, the oldest first."""
        order = (np.arange(self.length) + self.position) % self.length
        return self.rates[order, column], self.drops[order, column]

    def last(self, samples: int) -> tuple[F32, F32]:
        """Mean rates and drops of the newest samples, of every column; nothing counts as zero."""
        order = (self.position - 1 - np.arange(samples)) % self.length
        return _mean(self.rates, order, RATE_BPS.low, RATE_BPS.steps_per_e), _mean(
            self.drops, order, DROPS_PS.low, DROPS_PS.steps_per_e
        )


def _mean(codes: Codes, rows: I64, low: float, steps_per_e: float) -> F32:
    total = np.zeros(codes.shape[1], np.float32)
    for row in rows:
        values = codes[row].astype(np.float32)
        values -= 2
        values /= np.float32(steps_per_e)
        np.exp(values, out=values)
        values *= np.float32(low)
        values[codes[row] < 2] = 0
        total += values
    total /= np.float32(max(len(rows), 1))
    return total


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

    def push(self, rates: F32, drops: F32) -> None:
        """Bits and drops per second of all lines, by line."""
        if self._changed:
            lines = np.zeros(self.ring.columns, np.int64)
            for slot, place in self._place_of.items():
                lines[place * 2 : place * 2 + 2] = (slot * 2, slot * 2 + 1)
            self._lines, self._changed = lines, False
        if not len(self._lines):
            return
        lines = np.where(self._lines < len(rates), self._lines, 0)
        self.ring.push(RATE_BPS.encode(rates[lines]), DROPS_PS.encode(drops[lines]))

    def place(self, slot: int) -> int | None:
        return self._place_of.get(slot)
