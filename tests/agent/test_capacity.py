# SPDX-License-Identifier: Apache-2.0
"""How large the tables are made: by the memory, by what is stored, and by what was refused."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from tests.store.objects import commit, create, queue
from weir.adapters.datapath import DEFAULT_CAPACITY
from weir.agent.capacity import Capacity
from weir.model.problem import Invalid, Problem, Unsupported
from weir.store import ConfigStore

GIB = 1 << 30
FULL = Unsupported("this router's class table holds 32767 queues and is full", code="too-many-queues")


@pytest.mark.parametrize(
    ("memory_bytes", "slots"),
    [
        (GIB // 4, 16_384),
        (GIB * 97 // 100, 32_768),
        (2 * GIB, 65_536),
        (4 * GIB, 131_072),
        (64 * GIB, 131_072),
    ],
)
def test_empty_tables_take_a_small_part_of_the_memory(tmp_path: Path, memory_bytes: int, slots: int) -> None:
    assert Capacity(tmp_path, 0, memory_bytes).slots(lambda: 0) == slots


def test_what_is_stored_has_room_at_every_start(tmp_path: Path) -> None:
    database = tmp_path / "weir.db"
    store = ConfigStore.open(database, create=True)
    small = Capacity(tmp_path, 0, GIB)
    commit(store, create(*(queue(f"q{number}") for number in range(4096))))
    assert small.slots(partial(store.count, "queue")) == 32_768
    commit(store, create(queue("q4096")))
    assert small.slots(partial(store.count, "queue")) == DEFAULT_CAPACITY
    store.close()


@pytest.mark.parametrize(("asked", "memory_bytes"), [(8192, GIB), (0, 4 * GIB)])
def test_the_store_is_waited_for_only_where_it_decides(tmp_path: Path, asked: int, memory_bytes: int) -> None:
    def queues() -> int:
        pytest.fail("the store was asked")

    assert Capacity(tmp_path, asked, memory_bytes).slots(queues) == (asked or DEFAULT_CAPACITY)


def test_what_was_refused_fits_after_the_next_start(tmp_path: Path) -> None:
    small = Capacity(tmp_path / "agent", 0, GIB)
    with pytest.raises(Unsupported, match="full; restart the router, and it has room for 131071") as refused:
        refuse(small, FULL, 32_768)
    assert refused.value.code == "too-many-queues"
    assert Capacity(tmp_path / "agent", 0, GIB).slots(lambda: 0) == DEFAULT_CAPACITY


@pytest.mark.parametrize(
    ("asked", "slots", "problem"),
    [(0, 32_768, Invalid("no such parent")), (0, DEFAULT_CAPACITY, FULL), (8192, 8192, FULL)],
)
def test_nothing_is_promised_that_a_start_does_not_change(
    tmp_path: Path, asked: int, slots: int, problem: Problem
) -> None:
    fixed = Capacity(tmp_path, asked, GIB)
    with pytest.raises(Problem) as raised:
        refuse(fixed, problem, slots)
    assert raised.value is problem
    assert fixed.slots(lambda: 0) == (asked or 32_768)


def refuse(capacity: Capacity, problem: Problem, slots: int) -> None:
    with capacity.explaining(slots):
        raise problem
