# SPDX-License-Identifier: Apache-2.0
"""Drops by owner from counters that grow, are reset, wrap, come and go."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.stats.queue_rig import DOWN, UP, Rig
from weir.stats.drop_book import MOST_OWNERS, REST, DropBook, Owner

RULE = Owner("firewall-rule", "r1", "drop")
QDISC = Owner("interface", "wan0", "qdisc", at="wan0")
LEAF = Owner("queue", "q1", "tree", at="wan0")
LIMIT = Owner("queue", "q1", "limit", "upload")


def book_of(*readings: dict[Owner, int], step_s: float = 10.0) -> DropBook:
    book = DropBook()
    for number, counted in enumerate(readings):
        book.take(counted, [owner for owner in counted if owner == LEAF], {}, 1000 + number * step_s)
    return book


def lost(book: DropBook, from_s: float = 0.0) -> dict[Owner, int]:
    span = book.since(from_s)
    assert span is not None
    return dict(span.packets)


def test_one_reading_tells_nothing() -> None:
    assert book_of({RULE: 500}).since(0) is None


def test_what_was_counted_before_the_first_reading_is_not_told() -> None:
    assert lost(book_of({RULE: 500}, {RULE: 507})) == {RULE: 7}


def test_a_rule_that_is_new_counted_from_zero() -> None:
    assert lost(book_of({QDISC: 5}, {QDISC: 5, RULE: 9})) == {RULE: 9}


def test_a_counter_that_could_not_be_read_before_is_not_new() -> None:
    book = book_of({QDISC: 5}, {QDISC: 5})
    book.take({QDISC: 6}, (), {}, 1020, is_whole=False)
    book.take({QDISC: 6, RULE: 400}, (), {}, 1030)
    assert lost(book) == {QDISC: 1}


def test_a_counter_that_was_reset_has_what_it_counted_since() -> None:
    assert lost(book_of({RULE: 500}, {RULE: 3})) == {RULE: 3}


def test_a_counter_of_32_bits_wraps() -> None:
    assert lost(book_of({QDISC: 2**32 - 2}, {QDISC: 4})) == {QDISC: 6}


def test_what_a_queue_of_the_tree_dropped_is_not_told_twice() -> None:
    assert lost(book_of({QDISC: 0, LEAF: 0}, {QDISC: 12, LEAF: 10})) == {QDISC: 2, LEAF: 10}


def test_a_span_begins_with_a_reading_and_reaches_over_a_gap() -> None:
    book = book_of({RULE: 0}, {RULE: 1}, {RULE: 11}, {RULE: 111}, step_s=60.0)
    span = book.since(1130)
    assert span is not None and (span.began, span.ended) == (1120, 1180)
    assert span.packets == {RULE: 100}
    book.take({RULE: 1111}, (), {}, 5000)
    assert lost(book, 4000) == {RULE: 1000}, "nothing between two readings is missed"


def test_a_minute_keeps_so_many_owners_and_the_sum_of_the_rest() -> None:
    many = {Owner("queue", f"q{number}", "limit", "upload"): number + 1 for number in range(300)}
    book = book_of({RULE: 0}, {RULE: 0})
    book.take({RULE: 0}, (), many, 1100)
    found = lost(book)
    assert len(found) == MOST_OWNERS + 1
    assert found[REST] == sum(range(1, 301 - MOST_OWNERS))
    assert sum(found.values()) == sum(many.values())


@pytest.fixture
def rig() -> Iterator[Rig]:
    found = Rig()
    yield found
    found.counters.close()
    found.maps.close()


def test_queues_tell_what_they_dropped_themselves_by_reason(rig: Rig) -> None:
    rig.maps.place("tower", 1)
    rig.maps.place("q1", 2, 1)
    rig.maps.count("q1", UP, drop_packets=1000)
    rig.follow()
    rig.second()
    assert rig.figures.take_drops() == {}, "before it was looked at"
    rig.maps.count("q1", UP, drop_packets=5, ancestor_drop_packets=2)
    rig.maps.count("q1", DOWN, drop_packets=4)
    rig.second()
    above, download = Owner("queue", "q1", "above", "upload"), Owner("queue", "q1", "limit", "download")
    assert rig.figures.take_drops() == {LIMIT: 3, above: 2, download: 4}, "not the tower a second time"
    rig.second()
    assert rig.figures.take_drops() == {}


def test_a_slot_that_another_queue_has_now_begins_at_zero(rig: Rig) -> None:
    rig.maps.place("q0", 2)
    rig.follow()
    rig.second()
    rig.maps.count("q0", UP, drop_packets=50)
    rig.second()
    rig.figures.take_drops()
    rig.maps.free("q0")
    rig.maps.place("q1", 2)
    rig.maps.count("q1", UP, drop_packets=60)
    rig.follow()
    rig.second()
    assert rig.figures.take_drops() == {LIMIT: 60}


def test_what_a_queue_dropped_is_told_once_where_the_table_has_become_shorter(rig: Rig) -> None:
    """Of 200,000 lines only those are remembered that have dropped anything."""
    for number in (1, 2, 9):
        rig.maps.place(f"q{number}", number)
        rig.maps.count(f"q{number}", UP, drop_packets=10)
    rig.follow()
    rig.second()
    rig.second()
    rig.figures.take_drops()
    rig.maps.free("q9")
    rig.maps.count("q1", UP, drop_packets=7)
    rig.follow()
    rig.second()
    assert rig.figures.take_drops() == {LIMIT: 7}
