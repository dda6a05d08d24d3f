# SPDX-License-Identifier: Apache-2.0
"""Thousands of changes as one piece of memory (docs/adr/0036)."""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from typing import Any

from weir.model.document import Change, Document
from weir.model.objects import ConfigObject, Kind, Queue
from weir.model.packed import LazyList, PackedList, QueueKit

Row = tuple[Kind, str, Any]
"""Kind, id and what is new: a queue's values, the number of another object, or None."""


class PackedChanges(LazyList[Change]):
    """Each change is made when it is looked at; `old` is what a document holds, nothing without one."""

    __slots__ = ("_document", "_kept", "_rows")

    def __init__(self, changes: Iterable[Change]) -> None:
        """`old` is not kept; `against` looks it up."""
        self._rows = _Rows(changes)
        self._kept = array("L", range(len(self._rows)))
        self._document = Document()

    def __len__(self) -> int:
        return len(self._kept)

    def at(self, index: int) -> Change:
        kind, object_id, values = self._rows.values(self._kept[index])
        return Change(kind, object_id, self._document.get(kind, object_id), self._rows.new(object_id, values))

    def against(self, document: Document) -> PackedChanges:
        """The changes to a document, which must stay as it is; those that change nothing are left out."""
        twin = PackedChanges.__new__(PackedChanges)
        twin._rows, twin._document = self._rows, document
        twin._kept = array("L", (index for index in self._kept if self._differs(index, document)))
        return twin

    def _differs(self, index: int, document: Document) -> bool:
        kind, object_id, values = self._rows.values(index)
        old = document.get(kind, object_id)
        return values is not None if old is None else old != self._rows.new(object_id, values)


class _Rows(PackedList[Row]):
    """What the changes make of their objects."""

    __slots__ = ("_kit", "_others")

    def __init__(self, changes: Iterable[Change]) -> None:
        self._kit = QueueKit()
        self._others: list[ConfigObject] = []
        super().__init__(
            ((change.kind, change.id, self._values(change.new)) for change in changes), _same, _same
        )

    def _values(self, new: ConfigObject | None) -> Any:
        if isinstance(new, Queue):
            return self._kit.values(new)
        if new is None:
            return None
        self._others.append(new)
        return len(self._others) - 1

    def new(self, object_id: str, values: Any) -> ConfigObject | None:
        if values is None:
            return None
        return self._others[values] if isinstance(values, int) else self._kit.queue(object_id, values)


def _same(row: Row) -> Row:
    return row
