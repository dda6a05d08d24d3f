# SPDX-License-Identifier: Apache-2.0
"""A plan that was made ahead fits what runs by now, whatever single changes ran in between."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from unittest.mock import patch

import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from tests.compiler.test_matching_properties import MONDAY_MORNING, TIMES, state
from tests.model.strategies import patient, valid_changes_to, valid_trees
from weir.compiler import (
    Compiled,
    Missed,
    Plan,
    PlanAhead,
    SlotAllocation,
    Unfit,
    compile_document,
    incremental,
    update,
)
from weir.model.document import Change, Document
from weir.model.objects import Pair, Queue, TimeWindow

NOON = datetime(2026, 1, 5, 12, 0)


def customer(number: int, bps: int = 10_000_000) -> Queue:
    return Queue(f"c{number}", f"c{number}", (f"10.0.0.{number}/32",), max_limit_bps=Pair(bps, bps))


def moved(running: Compiled, document: Document, changes: list[Change], now: datetime = NOON) -> Missed:
    """What runs goes on over changes."""
    document.apply(changes)
    plan = update(running, document, changes, now)
    running.accept(plan)
    return Missed(changes, plan)


def ahead_of(running: Compiled, document: Document, changes: list[Change]) -> PlanAhead:
    after = document.copy()
    after.apply(changes)
    return PlanAhead(running.copy(), after, changes, NOON)


def rates(document: Document, bps: int, numbers: range) -> list[Change]:
    return [
        Change("queue", f"c{number}", document.queue(f"c{number}"), customer(number, bps))
        for number in numbers
    ]


@pytest.fixture
def document() -> Document:
    return Document(customer(number) for number in range(1, 101))


@pytest.fixture
def running(document: Document) -> Compiled:
    return compile_document(document, SlotAllocation(), NOON)


def is_tree(document: Document) -> bool:
    return all(queue.parent is None or document.queue(queue.parent) for queue in document.queues())


def execute(plan: Plan, kernel: tuple[dict[int, object], dict[object, int]]) -> None:
    classes, prefixes = kernel
    for old, new in plan.shaping.classes.set:
        assert classes.get(new.slot) == old, "the plan begins with what runs"
        assert not new.parent_slot or new.parent_slot in classes, "a parent is there before its child"
        classes[new.slot] = new
    for *key, slot in plan.shaping.prefixes.to_set():
        prefixes[tuple(key)] = slot
    for key in plan.shaping.prefixes.to_remove():
        del prefixes[key]
    for spec in plan.shaping.classes.removed:
        assert classes.pop(spec.slot) == spec


def kernel_of(compiled: Compiled) -> tuple[dict[int, object], dict[object, int]]:
    return dict(compiled.shaping.classes), {tuple(k): v for k, v in compiled.shaping.prefixes.items()}


@patient
@given(valid_trees(), st.data(), st.integers(0, 2), TIMES)
def test_it_leads_where_a_plan_made_now_leads(
    tree: list[Queue], data: st.DataObject, count: int, now: datetime
) -> None:
    document = Document(tree)
    running = compile_document(document, SlotAllocation(), MONDAY_MORNING)
    mine = data.draw(valid_changes_to(document))
    after = document.copy()
    after.apply(mine)
    with patch.object(incremental, "_FEW", data.draw(st.sampled_from((0, 256)))):  # compiled whole, or not
        ahead = PlanAhead(running.copy(), after, mine, MONDAY_MORNING)
    keys = {(change.kind, change.id) for change in mine}
    missed = []
    for _ in range(count):
        theirs = [one for one in data.draw(valid_changes_to(document)) if (one.kind, one.id) not in keys]
        trial = document.copy()
        trial.apply(theirs)
        after.apply(theirs)
        if not (is_tree(trial) and is_tree(after)):
            return  # it is refused
        missed.append(moved(running, document, theirs, data.draw(TIMES)))
    try:
        ahead.follow(running, missed, now)
    except Unfit:
        event("unfit")
        return
    event(f"fit after {count}")
    kernel = kernel_of(running)
    execute(ahead.plan, kernel)
    running.accept(ahead.plan)
    assert kernel == kernel_of(running)
    assert state(running) == state(compile_document(after, SlotAllocation(), now))
    used = [spec.slot for spec in running.tables.by_id.values()]
    draft = running.allocation.draft()
    assert sorted([*used, *draft._freed]) == list(range(1, draft.next_unused)), "each slot has one owner"


def test_another_rate_elsewhere_leaves_a_plan_as_it_is(document: Document, running: Compiled) -> None:
    ahead = ahead_of(running, document, rates(document, 1_000_000, range(1, 51)))
    theirs = rates(document, 2_000_000, range(80, 81))
    planned = ahead.plan.shaping
    missed = moved(running, document, theirs)
    ahead.document.apply(theirs)
    assert not ahead.follow(running, [missed], NOON)
    assert ahead.plan.shaping == planned
    running.accept(ahead.plan)
    assert state(running) == state(compile_document(ahead.document, SlotAllocation(), NOON))


def test_a_new_queue_in_between_keeps_the_slot_that_it_got(document: Document, running: Compiled) -> None:
    ahead = ahead_of(running, document, rates(document, 1_000_000, range(1, 51)))
    theirs = [Change("queue", "c200", None, customer(200))]
    missed = moved(running, document, theirs)
    ahead.document.apply(theirs)
    ahead.follow(running, [missed], NOON)
    slot = running.slots()["c200"]
    running.accept(ahead.plan)
    assert running.slots()["c200"] == slot
    assert running.allocation.draft().next_unused == slot + 1, "nobody else gets it"


def test_a_plan_with_new_queues_is_unfit_after_others_took_slots(
    document: Document, running: Compiled
) -> None:
    ahead = ahead_of(running, document, [Change("queue", "c150", None, customer(150))])
    theirs = [Change("queue", "c200", None, customer(200))]
    missed = moved(running, document, theirs)
    ahead.document.apply(theirs)
    with pytest.raises(Unfit):
        ahead.follow(running, [missed], NOON)


def test_a_plan_is_unfit_where_time_made_another_fork_of_what_runs() -> None:
    at_noon = TimeWindow(720, 1440, ("mon",))
    every, far = Queue("q0", "q0", ("0.0.0.0/0",), position=1, time=at_noon), "198.51.100.0/24"
    document = Document([every, Queue("q1", "q1", ("0.0.0.0/0",), dst=far, time=at_noon)])
    running = compile_document(document, SlotAllocation(), MONDAY_MORNING)
    gone = [Change("queue", "q0", every, replace(every, target=()))]
    after = document.copy()
    after.apply(gone)
    ahead = PlanAhead(running.copy(), after, gone, MONDAY_MORNING)
    assert not ahead.plan.shaping, "it takes no slot yet"
    missed = moved(running, document, [], NOON)
    with pytest.raises(Unfit, match="fork"):
        ahead.follow(running, [missed], NOON)


def test_what_was_copied_does_not_move_with_what_runs(document: Document, running: Compiled) -> None:
    copy = running.copy()
    before = state(copy)
    moved(running, document, [*rates(document, 5, range(1, 20)), Change("queue", "c99", customer(99), None)])
    assert state(copy) == before
    assert state(running) != before
