# SPDX-License-Identifier: Apache-2.0
"""Counter and class maps like the datapath's, in anonymous memory files."""

from __future__ import annotations

import mmap
import os
import time
from hashlib import blake2b
from typing import Any

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
DELAY_STRIDE = 32


def key_of(queue_id: str) -> int:
    return int.from_bytes(blake2b(queue_id.encode(), digest_size=8).digest(), "little")


class Maps:
    """What `counters_fd` gives away. `slots` is changed by `place` and `free`."""

    def __init__(self, slots: int) -> None:
        self.lines = slots * 2
        size = self.lines * STRIDE
        self.fds: list[int] = []
        self._maps = []
        for name, bytes_ in (("counters", size), ("classes", size), ("delays", self.lines * DELAY_STRIDE)):
            fd = os.memfd_create(f"weir-test-{name}")
            os.truncate(fd, bytes_)
            self.fds.append(fd)
            self._maps.append(mmap.mmap(fd, bytes_))
        self.counters = np.frombuffer(self._maps[0], np.uint64).reshape(self.lines, 8)
        self._classes = np.frombuffer(self._maps[1], np.uint8).reshape(self.lines, STRIDE)
        self.delays = np.frombuffer(self._maps[2], np.uint32).reshape(self.lines, DELAY_STRIDE // 4)
        self.keys = self._classes[:, 32:40].view(np.uint64)[:, 0]
        self.parents = self._classes[:, 24:28].view(np.uint32)[:, 0]
        self.limits_bps = self._classes[:, 40:48].view(np.uint64)[:, 0]
        self.slots: dict[str, int] = {}
        self.generation = 1

    def layout(self) -> dict[str, Any]:
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
                "fields": {"parent": [24, 4], "key": [32, 8], "rate_bps": [40, 8]},
                "ticks_per_ns": 16,
            },
            "delays": {
                "map": "weir_waits",
                "lines": self.lines,
                "stride": DELAY_STRIDE,
                "unit_shift": 20,
                "span_shift": 10,
                "fields": {"updated": [8, 4], "worst_us": [20, 4], "worst_before_us": [24, 4]},
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

    def wait(
        self, queue_id: str, direction: int, worst_us: int, before_us: int = 0, age_s: float = 0
    ) -> None:
        """As the programs note it, `age_s` ago."""
        line = self.slots[queue_id] * 2 + direction
        updated = (time.monotonic_ns() - int(age_s * 1e9) >> 20) & 0xFFFF_FFFF
        self.delays[line, [2, 5, 6]] = updated, worst_us, before_us

    def duplicates(self) -> list[int]:
        return [os.dup(fd) for fd in self.fds]

    def close(self) -> None:
        while self.fds:
            os.close(self.fds.pop())
