# SPDX-License-Identifier: Apache-2.0
"""The order of the list: who is looked at before whom, and moving a queue within it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.model.strategies import patient, valid_trees
from weir.model.document import Document
from weir.model.objects import Queue
from weir.model.problem import Invalid, NotFound
from weir.model.rule import View
from weir.model.tree import ancestors, changes_to_move, children_in_order, rank_key, subtree_ids


def order(document: Document, parent: str | None = None) -> list[str]:
    return [queue.id for queue in children_in_order(document, parent)]


def test_children_rank_before_their_parent_and_siblings_by_position_then_id() -> None:
    queues = [
        Queue("b", "b", position=1),
        Queue("a", "a", position=1),
        Queue("z", "z", position=0),
        Queue("kid", "kid", parent="b", position=99),
        Queue("grandkid", "grandkid", parent="kid"),
    ]
    document = Document(queues)
    ranked = sorted(queues, key=lambda queue: rank_key(document, queue))
    assert [queue.id for queue in ranked] == ["z", "a", "grandkid", "kid", "b"]


@patient
@given(st.lists(st.integers(0, 3), min_size=1, max_size=7), st.data())
def test_a_move_puts_a_queue_there_and_keeps_the_others_in_order(
    positions: list[int], data: st.DataObject
) -> None:
    document = Document(Queue(f"q{n}", f"q{n}", position=position) for n, position in enumerate(positions))
    before_ids = order(document)
    moved = data.draw(st.sampled_from(before_ids))
    before = data.draw(st.sampled_from([None, *before_ids]))
    document.apply(changes_to_move(document, moved, before))
    expected = [queue_id for queue_id in before_ids if queue_id != moved]
    if before == moved:
        expected = before_ids
    else:
        expected.insert(len(expected) if before is None else expected.index(before), moved)
    assert order(document) == expected


def test_a_move_into_a_gap_changes_one_queue() -> None:
    document = Document(Queue(f"q{n}", f"q{n}", position=10 * n) for n in range(1, 100))
    changes = changes_to_move(document, "q90", "q5")
    assert [(change.id, change.new.position) for change in changes if isinstance(change.new, Queue)] == [
        ("q90", 45)
    ]


def test_a_move_names_what_is_not_there() -> None:
    document = Document([Queue("a", "a"), Queue("b", "b", parent="a")])
    with pytest.raises(NotFound, match="'gone'"):
        changes_to_move(document, "gone", None)
    with pytest.raises(Invalid, match="not in the same list"):
        changes_to_move(document, "a", "b")


def test_walks_end_in_a_cycle() -> None:
    document = Document([Queue("a", "a", parent="b"), Queue("b", "b", parent="a")])
    first = document.queue("a")
    assert first is not None
    assert [queue.id for queue in ancestors(document, first)] == ["b"]
    assert sorted(subtree_ids(document, "a")) == ["a", "b"]


@patient
@given(st.integers(0, 90), st.lists(st.integers(0, 12), max_size=12))
def test_a_view_knows_what_is_above_each_in_any_document(chain: int, parents: list[int]) -> None:
    """Also where parents are missing, in a circle, or too many."""
    queues = [Queue(f"q{at}", f"q{at}", parent=f"q{parent}") for at, parent in enumerate(parents)]
    long = [Queue(f"c{at}", f"c{at}", parent=f"c{at - 1}") for at in range(chain)]
    document = Document([*queues, *long])
    view = View(document)
    for queue in [*document.queues(), *document.queues()]:
        assert view.above(queue) == tuple(ancestors(document, queue))
        assert view.rank(queue) == rank_key(document, queue)


@patient
@given(valid_trees())
def test_the_next_position_is_after_all_siblings(tree: list[Queue]) -> None:
    document = Document(tree)
    for parent in [None, *(queue.id for queue in tree)]:
        last = max((queue.position for queue in tree if queue.parent == parent), default=0)
        assert document.next_position(parent) > last
