# SPDX-License-Identifier: Apache-2.0
"""Rows of bytes by id in two pieces of memory, however many they are (docs/adr/0035).

A dictionary of 100,000 rows takes 80 bytes for each beside its content, and leaves holes in the heap where
rows come and go. What lies here takes 16.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, MutableMapping, Sequence
from itertools import chain
from typing import Any

_MOST_OVER = 4096
"""Rows that may be changed before all are laid down again, or half of all where that is more."""
_NOWHERE = -1


class IdPlaces:
    """Where each id stands in a sequence of ids that does not change: a hash table of plain numbers, which
    takes a seventh of a dictionary's memory."""

    __slots__ = ("_ids", "_mask", "_table")

    def __init__(self, ids: Sequence[str | None] = ()) -> None:
        """No id comes twice; None stands for a place without one."""
        size = 1 << (len(ids) * 3 // 2).bit_length()
        mask, table = size - 1, array("I", bytes(4 * size))
        for place, name in enumerate(ids, 1):
            if name is not None:
                at = hash(name) & mask
                while table[at]:
                    at = at + 1 & mask
                table[at] = place
        self._ids, self._mask, self._table = ids, mask, table

    def find(self, name: object) -> int:
        """-1 for what has no place."""
        ids, mask, table = self._ids, self._mask, self._table
        at = hash(name) & mask
        while place := table[at]:
            if ids[place - 1] == name:
                return place - 1
            at = at + 1 & mask
        return _NOWHERE


class RowTable(MutableMapping[str, bytes]):
    """Rows, none of them empty, in the order they came; one that is replaced goes to the end.

    `settle` lays them down, and what changes later lies over them.
    """

    __slots__ = ("_count", "_ends", "_ids", "_laid", "_over", "_places")

    def __init__(self) -> None:
        self._ids: list[str] = []
        self._laid: bytes | bytearray = b""
        self._ends = array("I", (0,))
        self._places = IdPlaces()
        self._over: dict[str, bytes | None] = {}
        """None for a row that is gone."""
        self._count = 0

    def append(self, row_id: str, row: bytes) -> None:
        """A row of an id that has none. Nothing else is done with the table before `settle`."""
        if not isinstance(self._laid, bytearray):
            self._laid, self._ids, self._ends = bytearray(self._laid), self._ids[:], self._ends[:]
        self._laid += row
        self._ids.append(row_id)
        self._ends.append(len(self._laid))
        self._count += 1

    def settle(self) -> None:
        """Lay down what was appended, and all rows where many have changed since they were laid down."""
        if isinstance(self._laid, bytearray):
            self._laid, self._places = bytes(self._laid), IdPlaces(self._ids)
        if len(self._over) * 8 > len(self._ids):
            self.lay_down(self.items())

    def lay_down(self, rows: Iterable[tuple[str, bytes]]) -> None:
        """These in place of those that there are."""
        laid, ids, ends = bytearray(), list[str](), array("I", (0,))
        for row_id, row in rows:
            laid += row
            ids.append(row_id)
            ends.append(len(laid))
        self._laid, self._ids, self._ends, self._places = bytes(laid), ids, ends, IdPlaces(ids)
        self._over, self._count = {}, len(ids)

    def __getitem__(self, row_id: str) -> bytes:
        row: bytes | None = self.get(row_id)
        if row is None:
            raise KeyError(row_id)
        return row

    def get(self, row_id: str, default: Any = None) -> Any:
        """As a dictionary's."""
        if self._over and row_id in self._over:
            row = self._over[row_id]
            return default if row is None else row
        at = self._places.find(row_id)
        return default if at < 0 else self._laid[self._ends[at] : self._ends[at + 1]]

    def __setitem__(self, row_id: str, row: bytes) -> None:
        if row_id not in self:
            self._count += 1
        self._over.pop(row_id, None)
        self._over[row_id] = row
        if len(self._over) > max(_MOST_OVER, len(self._ids) // 2):
            self.lay_down(self.items())

    def __delitem__(self, row_id: str) -> None:
        if row_id not in self:
            raise KeyError(row_id)
        self._count -= 1
        self._over.pop(row_id, None)
        if self._places.find(row_id) >= 0:
            self._over[row_id] = None

    def __contains__(self, row_id: object) -> bool:
        if self._over and row_id in self._over:
            return self._over[row_id] is not None
        return self._places.find(row_id) >= 0

    def __iter__(self) -> Iterator[str]:
        over = self._over
        if not over:
            return iter(self._ids)
        kept = (row_id for row_id in self._ids if row_id not in over)
        return chain(kept, (row_id for row_id, row in over.items() if row is not None))

    def __len__(self) -> int:
        return self._count

    def copy(self) -> RowTable:
        """What is laid down is the same in both."""
        twin = RowTable()
        twin._laid, twin._ids, twin._ends, twin._places = self._laid, self._ids, self._ends, self._places
        twin._over, twin._count = dict(self._over), self._count
        return twin
