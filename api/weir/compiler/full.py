# SPDX-License-Identifier: Apache-2.0
"""Compile a whole document, and compare two compiled states."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime

from weir.compiler.allocation import SlotAllocation
from weir.compiler.classes import TOP, Place, classes_of, place_below
from weir.compiler.compiled import Compiled, Earlier, Replacement, Tables, Wanted
from weir.compiler.forks import NOBODY, Answer, Ranking, answers, fork_of
from weir.compiler.matching import EVERYTHING, NO_CLAIM, Scope, claim_of, is_matched, with_what_is_left
from weir.compiler.plan import Plan, PrefixDelta, ShapingDelta
from weir.compiler.ports import ports_of
from weir.compiler.types import NO_SLOT
from weir.model.claims import Claimants, pack_text
from weir.model.document import Document
from weir.model.limits import MAX_QUEUE_LEVELS
from weir.model.objects import Queue
from weir.model.prefix import looks_like_prefix
from weir.model.schedule import is_open
from weir.model.tree import children_in_order
from weir.parts.delta import delta_of
from weir.parts.part import Parts
from weir.parts.registry import PARTS


def compile_document(
    document: Document, allocation: SlotAllocation, now_local: datetime, parts: Parts = PARTS
) -> Compiled:
    """What the kernel is to hold for a document at a local time. Nothing that is passed in changes.

    In an invalid document, queues whose path to the top is broken or too long get no class. Raises
    `Unsupported` when there are more queues than slots.
    """
    own = allocation.copy()
    slots = own.draft()
    tables = _compile_tables(document, slots.take, now_local)
    own.accept(slots)
    return Compiled(tables, _wanted(document, parts), own, now_local, parts)


def nothing_compiled(allocation: SlotAllocation, now_local: datetime, parts: Parts = PARTS) -> Compiled:
    """The state of a kernel that holds nothing of ours: the base of a first plan."""
    nothing = {part: part.nothing for part in parts}
    return Compiled(Tables(), nothing, allocation.copy(), now_local, parts)


def _wanted(document: Document, parts: Parts) -> Wanted:
    return {part: part.wanted(document) for part in parts}


def recompiled(compiled: Compiled, document: Document, now_local: datetime) -> Plan:
    """As an incremental plan, by compiling everything: faster when much of the document changed."""
    slots = compiled.allocation.draft()
    before = compiled.tables.by_id
    for spec in before.values():
        if not spec.far and document.queue(spec.queue_id) is None:
            slots.release(spec.slot)

    def slot_for(class_id: str) -> int:
        known = before.get(class_id)
        return slots.take(class_id) if known is None else known.slot

    tables = _compile_tables(document, slot_for, now_local)
    for class_id, spec in before.items():
        if class_id not in tables.by_id and (spec.far or document.queue(spec.queue_id) is not None):
            slots.release(spec.slot)
    wanted = _wanted(document, compiled.parts)
    plan = _difference(compiled, tables, wanted)
    plan.outcome = Replacement(compiled.generation, tables, wanted, slots, now_local)
    return plan


def way_back(plan: Plan, earlier: Earlier, compiled: Compiled) -> Plan | None:
    """From `compiled`, to which a plan of `recompiled` led, back to `earlier`, without compiling anything.

    None when the plan did not compile everything, is not the last one, or gave a freed slot away at once.
    """
    outcome = plan.outcome
    if not isinstance(outcome, Replacement) or outcome.base_generation != compiled.generation - 1:
        return None
    back = plan.inverse()
    classes = back.shaping.classes
    again = {new.slot for old, new in classes.set if old is None}
    if len(earlier.tables.by_id) - len(again) + len(classes.removed) != len(compiled.tables.by_id):
        return None
    classes.set.sort(key=lambda pair: (pair[1].depth, not pair[1].is_total))
    slots = compiled.allocation.draft()
    for spec in classes.removed:
        slots.release(spec.slot)
    slots.reclaimed = again
    back.outcome = Replacement(compiled.generation, earlier.tables, earlier.wanted, slots, earlier.now_local)
    return back


def difference(before: Compiled, after: Compiled) -> Plan:
    """What turns a kernel that holds `before` into one that holds `after`; it cannot be accepted."""
    return _difference(before, after.tables, after.wanted)


def _difference(before: Compiled, tables: Tables, wanted: Wanted) -> Plan:
    classes = delta_of(before.tables.by_id, tables.by_id)
    classes.removed = [spec for spec in reversed(classes.removed) if spec.slot not in tables.by_slot]
    ports = delta_of(before.tables.ports, tables.ports)
    shaping = ShapingDelta(classes, _prefix_difference(before.tables, tables), ports)
    deltas = ((part, part.delta(before.of(part), wanted[part])) for part in before.parts)
    return Plan(shaping, {part: delta for part, delta in deltas if delta}, before.parts)


def _prefix_difference(before: Tables, after: Tables) -> PrefixDelta:
    delta = PrefixDelta()
    for packed in after.claims:
        old, new = before.slot_of(packed), after.slot_of(packed)
        if old != new:
            delta.changes.append((packed, old, new))
    for packed in before.claims:
        if packed not in after.claims:
            old = before.slot_of(packed)
            if old != NO_SLOT:
                delta.changes.append((packed, old, NO_SLOT))
    delta.changes.sort()
    return delta


def _compile_tables(document: Document, slot_for: Callable[[str], int], now_local: datetime) -> Tables:
    walk = _Walk(document, slot_for, now_local)
    walk.visit_all(children_in_order(document, None), EVERYTHING, TOP)
    tables = walk.tables
    tables.claimed.settle()
    tables.claims.replace_all(walk.claims)
    tables.claims.freeze()
    ranks = walk.ranks

    def claimants(packed: int) -> Sequence[str]:
        ids = walk.claims[packed]
        return (ids,) if isinstance(ids, str) else tuple(ids)

    ranking = Ranking(ranks.__getitem__, tables.dst)
    forks = Forks(tables, slot_for)
    for packed, answer in answers(tables.claims, claimants, ranking, NOBODY):
        if answer is None:
            tables.shadowed.add(packed)
        elif ranking.is_fork(answer):
            tables.forks[packed] = forks.id_of(answer)
    winners = {}
    for ifname, ids in tables.interface_claims.items():
        answer = ranking.merged(ids, NOBODY)
        if ranking.is_fork(answer):
            tables.port_forks[ifname] = forks.id_of(answer)
        winners[ifname] = tables.by_id[tables.port_forks.get(ifname, ids[0])].slot
    tables.ports = ports_of(document, winners)
    tables.matched_timed = open_timed_queues(document, now_local)
    return tables


class Forks:
    """Forks of one compilation, each made once."""

    def __init__(self, tables: Tables, slot_for: Callable[[str], int]) -> None:
        self._tables = tables
        self._slot_for = slot_for
        self._known: dict[Answer, str] = {}

    def id_of(self, answer: Answer) -> str:
        known = self._known.get(answer)
        if known is None:
            by_id = self._tables.by_id
            spec = fork_of(answer, self._tables.dst, lambda queue_id: by_id[queue_id].slot, self._slot_once)
            known = self._known[answer] = spec.id
            by_id[known] = self._tables.by_slot[spec.slot] = spec
        return known

    def _slot_once(self, class_id: str) -> int:
        made = self._tables.by_id.get(class_id)
        return self._slot_for(class_id) if made is None else made.slot


def open_timed_queues(document: Document, now_local: datetime) -> frozenset[str]:
    """The queues with a time window that is open now."""
    timed = (document.queue(queue_id) for queue_id in document.timed_queue_ids)
    return frozenset(queue.id for queue in timed if queue is not None and is_open(queue.time, now_local))


class _Walk:
    """One pass over the tree in matching order: children first, then their parent."""

    def __init__(self, document: Document, slot_for: Callable[[str], int], now_local: datetime) -> None:
        self._document = document
        self._slot_for = slot_for
        self._numbered: dict[str, int] = {}
        self._now_local = now_local
        self.tables = Tables()
        self.claims: dict[int, Claimants] = {}
        self.ranks: dict[str, int] = {}

    def visit_all(self, siblings: Sequence[Queue], within: Scope | None, above: Place) -> None:
        """Neighbours in address get neighbouring slots: smaller tables in the kernel (docs/adr/0097)."""
        if above.depth < MAX_QUEUE_LEVELS:
            for queue in sorted(siblings, key=self._turn):
                if not queue.disabled:
                    self._numbered[queue.id] = self._slot_for(queue.id)
        for queue in siblings:
            self.visit(queue, within, above)

    def _turn(self, queue: Queue) -> tuple[bool, int]:
        """Parents first, so that one parent's children follow those of the one before."""
        prefixes = (pack_text(text) for text in queue.target if looks_like_prefix(text))
        return queue.id not in self._document.children, next(prefixes, 0)

    def _slot_of(self, class_id: str) -> int:
        return self._numbered.pop(class_id, NO_SLOT) or self._slot_for(class_id)

    def visit(self, queue: Queue, within: Scope | None, above: Place) -> None:
        """`within` is None below a queue that takes no packets now: classes stay, prefixes go."""
        if queue.disabled or above.depth >= MAX_QUEUE_LEVELS:
            return
        specs = classes_of(queue, self._document, above, self._slot_of)
        for spec in specs:
            self.tables.by_id[spec.id] = self.tables.by_slot[spec.slot] = spec
        claim = NO_CLAIM
        if within is not None and is_matched(queue, self._now_local):
            claim = with_what_is_left(self._document, queue, claim_of(queue, within), self._now_local)
        if claim.dst is not None:
            self.tables.dst[queue.id] = claim.dst
        if queue.id in self._document.children:
            children = children_in_order(self._document, queue.id)
            self.visit_all(children, claim.below, place_below(specs, above))
        self.ranks[queue.id] = len(self.ranks)
        if claim.prefixes:
            self._claim(queue.id, claim.prefixes)
        if claim.interfaces:
            self.tables.claimed_interfaces[queue.id] = claim.interfaces
            for ifname in claim.interfaces:
                claimants = self.tables.interface_claims.get(ifname, ())
                self.tables.interface_claims[ifname] = (*claimants, queue.id)

    def _claim(self, queue_id: str, prefixes: tuple[int, ...]) -> None:
        self.tables.claimed.append(queue_id, prefixes)
        for packed in prefixes:
            known = self.claims.get(packed)
            if known is None:
                self.claims[packed] = queue_id
            elif isinstance(known, dict):
                known[queue_id] = None
            else:
                self.claims[packed] = {known: None, queue_id: None}
