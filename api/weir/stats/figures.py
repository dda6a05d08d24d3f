# SPDX-License-Identifier: Apache-2.0
"""The last 24 hours of the system's figures by the minute, in memory and in a file (docs/adr/0225).

A minute is a row of what was measured in it: of each key the mean and the most, or for what adds up, the
sum. A minute without a row, and a key that is not in one, were not measured. Of 110 figures a day is 1.5 MB
in memory.
"""

from __future__ import annotations

import threading
import zlib
from array import array
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from weir.stats.figure_file import FigureFile

MINUTES = 1440
MOST_FIGURES = 512
"""In one row: more are left out, and told."""
PATIENCE = 10
"""Minutes for which rows of a time to come are kept: a clock that is wrong after a start is soon set."""
_LEVEL = 1
_MOST_SHARED = 64


class Row(NamedTuple):
    """What was measured in a minute. `keys` is shared by the rows that have the same; `values` has two for
    each key: the mean or the sum, and the most."""

    keys: tuple[str, ...]
    values: array[float]


@dataclass(frozen=True, slots=True)
class Series:
    """One figure, minute by minute, the oldest first; None: not measured."""

    key: str
    values: list[float | None]
    most: list[float | None]


class _Sum:
    """What was measured of a key since the minute began."""

    __slots__ = ("count", "most", "total")

    def __init__(self) -> None:
        self.total, self.count, self.most = 0.0, 0, float("-inf")

    def add(self, value: float, most: float) -> None:
        self.total += value
        self.count += 1
        self.most = max(self.most, most)


class FigureBook:
    """Written by one thread. Reading is thread-safe."""

    def __init__(self, file: FigureFile, sums: Iterable[str]) -> None:
        """`sums` are the names of figures that add up."""
        self._file = file
        self._sums = frozenset(sums)
        self._lock = threading.Lock()
        self._shared: dict[tuple[str, ...], tuple[str, ...]] = {}
        self._rows: dict[int, Row] = {}
        self._now: dict[str, _Sum] = {}
        self._minute: int | None = None
        self._left_out: set[str] = set()
        """In the minute that ended last."""
        self._refused: set[str] = set()
        self._ahead = 0
        """Minutes in a row that ended with rows of a time to come."""
        self._load()

    def _load(self) -> None:
        damaged = 0
        for minute, packed in self._file.load().items():
            try:
                self._rows[minute] = self._unpacked(packed)
            except (ValueError, zlib.error):
                damaged += 1
        if damaged:
            self._file.find_damaged(damaged)

    @property
    def problems(self) -> list[str]:
        """What cannot be written or read, and what is left out."""
        left_out = f"{len(self._left_out)} figures are left out: a minute has {MOST_FIGURES} at most"
        return [*self._file.problems, *([left_out] if self._left_out else [])]

    def take(self, now: float, found: Mapping[str, float], most: Mapping[str, float] | None = None) -> None:
        """What was measured just now (Unix seconds); `most` where that is not the value itself."""
        minute = int(now // 60)
        if self._minute is not None and minute != self._minute:
            self._end(self._minute)
        self._minute = minute
        for key, value in found.items():
            known = self._now.get(key)
            if known is None:
                if len(self._now) >= MOST_FIGURES:
                    self._refused.add(key)
                    continue
                known = self._now[key] = _Sum()
            known.add(value, (most or {}).get(key, value))

    def close(self) -> None:
        """The minute that has begun is not kept."""
        self._file.close()

    def _end(self, minute: int) -> None:
        """The minute is over: it becomes a row."""
        measured, self._now = self._now, {}
        self._left_out, self._refused = self._refused, set()
        if not measured:
            return
        keys = tuple(sorted(measured))
        values = array("f")
        for key in keys:
            found = measured[key]
            is_sum = key.partition("/")[0] in self._sums
            values.extend((found.total if is_sum else found.total / found.count, found.most))
        row = Row(self._one(keys), values)
        with self._lock:
            self._rows[minute] = row
            gone = self._too_old(minute)
            for old in gone:
                del self._rows[old]
        self._file.write(minute, self._rows, lambda minute: _packed(self._rows[minute]), gone)

    def _too_old(self, minute: int) -> list[int]:
        """What goes with the end of a minute: rows of the day before, and rows of a time to come if the clock
        was really set back."""
        gone = [known for known in self._rows if known <= minute - MINUTES]
        to_come = [known for known in self._rows if known > minute]
        self._ahead = self._ahead + 1 if to_come else 0
        if self._ahead >= PATIENCE:
            self._ahead = 0
            gone += to_come
        return gone

    def _unpacked(self, packed: bytes) -> Row:
        """Raises ValueError or zlib.error."""
        names, _, content = zlib.decompress(packed).partition(b"\0")
        keys, values = tuple(names.decode().split("\n")), array("f")
        values.frombytes(content)
        if len(values) != 2 * len(keys):
            raise ValueError("a row has two values of each figure")
        return Row(self._one(keys), values)

    def _one(self, keys: tuple[str, ...]) -> tuple[str, ...]:
        """The same object for rows with the same keys."""
        if len(self._shared) > _MOST_SHARED:
            self._shared.clear()
        return self._shared.setdefault(keys, keys)

    def read(self, wanted: Iterable[str], minutes: int, now: float) -> tuple[int, list[Series]]:
        """The figures with these names, of the last minutes that are over; and the first of these minutes."""
        names = frozenset(wanted)
        end = int(now // 60)
        first = end - minutes
        series: dict[str, Series] = {}
        places: dict[tuple[str, ...], list[tuple[int, str]]] = {}
        with self._lock:
            rows = [(minute, self._rows[minute]) for minute in range(first, end) if minute in self._rows]
        for minute, row in rows:
            if row.keys not in places:
                places[row.keys] = [
                    (2 * place, key) for place, key in enumerate(row.keys) if key.partition("/")[0] in names
                ]
            for place, key in places[row.keys]:
                one = series.get(key)
                if one is None:
                    one = series[key] = Series(key, [None] * minutes, [None] * minutes)
                one.values[minute - first] = row.values[place]
                one.most[minute - first] = row.values[place + 1]
        return first, list(series.values())


def _packed(row: Row) -> bytes:
    """With the checksum that zlib writes (RFC 1950)."""
    return zlib.compress("\n".join(row.keys).encode() + b"\0" + row.values.tobytes(), _LEVEL)
