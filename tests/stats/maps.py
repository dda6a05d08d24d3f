# SPDX-License-Identifier: Apache-2.0
"""Counter and class maps like the datapath's, in anonymous memory files."""

from __future__ import annotations

import mmap
import os
import time
from hashlib import blake2b
from typing import Any

import numpy as np

CLASS_FIELDS = {"parent": (24, 4), "packets": (32, 8), "bytes": (40, 8), "fast_bytes": (48, 8)}
DETAIL_FIELDS = {
    "key": (0, 8),
    "rate_bps": (8, 8),
    "drop_packets": (24, 8),
    "mark_packets": (40, 8),
    "delay_us": (48, 8),
}
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
        for name, bytes_ in (("details", size), ("classes", size), ("delays", self.lines * DELAY_STRIDE)):
            fd = os.memfd_create(f"weir-test-{name}")
            os.truncate(fd, bytes_)
            self.fds.append(fd)
            self._maps.append(mmap.mmap(fd, bytes_))
        self._details, self._classes = (
            np.frombuffer(memory, np.uint8).reshape(self.lines, STRIDE) for memory in self._maps[:2]
        )
        self.delays = np.frombuffer(self._maps[2], np.uint32).reshape(self.lines, DELAY_STRIDE // 4)
        self._words = {
            name: rows[:, at : at + 8].view(np.uint64)[:, 0]
            for rows, fields in ((self._details, DETAIL_FIELDS), (self._classes, CLASS_FIELDS))
            for name, (at, size) in fields.items()
            if size == 8
        }
        self.keys = self._words.pop("key")
        self.parents = self._classes[:, 24:28].view(np.uint32)[:, 0]
        self.limits_bps = self._words.pop("rate_bps")
        self.slots: dict[str, int] = {}
        self.generation = 1

    def layout(self) -> dict[str, Any]:
        return {
            "lines": self.lines,
            "stride": STRIDE,
            "directions": ["upload", "download"],
            "details": {
                "map": "weir_details",
                "bytes": self.lines * STRIDE,
                "fields": {name: list(place) for name, place in DETAIL_FIELDS.items()},
            },
            "class": {
                "map": "weir_lines",
                "bytes": self.lines * STRIDE,
                "fields": {name: list(place) for name, place in CLASS_FIELDS.items()},
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
        for line in (slot * 2, slot * 2 + 1):
            self.clear(line)
        self.generation += 1

    def free(self, queue_id: str) -> None:
        slot = self.slots.pop(queue_id)
        self.keys[slot * 2 : slot * 2 + 2] = 0
        self.generation += 1

    def count(self, queue_id: str, direction: int, **figures: int) -> None:
        """Add to counters by their name."""
        for name, value in figures.items():
            self._words[name][self.slots[queue_id] * 2 + direction] += np.uint64(value)

    def clear(self, line: int) -> None:
        """Its counters start at zero."""
        for words in self._words.values():
            words[line] = 0

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
