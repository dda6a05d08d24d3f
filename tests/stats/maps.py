# SPDX-License-Identifier: Apache-2.0
"""Counter and class maps like the datapath's, in anonymous memory files."""

from __future__ import annotations

import mmap
import os
from hashlib import blake2b

import numpy as np

FIELDS = (
    "packets",
    "bytes",
    "drop_packets",
    "drop_bytes",
    "ancestor_drop_packets",
    "mark_packets",
    "fast_bytes",
    "delay_us",
)
STRIDE = 64


def key_of(queue_id: str) -> int:
    return int.from_bytes(blake2b(queue_id.encode(), digest_size=8).digest(), "little")


class Maps:
    """What `counters_fd` gives away. `slots` is changed by `place` and `free`."""

    def __init__(self, slots: int) -> None:
        self.lines = slots * 2
        size = self.lines * STRIDE
        self.fds: list[int] = []
        self._maps = []
        for name in ("counters", "classes"):
            fd = os.memfd_create(f"weir-test-{name}")
            os.truncate(fd, size)
            self.fds.append(fd)
            self._maps.append(mmap.mmap(fd, size))
        self.counters = np.frombuffer(self._maps[0], np.uint64).reshape(self.lines, 8)
        self._classes = np.frombuffer(self._maps[1], np.uint8).reshape(self.lines, STRIDE)
        self.keys = self._classes[:, 32:40].view(np.uint64)[:, 0]
        self.parents = self._classes[:, 24:28].view(np.uint32)[:, 0]
        self.slots: dict[str, int] = {}
        self.generation = 1

    def layout(self) -> dict[str, object]:
        return {
            "lines": self.lines,
            "stride": STRIDE,
            "directions": ["upload", "download"],
            "counters": {
                "map": "weir_counters",
                "bytes": self.lines * STRIDE,
                "fields": {name: [index * 8, 8] for index, name in enumerate(FIELDS)},
            },
            "class": {
                "map": "weir_lines",
                "bytes": self.lines * STRIDE,
                "fields": {"parent": [24, 4], "key": [32, 8]},
                "ticks_per_ns": 16,
            },
        }

    def place(self, queue_id: str, slot: int, parent: int = 0) -> None:
        """Give a queue a slot; its counters start at zero."""
        self.slots[queue_id] = slot
        self.keys[slot * 2 : slot * 2 + 2] = key_of(queue_id)
        self.parents[slot * 2 : slot * 2 + 2] = (parent * 2, parent * 2 + 1) if parent else (0, 0)
        self.counters[slot * 2 : slot * 2 + 2] = 0
        self.generation += 1

    def free(self, queue_id: str) -> None:
        slot = self.slots.pop(queue_id)
        self.keys[slot * 2 : slot * 2 + 2] = 0
        self.generation += 1

    def count(self, queue_id: str, direction: int, **figures: int) -> None:
        """Add to counters by their name."""
        for name, value in figures.items():
            self.counters[self.slots[queue_id] * 2 + direction, FIELDS.index(name)] += np.uint64(value)

    def duplicates(self) -> list[int]:
        return [os.dup(fd) for fd in self.fds]

    def close(self) -> None:
        while self.fds:
            os.close(self.fds.pop())
