# SPDX-License-Identifier: Apache-2.0
"""Guarantees, priorities, equal shares and sub-queues hold for TCP, however unequal the connections are.

By a clock that counts instructions, so that a busy machine does not matter. tests/lab/test_shares.py asks the
same of UDP.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from tests.htb_manual import EXAMPLES, Example
from tests.vm.mixes import Bulk, Mix, Router, address_of, standing
from weir.model.objects import Pair, Queue, QueueType, Total

pytestmark = [
    pytest.mark.on_ours,
    pytest.mark.counted,
    pytest.mark.skipif(not os.environ.get("WEIR_IN_VM"), reason="needs the virtual machine's kernel"),
]

MEGABIT = 1_000_000
TOLERANCE = 0.15
SETTLED_S = 1.0
STARTED_S = 2.0
"""As SETTLED_S, with all connections in slow start."""
DIRECTIONS = ("download", "upload")


@pytest.fixture(scope="module")
def router() -> Iterator[Router]:
    with standing(clients=4) as made:
        yield made


def queue(
    name: str,
    limit_mbit: float,
    *,
    client: int | None = None,
    parent: str | None = None,
    guarantee_mbit: float = 0,
    priority: int = 8,
    total_mbit: float = 0,
) -> Queue:
    limit_bps, guarantee_bps = int(limit_mbit * MEGABIT), int(guarantee_mbit * MEGABIT)
    return Queue(
        *(name, name),
        target=() if client is None else (f"{address_of(client)}/32",),
        parent=parent,
        max_limit_bps=Pair(limit_bps, limit_bps),
        limit_at_bps=Pair(guarantee_bps, guarantee_bps),
        priority=Pair(priority, priority),
        total=Total(max_limit_bps=int(total_mbit * MEGABIT)),
    )


def tower(limit_mbit: float, clients: int, *, total_mbit: float = 0) -> list[Queue]:
    top = queue("tower", limit_mbit, total_mbit=total_mbit)
    return [
        top,
        *(
            queue(f"c{n}", limit_mbit, client=n, parent="tower", total_mbit=total_mbit)
            for n in range(clients)
        ),
    ]


def shown(what: str, rates_mbit: list[float]) -> list[float]:
    print(f"{what}: {' '.join(f'{rate:.2f}' for rate in rates_mbit)} Mbit/s", flush=True)
    return rates_mbit


def about(*rates_mbit: float) -> object:
    return pytest.approx(list(rates_mbit), rel=TOLERANCE)


def test_equals_share_equally(router: Router) -> None:
    router.shape(tower(12, 4))
    with Mix(*(Bulk(n, count) for n, count in enumerate((1, 4, 8, 16)))) as running:
        assert shown("four", running.rates_mbit(STARTED_S, 2)) == about(3, 3, 3, 3)


def test_a_short_round_trip_takes_nothing_from_a_long_one(router: Router) -> None:
    router.shape(tower(12, 4))
    with Mix(*(Bulk(n, direction="upload", band=n) for n in range(4))) as running:
        rates_mbit = running.rates_mbit(2 * STARTED_S, 3)
        assert shown("20, 10, 40 and 80 ms", rates_mbit) == about(3, 3, 3, 3)


def test_congestion_controls_differ_within_a_class_alone(router: Router) -> None:
    router.shape(tower(12, 4))
    kinds = ("cubic", "bbr", "reno", "bbr")
    with Mix(*(Bulk(n, 1 + 3 * (n > 2), congestion=kind) for n, kind in enumerate(kinds))) as running:
        rates_mbit = running.rates_mbit(2 * STARTED_S, 3)
        assert shown(" ".join(kinds), rates_mbit) == about(3, 3, 3, 3)


def test_a_flood_takes_its_share_and_leaves_it_within_a_second(router: Router) -> None:
    router.shape(tower(12, 3))
    flood = Bulk(2, udp_bps=20 * MEGABIT)
    with Mix(Bulk(0, 1), Bulk(1, 8), flood) as running:
        assert shown("beside a flood", running.rates_mbit(STARTED_S, 2)) == about(4, 4, 4)
        left = shown("without it", running.rates_mbit(SETTLED_S, 1, silent=[2]))
        assert left[:2] == about(6, 6)


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_who_falls_silent_leaves_his_share_and_gets_it_back_within_a_second(
    router: Router, direction: str
) -> None:
    router.shape(tower(12, 3))
    with Mix(*(Bulk(n, count, direction) for n, count in enumerate((1, 8, 4)))) as running:
        assert shown("three", running.rates_mbit(STARTED_S, 2)) == about(4, 4, 4)
        left = shown("two of them", running.rates_mbit(SETTLED_S, 2, silent=[2]))
        assert left[:2] == about(6, 6)
        assert left[2] < 0.1
        assert shown("three again", running.rates_mbit(SETTLED_S, 2)) == about(4, 4, 4)


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_addresses_share_a_queue_equally(router: Router, direction: str) -> None:
    types = [
        QueueType("each-up", "pcq", (("pcq-classifier", "src-address"),)),
        QueueType("each-down", "pcq", (("pcq-classifier", "dst-address"),)),
    ]
    limit = Pair(9 * MEGABIT, 9 * MEGABIT)
    office = Queue(
        *("office", "office"),
        target=("10.64.0.0/24",),
        max_limit_bps=limit,
        queue_type=Pair("each-up", "each-down"),
    )
    router.shape([office], types)
    with Mix(*(Bulk(n, count, direction) for n, count in enumerate((1, 4, 16)))) as running:
        assert shown("three", running.rates_mbit(STARTED_S, 2)) == about(3, 3, 3)


def test_a_total_is_shared_by_customers_not_by_directions(router: Router) -> None:
    """Each of three customers has a third of what both directions of the tower may carry together."""
    router.shape(tower(20, 3, total_mbit=12))
    with Mix(Bulk(0, 8), Bulk(0, 1, "upload"), Bulk(1, 1), Bulk(2, 4, "upload")) as running:
        down, up, second, third = shown("of 12", running.rates_mbit(STARTED_S, 2))
        assert [down + up, second, third] == about(4, 4, 4)


def test_both_directions_of_a_customer_share_his_total(router: Router) -> None:
    router.shape([queue(f"c{n}", 20, client=n, total_mbit=5) for n in range(2)])
    with Mix(Bulk(0, 8), Bulk(0, 1, "upload"), Bulk(1, 1)) as running:
        down, up, second = shown("of 5 each", running.rates_mbit(STARTED_S, 2))
        assert [down + up, second] == about(5, 5)


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("example", EXAMPLES)
def test_the_manuals_examples_hold(router: Router, direction: str, example: Example) -> None:
    router.shape(
        [
            queue(
                *(asked.name, asked.limit_mbit),
                client=asked.client,
                parent=asked.parent,
                guarantee_mbit=asked.guarantee_mbit,
                priority=asked.priority,
            )
            for asked in example.queues()
        ]
    )
    connections = (1, 4, 16) if direction == "download" else (16, 1, 2)
    with Mix(*(Bulk(n, count, direction) for n, count in enumerate(connections))) as running:
        rates_mbit = shown(f"{example.expected_mbit}", running.rates_mbit(STARTED_S, 2))
        assert rates_mbit == about(*example.expected_mbit)
