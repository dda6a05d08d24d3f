# SPDX-License-Identifier: Apache-2.0
"""A packed document answers as one of objects does, whatever is changed in either."""

from __future__ import annotations

import gc
import random
import tracemalloc
import weakref
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.model.strategies import QUEUE_IDS, patient, queues
from weir.model.claims import PrefixClaims, pack
from weir.model.document import Change, Document
from weir.model.frozen import FrozenNames
from weir.model.objects import Pair, Queue, QueueType
from weir.model.packed import PackedList, QueueTable
from weir.model.packed_changes import PackedChanges, outlines_of, without_new_queues
from weir.model.prefix import WIDTH, Prefix
from weir.model.rules import validate_all

any_queue = queues(st.sampled_from(QUEUE_IDS), st.sampled_from((None, *QUEUE_IDS)))


def facts(document: Document, names: Iterable[str]) -> dict[str, Any]:
    """Everything that can be asked of a document."""
    ids = [None, *document.of_kind("queue"), "nobody"]
    targets = document.targets()
    return {
        "objects": {(item.kind, item.id): item for item in document},
        "children": {queue_id: set(document.children_of(queue_id)) for queue_id in ids},
        "parents": {queue_id for queue_id in ids if queue_id in document.children},
        "names": {name: set(document.queue_ids_by_name.of(name)) for name in names},
        "shared": {name for name in names if document.queue_ids_by_name.is_shared(name)},
        "guarantees": {i: document.guaranteed_below_bps(i) for i in ids if i is not None},
        "positions": {queue_id: document.next_position(queue_id) for queue_id in ids},
        "timed": document.timed_queue_ids,
        "prefixes": {packed: set(targets.get(packed)) for packed in targets},
        "covering": {packed: list(targets.covering(packed)) for packed in targets},
        "inside": {packed: targets.inside(packed) for packed in targets},
    }


@settings(patient, max_examples=50)
@given(st.lists(any_queue, max_size=8), st.lists(any_queue, max_size=6), st.booleans())
def test_a_packed_document_answers_as_one_of_objects(
    first: list[Queue], later: list[Queue], again: bool
) -> None:
    plain = Document({item.id: item for item in first}.values())
    packed = Document.packed(plain)
    assert set(validate_all(plain)) == set(validate_all(packed))
    names = {item.name for item in [*plain.queues(), *later]} | {"nobody"}
    assert facts(plain, names) == facts(packed, names)
    changes = [
        Change("queue", item.id, plain.get("queue", item.id), item)
        for item in {q.id: q for q in later}.values()
    ]
    gone = [item for item in plain.queues() if all(item.id != change.id for change in changes)][:2]
    changes += [Change("queue", item.id, item, None) for item in gone]
    before = facts(plain, names)
    for one in (plain, packed):
        one.apply(changes)
    assert facts(plain, names) == facts(packed, names)
    if again:
        packed.pack()
        assert facts(plain, names) == facts(packed, names)
    assert facts(packed.copy(), names) == facts(plain, names)
    for one in (plain, packed):
        one.revert(changes)
    after = facts(packed, names)
    assert facts(plain, names) == after
    assert after["objects"] == before["objects"]


def test_a_copy_does_not_change_with_its_original() -> None:
    document = Document.packed(Queue(id=f"q{n}", name=f"queue {n}", parent="top") for n in range(5))
    twin = document.copy()
    document.remove("queue", "q1")
    document.put(Queue(id="q9", name="queue 2", parent="top"))
    assert set(twin.children_of("top")) == {f"q{n}" for n in range(5)}
    assert twin.queue_ids_by_name.of("queue 1") == {"q1"}
    assert twin.queue_ids_by_name.of("queue 2") == {"q2"}
    assert document.queue_ids_by_name.of("queue 2") == {"q2", "q9"}


def test_a_document_that_nobody_holds_is_gone_before_any_collection() -> None:
    gc.disable()
    try:
        plain = Document([Queue(id="q1", name="one"), QueueType("t1", "fifo")])
        packed = Document.packed(plain, with_targets=True)
        documents = [plain, packed, plain.copy(), packed.copy(), packed.after([])]
        held = [weakref.ref(document) for document in documents]
        assert [document.queue_ids_by_name.of("one") for document in documents] == [{"q1"}] * len(held)
        del plain, packed, documents
        assert [ref() for ref in held] == [None] * len(held)
    finally:
        gc.enable()


def test_tariffs_that_nobody_has_any_more_are_forgotten() -> None:
    table = QueueTable(is_packed=True)
    for rate_bps in range(1, 3000):
        for queue_id in ("a", "b"):
            table[queue_id] = Queue(id=queue_id, name="x", max_limit_bps=Pair(rate_bps, 1))
    assert table.tariffs <= 1004
    assert table["a"].max_limit_bps == table["b"].max_limit_bps == Pair(2999, 1)


def test_names_with_one_hash_are_told_apart() -> None:
    document = Document.packed([Queue(id="q1", name="one"), Queue(id="q2", name="two")])
    document.queue_ids_by_name._frozen = FrozenNames([hash("one")] * 2, ["q1", "q2"])
    assert document.queue_ids_by_name.of("one") == {"q1"}


prefixes = st.builds(
    lambda family, bits, length: Prefix(
        family, bits >> (128 - WIDTH[family]) >> (WIDTH[family] - length) << (WIDTH[family] - length), length
    ),
    st.sampled_from((4, 6)),
    st.one_of(st.integers(0, (1 << 128) - 1), st.sampled_from((0, 1 << 127, 1 << 64, (1 << 128) - 1))),
    st.integers(0, 32),
) | st.builds(
    lambda high, low: Prefix(6, high << 64 | low, 128), st.integers(0, 3), st.integers(0, (1 << 64) - 1)
)
claims = st.tuples(prefixes, st.sampled_from(("a", "b", "c")), st.sampled_from((0, 0, 0, 7)))


@settings(patient, max_examples=50)
@given(st.lists(claims, max_size=30), st.lists(st.tuples(claims, st.booleans()), max_size=30))
def test_frozen_claims_answer_as_others_do(
    first: list[tuple[Prefix, str, int]], later: list[tuple[tuple[Prefix, str, int], bool]]
) -> None:
    plain, frozen = PrefixClaims(), PrefixClaims()
    for prefix, queue_id, domain in first:
        plain.add(pack(prefix, domain), queue_id)
        frozen.add(pack(prefix, domain), queue_id)
    frozen.freeze()
    for (prefix, queue_id, domain), comes in [*later, *((claim, False) for claim in first[::2])]:
        packed = pack(prefix, domain)
        for one in (plain, frozen):
            (one.add if comes else one.discard)(packed, queue_id)
            assert list(one) == sorted(one)
        assert list(plain) == list(frozen)
        assert len(plain) == len(frozen)
        assert list(plain.get(packed)) == list(frozen.get(packed))
        assert (packed in plain) == (packed in frozen)
        assert plain.inside(packed) == frozen.inside(packed)
        assert list(plain.covering(packed)) == list(frozen.covering(packed))
        assert plain.of_address(prefix, domain) == frozen.of_address(prefix, domain)


def test_a_packed_queue_takes_a_third_of_the_memory() -> None:
    """Counted, not resident: what a document of 5,000 customers holds when all else is gone."""

    def customers() -> Iterable[Queue]:
        numbers = random.Random(1)
        for number in range(5000):
            targets = (f"10.{number >> 8}.{number & 255}.1/32", f"2001:db8:{number:x}::/64")
            rate = Pair(numbers.choice((5, 10, 20)) * 10**6, 10**8)
            name, parent = f"customer {number}", f"tower-{number // 100}"
            yield Queue(f"q{number}", name, targets, None, parent, number, rate, comment=f"contract {number}")

    def held_bytes(make: Any) -> int:
        tracemalloc.start()
        try:
            document = make(customers())
            document.targets()
            return tracemalloc.get_traced_memory()[0]
        finally:
            tracemalloc.stop()

    assert held_bytes(Document.packed) < held_bytes(Document) * 0.45


@pytest.mark.parametrize("family", [4, 6])
def test_everything_lies_in_the_whole_of_a_family(family: int) -> None:
    whole = PrefixClaims()
    ends = [Prefix(family, (1 << WIDTH[family]) - 1, WIDTH[family]), Prefix(family, 0, WIDTH[family])]
    for prefix in ends:
        whole.add(pack(prefix), "q")
    whole.freeze()
    assert whole.inside(pack(Prefix(family, 0, 0))) == sorted(map(pack, ends))


@settings(patient, max_examples=50)
@given(st.lists(any_queue, max_size=8), st.lists(any_queue, max_size=6))
def test_packed_changes_and_the_document_after_them_are_as_others(
    first: list[Queue], later: list[Queue]
) -> None:
    document = Document.packed({item.id: item for item in first}.values())
    news = {item.id: item for item in later}
    gone = [item.id for item in document.queues() if item.id not in news][:2]
    given: list[Change] = [Change("queue", queue_id, None, item) for queue_id, item in news.items()]
    given += [Change("queue", queue_id, None, None) for queue_id in (*gone, "nobody")]
    given += [
        Change("queue-type", "fair", None, QueueType("fair", "pcq")),
        Change("interface", "lan0", None, None),
    ]
    changes = PackedChanges(given).against(document.copy())
    plain = [Change(item.kind, item.id, document.get(item.kind, item.id), item.new) for item in given]
    assert list(changes) == [item for item in plain if item.old != item.new]
    for some in (changes, plain, PackedChanges(item for item in given if item.new is not None)):
        outlines = [(change.kind, change.id, change.new is None) for change in some]
        assert list(outlines_of(some)) == outlines
        found = [change.id for change in without_new_queues(some)]
        assert found == [change.id for change in some if change.kind != "queue" or change.new is None]
    names = {item.name for item in [*document.queues(), *later]}
    after, before = document.after(iter(changes)), facts(document, names)
    assert facts(document.after(changes, with_targets=True), names) == facts(after, names)
    twin = document.copy()
    twin.apply(changes)
    # A document that was changed in place also remembers the positions of what is gone.
    assert {**facts(after, names), "positions": 0} == {**facts(twin, names), "positions": 0}
    assert facts(document, names) == before


def test_a_packed_list_answers_as_a_list() -> None:
    plain = [(n, "text" * n, None) for n in range(5)]
    packed = PackedList(plain, lambda item: item, lambda item: item)
    assert list(packed) == plain
    assert (packed[1], packed[-1], packed[1:4:2]) == (plain[1], plain[-1], plain[1:4:2])
    with pytest.raises(IndexError):
        packed[5]
