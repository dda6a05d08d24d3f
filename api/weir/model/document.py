# SPDX-License-Identifier: Apache-2.0
"""A document is the whole configuration of one revision; a change is one object's before and after."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar

from weir.model.builtin import BUILTIN_QUEUE_TYPES
from weir.model.claims import PrefixClaims, pack
from weir.model.objects import (
    KINDS,
    ConfigObject,
    Firewall,
    Interface,
    Kind,
    Pair,
    Queue,
    QueueType,
    StaticRoute,
    Tuning,
)
from weir.model.prefix import looks_like_prefix, parse_prefix

K = TypeVar("K")
D = TypeVar("D")

POSITION_STEP = 10
"""Queues added at the end of a list leave room between them, so that a move changes one queue."""


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


class IdIndex(Generic[K]):
    """Key -> ids. One id is held as it is and several as a set: most keys of 100,000 have one."""

    __slots__ = ("_ids",)

    def __init__(self) -> None:
        self._ids: dict[K, str | set[str]] = {}

    def get(self, key: K, default: D) -> set[str] | D:
        """The ids of a key; callers do not change the set."""
        found = self._ids.get(key)
        if found is None:
            return default
        return {found} if isinstance(found, str) else found

    def of(self, key: K) -> set[str]:
        """As `get`, with an empty set for a key that is not there."""
        return self.get(key, _NOBODY)

    def __contains__(self, key: object) -> bool:
        return key in self._ids

    def add(self, key: K, object_id: str) -> None:
        found = self._ids.get(key)
        if found is None:
            self._ids[key] = object_id
        elif isinstance(found, str):
            self._ids[key] = {found, object_id}
        else:
            found.add(object_id)

    def discard(self, key: K, object_id: str) -> None:
        found = self._ids.get(key)
        if isinstance(found, set):
            found.discard(object_id)
            if not found:
                del self._ids[key]
        elif found == object_id:
            del self._ids[key]


class Document:
    """Objects by kind and id, with the indexes that validation and the compiler need.

    Mutable on purpose: one process holds one running document and moves it from revision to
    revision; copying 100,000 entries for a change of one would cost more than applying it.
    """

    def __init__(self, objects: Iterable[ConfigObject] = ()) -> None:
        self._objects: dict[Kind, dict[str, ConfigObject]] = {kind: {} for kind in KINDS}
        self.children: IdIndex[str | None] = IdIndex()
        self.queue_ids_by_name: IdIndex[str] = IdIndex()
        self.queue_ids_by_interface: IdIndex[str] = IdIndex()
        self.queue_ids_by_type: dict[str, set[str]] = {}
        """Users of each queue type but `default-small`, which nobody can delete."""
        self.timed_queue_ids: set[str] = set()
        self._guaranteed_bps: dict[str, Pair[int]] = {}
        self._last_position: dict[str | None, int] = {}
        self._targets: PrefixClaims | None = None
        for item in objects:
            self.put(item)

    def get(self, kind: Kind, object_id: str) -> ConfigObject | None:
        return self._objects[kind].get(object_id)

    def queue(self, object_id: str | None) -> Queue | None:
        found = None if object_id is None else self._objects["queue"].get(object_id)
        return found if isinstance(found, Queue) else None

    def queue_type(self, object_id: str) -> QueueType | None:
        """A configured or a built-in type."""
        found = self._objects["queue-type"].get(object_id)
        return found if isinstance(found, QueueType) else BUILTIN_QUEUE_TYPES.get(object_id)

    def interface(self, object_id: str) -> Interface | None:
        found = self._objects["interface"].get(object_id)
        return found if isinstance(found, Interface) else None

    def firewall(self) -> Firewall:
        """The configured policy, or the default one: without an object, deny from WAN holds too."""
        found = self._objects["firewall"].get("firewall")
        return found if isinstance(found, Firewall) else Firewall()

    def tuning(self) -> Tuning:
        found = self._objects["tuning"].get("tuning")
        return found if isinstance(found, Tuning) else Tuning()

    def of_kind(self, kind: Kind) -> dict[str, ConfigObject]:
        """The live mapping of one kind; callers do not change it."""
        return self._objects[kind]

    def queues(self) -> Iterator[Queue]:
        for item in self._objects["queue"].values():
            assert isinstance(item, Queue)
            yield item

    def interfaces(self) -> Iterator[Interface]:
        for item in self._objects["interface"].values():
            assert isinstance(item, Interface)
            yield item

    def static_routes(self) -> Iterator[StaticRoute]:
        for item in self._objects["static-route"].values():
            assert isinstance(item, StaticRoute)
            yield item

    def __iter__(self) -> Iterator[ConfigObject]:
        for kind in KINDS:
            yield from self._objects[kind].values()

    def __len__(self) -> int:
        return sum(len(objects) for objects in self._objects.values())

    def children_of(self, queue_id: str | None) -> set[str]:
        """Ids of the queues directly below a queue (None: the top level); callers do not change the set."""
        return self.children.of(queue_id)

    def guaranteed_below_bps(self, queue_id: str) -> Pair[int]:
        """The sum of the enabled children's `limit_at_bps`."""
        return self._guaranteed_bps.get(queue_id, _NOTHING)

    def next_position(self, parent: str | None) -> int:
        """A position after every queue below `parent`."""
        last = self._last_position.get(parent)
        return POSITION_STEP if last is None else last + POSITION_STEP

    def targets(self) -> PrefixClaims:
        """Every prefix that a queue names as target, disabled queues included. Built when first asked for."""
        if self._targets is None:
            self._targets = PrefixClaims()
            for queue in self.queues():
                self._claim_targets(self._targets, queue)
        return self._targets

    def put(self, item: ConfigObject) -> None:
        self.remove(item.kind, item.id)
        self._objects[item.kind][item.id] = item
        if isinstance(item, Queue):
            self._index(item)

    def remove(self, kind: Kind, object_id: str) -> None:
        old = self._objects[kind].pop(object_id, None)
        if isinstance(old, Queue):
            self._unindex(old)

    def apply(self, changes: Iterable[Change]) -> None:
        for change in changes:
            if change.new is None:
                self.remove(change.kind, change.id)
            else:
                self.put(change.new)

    def revert(self, changes: Iterable[Change]) -> None:
        self.apply([change.inverse for change in changes])

    def _index(self, queue: Queue) -> None:
        self.children.add(queue.parent, queue.id)
        self.queue_ids_by_name.add(queue.name, queue.id)
        if queue.position > self._last_position.get(queue.parent, -1):
            self._last_position[queue.parent] = queue.position
        if queue.time is not None:
            self.timed_queue_ids.add(queue.id)
        for type_id in _named_types(queue):
            self.queue_ids_by_type.setdefault(type_id, set()).add(queue.id)
        for ifname in interface_targets(queue):
            self.queue_ids_by_interface.add(ifname, queue.id)
        self._add_guarantee(queue, 1)
        if self._targets is not None:
            self._claim_targets(self._targets, queue)

    def _unindex(self, queue: Queue) -> None:
        self.children.discard(queue.parent, queue.id)
        self.queue_ids_by_name.discard(queue.name, queue.id)
        self.timed_queue_ids.discard(queue.id)
        for type_id in _named_types(queue):
            users = self.queue_ids_by_type[type_id]
            users.discard(queue.id)
            if not users:
                del self.queue_ids_by_type[type_id]
        for ifname in interface_targets(queue):
            self.queue_ids_by_interface.discard(ifname, queue.id)
        self._add_guarantee(queue, -1)
        if self._targets is not None:
            for packed in packed_targets(queue):
                self._targets.discard(packed, queue.id)

    def _add_guarantee(self, queue: Queue, sign: int) -> None:
        limit_at = queue.limit_at_bps
        if queue.parent is None or queue.disabled or not (limit_at.upload or limit_at.download):
            return
        before = self._guaranteed_bps.get(queue.parent, _NOTHING)
        after = Pair(before.upload + sign * limit_at.upload, before.download + sign * limit_at.download)
        if after == _NOTHING:
            self._guaranteed_bps.pop(queue.parent, None)
        else:
            self._guaranteed_bps[queue.parent] = after

    @staticmethod
    def _claim_targets(claims: PrefixClaims, queue: Queue) -> None:
        for packed in packed_targets(queue):
            claims.add(packed, queue.id)


_NOBODY: set[str] = set()
_NOTHING = Pair(0, 0)


def packed_targets(queue: Queue) -> list[int]:
    """The prefixes among a queue's targets, packed."""
    return [pack(parse_prefix(text)) for text in queue.target if looks_like_prefix(text)]


def interface_targets(queue: Queue) -> list[str]:
    """The interfaces among a queue's targets."""
    return [text for text in queue.target if not looks_like_prefix(text)]


def users_of_type(document: Document, type_id: str) -> set[str]:
    """The ids of the queues that name a queue type."""
    if type_id != "default-small":
        return document.queue_ids_by_type.get(type_id, _NOBODY)
    return {
        queue.id
        for queue in document.queues()
        if type_id in (queue.queue_type.upload, queue.queue_type.download, queue.total.queue_type)
    }


def _named_types(queue: Queue) -> set[str]:
    pair = queue.queue_type
    if pair.upload == pair.download == queue.total.queue_type == "default-small":
        return _NOBODY
    return {pair.upload, pair.download, queue.total.queue_type} - {"default-small"}
