# SPDX-License-Identifier: Apache-2.0
"""Where the datapath keeps what, as the agent describes it; the counter map is read through mmap."""

from __future__ import annotations

import mmap
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from weir.model.problem import Unavailable

COUNTERS = ("bytes", "packets", "drop_packets", "mark_packets", "fast_bytes", "delay_us")
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
            )
        except (KeyError, TypeError, ValueError, IndexError) as error:
            raise Unavailable(f"the agent's counter layout is not understood: {error!r}") from error
        if layout.lines < 2 or layout.stride < 8 or layout.stride % 8:
            raise Unavailable("the agent's counter layout is not understood: bad size")
        return layout


class MappedCounters:
    """Read-only views of the counter and class maps. `close` releases the mappings."""

    def __init__(self, layout: Layout, counters_fd: int, classes_fd: int) -> None:
        """Takes over both descriptors, also when it fails. Raises Unavailable."""
        self.layout = layout
        self._classes_fd = classes_fd
        try:
            size = layout.lines * layout.stride
            self._map = mmap.mmap(counters_fd, size, mmap.MAP_SHARED, mmap.PROT_READ)
        except (OSError, ValueError) as error:
            os.close(classes_fd)
            raise Unavailable(f"the counters cannot be mapped: {error}") from error
        finally:
            os.close(counters_fd)
        words = layout.stride // 8
        self.rows: U64 = np.frombuffer(self._map, np.uint64).reshape(layout.lines, words)

    def read_classes(self, lines: int) -> tuple[U64, U32]:
        """The key and the parent line of the first `lines` lines, copied; mapped only while it reads."""
        layout = self.layout
        with mmap.mmap(
            self._classes_fd, layout.lines * layout.stride, mmap.MAP_SHARED, mmap.PROT_READ
        ) as found:
            raw = np.frombuffer(found, np.uint8).reshape(layout.lines, layout.stride)
            keys = raw[:lines, layout.key_offset : layout.key_offset + 8].copy().view(np.uint64)[:, 0]
            parents = (
                raw[:lines, layout.parent_offset : layout.parent_offset + 4].copy().view(np.uint32)[:, 0]
            )
            del raw
        return keys, parents

    def close(self) -> None:
        del self.rows
        self._map.close()
        os.close(self._classes_fd)


def close_descriptors(descriptors: Sequence[int]) -> None:
    for descriptor in descriptors:
        os.close(descriptor)
