# SPDX-License-Identifier: Apache-2.0
"""A plan for a few changes, at a cost that depends on them and not on the size of the document.

Which prefixes can get another answer? Those that a changed queue (or one below it) claims or claimed, and
those that lie in them. Everything else keeps its entry, its class and its clock.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from functools import cache, partial
from typing import TypeVar

from weir.compiler.classes import Place, classes_of
from weir.compiler.clocks import has_total
from weir.compiler.compiled import Compiled, Edits
from weir.compiler.forks import NOBODY, Answer, Ranking, answers, fork_of
from weir.compiler.full import open_timed_queues, recompiled
from weir.compiler.matching import NO_CLAIM, Matcher
from weir.compiler.plan import Plan
from weir.compiler.ports import ports_of
from weir.compiler.types import NO_SLOT, ClassSpec, total_id
from weir.model.claims import last_inside
from weir.model.document import Change, Document, changes_by_kind, is_always_in_force, users_of_type
from weir.model.limits import MAX_QUEUE_LEVELS
from weir.model.objects import Kind, Queue
from weir.model.packed_changes import kinds_of
from weir.model.tree import RankKey, ancestors, rank_key, subtree_ids
from weir.parts.delta import delta_of

_FEW = 256
_SHAPING = ("queue", "queue-type", "interface")
"""The kinds that shaping is made of."""
K = TypeVar("K", int, str)


def update(
    compiled: Compiled, document_after: Document, changes: Sequence[Change], now_local: datetime | None = None
) -> Plan:
    """What the changes (already applied to the document) and the passage of time do to the kernel.

    `compiled` stays as it is until `compiled.accept(plan)`. Raises `Unsupported` when slots run out.
    """
    now = compiled.now_local if now_local is None else now_local
    few = max(_FEW, len(document_after.of_kind("queue")) // 8)
    if "queue" in kinds_of(changes) and len(changes) > few:
        return recompiled(compiled, document_after, now)
    by_kind = changes_by_kind(changes)
    if sum(len(by_kind.get(kind, ())) for kind in _SHAPING) > few:
        return recompiled(compiled, document_after, now)
    update_run = _Update(compiled, document_after, by_kind, now)
    if len(update_run.touched) > few:
        return recompiled(compiled, document_after, now)
    return update_run.plan()


class _Update:
    def __init__(
        self,
        compiled: Compiled,
        document: Document,
        by_kind: Mapping[Kind, Sequence[Change]],
        now_local: datetime,
    ) -> None:
        self._compiled = compiled
        self._before = compiled.tables
        self._document = document
        self._by_kind = by_kind
        self._changes = [change for kind in _SHAPING for change in by_kind.get(kind, ())]
        """Those that can change something for queues."""
        self._edits = Edits(compiled.generation, compiled.wanted, compiled.allocation.draft(), now_local)
        self._matcher = Matcher(document, now_local)
        self._rank = cache(partial(_rank, document))
        self._forks: dict[Answer, str] = {}
        self._ranking = Ranking(self._rank, self._before.dst)
        self._edits.matched_timed = self._open_timed(now_local)
        self.touched = self._touched_queues()
        """Queue ids whose class or claims may differ -> whether their rank may, too."""
        self._depths = {queue_id: self._depth_if_enabled(queue_id) for queue_id in self.touched}

    def plan(self) -> Plan:
        plan = Plan(registered=self._compiled.parts, outcome=self._edits)
        self._change_classes(plan)
        self._change_prefixes(plan)
        self._change_ports(plan)
        self._change_forks(plan)
        if self._by_kind.keys() - {"queue"}:
            self._change_parts(plan)
        return plan

    def _open_timed(self, now_local: datetime) -> frozenset[str]:
        if _same_minute(now_local, self._compiled.now_local) and not any(map(_is_timed, self._changes)):
            return self._before.matched_timed
        return open_timed_queues(self._document, now_local)

    def _touched_queues(self) -> dict[str, bool]:
        touched: dict[str, bool] = {}
        walked: dict[bool, set[str]] = {False: set(), True: set()}
        for change in self._changes:
            if change.kind == "queue":
                moved = _place_differs(change.old, change.new)
                if moved or _below_differs(change.old, change.new):
                    for queue_id in subtree_ids(self._document, change.id, walked[moved]):
                        touched[queue_id] = touched.get(queue_id, False) or moved
                else:
                    touched.setdefault(change.id, False)
                for item in (change.old, change.new):
                    if isinstance(item, Queue):
                        self._touch_heirs(touched, item)
            elif change.kind == "queue-type":
                for queue_id in users_of_type(self._document, change.id):
                    touched.setdefault(queue_id, False)
        for switched in self._before.matched_timed ^ self._edits.matched_timed:
            for queue_id in subtree_ids(self._document, switched, walked[False]):
                touched.setdefault(queue_id, False)
            queue = self._document.queue(switched)
            if queue is not None:
                self._touch_heirs(touched, queue)
        return touched

    def _touch_heirs(self, touched: dict[str, bool], queue: Queue) -> None:
        """Those above that take what it leaves when it, or one between, is not in force."""
        may_leave = not is_always_in_force(queue)
        for above in ancestors(self._document, queue):
            if may_leave:
                touched.setdefault(above.id, False)
            may_leave = may_leave or not is_always_in_force(above)

    def _change_classes(self, plan: Plan) -> None:
        for depth, queue_id in sorted((depth, queue_id) for queue_id, depth in self._depths.items()):
            classes = {} if depth < 0 else {spec.id: spec for spec in self._classes(queue_id, depth)}
            for class_id in (total_id(queue_id), queue_id):
                self._change_class(plan, class_id, classes.get(class_id))
        plan.shaping.classes.removed.sort(key=lambda spec: (-spec.depth, spec.is_total))

    def _change_class(self, plan: Plan, class_id: str, new: ClassSpec | None) -> None:
        old = self._before.by_id.get(class_id)
        if old == new:
            return
        self._edits.classes[class_id] = new
        if new is not None:
            plan.shaping.classes.set.append((old, new))
        elif old is not None:
            plan.shaping.classes.removed.append(old)
            self._edits.slots.release(old.slot)

    def _depth_if_enabled(self, queue_id: str) -> int:
        """The number of ancestors; -1 when the queue gets no class: it is gone, it or an ancestor is
        disabled, or its path to the top is broken or too long."""
        queue = self._document.queue(queue_id)
        if queue is None:
            return -1
        path = [queue, *ancestors(self._document, queue)]
        reaches_top = path[-1].parent is None and len(path) <= MAX_QUEUE_LEVELS
        return -1 if not reaches_top or any(item.disabled for item in path) else len(path) - 1

    def _classes(self, queue_id: str, depth: int) -> list[ClassSpec]:
        queue = self._document.queue(queue_id)
        assert queue is not None
        parent_slot = NO_SLOT if queue.parent is None else self._slot_after(queue.parent)
        total_slot = self._total_above(queue) if has_total(queue) else NO_SLOT
        return classes_of(queue, self._document, Place(parent_slot, total_slot, depth), self._slot_for)

    def _slot_for(self, class_id: str) -> int:
        known = self._before.by_id.get(class_id)
        return self._edits.slots.take(class_id) if known is None else known.slot

    def _slot_after(self, class_id: str) -> int:
        edited = self._edits.classes.get(class_id)
        return (edited or self._before.by_id[class_id]).slot

    def _total_above(self, queue: Queue) -> int:
        """The nearest ancestor's total; ancestors that change were done before."""
        for above in ancestors(self._document, queue):
            if has_total(above):
                return self._slot_after(total_id(above.id))
        return NO_SLOT

    def _change_prefixes(self, plan: Plan) -> None:
        prefixes: dict[int, set[str]] = {}
        interfaces: dict[str, set[str]] = {}
        for queue_id, moved in self.touched.items():
            queue = self._document.queue(queue_id) if self._depths[queue_id] >= 0 else None
            after = NO_CLAIM if queue is None else self._matcher.claim(queue)
            moved = self._note_dst(queue_id, after.dst) or moved
            before = self._before.claimed.get(queue_id, ())
            if after.prefixes != before:
                self._edits.claimed[queue_id] = after.prefixes
            _note_claims(prefixes, queue_id, before, after.prefixes, moved)
            before_interfaces = self._before.claimed_interfaces.get(queue_id, ())
            if after.interfaces != before_interfaces:
                self._edits.claimed_interfaces[queue_id] = after.interfaces
            _note_claims(interfaces, queue_id, before_interfaces, after.interfaces, moved)
        if self._edits.dst:
            dst = {**self._before.dst, **self._edits.dst}
            self._ranking = Ranking(self._rank, {queue_id: end for queue_id, end in dst.items() if end})
        for packed, queue_ids in prefixes.items():
            self._edits.claims[packed] = self._claimants(
                packed, self._before.claims.get(packed), queue_ids, self._edits.claimed, self._before.claimed
            )
        for ifname, queue_ids in interfaces.items():
            self._edits.interface_claims[ifname] = self._claimants(
                ifname,
                self._before.interface_claims.get(ifname, ()),
                queue_ids,
                self._edits.claimed_interfaces,
                self._before.claimed_interfaces,
            )
        self._settle_prefixes(plan, sorted(prefixes))

    def _note_dst(self, queue_id: str, after: str | None) -> bool:
        """True when the queue asks for another far end than before."""
        differs = after != self._before.dst.get(queue_id)
        if differs:
            self._edits.dst[queue_id] = after or ""
        return differs

    def _claimants(
        self,
        wanted: object,
        before: Iterable[str],
        queue_ids: Iterable[str],
        edited: Mapping[str, tuple[int, ...]] | Mapping[str, tuple[str, ...]],
        unedited: Mapping[str, tuple[int, ...]] | Mapping[str, tuple[str, ...]],
    ) -> tuple[str, ...]:
        """Who claims a prefix or an interface now, the best rank first."""
        ids = set(before)
        for queue_id in queue_ids:
            claims: Sequence[object] = edited.get(queue_id, unedited.get(queue_id, ()))
            (ids.add if wanted in claims else ids.discard)(queue_id)
        return tuple(ids) if len(ids) < 2 else tuple(sorted(ids, key=self._rank))

    def _claimants_after(self, packed: int) -> Sequence[str]:
        edited = self._edits.claims.get(packed)
        return tuple(self._before.claims.get(packed)) if edited is None else edited

    def _settle_prefixes(self, plan: Plan, touched: list[int]) -> None:
        """Decide again about every touched prefix and all that lies inside it."""
        settled_to = -1
        for packed in touched:
            if packed <= settled_to:
                continue
            settled_to = last_inside(packed)
            inside = self._before.claims.inside(packed)
            first, last = bisect_left(touched, packed), bisect_right(touched, settled_to)
            for other in touched[first:last]:
                if other not in self._before.claims:
                    insort(inside, other)
            self._settle_range(plan, packed, inside)

    def _settle_range(self, plan: Plan, outermost: int, inside: list[int]) -> None:
        # None of what covers it is touched, or this prefix would have been settled inside that one.
        outer = NOBODY
        for covering in self._before.claims.covering(outermost):
            outer = self._ranking.merged(self._claimants_after(covering), outer)
        present = [packed for packed in inside if self._claimants_after(packed)]
        found = dict(answers(present, self._claimants_after, self._ranking, outer))
        for packed in inside:
            answer = found.get(packed)
            before = self._before.slot_of(packed)
            self._note_fork(self._edits.forks, self._before.forks, packed, answer)
            after = NO_SLOT if answer is None else self._slot_after(self._class_of(answer))
            if before != after:
                plan.shaping.prefixes.changes.append((packed, before, after))
            shadowed = packed in found and answer is None
            if shadowed != (packed in self._before.shadowed):
                self._edits.shadowed[packed] = shadowed

    def _note_fork(self, edits: dict[K, str], before: Mapping[K, str], key: K, answer: Answer | None) -> None:
        """Remember which fork a prefix or a port leads to now, if that differs."""
        is_fork = answer is not None and self._ranking.is_fork(answer)
        fork = self._class_of(answer) if is_fork and answer is not None else ""
        if fork != before.get(key, ""):
            edits[key] = fork

    def _class_of(self, answer: Answer) -> str:
        """The id of the class that an answer leads to; a fork is made when it is needed first."""
        if not self._ranking.is_fork(answer):
            return answer[0]
        known = self._forks.get(answer)
        if known is None:
            spec = fork_of(answer, self._ranking.dst, self._slot_after, self._slot_for_fork)
            known = self._forks[answer] = spec.id
            if spec.id not in self._before.by_id:
                self._edits.classes[spec.id] = spec
        return known

    def _slot_for_fork(self, class_id: str) -> int:
        made = self._edits.classes.get(class_id)
        return self._slot_for(class_id) if made is None else made.slot

    def _change_forks(self, plan: Plan) -> None:
        """Classes of forks that came, and of those that nothing leads to any more."""
        if not (self._edits.forks or self._edits.port_forks):
            return
        uses = self._before.fork_uses()
        _move_uses(uses, self._before.forks, self._edits.forks)
        _move_uses(uses, self._before.port_forks, self._edits.port_forks)
        del uses[""]
        for fork in uses:
            spec = self._before.by_id.get(fork)
            if uses[fork] > 0 and spec is None:
                made = self._edits.classes[fork]
                assert made is not None
                plan.shaping.classes.set.append((None, made))
            elif uses[fork] <= 0 and spec is not None:
                self._edits.classes[fork] = None
                plan.shaping.classes.removed.insert(0, spec)
                self._edits.slots.release(spec.slot)

    def _change_ports(self, plan: Plan) -> None:
        if not self._edits.interface_claims and all(change.kind != "interface" for change in self._changes):
            moved_slots = self._edits.classes.keys() & self._before.claimed_interfaces.keys()
            if not moved_slots:
                return
        claims = {**self._before.interface_claims, **self._edits.interface_claims}
        winners = {}
        for ifname, ids in claims.items():
            answer = self._ranking.merged(ids, NOBODY) if ids else None
            self._note_fork(self._edits.port_forks, self._before.port_forks, ifname, answer)
            if answer is not None:
                winners[ifname] = self._slot_after(self._class_of(answer))
        ports = ports_of(self._document, winners)
        plan.shaping.ports = delta_of(self._before.ports, ports)
        self._edits.ports = ports

    def _change_parts(self, plan: Plan) -> None:
        wanted = {}
        for part in self._compiled.parts:
            before = self._compiled.of(part)
            own = [change for kind in self._by_kind if kind in part.made_of for change in self._by_kind[kind]]
            wanted[part], delta = part.moved(before, self._document, own) if own else (before, None)
            if delta:
                plan.parts[part] = delta
        self._edits.wanted = wanted


def _rank(document: Document, queue_id: str) -> RankKey:
    queue = document.queue(queue_id)
    assert queue is not None
    return rank_key(document, queue)


def _move_uses(uses: Counter[str], before: Mapping[K, str], edits: Mapping[K, str]) -> None:
    for key, fork in edits.items():
        uses[before.get(key, "")] -= 1
        uses[fork] += 1


def _note_claims(
    noted: dict[str, set[str]] | dict[int, set[str]],
    queue_id: str,
    before: Sequence[object],
    after: Sequence[object],
    moved: bool,
) -> None:
    """Remember for which prefixes (or interfaces) a queue's claim may have changed."""
    if moved:
        concerned = {*before, *after}
    elif before == after:
        return
    else:
        concerned = set(before) ^ set(after)
    for claim in concerned:
        noted.setdefault(claim, set()).add(queue_id)  # type: ignore[arg-type]


def _queue(item: object) -> Queue | None:
    return item if isinstance(item, Queue) else None


def _place_differs(old: object, new: object) -> bool:
    before, after = _queue(old), _queue(new)
    if before is None or after is None:
        return True
    return before.parent != after.parent or before.position != after.position


def _below_differs(old: object, new: object) -> bool:
    """Whether queues below may match something else or hang under another total."""
    before, after = _queue(old), _queue(new)
    if before is None or after is None:
        return True
    return (
        has_total(before) != has_total(after)
        or before.target != after.target
        or before.dst != after.dst
        or before.disabled != after.disabled
        or before.time != after.time
    )


def _same_minute(one: datetime, other: datetime) -> bool:
    return one.replace(second=0, microsecond=0) == other.replace(second=0, microsecond=0)


def _is_timed(change: Change) -> bool:
    before, after = _queue(change.old), _queue(change.new)
    return (before is not None and before.time is not None) or (after is not None and after.time is not None)
