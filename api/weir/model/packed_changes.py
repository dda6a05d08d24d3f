# SPDX-License-Identifier: Apache-2.0
"""Thousands of changes in little memory (docs/adr/0036, docs/adr/0140)."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from sys import intern
from typing import Any

from weir.model.document import Change, Document
from weir.model.objects import ConfigObject, Kind, Queue
from weir.model.packed import LazyList, PackedList, QueueKit

Outline = tuple[Kind, str, bool]
"""Kind and id of what changes, and whether it goes."""


class PackedChanges(LazyList[Change]):
    """`old` is what a document holds, nothing without one.

    Changes of queues are one piece of memory, and each is made when it is looked at. Those of other kinds are
    kept as they are: their objects outlive the commit in the document, and looking at them costs nothing.
    """

    __slots__ = ("_document", "_others", "_places", "_queues")

    def __init__(self, changes: Iterable[Change]) -> None:
        """`old` is not kept; `against` looks it up."""
        self._others: list[Change] = []
        self._places = array("q")
        """Of each change its place among the queues', or `~place` among the others."""
        self._queues = _Queues(self._put_apart(changes))
        self._document = Document()

    def _put_apart(self, changes: Iterable[Change]) -> Iterator[Change]:
        """Those of queues; the others are put away."""
        queues = 0
        for change in changes:
            if change.kind == "queue":
                self._places.append(queues)
                queues += 1
                yield change
            else:
                self._places.append(~len(self._others))
                self._others.append(_with_old(change, None))

    def __len__(self) -> int:
        return len(self._places)

    def at(self, index: int) -> Change:
        place = self._places[index]
        return self._others[~place] if place < 0 else self._of_queue(place)

    def __iter__(self) -> Iterator[Change]:
        others = self._others
        return (others[~place] if place < 0 else self._of_queue(place) for place in self._places)

    def _of_queue(self, place: int) -> Change:
        queue_id, values = self._queues.values(place)
        queue_id = intern(queue_id)  # who looks twice, or knows the id from elsewhere, makes no copy of it
        return Change("queue", queue_id, self._document.queue(queue_id), self._queues.new(queue_id, values))

    def outlines(self) -> Iterator[Outline]:
        """Of each change what it is about."""
        for place in self._places:
            if place >= 0:
                queue_id, values = self._queues.values(place)
                yield "queue", queue_id, values is None
            else:
                change = self._others[~place]
                yield change.kind, change.id, change.new is None

    def without_new_queues(self) -> Iterator[Change]:
        """All but those that make or change a queue."""
        if not self._queues.any_goes:
            return (self._others[~place] for place in self._places if place < 0)
        return (change for change in self if change.kind != "queue" or change.new is None)

    @property
    def kinds(self) -> set[Kind]:
        """Of the objects that change; no queue is made for it."""
        found = {change.kind for change in self._others}
        return found | {"queue"} if any(place >= 0 for place in self._places) else found

    def more_queues(self, document: Document | None = None) -> int:
        """How many more queues there are afterwards than in a document; by default in the changed one."""
        present = (self._document if document is None else document).of_kind("queue")
        each = (self._queues.values(place) for place in self._places if place >= 0)
        return sum((values is not None) - (queue_id in present) for queue_id, values in each)

    def against(self, document: Document) -> PackedChanges:
        """The changes to a document, which must stay as it is; those that change nothing are left out."""
        twin = PackedChanges.__new__(PackedChanges)
        twin._queues, twin._document = self._queues, document
        twin._others, twin._places = [], array("q")
        for place in self._places:
            if place >= 0:
                if self._differs(place, document):
                    twin._places.append(place)
                continue
            change = self._others[~place]
            old = document.get(change.kind, change.id)
            if old != change.new:
                twin._places.append(~len(twin._others))
                twin._others.append(_with_old(change, old))
        return twin

    def _differs(self, place: int, document: Document) -> bool:
        queue_id, values = self._queues.values(place)
        old = document.queue(queue_id)
        return values is not None if old is None else old != self._queues.new(queue_id, values)


def more_queues(changes: Iterable[Change]) -> int:
    """How many more queues there are after the changes than before; of packed ones none is made for it."""
    if isinstance(changes, PackedChanges):
        return changes.more_queues()
    return sum(
        (change.new is not None) - (change.old is not None) for change in changes if change.kind == "queue"
    )


def outlines_of(changes: Iterable[Change]) -> Iterator[Outline]:
    """Of each change what it is about; of packed ones no queue is made for it."""
    if isinstance(changes, PackedChanges):
        return changes.outlines()
    return ((change.kind, change.id, change.new is None) for change in changes)


def without_new_queues(changes: Iterable[Change]) -> Iterator[Change]:
    """All but those that make or change a queue; of packed ones none is made for it."""
    if isinstance(changes, PackedChanges):
        return changes.without_new_queues()
    return (change for change in changes if change.kind != "queue" or change.new is None)


def kinds_of(changes: Iterable[Change]) -> set[Kind]:
    """The kinds of the objects that change."""
    return changes.kinds if isinstance(changes, PackedChanges) else {change.kind for change in changes}


class _Queues(PackedList[Change]):
    """What the changes make of their queues."""

    __slots__ = ("_kit", "any_goes")

    def __init__(self, changes: Iterable[Change]) -> None:
        self._kit, self.any_goes = QueueKit(), False
        super().__init__(changes, lambda change: (change.id, self._values(change.new)), _never)

    def _values(self, new: ConfigObject | None) -> tuple[Any, ...] | None:
        if isinstance(new, Queue):
            return self._kit.values(new)
        self.any_goes = True
        return None

    def new(self, queue_id: str, values: tuple[Any, ...] | None) -> Queue | None:
        return None if values is None else self._kit.queue(queue_id, values)


def _never(_values: Any) -> Change:
    raise TypeError("a change of a queue is made with what its document holds")


def _with_old(change: Change, old: ConfigObject | None) -> Change:
    """The same change where it is so already: most objects of thousands are new."""
    return change if change.old is old else Change(change.kind, change.id, old, change.new)
