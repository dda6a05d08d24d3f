# SPDX-License-Identifier: Apache-2.0
"""Where the datapath keeps what, as the agent describes it; and how it is read."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from weir.model.problem import Unavailable
from weir.stats.bpf_maps import ArrayReader, ArrayRows
from weir.stats.delays import F32, Delays
from weir.stats.readings import COUNTER_WORDS, SHORT_AT, WORST_AT, Readings
from weir.stats.round_trips import I64, RoundTripTable

log = logging.getLogger(__name__)
COUNTERS = (
    "bytes",
    "packets",
    "drop_packets",
    "mark_packets",
    "fast_bytes",
    "delay_us",
    "ancestor_drop_packets",
    "early_packets",
)
_BYTES, _FAST_BYTES, _EARLY = (COUNTERS.index(name) for name in ("bytes", "fast_bytes", "early_packets"))
CHUNK_LINES = 4096
U64 = npt.NDArray[np.uint64]
U32 = npt.NDArray[np.uint32]


@dataclass(frozen=True, slots=True)
class Layout:
    """`places`: for each of `COUNTERS` but the early drops its array ("class", "details"), offset and type.
    Offsets are in bytes: of the key in details, of the parent in classes."""

    lines: int
    stride: int
    places: tuple[tuple[str, int, Any], ...]
    key_offset: int
    parent_offset: int
    rate_offset: int

    @classmethod
    def read(cls, answer: Mapping[str, Any]) -> Layout:
        """From the agent's answer to `counters_fd`. Raises Unavailable when it is not understood."""
        try:
            fields = {
                name: (array, int(place[0]), np.dtype(f"<u{int(place[1])}"))
                for array in ("class", "details")
                for name, place in answer[array]["fields"].items()
            }
            layout = cls(
                lines=int(answer["lines"]),
                stride=int(answer["stride"]),
                places=tuple(fields[name] for name in COUNTERS[:_EARLY]),
                key_offset=int(answer["details"]["fields"]["key"][0]),
                parent_offset=int(answer["class"]["fields"]["parent"][0]),
                rate_offset=int(answer["details"]["fields"]["rate_bps"][0]),
            )
        except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
            raise Unavailable(f"the agent's counter layout is not understood: {error!r}") from error
        if layout.lines < 2 or layout.stride < 8 or layout.stride % 8:
            raise Unavailable("the agent's counter layout is not understood: bad size")
        return layout


class Counters:
    """The arrays with counters and classes behind two read-only descriptors, which `close` closes."""

    def __init__(
        self,
        layout: Layout,
        details_fd: int,
        classes_fd: int,
        delays: Delays | None = None,
        readings: Readings | None = None,
        trips: RoundTripTable | None = None,
    ) -> None:
        """Takes over both descriptors and the rest, also when it fails. Raises Unavailable."""
        self.layout = layout
        self._trips = trips
        self._delays = delays
        self._readings = readings
        self._worst_us: F32 = np.zeros(layout.lines, np.float32)
        self._descriptors = (details_fd, classes_fd)
        self._arrays = {
            "details": ArrayRows(details_fd, layout.lines, layout.stride, CHUNK_LINES),
            "class": _Table(classes_fd, layout.lines, layout.stride),
        }
        try:
            self.read(0, 1)
        except Unavailable:
            self.close()
            raise
        self.rest()

    def read(self, start: int, end: int) -> U64:
        """[line, figure] as in `COUNTERS`, at most `CHUNK_LINES`; bytes are those of both paths. From line 0
        to the last in order it is the cheapest."""
        figures = self._read_stream(start, end)
        return self._read_arrays(start, end) if figures is None else figures

    def rest(self) -> None:
        """Let go of what was read, 64 bytes a line where there is no stream, until it is read again."""
        for array in self._arrays.values():
            array.forget()

    def _read_stream(self, start: int, end: int) -> U64 | None:
        """None where there is no stream, or no more."""
        if self._readings is None:
            return None
        try:
            rows = self._readings.rows(start, end)
        except Unavailable as problem:
            log.warning("%s; they are looked up from now on", problem.message)
            self._readings.close()
            self._readings = None
            return None
        words = rows.view(np.uint32)
        figures = np.empty((end - start, len(COUNTERS)), np.uint64)
        figures[:, :COUNTER_WORDS] = rows[:, :COUNTER_WORDS]
        figures[:, COUNTER_WORDS:] = words[:, SHORT_AT:WORST_AT]
        self._worst_us[start:end] = words[:, WORST_AT]
        return figures

    def worst_us(self, lines: int) -> F32 | None:
        """Of the first `lines` lines, which were read just now: the longest wait of the last one to two
        seconds; None where nobody knows."""
        is_known = self._readings is not None or self._delays is not None
        return self._worst_us[:lines].copy() if is_known else None

    def round_trips(self) -> tuple[I64, F32]:
        """Of `RoundTripTable.new`; nothing where the agent gave none."""
        if self._trips is None:
            return np.zeros(0, np.int64), np.zeros(0, np.float32)
        try:
            return self._trips.new()
        except Unavailable as problem:
            log.warning("%s; the past has no round trips from now on", problem.message)
            self._trips.close()
            self._trips = None
            return self.round_trips()

    def _read_arrays(self, start: int, end: int) -> U64:
        rows = {name: array.read(start, end) for name, array in self._arrays.items()}
        figures = np.zeros((end - start, len(COUNTERS)), np.uint64)
        for figure, (array, offset, kind) in enumerate(self.layout.places):
            figures[:, figure] = rows[array].view(kind)[:, offset // kind.itemsize]
        figures[:, _BYTES] += figures[:, _FAST_BYTES]
        if self._delays is not None:
            early, waited = self._delays.read(start, end, time.monotonic_ns())
            figures[:, _EARLY], self._worst_us[start:end] = early, waited
        return figures

    def read_classes(self, lines: int) -> tuple[U64, U32]:
        """The key and the parent line of the first `lines` lines."""
        keys = np.zeros(lines, np.uint64)
        for start, end in _chunks(lines):
            rows = self._arrays["details"].read(start, end)
            keys[start:end] = _column(rows, self.layout.key_offset, np.uint64)
        return keys, self.read_parents(lines)

    def read_key(self, line: int) -> int:
        """The key of one line; 0 = it is free."""
        rows = self._arrays["details"].read(line, line + 1)
        return int(_column(rows, self.layout.key_offset, np.uint64)[0])

    def read_parents(self, lines: int) -> U32:
        """The parent line of the first `lines` lines."""
        parents = np.zeros(lines, np.uint32)
        for start, end in _chunks(lines):
            rows = self._arrays["class"].read(start, end)
            parents[start:end] = _column(rows, self.layout.parent_offset, np.uint32)
        self.rest()
        return parents

    def read_limits(self, lines: int) -> U64:
        """The limit of the first `lines` lines in bit/s as the programs keep it now; 0 = none."""
        limits = np.zeros(lines, np.uint64)
        for start, end in _chunks(lines):
            rows = self._arrays["details"].read(start, end)
            limits[start:end] = _column(rows, self.layout.rate_offset, np.uint64)
        return limits

    def close(self) -> None:
        for array in self._arrays.values():
            array.close()
        if self._delays is not None:
            self._delays.close()
        if self._readings is not None:
            self._readings.close()
        if self._trips is not None:
            self._trips.close()
        close_descriptors(self._descriptors)


class _Table(ArrayRows):
    """Rows of a table that is the only element of its array: read whole, for all that follows in order."""

    def __init__(self, descriptor: int, lines: int, stride: int) -> None:
        super().__init__(descriptor, lines, stride, CHUNK_LINES)
        self._descriptor, self._lines = descriptor, lines
        self._whole: npt.NDArray[np.uint8] | None = None
        self._next = 0

    def read(self, start: int, end: int) -> npt.NDArray[np.uint8]:
        if self._map is not None:
            return super().read(start, end)
        if self._whole is None or start != self._next:
            whole = ArrayReader(self._descriptor, self._lines * self._stride, 1).read(0, 1)
            self._whole = whole.reshape(self._lines, self._stride)
        self._next = end
        return self._whole[start:end]

    def forget(self) -> None:
        self._whole = None


def _chunks(lines: int) -> Iterator[tuple[int, int]]:
    return ((start, min(start + CHUNK_LINES, lines)) for start in range(0, lines, CHUNK_LINES))


def _column(rows: npt.NDArray[np.uint8], offset: int, dtype: type[np.generic]) -> npt.NDArray[Any]:
    size = np.dtype(dtype).itemsize
    return np.ascontiguousarray(rows[:, offset : offset + size]).view(dtype)[:, 0]


def close_descriptors(descriptors: Sequence[int]) -> None:
    for descriptor in descriptors:
        os.close(descriptor)
