# SPDX-License-Identifier: Apache-2.0
"""Imported queues stand in the order of the file, and those that stood in it already do not move."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from weir.formats.positions import Placed, assign_positions
from weir.model.limits import MAX_POSITION

CURRENT = st.one_of(
    st.none(),
    st.tuples(st.one_of(st.integers(0, 40), st.integers(0, MAX_POSITION)), st.sampled_from("abcdefgh")),
)
ITEMS = st.lists(st.builds(Placed, parent=st.sampled_from([None, "p"]), current=CURRENT), max_size=20)


@given(ITEMS)
def test_siblings_stand_in_the_order_of_the_file(items: list[Placed]) -> None:
    positions = assign_positions(items, 1000)
    for parent in (None, "p"):
        placed = [
            (position, item) for position, item in zip(positions, items, strict=True) if item.parent == parent
        ]
        for (before, first), (after, second) in pairwise(placed):
            if before == after:
                assert first.current is not None and second.current is not None
                assert first.current < second.current, "equal positions are ordered by id"
            else:
                assert before < after


@given(
    st.lists(st.tuples(st.integers(0, MAX_POSITION), st.sampled_from("abcdefgh")), unique=True, max_size=20)
)
def test_queues_in_order_keep_their_positions(current: list[tuple[int, str]]) -> None:
    ordered = sorted(current)
    positions = list(assign_positions([Placed(None, key) for key in ordered], MAX_POSITION))
    assert positions == [position for position, _ in ordered]


def test_one_queue_that_moved_is_the_only_one_that_changes() -> None:
    keys = [(10, "a"), (40, "d"), (20, "b"), (30, "c")]
    assert list(assign_positions([Placed(None, key) for key in keys], 40)) == [10, 15, 20, 30]


def test_new_queues_go_between_their_neighbours() -> None:
    items = [Placed(None, None), Placed(None, (10, "a")), Placed(None, None), Placed(None, (13, "b"))]
    assert list(assign_positions([*items, Placed(None, None)], 13)) == [4, 10, 11, 13, 23]


def test_a_gap_that_is_too_narrow_renumbers_the_group() -> None:
    items = [Placed(None, (10, "a")), Placed(None, None), Placed(None, (11, "b"))]
    assert list(assign_positions(items, 11)) == [21, 31, 41]
