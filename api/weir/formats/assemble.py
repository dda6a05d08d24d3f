# SPDX-License-Identifier: Apache-2.0
"""From drafts to objects: unique names, ids, parents, levels, queue types and positions.

Common to every format. What had to be changed is noted on the line of the queue it concerns.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial

from weir.formats.contradictions import settle_rates
from weir.formats.draft import Draft
from weir.formats.identity import assign_ids, avoid_names_in_use, make_names_unique
from weir.formats.positions import Placed, assign_positions
from weir.formats.report import ImportReport, LineDraft, quoted
from weir.model.builtin import BUILTIN_QUEUE_TYPES
from weir.model.document import POSITION_STEP, Document
from weir.model.limits import MAX_POSITION, MAX_QUEUE_LEVELS
from weir.model.objects import Pair, Queue, QueueType, Total
from weir.model.prefix import looks_like_prefix
from weir.model.problem import Finding

_DEFAULT_TYPE = "default-small"


def assemble(
    format_name: str,
    drafts: list[Draft],
    queue_types: Mapping[str, QueueType],
    lines: Iterable[LineDraft],
    existing: Document,
    silent_lines: int,
    findings: Sequence[Finding] = (),
) -> ImportReport:
    """Finish an import. `queue_types` is keyed by the name that the drafts use for the type."""
    first_by_name: dict[str, int] = {}
    for draft in drafts:
        settle_rates(draft)
    for index, draft in enumerate(drafts):
        first_by_name.setdefault(draft.name, index)
    make_names_unique(drafts)
    ids = assign_ids(drafts, existing)
    avoid_names_in_use(drafts, ids, existing)
    resolve = partial(_parent_id, first_by_name=first_by_name, ids=ids, existing=existing)
    parents = [resolve(draft, ids[index]) for index, draft in enumerate(drafts)]
    _Tree(drafts, ids, parents, existing).settle()
    _settle_targets(drafts, ids, parents, existing)
    _name_merged_customers(drafts)
    _resolve_queue_types(drafts, queue_types, existing)
    positions = _positions(drafts, ids, parents, existing)
    queues = tuple(
        Queue(
            id=ids[index], name=draft.name, parent=parents[index], position=positions[index], **draft.values
        )
        for index, draft in enumerate(drafts)
    )
    for draft, object_id in zip(drafts, ids, strict=True):
        for line in (draft.line, *draft.further_lines):
            line.object_id = object_id
    return ImportReport(
        format_name,
        queues,
        tuple(queue_types.values()),
        tuple(line.finish() for line in lines),
        silent_lines,
        tuple(findings),
    )


def _parent_id(
    draft: Draft, own_id: str, *, first_by_name: Mapping[str, int], ids: Sequence[str], existing: Document
) -> str | None:
    name = draft.parent_name
    if name is None:
        return None
    index = first_by_name.get(name)
    if draft.parent_id is not None:
        found = draft.parent_id
    elif index is not None:
        found = ids[index]
    else:
        known = sorted(existing.queue_ids_by_name.of(name))
        if not known:
            draft.line.note(
                "warning",
                "unknown-parent",
                f"There is no queue named {quoted(name)}: the queue is imported without a parent.",
            )
            return None
        found = known[0]
    if found == own_id:
        draft.line.note("warning", "own-parent", "A queue cannot be its own parent: imported without one.")
        return None
    return found


class _Tree:
    """The imported queues below existing ones; `parents` is changed in place."""

    def __init__(
        self,
        drafts: Sequence[Draft],
        ids: Sequence[str],
        parents: list[str | None],
        existing: Document,
    ) -> None:
        self._drafts, self._ids, self._parents, self._existing = drafts, ids, parents, existing
        self._index = {object_id: index for index, object_id in enumerate(ids)}
        self._levels: dict[str, int] = {}

    def settle(self) -> None:
        """Cut circles, then lift queues that stand below the lowest level."""
        for own_id in self._ids:
            path = self._path_up(own_id)
            for object_id in reversed(path):
                self._levels[object_id] = self._level(object_id)

    def _parent_of(self, object_id: str) -> str | None:
        index = self._index.get(object_id)
        if index is not None:
            return self._parents[index]
        queue = self._existing.queue(object_id)
        return queue.parent if queue is not None else None

    def _path_up(self, own_id: str) -> list[str]:
        """From `own_id` to the last ancestor whose level is not known yet; a circle on the way is cut."""
        path: dict[str, None] = {}
        current: str | None = own_id
        while current is not None and current not in self._levels:
            if current in path:
                # The document had no circle before, so one of the imported queues closes it.
                closing = next(self._index[item] for item in reversed(path) if item in self._index)
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
        level = self._levels[above] + 1
        if level <= MAX_QUEUE_LEVELS or object_id not in self._index:
            return level
        while self._levels[above] >= MAX_QUEUE_LEVELS and (higher := self._parent_of(above)) is not None:
            above = higher
        index = self._index[object_id]
        self._parents[index] = above
        self._drafts[index].line.note(
            "warning",
            "too-deep",
            f"There are {MAX_QUEUE_LEVELS} levels at most: it now stands directly under {quoted(above)}.",
        )
        return self._levels[above] + 1


def _settle_targets(
    drafts: Sequence[Draft], ids: Sequence[str], parents: Iterable[str | None], existing: Document
) -> None:
    """A queue that cannot match as the file wanted is kept as a parent, or switched off."""
    with_children = {parent for parent in parents if parent is not None}
    interfaces = existing.of_kind("interface")
    for draft, object_id in zip(drafts, ids, strict=True):
        for target in draft.values.get("target", ()):
            if not looks_like_prefix(target) and target not in interfaces:
                draft.line.note(
                    "warning", "unknown-interface", f"This router has no interface {quoted(target)} (yet)."
                )
        if draft.values.get("target") or draft.values.get("dst"):
            continue
        is_parent = object_id in with_children or object_id in existing.children
        if draft.unmatchable:
            if not is_parent:
                draft.values["disabled"] = True
            what = "it limits what the queues below it match" if is_parent else "it is imported disabled"
            draft.line.note("warning", "target-not-usable", f"Without a usable target {what}.")
        elif not is_parent and not draft.values.get("disabled"):
            draft.line.note(
                "warning", "matches-nothing", "It has no target and no queue below it, so it matches nothing."
            )


def _name_merged_customers(drafts: Iterable[Draft]) -> None:
    """Warn on both queues where host bits made the addresses of two customers one prefix."""
    owners: dict[str, Draft] = {}
    for draft in drafts:
        for target in draft.values.get("target", ()):
            first = owners.setdefault(target, draft)
            if first is not draft and (first.line.written(target) or draft.line.written(target)):
                _note_merged(first, draft, target)
                _note_merged(draft, first, target)


def _note_merged(draft: Draft, other: Draft, target: str) -> None:
    mine, theirs = (item.line.written(target) or target for item in (draft, other))
    draft.line.note(
        "warning",
        "merged-by-host-bits",
        f"{quoted(draft.name)} ({mine}) and {quoted(other.name)} ({theirs}, line {other.line.number}) "
        f"are both {target}: only one of them is limited. Were single addresses meant?",
    )


def _resolve_queue_types(
    drafts: Iterable[Draft], queue_types: Mapping[str, QueueType], existing: Document
) -> None:
    names = {*BUILTIN_QUEUE_TYPES, *existing.of_kind("queue-type")}
    ids = {name: name for name in names}
    ids.update((name, item.id) for name, item in queue_types.items())
    pairs: dict[Pair[str], Pair[str]] = {}

    def resolve(name: str, line: LineDraft) -> str:
        found = ids.get(name)
        if found is None:
            line.note(
                "warning",
                "unknown-queue-type",
                f"There is no queue type {quoted(name)}: {_DEFAULT_TYPE} is used.",
            )
            return _DEFAULT_TYPE
        return found

    for draft in drafts:
        wanted = draft.values.get("queue_type")
        if wanted is not None:
            pair = Pair(resolve(wanted.upload, draft.line), resolve(wanted.download, draft.line))
            draft.values["queue_type"] = pairs.setdefault(pair, pair)
        total = draft.values.get("total")
        if total is not None and ids.get(total.queue_type) != total.queue_type:
            draft.values["total"] = _with_type(total, resolve(total.queue_type, draft.line))


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
) -> list[int]:
    placed = []
    for object_id, parent in zip(ids, parents, strict=True):
        queue = existing.queue(object_id)
        stays = queue is not None and queue.parent == parent
        placed.append(Placed(parent, (queue.position, queue.id) if queue is not None and stays else None))
    highest = max((queue.position for queue in existing.queues()), default=0)
    if highest + POSITION_STEP * len(drafts) > MAX_POSITION:
        highest = 0
    positions = assign_positions(placed, highest)
    return [
        draft.position if draft.position is not None else position
        for draft, position in zip(drafts, positions, strict=True)
    ]
