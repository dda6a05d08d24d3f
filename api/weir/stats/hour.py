# SPDX-License-Identifier: Apache-2.0
"""The last hour of all lines by the minute, compressed: what nobody used takes next to nothing.

A minute is cut into blocks of lines; in a block all first bytes of the records stand together, then all
second ones, and so on. Of 200,000 lines the hour takes 72 MB as one array; like this 20 MB where 40 % are
busy in a minute and a tenth of them wait, 33 MB where all are busy, 60 MB where all wait as well, with drops
and marks. Reading a queue unpacks one block of each minute.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from weir.stats.codes import F32
from weir.stats.samples import FIGURES, RECORD, Records, encode, figures_of

MINUTES = 60
BLOCK_LINES = 2048
_SIZE = RECORD.itemsize
_LEVEL = 1
I64 = npt.NDArray[np.int64]


class Hour:
    """Minutes are numbered since 1970. A slot has two lines, upload first. Not thread-safe."""

    def __init__(self) -> None:
        self._blocks: dict[int, list[bytes]] = {}
        self._since: npt.NDArray[np.uint32] = np.zeros(0, np.uint32)
        """The first minute of the queue that has the slot now."""

    def push(self, minute: int, figures: F32) -> None:
        """What all lines had in a minute that is over: [figure, line] as `weir.stats.samples.FIGURES`.

        Minutes older than an hour go.
        """
        # Block by block: large arrays between the small pieces that stay would leave holes in the heap.
        self._blocks[minute] = [
            _pack(_rounded(encode(figures[:, start : start + BLOCK_LINES])))
            for start in range(0, figures.shape[1], BLOCK_LINES)
        ]
        for old in [known for known in self._blocks if known <= minute - MINUTES]:
            del self._blocks[old]

    def read(self, slot: int, newest: int) -> Records:
        """[minute, direction], the oldest first; zeros where nothing was recorded."""
        found = np.zeros((MINUTES, 2), RECORD)
        first = max(newest - MINUTES + 1, int(self._since[slot]) if slot < len(self._since) else newest + 1)
        block, place = divmod(slot * 2, BLOCK_LINES)
        for minute in range(first, newest + 1):
            blocks = self._blocks.get(minute, [])
            if block < len(blocks):
                found[minute - newest + MINUTES - 1] = _unpack(blocks[block], place, place + 2)
        return found

    def means(self, minutes: Sequence[int]) -> Records:
        """Of the present queue of each slot over these minutes, [slot, direction]; the wait is the longest.

        A minute without a sample counts as zero.
        """
        found = np.zeros(len(self._since) * 2, RECORD)
        for index, start in enumerate(range(0, len(found), BLOCK_LINES)):
            records = found[start : start + BLOCK_LINES]
            total = np.zeros((len(FIGURES), len(records)), np.float32)
            for minute in minutes:
                figures = self._figures(minute, index, len(records))
                total[:-1] += figures[:-1] / np.float32(len(minutes))
                np.maximum(total[-1], figures[-1], out=total[-1])
            records[:] = encode(total)
        return found.reshape(-1, 2)

    def _figures(self, minute: int, index: int, lines: int) -> F32:
        """Of a block of lines; zeros for those whose queue came later."""
        blocks = self._blocks.get(minute, [])
        records = np.zeros(lines, RECORD)
        if index < len(blocks):
            known = _unpack(blocks[index])[:lines]
            records[: len(known)] = known
        first = index * BLOCK_LINES // 2
        records.reshape(-1, 2)[self._since[first : first + lines // 2] > minute] = 0
        return figures_of(records)

    def _all(self, minute: int, lines: int) -> Records:
        found = np.zeros(lines, RECORD)
        for index, block in enumerate(self._blocks[minute]):
            start = index * BLOCK_LINES
            records = _unpack(block)[: max(lines - start, 0)]
            found[start : start + len(records)] = records
        return found

    def deal(self, slots: int, changed: I64, sources: I64, targets: I64, minute: int) -> None:
        """There are so many slots in this minute; the `changed` ones have another queue than before, that of
        `targets` was at `sources`."""
        since = np.full(slots, minute, np.uint32)
        common = min(slots, len(self._since))
        since[:common] = self._since[:common]
        since[changed] = minute
        since[targets] = self._since[sources]
        self._since = since
        if len(targets):
            self._move(_lines(sources), _lines(targets), slots * 2)

    def _move(self, sources: I64, targets: I64, lines: int) -> None:
        room = max(lines, int(sources.max()) + 1)
        for number in self._blocks:
            records = self._all(number, room)
            records[targets] = records[sources]
            kept = records[:lines]
            self._blocks[number] = [
                _pack(kept[start : start + BLOCK_LINES]) for start in range(0, lines, BLOCK_LINES)
            ]

    @property
    def held_bytes(self) -> int:
        return sum(len(block) for blocks in self._blocks.values() for block in blocks)


def _lines(slots: I64) -> I64:
    found: I64 = np.repeat(slots * 2, 2) + np.tile(np.array([0, 1]), len(slots))
    return found


def _rounded(records: Records) -> Records:
    """Rates with 12 of their 16 bits, within 0.4 %: the last four are noise, which takes room."""
    rounded = records.copy()
    rates = records["rate"]
    rounded["rate"] = np.where(rates > 1, rates & 0xFFF0 | 8, rates)
    return rounded


def _pack(records: Records) -> bytes:
    columns = np.ascontiguousarray(records).view(np.uint8).reshape(-1, _SIZE)
    return zlib.compress(columns.T.tobytes(), _LEVEL)


def _unpack(block: bytes, start: int = 0, end: int = BLOCK_LINES) -> Records:
    columns = np.frombuffer(zlib.decompress(block), np.uint8).reshape(_SIZE, -1)
    return np.ascontiguousarray(columns[:, start:end].T).view(RECORD)[:, 0]
