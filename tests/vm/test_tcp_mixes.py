# SPDX-License-Identifier: Apache-2.0
"""Guarantees, priorities and equal shares hold for TCP, however unequal the numbers of connections are.

By a clock that counts instructions, so that a busy machine does not matter. The trees are those of
tests/lab/test_shares.py, which asks the same of UDP.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from tests.vm.mixes import Bulk, Mix, Router, address_of, standing
from weir.model.objects import Pair, Queue

pytestmark = [
    pytest.mark.on_ours,
    pytest.mark.counted,
    pytest.mark.skipif(not os.environ.get("WEIR_IN_VM"), reason="needs the virtual machine's kernel"),
]

MEGABIT = 1_000_000
TOLERANCE = 0.15
STARTED_S = 2.0
"""Until all connections have left slow start."""
DIRECTIONS = ("download", "upload")


@pytest.fixture(scope="module")
def router() -> Iterator[Router]:
    with standing(clients=3) as made:
        yield made


def queue(
    name: str,
    limit_mbit: float,
    *,
    client: int | None = None,
    parent: str | None = None,
    guarantee_mbit: float = 0,
    priority: int = 8,
) -> Queue:
    limit_bps, guarantee_bps = int(limit_mbit * MEGABIT), int(guarantee_mbit * MEGABIT)
    return Queue(
        *(name, name),
        target=() if client is None else (f"{address_of(client)}/32",),
        parent=parent,
        max_limit_bps=Pair(limit_bps, limit_bps),
        limit_at_bps=Pair(guarantee_bps, guarantee_bps),
        priority=Pair(priority, priority),
    )


def shown(what: str, rates_mbit: list[float]) -> list[float]:
    print(f"{what}: {' '.join(f'{rate:.2f}' for rate in rates_mbit)} Mbit/s", flush=True)
    return rates_mbit


def about(*rates_mbit: float) -> object:
    return pytest.approx(list(rates_mbit), rel=TOLERANCE)


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize(
    ("guarantees", "priorities", "q05_limit", "expected"),
    [
        pytest.param((4, 6, 2, 2), (8, 1, 3, 5), 10, (6, 2, 2), id="guarantees come first"),
        pytest.param((4, 2, 2, 2), (8, 3, 1, 5), 10, (2, 6, 2), id="the best priority takes the rest"),
        pytest.param((8, 2, 2, 2), (8, 1, 3, 5), 10, (2, 6, 2), id="an inner guarantee reserves"),
        pytest.param((4, 6, 2, 12), (8, 1, 3, 5), 15, (3, 1, 6), id="promises above the link scale"),
    ],
)
def test_the_manuals_examples_hold(
    router: Router,
    direction: str,
    guarantees: tuple[int, ...],
    priorities: tuple[int, ...],
    q05_limit: int,
    expected: tuple[int, ...],
) -> None:
    promised = [{"guarantee_mbit": g, "priority": p} for g, p in zip(guarantees, priorities, strict=True)]
    router.shape(
        [
            queue("q01", 10),
            queue("q02", 10, parent="q01", **promised[0]),
            queue("q03", 10, parent="q01", client=0, **promised[1]),
            queue("q04", 10, parent="q02", client=1, **promised[2]),
            queue("q05", q05_limit, parent="q02", client=2, **promised[3]),
        ]
    )
    connections = (1, 4, 16) if direction == "download" else (16, 1, 2)
    with Mix(*(Bulk(n, count, direction) for n, count in enumerate(connections))) as running:
        assert shown(f"{expected}", running.rates_mbit(STARTED_S, 2)) == about(*expected)
