# SPDX-License-Identifier: Apache-2.0
"""Counter and class maps like the datapath's, in anonymous memory files."""

from __future__ import annotations

import mmap
import os
import time
from hashlib import blake2b
from typing import Any

import numpy as np
import numpy.typing as npt

from weir.adapters.datapath_layout import layout_of
from weir.adapters.datapath_records import Usage

EMPTY = (0, 0)


def key_of(queue_id: str) -> int:
    return int.from_bytes(blake2b(queue_id.encode(), digest_size=8).digest(), "little")


class Maps:
    """What `counters_fd` gives away. `slots` is changed by `place` and `free`."""

    def __init__(self, slots: int) -> None:
        usage = Usage((0, slots), EMPTY, EMPTY, EMPTY, EMPTY, EMPTY, EMPTY, kernel_bytes=0)
        self._layout: dict[str, Any] = layout_of(usage)
        self.lines = self._layout["lines"]
        stride, delay_stride = self._layout["stride"], self._layout["delays"]["stride"]
        size = self.lines * stride
        self.fds: list[int] = []
        self._maps = []
        trips = self._layout["round_trips"]
        sizes = {
            "details": size,
            "classes": size,
            "delays": self.lines * delay_stride,
            "trips": trips["rows"] * trips["stride"],
        }
        for name, bytes_ in sizes.items():
            fd = os.memfd_create(f"weir-test-{name}")
            os.truncate(fd, bytes_)
            self.fds.append(fd)
            self._maps.append(mmap.mmap(fd, bytes_))
        details, classes = (
            np.frombuffer(memory, np.uint8).reshape(self.lines, stride) for memory in self._maps[:2]
        )
        self.delays = np.frombuffer(self._maps[2], np.uint32).reshape(self.lines, delay_stride // 4)
        class_fields = self._layout["class"]["fields"]
        self.trips = np.frombuffer(self._maps[3], np.uint32).reshape(trips["rows"], trips["stride"] // 4)
        self._words: dict[str, npt.NDArray[Any]] = {
            name: rows[:, at : at + 8].view(np.uint64)[:, 0]
            for rows, fields in ((details, self._layout["details"]["fields"]), (classes, class_fields))
            for name, (at, size) in fields.items()
            if size == 8
        }
        ancestors = self._layout["details"]["fields"]["ancestor_drop_packets"][0]
        self._words["ancestor_drop_packets"] = details[:, ancestors : ancestors + 4].view(np.uint32)[:, 0]
        early = self._layout["delays"]["fields"]["early_packets"][0]
        self._words["early_packets"] = self.delays[:, early // 4]
        self.keys = self._words.pop("key")
        self.parents = classes[:, class_fields["parent"][0] :][:, :4].view(np.uint32)[:, 0]
        self.limits_bps = self._words.pop("rate_bps")
        self.slots: dict[str, int] = {}
        self.generation = 1

    def layout(self) -> dict[str, Any]:
        return self._layout

    def place(self, queue_id: str, slot: int, parent: int = 0) -> None:
        """Give a queue a slot; its counters start at zero."""
        self.slots[queue_id] = slot
        self.keys[slot * 2 : slot * 2 + 2] = key_of(queue_id)
        self.parents[slot * 2 : slot * 2 + 2] = (parent * 2, parent * 2 + 1) if parent else (0, 0)
        for line in (slot * 2, slot * 2 + 1):
            self.clear(line)
        self.generation += 1

    def free(self, queue_id: str) -> None:
        """As the loader does: nothing of the class stays."""
        slot = self.slots.pop(queue_id)
        self.keys[slot * 2 : slot * 2 + 2] = 0
        self.parents[slot * 2 : slot * 2 + 2] = 0
        for line in (slot * 2, slot * 2 + 1):
            self.clear(line)
        self.generation += 1

    def count(self, queue_id: str, direction: int, **figures: int) -> None:
        """Add to counters by their name."""
        for name, value in figures.items():
            self._words[name][self.slots[queue_id] * 2 + direction] += self._words[name].dtype.type(value)

    def clear(self, line: int) -> None:
        """Its counters start at zero."""
        for words in self._words.values():
            words[line] = 0

    def clear_word(self, name: str, line: int) -> None:
        """A counter of 32 bits came back to zero by wrapping."""
        self._words[name][line] = 0

    def wait(
        self, queue_id: str, direction: int, worst_us: int, before_us: int = 0, age_s: float = 0
    ) -> None:
        """As the programs note it, `age_s` ago."""
        line = self.slots[queue_id] * 2 + direction
        updated = (time.monotonic_ns() - int(age_s * 1e9) >> 20) & 0xFFFF_FFFF
        self.delays[line, [2, 5, 6]] = updated, worst_us, before_us

    def round_trip(self, queue_id: str, direction: int, *samples_us: float) -> None:
        """As the programs note it: the samples of a line, the newest first."""
        line = self.slots[queue_id] * 2 + direction
        row = self.trips[line]
        row[0], row[4] = line, row[4] + 1
        row[5:].view(np.uint16)[1:] = 0
        row[5:].view(np.uint16)[1 : len(samples_us) + 1] = [round(us * 1000) >> 15 for us in samples_us]

    def duplicates(self) -> list[int]:
        return [os.dup(fd) for fd in self.fds]

    def close(self) -> None:
        while self.fds:
            os.close(self.fds.pop())
