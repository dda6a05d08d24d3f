# SPDX-License-Identifier: Apache-2.0
"""From drafts to objects: unique names, ids, parents, levels, queue types and positions.

Common to every format. What had to be changed is noted on the line of the queue it concerns.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache

from weir.formats.draft import Draft
from weir.formats.identity import Ids, Names, assign_ids, avoid_names_in_use, make_names_unique
from weir.formats.positions import Placed, assign_positions
from weir.formats.report import ImportReport, LineDraft, PackedLines, quoted
from weir.model.builtin import BUILTIN_QUEUE_TYPES
from weir.model.document import POSITION_STEP, Document
from weir.model.limits import MAX_POSITION, MAX_QUEUE_LEVELS
from weir.model.objects import ConfigObject, Pair, Queue, QueueType, Total
from weir.model.packed import PackedQueues
from weir.model.prefix import looks_like_prefix
from weir.model.problem import Finding

_DEFAULT_TYPE = "default-small"


def assemble(
    format_name: str,
    drafts: list[Draft],
    queue_types: Mapping[str, QueueType],
    lines: list[LineDraft],
    existing: Document,
    silent_lines: int,
    findings: Sequence[Finding] = (),
    others: Sequence[ConfigObject] = (),
) -> ImportReport:
    """Finish an import. `queue_types` is keyed by the name that the drafts use for the type; `others` are
    objects of all other kinds.

    `drafts` and `lines` are empty afterwards: there is no room for them beside the report.
    """
    names = Names(drafts)
    make_names_unique(drafts, names)
    found = assign_ids(drafts, existing)
    ids = found.of
    parents = _parents(drafts, names, ids, existing)
    avoid_names_in_use(drafts, names, found, existing)
    del names
    _Tree(drafts, found, parents, existing).settle()
    interfaces = {*existing.of_kind("interface"), *(item.id for item in others if item.kind == "interface")}
    del found
    _settle_targets(drafts, ids, parents, existing, interfaces)
    positions = _positions(drafts, ids, parents, existing)
    finished = _Queues(drafts, queue_types, existing)
    queues = PackedQueues(map(finished.take, ids, parents, positions))
    drafts.clear()
    return ImportReport(
        format_name,
        queues,
        tuple(queue_types.values()),
        PackedLines(lines),
        silent_lines,
        tuple(findings),
        tuple(others),
    )


def _parents(
    drafts: Sequence[Draft], names: Names, ids: Sequence[str], existing: Document
) -> list[str | None]:
    """The ids of the queues that the drafts name as parents; the names of the first are still their own."""

    @lru_cache(maxsize=1024)
    def id_of(name: str) -> str | None:
        index = names.first(name)
        return min(existing.queue_ids_by_name.of(name), default=None) if index is None else ids[index]

    return [_parent_id(draft, own_id, id_of) for draft, own_id in zip(drafts, ids, strict=True)]


def _parent_id(draft: Draft, own_id: str, id_of: Callable[[str], str | None]) -> str | None:
    name = draft.parent_name
    if name is None:
        return None
    found = name if draft.parent_is_id else id_of(name)
    if found is None:
        draft.line.note(
            "warning",
            "unknown-parent",
            f"There is no queue named {quoted(name)}: the queue is imported without a parent.",
        )
        return None
    if found == own_id:
        draft.line.note("warning", "own-parent", "A queue cannot be its own parent: imported without one.")
        return None
    return found


class _Tree:
    """The imported queues below existing ones; `parents` is changed in place."""

    def __init__(
        self,
        drafts: Sequence[Draft],
        ids: Ids,
        parents: list[str | None],
        existing: Document,
    ) -> None:
        self._drafts, self._ids = drafts, ids
        self._parents, self._existing = parents, existing
        self._levels = array("L", bytes(array("L").itemsize * len(ids.of)))
        self._levels_of_others: dict[str, int] = {}

    def settle(self) -> None:
        """Cut circles, then lift queues that stand below the lowest level."""
        for at, own_id in enumerate(self._ids.of):
            if self._levels[at]:
                continue
            above = self._parents[at]
            known = 0 if above is None else self._known_level(above)
            if above is None or 0 < known < MAX_QUEUE_LEVELS:  # nearly always: parents come first
                self._levels[at] = known + 1
                continue
            path = self._path_up(own_id)
            for object_id in reversed(path):
                index, level = self._ids.get(object_id), self._level(object_id)
                if index is None:
                    self._levels_of_others[object_id] = level
                else:
                    self._levels[index] = level

    def _known_level(self, object_id: str) -> int:
        """0 while it is not known."""
        index = self._ids.get(object_id)
        return self._levels_of_others.get(object_id, 0) if index is None else self._levels[index]

    def _parent_of(self, object_id: str) -> str | None:
        index = self._ids.get(object_id)
        if index is not None:
            return self._parents[index]
        queue = self._existing.queue(object_id)
        return queue.parent if queue is not None else None

    def _path_up(self, own_id: str) -> list[str]:
        """From `own_id` to the last ancestor whose level is not known yet; a circle on the way is cut."""
        path: dict[str, None] = {}
        current: str | None = own_id
        while current is not None and not self._known_level(current):
            if current in path:
                # The document had no circle before, so one of the imported queues closes it.
                closing = next(found for item in reversed(path) if (found := self._ids.get(item)) is not None)
                self._parents[closing] = None
                self._drafts[closing].line.note(
                    "warning", "parent-circle", "Its parents form a circle: imported without a parent."
                )
                return self._path_up(own_id)
            path[current] = None
            current = self._parent_of(current)
        return list(path)

    def _level(self, object_id: str) -> int:
        above = self._parent_of(object_id)
        if above is None:
            return 1
        level, index = self._known_level(above) + 1, self._ids.get(object_id)
        if level <= MAX_QUEUE_LEVELS or index is None:
            return level
        while self._known_level(above) >= MAX_QUEUE_LEVELS and (higher := self._parent_of(above)) is not None:
            above = higher
        self._parents[index] = above
        self._drafts[index].line.note(
            "warning",
            "too-deep",
            f"There are {MAX_QUEUE_LEVELS} levels at most: it now stands directly under {quoted(above)}.",
        )
        return self._known_level(above) + 1


def _settle_targets(
    drafts: Sequence[Draft],
    ids: Sequence[str],
    parents: Iterable[str | None],
    existing: Document,
    interfaces: Container[str],
) -> None:
    """A queue that cannot match as the file wanted is kept as a parent, or switched off."""
    with_children = {parent for parent in parents if parent is not None}
    widened: set[str] = set()
    for draft, object_id in zip(drafts, ids, strict=True):
        targets = draft.target
        widened.update(draft.line.widened or ())
        for target in targets:
            if not looks_like_prefix(target) and target not in interfaces:
                draft.line.note(
                    "warning", "unknown-interface", f"This router has no interface {quoted(target)} (yet)."
                )
        if not (targets or draft.values.get("dst")):
            _settle_without_target(draft, object_id in with_children or object_id in existing.children)
        draft.fold()
    if widened:
        _name_merged_customers(drafts, widened)


def _settle_without_target(draft: Draft, is_parent: bool) -> None:
    if draft.unmatchable:
        if not is_parent:
            draft.values["disabled"] = True
        what = "it limits what the queues below it match" if is_parent else "it is imported disabled"
        draft.line.note("warning", "target-not-usable", f"Without a usable target {what}.")
    elif not is_parent and not draft.values.get("disabled"):
        draft.line.note(
            "warning", "matches-nothing", "It has no target and no queue below it, so it matches nothing."
        )


def _name_merged_customers(drafts: Iterable[Draft], widened: Container[str]) -> None:
    """Warn on both queues where host bits made the addresses of two customers one prefix."""
    owners: dict[str, Draft] = {}
    for draft in drafts:
        for target in draft.target:
            if target not in widened:
                continue
            first = owners.setdefault(target, draft)
            if first is not draft and (first.line.written(target) or draft.line.written(target)):
                _note_merged(first, draft, target)
                _note_merged(draft, first, target)
        draft.fold()


def _note_merged(draft: Draft, other: Draft, target: str) -> None:
    mine, theirs = (item.line.written(target) or target for item in (draft, other))
    draft.line.note(
        "warning",
        "merged-by-host-bits",
        f"{quoted(draft.name)} ({mine}) and {quoted(other.name)} ({theirs}, line {other.line.number}) "
        f"are both {target}: only one of them is limited. Were single addresses meant?",
    )


class _Queues:
    """Queues out of drafts, with the queue types that there are."""

    def __init__(self, drafts: list[Draft], queue_types: Mapping[str, QueueType], existing: Document) -> None:
        self._drafts = iter(_emptied(drafts))
        self._types = {name: name for name in (*BUILTIN_QUEUE_TYPES, *existing.of_kind("queue-type"))}
        self._types.update((name, item.id) for name, item in queue_types.items())
        self._pairs: dict[Pair[str], Pair[str]] = {}

    def take(self, object_id: str, parent: str | None, position: int) -> Queue:
        """The queue of the next draft, whose lines get its id."""
        draft = next(self._drafts)
        values = draft.values
        wanted = values.get("queue_type")
        if wanted is not None:
            pair = Pair(self._type(wanted.upload, draft.line), self._type(wanted.download, draft.line))
            values["queue_type"] = self._pairs.setdefault(pair, pair)
        total = values.get("total")
        if total is not None and self._types.get(total.queue_type) != total.queue_type:
            values["total"] = _with_type(total, self._type(total.queue_type, draft.line))
        for line in draft.lines:
            line.object_id = line.object_id or object_id  # that of a lease is about its reservation first
        return Queue(
            id=object_id,
            name=draft.name,
            parent=parent,
            position=position if draft.position is None else draft.position,
            **values,
        )

    def _type(self, name: str, line: LineDraft) -> str:
        found = self._types.get(name)
        if found is None:
            line.note(
                "warning",
                "unknown-queue-type",
                f"There is no queue type {quoted(name)}: {_DEFAULT_TYPE} is used.",
            )
            return _DEFAULT_TYPE
        return found


def _emptied(drafts: list[Draft]) -> Iterator[Draft]:
    """The drafts in order; each is gone when it was used."""
    drafts.reverse()
    while drafts:
        yield drafts.pop()


def _with_type(total: Total, queue_type: str) -> Total:
    return Total(
        total.max_limit_bps,
        total.limit_at_bps,
        total.burst_limit_bps,
        total.burst_threshold_bps,
        total.burst_time_ms,
        total.priority,
        queue_type,
        total.bucket_size_ms,
    )


def _positions(
    drafts: Sequence[Draft], ids: Sequence[str], parents: Sequence[str | None], existing: Document
) -> array[int]:
    def placed() -> Iterator[Placed]:
        for object_id, parent in zip(ids, parents, strict=True):
            queue = existing.queue(object_id)
            stays = queue is not None and queue.parent == parent
            yield Placed(parent, (queue.position, queue.id) if queue is not None and stays else None)

    highest = max((queue.position for queue in existing.queues()), default=0)
    if highest + POSITION_STEP * len(drafts) > MAX_POSITION:
        highest = 0
    return assign_positions(placed(), highest)
