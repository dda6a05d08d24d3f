# SPDX-License-Identifier: Apache-2.0
"""How long packets waited: the worst of the last second of every class and direction, and the early drops.

The programs note it in spans of 2^30 ns (datapath/include/weir/abi/wait.h, struct weir_backlog), and only
where packets wait; a row that was not touched lately says nothing about now.
"""

from __future__ import annotations

import contextlib
import mmap
import os
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from weir.model.problem import Unavailable
from weir.stats.bpf_maps import ArrayReader

CHUNK_LINES = 16_384
_FIELDS = ("updated", "worst_us", "worst_before_us")
U64 = npt.NDArray[np.uint64]
F32 = npt.NDArray[np.float32]


class Delays:
    """Behind a read-only descriptor, which `close` closes."""

    def __init__(self, answer: Mapping[str, Any], descriptor: int) -> None:
        """From the layout of the agent's answer to `counters_fd`; takes over the descriptor, also when it
        fails. Raises Unavailable."""
        self._descriptor = descriptor
        self._map: mmap.mmap | None = None
        try:
            self._stride, self._lines = int(answer["stride"]), int(answer["lines"])
            self._columns = [int(answer["fields"][name][0]) // 4 for name in _FIELDS]
            self._early = int(answer["fields"]["early_packets"][0]) // 4
            self._unit_shift, self._span_shift = int(answer["unit_shift"]), int(answer["span_shift"])
        except (KeyError, TypeError, ValueError, IndexError) as error:
            self.close()
            raise Unavailable(f"the agent's layout of delays is not understood: {error!r}") from error
        self._reader = ArrayReader(descriptor, self._stride, CHUNK_LINES)
        with contextlib.suppress(OSError, ValueError):
            self._map = mmap.mmap(descriptor, self._lines * self._stride, mmap.MAP_SHARED, mmap.PROT_READ)

    def read(self, start: int, end: int, now_ns: int) -> tuple[U64, F32]:
        """Of these lines, at most `CHUNK_LINES`: the early drops, which wrap at 2^32, and the longest wait of
        the last one to two seconds. `now_ns` is CLOCK_MONOTONIC. Raises Unavailable."""
        early, waited = np.zeros(end - start, np.uint64), np.zeros(end - start, np.float32)
        known = min(end, self._lines) - start
        if known > 0:
            span = np.uint32((now_ns >> self._unit_shift & 0xFFFF_FFFF) >> self._span_shift)
            rows = self._rows(start, start + known)
            updated, worst, before = (rows[:, column] for column in self._columns)
            ago = span - (updated >> np.uint32(self._span_shift))
            early[:known] = rows[:, self._early]
            waited[:known] = np.where(ago == 0, np.maximum(worst, before), np.where(ago == 1, worst, 0))
        return early, waited

    def _rows(self, start: int, end: int) -> npt.NDArray[np.uint32]:
        if self._map is None:
            return self._reader.read(start, end).view(np.uint32)
        words = (end - start) * self._stride // 4
        rows: npt.NDArray[np.uint32] = np.frombuffer(self._map, np.uint32, words, start * self._stride)
        return rows.reshape(end - start, self._stride // 4)

    def close(self) -> None:
        if self._map is not None:
            self._map.close()
        os.close(self._descriptor)
