# SPDX-License-Identifier: Apache-2.0
"""The recent past of the interfaces: two minutes by the second, an hour by the minute, in memory.

A column is one direction of one interface: rx as the interface receives, tx as it sends.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from weir.stats.codes import F32, PACKETS_PS, RATE_BPS
from weir.stats.history import SECONDS, Ring
from weir.stats.hour import MINUTES
from weir.stats.samples import Records

WAYS = ("rx", "tx")
MAX_INTERFACES = 1024
RECORD = np.dtype([("rate", "<u2"), ("drops", "u1")])
Json = dict[str, Any]


class InterfaceHistory:
    """Not thread-safe. An interface that is gone keeps its past until its place is needed."""

    def __init__(self) -> None:
        self._columns: dict[str, int] = {}
        self._seconds, self._hour = Ring(SECONDS, RECORD), Ring(MINUTES, RECORD)
        self._sums: F32 = np.zeros((2, 0), np.float32)
        self._samples: npt.NDArray[np.int64] = np.zeros(0, np.int64)
        self._second = self._minute = 0

    def push(self, rates: Mapping[str, Mapping[str, float]], now: float) -> None:
        """One sample of every interface; `rates` as `stats/interfaces` shows them, `now` in Unix seconds."""
        self._make_room(rates)
        figures = np.zeros((2, len(self._columns) * 2), np.float32)
        seen = np.zeros(len(self._columns) * 2, bool)
        for name, found in rates.items():
            column = self._columns.get(name)
            if column is not None:
                seen[column : column + 2] = True
                for way, side in enumerate(WAYS):
                    figures[:, column + way] = found[f"{side}_bps"], found[f"{side}_drops_ps"]
        second, minute = int(now), int(now // 60)
        if self._minute and minute != self._minute:
            self._end_minute(minute)
        if self._second:
            self._seconds.skip(second - self._second - 1)
        self._seconds.push(_records(figures, seen))
        self._sums = self._sums + figures
        self._samples = self._samples + seen
        self._second, self._minute = second, minute

    def _make_room(self, rates: Mapping[str, Any]) -> None:
        for name in rates:
            if name not in self._columns and (column := self._free_column(rates)) is not None:
                self._columns[name] = column
        columns = len(self._columns) * 2
        if columns != self._sums.shape[1]:
            self._seconds.resize(columns)
            self._hour.resize(columns)
            new = columns - self._sums.shape[1]
            self._sums = np.pad(self._sums, ((0, 0), (0, new)))
            self._samples = np.pad(self._samples, (0, new))

    def _free_column(self, rates: Mapping[str, Any]) -> int | None:
        """A new place, or, when all are taken, that of the interface that is gone and was there first."""
        if len(self._columns) < MAX_INTERFACES:
            return len(self._columns) * 2
        gone = next((name for name in self._columns if name not in rates), None)
        if gone is None:
            return None
        column = self._columns.pop(gone)
        columns = np.arange(column, column + 2)
        self._seconds.clear(columns)
        self._hour.clear(columns)
        self._sums[:, columns] = 0
        self._samples[columns] = 0
        return column

    def _end_minute(self, minute: int) -> None:
        means = (self._sums / np.maximum(self._samples, 1)).astype(np.float32)
        self._hour.push(_records(means, self._samples > 0))
        self._hour.skip(minute - self._minute - 1)
        self._sums, self._samples = np.zeros_like(self._sums), np.zeros_like(self._samples)

    def recent(self, name: str, window: str) -> Json | None:
        """Samples of `2m` or `1h`, the oldest first; None for an interface that was never seen."""
        column = self._columns.get(name)
        if column is None:
            return None
        if window == "2m":
            ring, start, step_s = self._seconds, float(self._second - SECONDS + 1), 1
        else:
            ring, start, step_s = self._hour, (self._minute - MINUTES) * 60.0, 60
        found: Json = {"start": start, "step_s": step_s}
        for way, side in enumerate(WAYS):
            records = ring.column(column + way)
            found[side] = {
                "rate_bps": RATE_BPS.decode(records["rate"]),
                "drops_ps": PACKETS_PS.decode(records["drops"]),
            }
        return found


def _records(figures: F32, seen: npt.NDArray[np.bool_]) -> Records:
    """Rates and drops; 0, no sample, where nothing was seen."""
    records = np.zeros(len(seen), RECORD)
    records["rate"], records["drops"] = RATE_BPS.encode(figures[0]), PACKETS_PS.encode(figures[1])
    records[~seen] = 0
    return records
