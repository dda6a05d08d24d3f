# SPDX-License-Identifier: Apache-2.0
"""One change among 100,000 queues touches its own entries and nobody else's, whatever the change is."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime

import pytest

from weir.compiler import Compiled, SlotAllocation, compile_document, update
from weir.model.document import Change, Document
from weir.model.objects import Pair, Queue, Total
from weir.parts.delta import Counts

NOW = datetime(2026, 1, 5, 9, 0)
QUEUES, PARENTS = 100_000, 100
RATE = Pair(10_000_000, 50_000_000)


def customers() -> Iterator[Queue]:
    for number in range(PARENTS):
        yield Queue(f"tower{number}", f"tower{number}", max_limit_bps=RATE)
    for number in range(QUEUES):
        address = f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}/32"
        parent = f"tower{number % PARENTS}"
        yield Queue(f"c{number}", f"c{number}", (address,), parent=parent, max_limit_bps=RATE)


@pytest.fixture(scope="module")
def running() -> tuple[Document, Compiled]:
    document = Document(customers())
    return document, compile_document(document, SlotAllocation(), NOW)


CUSTOMER = Queue("c500", "c500", ("10.0.1.244/32",), parent="tower0", max_limit_bps=RATE)


@pytest.mark.parametrize(
    ("new", "counts"),
    [
        pytest.param(replace(CUSTOMER, max_limit_bps=Pair(1, 1)), (0, 1, 0), id="another rate"),
        pytest.param(replace(CUSTOMER, parent="tower7"), (0, 1, 0), id="another parent"),
        pytest.param(replace(CUSTOMER, parent=None, position=5), (0, 1, 0), id="to the top"),
        pytest.param(replace(CUSTOMER, target=("10.9.9.9/32",)), (1, 0, 1), id="another address"),
        pytest.param(replace(CUSTOMER, total=Total(max_limit_bps=9)), (1, 1, 0), id="a total"),
        pytest.param(replace(CUSTOMER, dst="198.51.100.0/24"), (1, 1, 0), id="a dst"),
        pytest.param(replace(CUSTOMER, disabled=True), (0, 1, 1), id="off: its tower takes its packets"),
        pytest.param(None, (0, 0, 2), id="gone"),
        pytest.param(replace(CUSTOMER, comment="moved house"), (0, 0, 0), id="a comment"),
    ],
)
def test_a_change_of_one_touches_only_its_own_entries(
    running: tuple[Document, Compiled], new: Queue | None, counts: tuple[int, int, int]
) -> None:
    document, compiled = running
    before = compiled.slots()
    assert document.queue("c500") == CUSTOMER
    for old, now, expected in ((CUSTOMER, new, Counts(*counts)), (new, CUSTOMER, None)):
        changes = [Change("queue", "c500", old, now)]
        document.apply(changes)
        plan = update(compiled, document, changes)
        if expected is not None:
            assert plan.counts() == expected
            named = " ".join(step.text for step in plan.steps())
            assert not plan or "c500" in named or "10.0.1.244" in named
        compiled.accept(plan)
    after = compiled.slots()
    assert all(after[queue_id] == slot for queue_id, slot in before.items() if queue_id != "c500")
    if new is not None and not new.disabled:
        assert after["c500"] == before["c500"], "it keeps its slot, and with it clock and counters"


def test_a_change_leaves_nothing_that_must_be_searched_for(running: tuple[Document, Compiled]) -> None:
    """A cycle for each change stays until there are 50,000 such objects, and scatters what lives."""
    document, compiled = running
    changes = [Change("queue", "c500", CUSTOMER, replace(CUSTOMER, max_limit_bps=Pair(1, 1)))]
    document.apply(changes)
    gc.collect()
    gc.disable()
    try:
        update(compiled, document, changes)
        assert gc.collect() == 0
    finally:
        gc.enable()
        document.apply([change.inverse for change in changes])
