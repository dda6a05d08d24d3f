# SPDX-License-Identifier: Apache-2.0
"""Readers of slots beside who changes them."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime

from weir.agent.slots import KEPT_QUEUES, SlotLog
from weir.compiler import SlotAllocation, compile_document, update
from weir.model.document import Change, Document
from weir.model.objects import Pair, Queue

NOON = datetime(2026, 1, 5, 12, 0)


def customer(number: int, bps: int = 1_000_000) -> Queue:
    return Queue(f"c{number}", f"c{number}", (f"10.0.0.{number}/32",), max_limit_bps=Pair(bps, bps))


def test_who_needs_all_slots_waits_until_a_plan_is_taken_over_and_who_needs_news_does_not() -> None:
    """While it is, what it changes is missing from the tables; news do not say that it came back."""
    document = Document(customer(number) for number in range(1, 6))
    compiled = compile_document(document, SlotAllocation(), NOON)
    lock = threading.RLock()
    log = SlotLog(lambda: compiled.slots(), lock)
    known = log.since(0)
    assert known["full"] and set(known["slots"]) == {"c1", "c2", "c3", "c4", "c5"}
    faster, gone = (
        Change("queue", "c1", customer(1), customer(1, 5)),
        Change("queue", "c2", customer(2), None),
    )
    with ThreadPoolExecutor(1) as reader, lock:
        changed = compiled.tables.by_id.pop("c1")  # as `Edits` does before it puts in another
        waiting = reader.submit(log.since, 0)
        news = ThreadPoolExecutor(1).submit(log.since, known["generation"]).result(10)
        assert (news["full"], news["slots"]) == (False, {})
        assert not waiting.done()
        compiled.tables.by_id["c1"] = changed
        document.apply([faster, gone])
        plan = update(compiled, document, [faster, gone], NOON)
        compiled.accept(plan)
        log.note(plan)
    found = waiting.result(10)
    assert found["slots"] == {name: slot for name, slot in known["slots"].items() if name != "c2"}
    assert found["generation"] > known["generation"]


def test_a_change_of_very_many_is_not_kept_and_its_readers_get_all_slots() -> None:
    """The change of an import of 100,000 queues took 7 MB of the agent for as long as it ran."""
    document = Document(customer(number) for number in range(1, 4))
    compiled = compile_document(document, SlotAllocation(), NOON)
    log = SlotLog(lambda: compiled.slots(), threading.RLock())
    many = [
        Change("queue", f"q{number}", None, Queue(f"q{number}", f"q{number}", ()))
        for number in range(KEPT_QUEUES + 1)
    ]
    one = Change("queue", "c1", customer(1), None)
    answers = []
    for changes in (many, [one]):
        known = log.since(0)["generation"]
        document.apply(changes)
        plan = update(compiled, document, changes, NOON)
        compiled.accept(plan)
        log.note(plan)
        answers.append(log.since(known))
    assert answers[0]["full"] and answers[0]["slots"].keys() >= {change.id for change in many}
    assert (answers[1]["full"], answers[1]["slots"], answers[1]["removed"]) == (False, {}, ["c1"])
