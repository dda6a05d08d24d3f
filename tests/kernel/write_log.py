# SPDX-License-Identifier: Apache-2.0
"""What a disk was told to write, in its order, and what a power cut leaves of it.

The log is in the format of Linux's dm-log-writes. A disk may keep what it was told in a cache until
it is told to flush. So of a cut after n entries two kinds of disks are made: one that wrote
everything, as a killed QEMU leaves its file, and one that wrote
any sectors of what came after the last flush.
"""

from __future__ import annotations

import random
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

MAGIC = 0x6A736677736872
SUPER = struct.Struct("<QQQI")
ENTRY = struct.Struct("<QQQQ")
FLUSH, FUA, DISCARD = 1, 2, 4
SECTOR_BYTES = 512
"""What a disk writes whole or not at all."""


@dataclass(frozen=True, slots=True)
class Write:
    """`data` goes to `offset` (bytes); empty for a flush alone."""

    offset: int
    data: bytes
    flush: bool
    durable: bool


def read(log: Path) -> list[Write]:
    """Every entry but discards, which promise nothing about what is read afterwards."""
    content = memoryview(log.read_bytes())
    magic, _, count, sector_bytes = SUPER.unpack_from(content)
    assert magic == MAGIC, "this is no log of writes"
    entries, at = [], sector_bytes
    for _ in range(count):
        sector, sectors, flags, _ = ENTRY.unpack_from(content, at)
        at += sector_bytes
        size = 0 if flags & DISCARD else sectors * sector_bytes
        if not flags & DISCARD:
            data = bytes(content[at : at + size])
            entries.append(Write(sector * sector_bytes, data, bool(flags & FLUSH), bool(flags & FUA)))
        at += size
    return entries


class Replay:
    """The disk as it was, then with one write after the other."""

    def __init__(self, disk: bytes, writes: list[Write]) -> None:
        self.done = 0
        self._writes = writes
        self.now = bytearray(disk)
        self._flushed = bytearray(disk)
        self._loose: list[Write] = []
        """What was written since the last flush."""

    def forward(self, count: int) -> None:
        """On to the state after `count` writes of the log."""
        for write in self._writes[self.done : count]:
            if write.flush:
                self._settle()
            _put(self.now, write)
            if write.data:
                self._loose.append(write)
        self.done = count

    def _settle(self) -> None:
        for write in self._loose:
            _put(self._flushed, write)
        self._loose.clear()

    def states(self, generator: random.Random) -> Iterator[tuple[str, bytearray]]:
        """Disks that a cut can leave here, by what they are."""
        yield "everything was written", self.now
        if self._loose:
            torn = bytearray(self._flushed)
            for write in self._loose:
                kept = 1.0 if write.durable else generator.choice((0.0, 0.5, 1.0))
                _tear(torn, write, kept, generator)
            yield "some sectors of the cache were lost", torn


def _put(disk: bytearray, write: Write) -> None:
    disk[write.offset : write.offset + len(write.data)] = write.data


def _tear(disk: bytearray, write: Write, kept: float, generator: random.Random) -> None:
    """Each sector of the write is kept with that probability."""
    for at in range(0, len(write.data), SECTOR_BYTES):
        if generator.random() < kept:
            sector = write.data[at : at + SECTOR_BYTES]
            disk[write.offset + at : write.offset + at + len(sector)] = sector
