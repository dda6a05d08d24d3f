# SPDX-License-Identifier: Apache-2.0
"""A document is the whole configuration of one revision; a change is one object's before and after."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, MutableMapping
from dataclasses import dataclass
from typing import Any, TypeVar

from weir.model.builtin import BUILTIN_QUEUE_TYPES
from weir.model.claims import PrefixClaims, pack_text
from weir.model.indexes import IdIndex, NameIndex
from weir.model.interface import Interface
from weir.model.objects import ConfigObject, Kind, Pair, Queue, QueueType
from weir.model.packed import QueueTable
from weir.model.prefix import looks_like_prefix
from weir.model.quick_init import quick_init

T = TypeVar("T", bound=ConfigObject)

POSITION_STEP = 10
"""Queues added at the end of a list leave room between them, so that a move changes one queue."""


@quick_init
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


def changes_by_kind(changes: Iterable[Change]) -> dict[Kind, list[Change]]:
    """For who has to do with some kinds only: of 100,000 changes they look at none."""
    found: defaultdict[Kind, list[Change]] = defaultdict(list)
    for change in changes:
        found[change.kind].append(change)
    return found


class Document:
    """Objects by kind and id, with the indexes that validation and the compiler need.

    Mutable on purpose: one process holds one running document and moves it from revision to
    revision; copying 100,000 entries for a change of one would cost more than applying it.

    A document that lives long is packed: a third of the memory, and 5 us to look at a queue. Nothing in it
    refers to it, so that one that nobody holds any more is gone at once and not at the next collection.
    """

    def __init__(self, objects: Iterable[ConfigObject] = ()) -> None:
        self._queues = QueueTable()
        self._objects: dict[Kind, MutableMapping[str, Any]] = {"queue": self._queues}
        self.children: IdIndex[str | None] = IdIndex()
        self.queue_ids_by_name = NameIndex(self._queues.name_of)
        self.queue_ids_by_interface: IdIndex[str] = IdIndex()
        self.queue_ids_by_type: IdIndex[str] = IdIndex()
        """Users of each queue type but `default-small`, which nobody can delete."""
        self.timed_queue_ids: set[str] = set()
        self.idle_children: IdIndex[str | None] = IdIndex()
        """Of each parent the children that are disabled or have a time window: not always in force."""
        self.far_interface_queue_ids: set[str] = set()
        """Queues whose `dst` is an interface."""
        self._guaranteed_bps: dict[str, Pair[int]] = {}
        self._last_position: dict[str | None, int] = {}
        self._targets: PrefixClaims | None = None
        for item in objects:
            self.put(item)

    @classmethod
    def packed(cls, objects: Iterable[ConfigObject], *, with_targets: bool = False) -> Document:
        """A packed document; at no time do all objects exist at once. No id comes twice. Who will ask for its
        `targets` has them made here, as long as each queue is an object."""
        document = cls()
        document._queues = document._objects["queue"] = QueueTable(is_packed=True)
        document.queue_ids_by_name = NameIndex(document._queues.name_of)
        document._targets = PrefixClaims() if with_targets else None

        def named() -> Iterator[tuple[str, str]]:
            for item in objects:
                if isinstance(item, Queue):
                    document._queues.append(item)
                    document._index(item, None, names=False)
                    yield item.name, item.id
                else:
                    document.put(item)

        document.queue_ids_by_name.freeze(named())
        document._queues.settle()
        document._freeze_small()
        return document

    @property
    def is_packed(self) -> bool:
        """Whether what is put becomes a row at once."""
        return self._queues.is_packed

    def after(self, changes: Iterable[Change], *, with_targets: bool = False) -> Document:
        """A packed document of its own, as this one is after changes of queues that are much of it.

        Looks at the changes once, one at a time; so at no time do all objects exist at once. `with_targets`
        is that of `packed`.
        """
        touched: defaultdict[Kind, set[str]] = defaultdict(set)

        def objects() -> Iterator[ConfigObject]:
            for change in changes:
                touched[change.kind].add(change.id)
                if change.new is not None:
                    yield change.new
            for item in self:
                if item.id not in touched[item.kind]:
                    yield item

        return Document.packed(objects(), with_targets=with_targets)

    def pack(self) -> None:
        """Into a third of the memory; nothing else changes."""
        if not self.queue_ids_by_name.is_frozen:
            self.queue_ids_by_name.freeze((queue.name, queue.id) for queue in self.queues())
        self._queues.pack()
        self._freeze_small()

    def _freeze_small(self) -> None:
        self.children.freeze()
        self.idle_children.freeze()
        self.queue_ids_by_type.freeze()
        self.queue_ids_by_interface.freeze()
        if self._targets is not None:
            self._targets.freeze()

    def copy(self) -> Document:
        """A document of its own with the same objects, packed as this one is; 100,000 cost 10 ms."""
        twin = Document()
        twin._objects = {kind: dict(objects) for kind, objects in self._objects.items() if kind != "queue"}
        twin._queues = twin._objects["queue"] = self._queues.copy()
        twin.children = self.children.copy()
        twin.queue_ids_by_name = self.queue_ids_by_name.copy(twin._queues.name_of)
        twin.queue_ids_by_interface = self.queue_ids_by_interface.copy()
        twin.queue_ids_by_type = self.queue_ids_by_type.copy()
        twin.timed_queue_ids = set(self.timed_queue_ids)
        twin.idle_children = self.idle_children.copy()
        twin.far_interface_queue_ids = set(self.far_interface_queue_ids)
        twin._guaranteed_bps = dict(self._guaranteed_bps)
        twin._last_position = dict(self._last_position)
        return twin

    def get(self, kind: Kind, object_id: str) -> ConfigObject | None:
        found: ConfigObject | None = self._of(kind).get(object_id)
        return found

    def single(self, of: type[T]) -> T:
        """The one object of a kind that has one, or its defaults, which hold without it."""
        found = self._of(of.kind).get(of.kind)
        return found if isinstance(found, of) else of(id=of.kind)  # type: ignore[call-arg]

    def every(self, of: type[T]) -> Iterator[T]:
        """All objects of a kind but queues, which have `queues`."""
        return iter(self._of(of.kind).values())

    def queue(self, object_id: str | None) -> Queue | None:
        found: Queue | None = None if object_id is None else self._queues.get(object_id)
        return found

    def queue_type(self, object_id: str) -> QueueType | None:
        """A configured or a built-in type."""
        found = self._of("queue-type").get(object_id)
        return found if isinstance(found, QueueType) else BUILTIN_QUEUE_TYPES.get(object_id)

    def interface(self, object_id: str) -> Interface | None:
        found = self._of("interface").get(object_id)
        return found if isinstance(found, Interface) else None

    def of_kind(self, kind: Kind) -> Mapping[str, ConfigObject]:
        """The live mapping of one kind; callers do not change it."""
        return self._of(kind)

    def _of(self, kind: Kind) -> MutableMapping[str, Any]:
        found = self._objects.get(kind)
        return self._objects.setdefault(kind, {}) if found is None else found

    def queues(self) -> Iterator[Queue]:
        return iter(self._queues.values())

    def interfaces(self) -> Iterator[Interface]:
        for item in self._of("interface").values():
            assert isinstance(item, Interface)
            yield item

    def __iter__(self) -> Iterator[ConfigObject]:
        """Kind by kind: the few first, queues last."""
        for kind in sorted(self._objects, key=lambda kind: (kind == "queue", kind)):
            yield from self._objects[kind].values()

    def __len__(self) -> int:
        return sum(len(objects) for objects in self._objects.values())

    def children_of(self, queue_id: str | None) -> Collection[str]:
        """Ids of the queues directly below a queue (None: the top level); not to be changed."""
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
            if self._queues.is_packed:
                self._targets.freeze()
        return self._targets

    def put(self, item: ConfigObject) -> None:
        objects = self._of(item.kind)
        old = objects.pop(item.id, None)
        if isinstance(item, Queue):
            if old is not None:
                self._unindex(old, item)
            self._index(item, old)
        objects[item.id] = item

    def remove(self, kind: Kind, object_id: str) -> None:
        old = self._of(kind).pop(object_id, None)
        if isinstance(old, Queue):
            self._unindex(old, None)

    def apply(self, changes: Iterable[Change]) -> None:
        for change in changes:
            if change.new is None:
                self.remove(change.kind, change.id)
            else:
                self.put(change.new)

    def revert(self, changes: Iterable[Change]) -> None:
        self.apply([change.inverse for change in changes])

    def _index(self, queue: Queue, before: Queue | None, *, names: bool = True) -> None:
        """`before` is what the queue was, and was taken out of the indexes where that differs."""
        if before is None or before.parent != queue.parent:
            self.children.add(queue.parent, queue.id)
        if names and (before is None or before.name != queue.name):
            self.queue_ids_by_name.add(queue.name, queue.id)
        if queue.position > self._last_position.get(queue.parent, -1):
            self._last_position[queue.parent] = queue.position
        if queue.time is not None:
            self.timed_queue_ids.add(queue.id)
        if not is_always_in_force(queue):
            self.idle_children.add(queue.parent, queue.id)
        if queue.dst is not None and not looks_like_prefix(queue.dst):
            self.far_interface_queue_ids.add(queue.id)
        for type_id in _named_types(queue):
            self.queue_ids_by_type.add(type_id, queue.id)
        self._add_guarantee(queue, 1)
        if before is None or before.target != queue.target:
            for ifname in interface_targets(queue):
                self.queue_ids_by_interface.add(ifname, queue.id)
            if self._targets is not None:
                self._claim_targets(self._targets, queue)

    def _unindex(self, queue: Queue, after: Queue | None) -> None:
        """`after` is what the queue becomes; what stays the same stays in the indexes."""
        if after is None or after.parent != queue.parent:
            self.children.discard(queue.parent, queue.id)
        if after is None or after.name != queue.name:
            self.queue_ids_by_name.discard(queue.name, queue.id)
        self.timed_queue_ids.discard(queue.id)
        self.idle_children.discard(queue.parent, queue.id)
        self.far_interface_queue_ids.discard(queue.id)
        for type_id in _named_types(queue):
            self.queue_ids_by_type.discard(type_id, queue.id)
        self._add_guarantee(queue, -1)
        if after is None or after.target != queue.target:
            for ifname in interface_targets(queue):
                self.queue_ids_by_interface.discard(ifname, queue.id)
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


_NOTHING = Pair(0, 0)
_NO_TYPES: set[str] = set()


def is_always_in_force(queue: Queue) -> bool:
    """Apart from its ancestors."""
    return not queue.disabled and queue.time is None


def packed_targets(queue: Queue) -> list[int]:
    """The prefixes among a queue's targets, packed."""
    return [pack_text(text) for text in queue.target if looks_like_prefix(text)]


def interface_targets(queue: Queue) -> list[str]:
    """The interfaces among a queue's targets."""
    return [text for text in queue.target if not looks_like_prefix(text)]


def users_of_type(document: Document, type_id: str) -> Collection[str]:
    """The ids of the queues that name a queue type."""
    if type_id != "default-small":
        return document.queue_ids_by_type.of(type_id)
    return {
        queue.id
        for queue in document.queues()
        if type_id in (queue.queue_type.upload, queue.queue_type.download, queue.total.queue_type)
    }


def _named_types(queue: Queue) -> set[str]:
    pair = queue.queue_type
    if pair.upload == pair.download == queue.total.queue_type == "default-small":
        return _NO_TYPES
    return {pair.upload, pair.download, queue.total.queue_type} - {"default-small"}
