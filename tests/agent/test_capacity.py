# SPDX-License-Identifier: Apache-2.0
"""How large the tables are made: by the memory, by what is stored, and by what was refused."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from tests.store.objects import commit, create, queue
from weir.adapters.datapath import DEFAULT_CAPACITY, MAX_CAPACITY
from weir.agent.capacity import Capacity, Room
from weir.model.problem import Invalid, Problem, Unsupported
from weir.store import ConfigStore
from weir.wire.server import Peer

GIB = 1 << 30
FULL = Unsupported("this router's class table holds 32767 queues and is full", code="too-many-queues")


def none() -> int:
    return 0


def never() -> int:
    pytest.fail("the store was asked")


@pytest.mark.parametrize(
    ("memory_bytes", "slots"),
    [
        (GIB // 4, 16_384),
        (GIB * 97 // 100, 32_768),
        (2 * GIB, 65_536),
        (4 * GIB, 131_072),
        (8 * GIB * 97 // 100, 262_144),
        (256 * GIB, 262_144),
    ],
)
def test_empty_tables_take_a_small_part_of_the_memory(tmp_path: Path, memory_bytes: int, slots: int) -> None:
    assert Capacity(tmp_path, 0, memory_bytes).slots(none, none) == slots


def test_what_is_stored_has_room_at_every_start(tmp_path: Path) -> None:
    database = tmp_path / "weir.db"
    store = ConfigStore.open(database, create=True)
    small = Capacity(tmp_path, 0, GIB)
    commit(store, create(*(queue(f"q{number}") for number in range(4096))))
    assert small.slots(none, partial(store.count, "queue")) == 32_768
    commit(store, create(queue("q4096")))
    assert small.slots(none, partial(store.count, "queue")) == DEFAULT_CAPACITY
    assert small.slots(partial(store.count, "queue"), none) == DEFAULT_CAPACITY
    store.close()


@pytest.mark.parametrize(
    ("gib", "queues", "slots"),
    [
        (4, 131_071, 131_072),
        (4, 131_072, 262_144),
        (4, 600_000, 524_288),
        (8, 262_143, 262_144),
        (8, 262_144, 524_288),
        (32, 600_000, MAX_CAPACITY),
    ],
)
def test_what_ran_last_has_room_as_far_as_the_memory_goes(
    tmp_path: Path, gib: int, queues: int, slots: int
) -> None:
    assert Capacity(tmp_path, 0, gib * GIB).slots(lambda: queues, never) == slots


@pytest.mark.parametrize(("asked", "memory_bytes"), [(8192, GIB), (0, 4 * GIB)])
def test_the_store_is_waited_for_only_where_it_decides(tmp_path: Path, asked: int, memory_bytes: int) -> None:
    assert Capacity(tmp_path, asked, memory_bytes).slots(none, never) == (asked or DEFAULT_CAPACITY)


@pytest.mark.parametrize(
    ("gib", "slots", "most"), [(1, 32_768, 131_072), (2, 65_536, 262_144), (8, 262_144, MAX_CAPACITY)]
)
def test_what_was_refused_fits_after_the_next_start(tmp_path: Path, gib: int, slots: int, most: int) -> None:
    first = Capacity(tmp_path / "agent", 0, gib * GIB)
    assert first.slots(none, none) == slots
    with pytest.raises(
        Unsupported, match=f"full; restart the router, and it has room for {most - 1}$"
    ) as said:
        refuse(first, FULL, slots)
    assert said.value.code == "too-many-queues"
    assert Capacity(tmp_path / "agent", 0, gib * GIB).slots(none, never) == most


def test_what_is_counted_before_it_comes_fits_as_well(tmp_path: Path) -> None:
    small = Capacity(tmp_path / "agent", 0, GIB)
    ask = Room(small, 32_768).table()["room"]
    peer = Peer(connection_id=1, pid=1, uid=0, gid=0)
    assert ask({"queues": 131_072}, peer) == {"more": "this machine has memory for 131071 at most"}
    assert small.slots(none, none) == 32_768
    assert ask({"queues": 40_000}, peer) == {"more": "restart the router, and it has room for 131071"}
    assert small.slots(none, none) == DEFAULT_CAPACITY
    with pytest.raises(Invalid):
        ask({}, peer)


def test_where_only_memory_helps_that_is_said(tmp_path: Path) -> None:
    with pytest.raises(Unsupported, match="full; this machine has memory for 131071 at most"):
        refuse(Capacity(tmp_path, 0, GIB), FULL, DEFAULT_CAPACITY)


@pytest.mark.parametrize(
    ("asked", "slots", "problem"),
    [(0, 32_768, Invalid("no such parent")), (0, MAX_CAPACITY, FULL), (8192, 8192, FULL)],
)
def test_nothing_is_promised_that_a_start_does_not_change(
    tmp_path: Path, asked: int, slots: int, problem: Problem
) -> None:
    fixed = Capacity(tmp_path, asked, GIB)
    with pytest.raises(Problem) as raised:
        refuse(fixed, problem, slots)
    assert raised.value is problem
    assert fixed.slots(none, none) == (asked or 32_768)


def test_tables_that_would_take_the_memory_of_all_else_are_refused(tmp_path: Path) -> None:
    assert Capacity(tmp_path, MAX_CAPACITY, 2 * GIB).slots(none, never) == MAX_CAPACITY
    words = "tables of 1048575 classes take 599 MiB, more than half of the 1024 MiB of this machine"
    with pytest.raises(Unsupported, match=words) as refused:
        Capacity(tmp_path, MAX_CAPACITY, GIB).slots(none, never)
    assert refused.value.code == "tables-too-large"


def refuse(capacity: Capacity, problem: Problem, slots: int) -> None:
    with capacity.explaining(slots):
        raise problem
