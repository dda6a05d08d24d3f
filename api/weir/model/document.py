# SPDX-License-Identifier: Apache-2.0
"""A document is the whole configuration of one revision; a change is one object's before and after."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TypeVar

from weir.model.objects import KINDS, ConfigObject, Interface, Kind, Queue, QueueType

K = TypeVar("K")


@dataclass(frozen=True, slots=True)
class Change:
    """`old is None` creates, `new is None` deletes."""

    kind: Kind
    id: str
    old: ConfigObject | None
    new: ConfigObject | None

    @property
    def inverse(self) -> Change:
        return Change(self.kind, self.id, self.new, self.old)


class Document:
    """Objects by kind and id, with the indexes that validation and the compiler need.

    Mutable on purpose: one process holds one running document and moves it from revision to
    revision; copying 100,000 entries for a change of one would cost more than applying it.
    """

    def __init__(self, objects: Iterable[ConfigObject] = ()) -> None:
        self._objects: dict[Kind, dict[str, ConfigObject]] = {kind: {} for kind in KINDS}
        self.children: dict[str | None, set[str]] = {}
        self.queue_ids_by_name: dict[str, set[str]] = {}
        for item in objects:
            self.put(item)

    def get(self, kind: Kind, object_id: str) -> ConfigObject | None:
        return self._objects[kind].get(object_id)

    def queue(self, object_id: str) -> Queue | None:
        found = self._objects["queue"].get(object_id)
        return found if isinstance(found, Queue) else None

    def queue_type(self, object_id: str) -> QueueType | None:
        found = self._objects["queue-type"].get(object_id)
        return found if isinstance(found, QueueType) else None

    def interface(self, object_id: str) -> Interface | None:
        found = self._objects["interface"].get(object_id)
        return found if isinstance(found, Interface) else None

    def of_kind(self, kind: Kind) -> dict[str, ConfigObject]:
        """The live mapping of one kind; callers do not change it."""
        return self._objects[kind]

    def queues(self) -> Iterator[Queue]:
        for item in self._objects["queue"].values():
            assert isinstance(item, Queue)
            yield item

    def __iter__(self) -> Iterator[ConfigObject]:
        for kind in KINDS:
            yield from self._objects[kind].values()

    def __len__(self) -> int:
        return sum(len(objects) for objects in self._objects.values())

    def put(self, item: ConfigObject) -> None:
        self.remove(item.kind, item.id)
        self._objects[item.kind][item.id] = item
        if isinstance(item, Queue):
            self.children.setdefault(item.parent, set()).add(item.id)
            self.queue_ids_by_name.setdefault(item.name, set()).add(item.id)

    def remove(self, kind: Kind, object_id: str) -> None:
        old = self._objects[kind].pop(object_id, None)
        if isinstance(old, Queue):
            _discard(self.children, old.parent, object_id)
            _discard(self.queue_ids_by_name, old.name, object_id)

    def apply(self, changes: Iterable[Change]) -> None:
        for change in changes:
            if change.new is None:
                self.remove(change.kind, change.id)
            else:
                self.put(change.new)

    def revert(self, changes: Iterable[Change]) -> None:
        self.apply([change.inverse for change in changes])


def _discard(index: dict[K, set[str]], key: K, object_id: str) -> None:
    ids = index.get(key)
    if ids is not None:
        ids.discard(object_id)
        if not ids:
            del index[key]
