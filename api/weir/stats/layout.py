# SPDX-License-Identifier: Apache-2.0
"""Where the datapath keeps what, as the agent describes it; and how it is read."""

from __future__ import annotations

import contextlib
import mmap
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from weir.model.problem import Unavailable
from weir.stats.bpf_maps import ArrayReader
from weir.stats.delays import Delays

COUNTERS = ("bytes", "packets", "drop_packets", "mark_packets", "fast_bytes", "delay_us")
CHUNK_LINES = 16_384
U64 = npt.NDArray[np.uint64]
U32 = npt.NDArray[np.uint32]


@dataclass(frozen=True, slots=True)
class Layout:
    """Offsets in bytes within a row; `columns` are the indexes of `COUNTERS` in a row of 64-bit words."""

    lines: int
    stride: int
    columns: tuple[int, ...]
    key_offset: int
    parent_offset: int
    rate_offset: int

    @classmethod
    def read(cls, answer: Mapping[str, Any]) -> Layout:
        """From the agent's answer to `counters_fd`. Raises Unavailable when it is not understood."""
        try:
            fields = answer["counters"]["fields"]
            classes = answer["class"]["fields"]
            layout = cls(
                lines=int(answer["lines"]),
                stride=int(answer["stride"]),
                columns=tuple(int(fields[name][0]) // 8 for name in COUNTERS),
                key_offset=int(classes["key"][0]),
                parent_offset=int(classes["parent"][0]),
                rate_offset=int(classes["rate_bps"][0]),
            )
        except (KeyError, TypeError, ValueError, IndexError) as error:
            raise Unavailable(f"the agent's counter layout is not understood: {error!r}") from error
        if layout.lines < 2 or layout.stride < 8 or layout.stride % 8:
            raise Unavailable("the agent's counter layout is not understood: bad size")
        return layout


class Counters:
    """The counter and class maps behind two read-only descriptors, which `close` closes.

    Mapped into memory where the kernel allows it, else read in bulk (`weir.stats.bpf_maps`).
    """

    def __init__(
        self, layout: Layout, counters_fd: int, classes_fd: int, delays: Delays | None = None
    ) -> None:
        """Takes over both descriptors and the delays, also when it fails. Raises Unavailable."""
        self.layout = layout
        self.delays = delays
        self._descriptors = (counters_fd, classes_fd)
        self._map: mmap.mmap | None = None
        self._reader = ArrayReader(counters_fd, layout.stride, CHUNK_LINES)
        size = layout.lines * layout.stride
        with contextlib.suppress(OSError, ValueError):
            self._map = mmap.mmap(counters_fd, size, mmap.MAP_SHARED, mmap.PROT_READ)
        try:
            self.read(0, 1)
        except Unavailable:
            self.close()
            raise

    def read(self, start: int, end: int) -> U64:
        """Rows of 64-bit words, at most `CHUNK_LINES`; valid until the next call."""
        stride = self.layout.stride
        if self._map is None:
            return self._reader.read(start, end).view(np.uint64)
        rows: U64 = np.frombuffer(self._map, np.uint64, (end - start) * stride // 8, start * stride)
        return rows.reshape(end - start, stride // 8)

    def read_classes(self, lines: int) -> tuple[U64, U32]:
        """The key and the parent line of the first `lines` lines."""
        layout = self.layout
        keys, parents = np.zeros(lines, np.uint64), np.zeros(lines, np.uint32)
        for start, end, rows in self._class_chunks(lines):
            keys[start:end] = _column(rows, layout.key_offset, np.uint64)
            parents[start:end] = _column(rows, layout.parent_offset, np.uint32)
        return keys, parents

    def read_limits(self, lines: int) -> U64:
        """The limit of the first `lines` lines in bit/s as the programs keep it now; 0 = none."""
        limits = np.zeros(lines, np.uint64)
        for start, end, rows in self._class_chunks(lines):
            limits[start:end] = _column(rows, self.layout.rate_offset, np.uint64)
        return limits

    def _class_chunks(self, lines: int) -> Iterator[tuple[int, int, npt.NDArray[np.uint8]]]:
        reader = ArrayReader(self._descriptors[1], self.layout.stride, min(CHUNK_LINES, lines))
        for start in range(0, lines, CHUNK_LINES):
            end = min(start + CHUNK_LINES, lines)
            yield start, end, self._class_rows(reader, start, end)

    def _class_rows(self, reader: ArrayReader, start: int, end: int) -> npt.NDArray[np.uint8]:
        if self._map is None:
            return reader.read(start, end)
        stride = self.layout.stride
        raw = os.pread(self._descriptors[1], (end - start) * stride, start * stride)
        return np.frombuffer(raw, np.uint8).reshape(end - start, stride)

    def close(self) -> None:
        if self._map is not None:
            self._map.close()
        if self.delays is not None:
            self.delays.close()
        close_descriptors(self._descriptors)


def _column(rows: npt.NDArray[np.uint8], offset: int, dtype: type[np.generic]) -> npt.NDArray[Any]:
    size = np.dtype(dtype).itemsize
    return np.ascontiguousarray(rows[:, offset : offset + size]).view(dtype)[:, 0]


def close_descriptors(descriptors: Sequence[int]) -> None:
    for descriptor in descriptors:
        os.close(descriptor)
