# SPDX-License-Identifier: Apache-2.0
"""Tables of what is compiled, in little memory: they live long, and a row is read at a time."""

from __future__ import annotations

import marshal
from collections.abc import Iterator, MutableMapping

from weir.compiler.types import ClassSpec
from weir.model.row_table import RowTable


class SlotTable(MutableMapping[int, ClassSpec]):
    """Classes by slot, ascending. A list, as slots are dense: a dictionary takes six times as much."""

    __slots__ = ("_count", "_specs")

    def __init__(self) -> None:
        self._specs: list[ClassSpec | None] = []
        self._count = 0

    def __getitem__(self, slot: int) -> ClassSpec:
        spec = self._specs[slot] if 0 <= slot < len(self._specs) else None
        if spec is None:
            raise KeyError(slot)
        return spec

    def __setitem__(self, slot: int, spec: ClassSpec) -> None:
        missing = slot + 1 - len(self._specs)
        if missing > 0:
            self._specs.extend([None] * missing)
        self._count += self._specs[slot] is None
        self._specs[slot] = spec

    def __delitem__(self, slot: int) -> None:
        self[slot]  # KeyError
        self._specs[slot] = None
        self._count -= 1

    def __iter__(self) -> Iterator[int]:
        return (slot for slot, spec in enumerate(self._specs) if spec is not None)

    def __len__(self) -> int:
        return self._count

    def copy(self) -> SlotTable:
        twin = SlotTable()
        twin._specs, twin._count = self._specs.copy(), self._count
        return twin


class ClaimedPrefixes(MutableMapping[str, tuple[int, ...]]):
    """Prefixes (`weir.model.claims.pack`) by queue, as rows of bytes: a sixth of what tuples of integers
    take."""

    __slots__ = ("_rows",)

    def __init__(self) -> None:
        self._rows = RowTable()

    def __getitem__(self, queue_id: str) -> tuple[int, ...]:
        found: tuple[int, ...] = marshal.loads(self._rows[queue_id])
        return found

    def __setitem__(self, queue_id: str, prefixes: tuple[int, ...]) -> None:
        self._rows[queue_id] = marshal.dumps(prefixes)

    def append(self, queue_id: str, prefixes: tuple[int, ...]) -> None:
        """Of a queue that has none. Nothing else is done with the table before `settle`."""
        self._rows.append(queue_id, marshal.dumps(prefixes))

    def settle(self) -> None:
        """After all were appended."""
        self._rows.settle()

    def __delitem__(self, queue_id: str) -> None:
        del self._rows[queue_id]

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)

    def __contains__(self, queue_id: object) -> bool:
        return queue_id in self._rows

    def copy(self) -> ClaimedPrefixes:
        twin = ClaimedPrefixes()
        twin._rows = self._rows.copy()
        return twin
