# SPDX-License-Identifier: Apache-2.0
"""Thousands of changes of a kind that no queue has to do with cost queues nothing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from typing import Any

import pytest

from weir.compiler import SlotAllocation, compile_document, update
from weir.kinds.firewall_rule import FirewallRule
from weir.kinds.sets import Set, SetEntry
from weir.model.document import Change, Document
from weir.model.interface import Interface
from weir.model.objects import Queue
from weir.model.packed import PackedList, QueueTable
from weir.model.packed_changes import PackedChanges
from weir.model.rules import FlaggedObjects, all_rules, rewrites_queues, validate, validate_and_flag
from weir.parts.firewall import FIREWALL
from weir.parts.sets import SETS

NOON = datetime(2026, 1, 5, 12, 0)
QUEUES = [Queue(f"q{n}", f"customer {n}", target=(f"10.0.{n}.0/24",)) for n in range(100)]
ENTRIES = [SetEntry(f"e{n}", "blocked", f"11.{n >> 8}.{n & 255}.0/24") for n in range(5000)]


@pytest.fixture
def document() -> Document:
    return Document.packed([Interface("lan0", role="lan"), Set("blocked"), *QUEUES])


@pytest.fixture
def unpacked(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[object]]:
    """What was made of packed rows."""
    found: list[object] = []
    read, values = QueueTable._read, PackedList.values

    def noted_read(table: QueueTable, queue_id: str, row: bytes) -> Queue:
        found.append(queue_id)
        return read(table, queue_id, row)

    def noted_values(packed: PackedList[Any], index: int) -> Any:
        found.append(index)
        return values(packed, index)

    monkeypatch.setattr(QueueTable, "_read", noted_read)
    monkeypatch.setattr(PackedList, "values", noted_values)
    return found


def test_they_are_read_validated_and_compiled_without_a_look_at_a_queue(
    document: Document, unpacked: list[object]
) -> None:
    compiled = compile_document(document, SlotAllocation(1000), NOON)
    flagged = FlaggedObjects(document)
    unpacked.clear()
    changes = PackedChanges(Change("set-entry", item.id, None, item) for item in ENTRIES).against(document)
    assert [change.new for change in changes] == ENTRIES
    after = document.copy()
    assert not rewrites_queues(after, changes)
    after.apply(changes)
    assert validate(after, changes) == validate(after, changes, errors_only=True) == []
    flagged.move_to(after)
    flagged.update(changes)
    plan = update(compiled, after, changes, NOON)
    assert plan.counts().added == len(ENTRIES) and not plan.shaping
    assert unpacked == []
    compiled.accept(plan)
    assert compiled.of(SETS) == SETS.wanted(after)


def test_what_validation_found_is_not_looked_for_again(
    document: Document, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, known = FlaggedObjects(document), FlaggedObjects(document)
    wrong = SetEntry("e1", "nowhere", "11.0.1.0/24")
    changes = [
        Change("interface", "lan0", document.get("interface", "lan0"), None),
        *(Change("set-entry", item.id, None, item) for item in (*ENTRIES[2:], wrong)),
    ]
    document.apply(changes)
    findings, flags = validate_and_flag(document, changes)
    assert findings == validate(document, changes) and flags is not None
    asked.update(changes)
    monkeypatch.setattr(FlaggedObjects, "_look", None)
    known.update(changes, flags)
    assert known.ids("set-entry") == asked.ids("set-entry") == {"e1"}
    for kind in {rule.kind for rule in all_rules()}:
        assert known.ids(kind) == asked.ids(kind)


def test_entries_of_a_disabled_set_are_forgotten_with_it() -> None:
    """No rule changes by that; one that looks at the set later looks at nothing that is not there."""
    off, entry = Set("off", disabled=True), SetEntry("e1", "off", "192.0.2.1/32")
    before, after = Document([off, entry]), Document([off])
    compiled = compile_document(before, SlotAllocation(10), NOON)
    compiled.accept(update(compiled, after, [Change("set-entry", "e1", entry, None)], NOON))
    assert not compiled.of(FIREWALL).lengths
    rule = FirewallRule("f1", chain="forward", action="drop", source_set="off")
    on = replace(off, disabled=False)
    changes = [Change("set", "off", off, on), Change("firewall-rule", "f1", None, rule)]
    compiled.accept(update(compiled, Document([on, rule]), changes, NOON))
    assert not any(each.lookups for each in compiled.of(FIREWALL))


def test_what_is_wrong_with_one_of_them_is_found(document: Document) -> None:
    wrong = SetEntry("e1", "nowhere", "11.0.1.0/24")
    changes = [Change("set-entry", item.id, None, item) for item in (*ENTRIES[2:], wrong)]
    document.apply(changes)
    assert [(finding.id, finding.code) for finding in validate(document, changes)] == [("e1", "unknown-set")]
