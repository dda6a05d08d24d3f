# SPDX-License-Identifier: Apache-2.0
"""The classes as the programs read them: a read-only mapping of the kernel's own memory.

Verifying one change among 100,000 queues reads four 64-byte rows, and looking through all of them makes
no 100,000 objects at once. The places of the fields come from `datapath_layout`.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import struct
from collections.abc import Callable, Iterator
from operator import itemgetter
from typing import Any, Protocol

from weir.adapters.datapath_layout import layout_of
from weir.adapters.datapath_lib import problem_of
from weir.adapters.datapath_records import ClassRecord, LineRecord, Usage
from weir.adapters.subqueue_records import QUANTUM_NS, read_row

_LINE_FIELDS = ("burst", "limit", "parent", "shared", "flags")
_DETAIL_FIELDS = ("key", "rate_bps", "htb_classid", "guarantee_bps")
_FORMATS = {4: "I", 8: "Q"}
_PRIORITY_MASK = 0xF
_FORK = 0x20
_LOWEST_PRIORITY = 8
COST_OF_ONE_BPS = 8_000_000_000 << 4 << 16
"""Of a byte, in the unit of `weir_line.cost` (abi.h): its time at 1 bit/s."""


class Source(Protocol):
    """The part of `Datapath` that this needs."""

    def native(self) -> tuple[ctypes.CDLL, Any]: ...

    def usage(self) -> Usage: ...


class ClassLines:
    """Reads classes until `close`. Safe to use beside the programs and the writer: fields are whole words."""

    def __init__(self, source: Source) -> None:
        layout: dict[str, Any] = layout_of(source.usage())
        self._lines, self._stride = int(layout["lines"]), int(layout["stride"])
        self._line_of = _reader_of(layout["class"]["fields"], _LINE_FIELDS)
        self._detail_of = _reader_of(layout["details"]["fields"], _DETAIL_FIELDS)
        self._cost, self._cost_at = struct.Struct("=Q"), int(layout["class"]["fields"]["cost"][0])
        self._key, self._key_at = struct.Struct("=Q"), int(layout["details"]["fields"]["key"][0])
        self._lines_memory = _mapped(source, layout["class"])
        self._details_memory = _mapped(source, layout["details"])
        self._subqueues = _mapped(source, layout["subqueues"])
        self._row_shift = int(layout["subqueues"]["row_shift"])

    def close(self) -> None:
        self._lines_memory.close()
        self._details_memory.close()
        self._subqueues.close()

    @property
    def capacity(self) -> int:
        """Slots, slot 0 included."""
        return self._lines // 2

    def read(self, slot: int) -> ClassRecord | None:
        """The class in a slot; None when the slot is free."""
        if not 0 < slot < self.capacity:
            return None
        key, parent, shared, flags, upload = self._line(slot * 2)
        if not key:
            return None
        *_, download = self._line(slot * 2 + 1)
        return ClassRecord(key, parent // 2, upload, download, shared // 2, bool(flags & _FORK))

    def in_force_bps(self, slot: int, direction: int) -> tuple[int, bool]:
        """The rate at which packets of one direction (0 upload, 1 download) are charged now, 0 = none; and
        whether it is the class's configured one: the share controller lends a class more or less."""
        at = (slot * 2 + direction) * self._stride
        (cost,) = self._cost.unpack_from(self._lines_memory, at + self._cost_at)
        rate, *_ = self._detail_of(self._details_memory, at)[1:]
        asked = (COST_OF_ONE_BPS + rate // 2) // rate if rate else 0
        return (round(COST_OF_ONE_BPS / cost) if cost else 0), abs(cost - asked) <= 1

    def in_use(self) -> Iterator[tuple[int, int]]:
        """(slot, key) of every slot in use, ascending."""
        for slot in range(1, self.capacity):
            (key,) = self._key.unpack_from(self._details_memory, slot * 2 * self._stride + self._key_at)
            if key:
                yield slot, key

    def _line(self, line: int) -> tuple[int, int, int, int, LineRecord]:
        burst, limit, parent, shared, flags = self._line_of(self._lines_memory, line * self._stride)
        key, rate, classid, guarantee = self._detail_of(self._details_memory, line * self._stride)
        priority = (flags & _PRIORITY_MASK) or _LOWEST_PRIORITY
        subqueues = read_row(self._subqueues, number) if (number := flags >> self._row_shift) else None
        record = LineRecord(
            rate, burst * QUANTUM_NS, limit * QUANTUM_NS, classid, guarantee, priority, subqueues
        )
        return key, parent, shared, flags, record


def _reader_of(fields: dict[str, list[int]], names: tuple[str, ...]) -> Callable[[mmap.mmap, int], Any]:
    """Reads these fields of the row at an offset: one structure over all, values in the order of `names`."""
    form, end, order = "=", 0, sorted(names, key=lambda name: fields[name][0])
    for name in order:
        offset, size = fields[name]
        form += f"{offset - end}x{_FORMATS[size]}"
        end = offset + size
    row, pick = struct.Struct(form), itemgetter(*(order.index(name) for name in names))
    return lambda memory, at: pick(row.unpack_from(memory, at))


def _mapped(source: Source, described: dict[str, Any]) -> mmap.mmap:
    handle = _descriptor(source, described["map"])
    try:
        return mmap.mmap(handle, int(described["bytes"]), mmap.MAP_SHARED, mmap.PROT_READ)
    finally:
        os.close(handle)


def _descriptor(source: Source, name: str) -> int:
    """Not the read-only one: Linux maps a BPF map from a writable descriptor only (EINVAL else)."""
    library, handle = source.native()
    descriptor = int(library.weir_map_fd(handle, name.encode(), 0))
    if descriptor < 0:
        raise problem_of(library, descriptor)
    return descriptor
