# SPDX-License-Identifier: Apache-2.0
"""A plan for thousands of changes, made on a copy while what runs moves on, and kept fit for it.

Compiling everything takes seconds. What single changes did to the classes and prefixes in that time is known
from their plans: only there does the plan have to be looked at again, which costs as much as they did.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from weir.compiler.allocation import SlotDraft
from weir.compiler.compiled import Compiled, Edits, Replacement, Tables
from weir.compiler.incremental import update
from weir.compiler.plan import Plan, PrefixDelta, ShapingDelta
from weir.compiler.types import ClassSpec
from weir.model.document import Change, Document
from weir.parts.delta import Delta


class Unfit(Exception):
    """What ran in between cannot be taken into the plan; it has to be made again."""


@dataclass(frozen=True, slots=True)
class Missed:
    """What became of the state that a plan was made from: changes, and the plan that brought them."""

    changes: Sequence[Change]
    plan: Plan


class PlanAhead:
    """`plan` leads from what was copied, or from where it was last brought to, to `document`."""

    def __init__(
        self, copy: Compiled, document: Document, changes: Sequence[Change], now_local: datetime
    ) -> None:
        """`copy` is taken over, `document` has the changes already. Raises `Unsupported` as `update` does."""
        self.document = document
        self.plan = update(copy, document, changes, now_local)
        outcome = self.plan.outcome
        assert isinstance(outcome, Replacement | Edits)
        self._slots = outcome.slots
        self._reached = copy
        self._reached.accept(self.plan)
        self._generation = outcome.base_generation

    def follow(self, running: Compiled, missed: Sequence[Missed], now_local: datetime) -> bool:
        """Bring the plan to what runs now; the document has the missed changes already. True when more than
        the state it begins with differs from before. Raises `Unfit`."""
        drafts = [_require_small(one) for one in missed]
        changes = [change for one in missed for change in one.changes]
        again = update(self._reached, self.document, changes, now_local)
        here = _require_small(Missed((), again))
        if self._slots.is_used and (here.is_used or any(draft.is_used for draft in drafts)):
            raise Unfit("both gave slots to queues")
        touched = _Touched.by([*(one.plan for one in missed), again])
        self._reached.accept(again)
        self._require_same_slots(running, touched)
        shaping = touched.amended(self.plan.shaping, running.tables, self._reached.tables)
        differs = shaping != self.plan.shaping
        self._fit(running, shaping)
        return differs

    def _fit(self, running: Compiled, shaping: ShapingDelta) -> None:
        if not self._slots.is_used:
            self._slots = running.allocation.draft()
        reached = self._reached
        self._generation = running.generation
        outcome = Replacement(
            running.generation, reached.tables, reached.wanted, self._slots, reached.now_local
        )
        self.plan = replace(self.plan, shaping=shaping, outcome=outcome)

    def _require_same_slots(self, running: Compiled, touched: _Touched) -> None:
        """What the plan took or released is in its draft. What the missed changes did is in `running`: what
        they did here has to be the same, as nothing else accounts for it."""
        for class_id in touched.classes:
            ours, theirs = self._reached.tables.by_id.get(class_id), running.tables.by_id.get(class_id)
            if ours is None or theirs is None:
                is_same = self._slots.is_used or ours is theirs
            else:
                is_same = ours.slot == theirs.slot
            if not is_same:
                raise Unfit(f"class {class_id} has another slot by now, or none")


def _require_small(missed: Missed) -> SlotDraft:
    """The slots that an incremental plan took or released; it concerned queues only. Raises `Unfit`."""
    outcome = missed.plan.outcome
    if not isinstance(outcome, Edits):
        raise Unfit("much was changed meanwhile")
    if outcome.ports is not None or any(change.kind != "queue" for change in missed.changes):
        raise Unfit("more than queues was changed meanwhile")
    return outcome.slots


@dataclass(frozen=True, slots=True)
class _Touched:
    """Classes by id and packed prefixes that may be other ones than a plan says."""

    classes: set[str]
    prefixes: set[int]

    @classmethod
    def by(cls, plans: Sequence[Plan]) -> _Touched:
        touched = cls(set(), set())
        for plan in plans:
            outcome = plan.outcome
            assert isinstance(outcome, Edits)
            touched.classes.update(outcome.classes)
            touched.prefixes.update(outcome.claims, outcome.shadowed, outcome.forks)
            touched.prefixes.update(packed for packed, _, _ in plan.shaping.prefixes.changes)
        return touched

    def amended(self, planned: ShapingDelta, before: Tables, after: Tables) -> ShapingDelta:
        """The difference of two states, of which only what is touched is not as planned."""
        return ShapingDelta(
            self._classes(planned.classes, before, after),
            self._prefixes(planned.prefixes, before, after),
            planned.ports,
        )

    def _classes(self, planned: Delta[ClassSpec], before: Tables, after: Tables) -> Delta[ClassSpec]:
        kept = [pair for pair in planned.set if pair[1].id not in self.classes]
        gone = [spec for spec in planned.removed if spec.id not in self.classes]
        added = list(self._set(before, after))
        removed = [
            spec
            for class_id in self.classes
            if class_id not in after.by_id and (spec := before.by_id.get(class_id)) is not None
            if spec.slot not in after.by_slot
        ]
        if added:
            kept = sorted([*kept, *added], key=lambda pair: (pair[1].depth, not pair[1].is_total))
        if removed:
            gone = sorted([*gone, *removed], key=lambda spec: (-spec.depth, spec.is_total))
        return Delta(kept, gone)

    def _set(self, before: Tables, after: Tables) -> Iterator[tuple[ClassSpec | None, ClassSpec]]:
        for class_id in self.classes:
            old, new = before.by_id.get(class_id), after.by_id.get(class_id)
            if new is not None and old != new:
                yield old, new

    def _prefixes(self, planned: PrefixDelta, before: Tables, after: Tables) -> PrefixDelta:
        changes = [change for change in planned.changes if change[0] not in self.prefixes]
        for packed in self.prefixes:
            old, new = before.slot_of(packed), after.slot_of(packed)
            if old != new:
                changes.append((packed, old, new))
        return PrefixDelta(sorted(changes))
