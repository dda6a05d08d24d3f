# SPDX-License-Identifier: Apache-2.0
"""TCP gets its limit where nothing can wait, at the round trips of a network and at those of a lab.

By a clock that counts instructions, so that a busy machine does not matter. tests/lab/test_tcp.py asks the
same on the development machine's own kernel.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from tests.vm.mixes import DATAGRAM_BYTES, Bulk, Mix, Router, address_of, standing
from weir.model.objects import Pair, Queue, QueueType

pytestmark = [
    pytest.mark.on_ours,
    pytest.mark.counted,
    pytest.mark.skipif(not os.environ.get("WEIR_IN_VM"), reason="needs the virtual machine's kernel"),
]

MEGABIT = 1_000_000
LEAST, MOST = 0.95, 1.03
WARM_S, SECONDS = 3.0, 6.0
DISTANT, SHORT = 0, 4
"""Bands of 20 ms, and of no delay but the machine's own."""


@pytest.fixture(scope="module")
def router() -> Iterator[Router]:
    with standing(clients=3, mode="police") as made:
        yield made


def customer(limit_mbit: float) -> Queue:
    limit_bps = int(limit_mbit * MEGABIT)
    return Queue("c0", "c0", target=(f"{address_of(0)}/32",), max_limit_bps=Pair(limit_bps, limit_bps))


def office(limit_mbit: float, each_mbit: float = 0) -> tuple[Queue, list[QueueType]]:
    """A queue with a sub-queue for each address, of this rate or an equal share."""
    rate = ("pcq-rate", str(int(each_mbit * MEGABIT)))
    types = [
        QueueType("each-up", "pcq", (("pcq-classifier", "src-address"), rate)),
        QueueType("each-down", "pcq", (("pcq-classifier", "dst-address"), rate)),
    ]
    limit_bps = int(limit_mbit * MEGABIT)
    queue = Queue(
        *("office", "office"),
        target=("10.64.0.0/24",),
        max_limit_bps=Pair(limit_bps, limit_bps),
        queue_type=Pair("each-up", "each-down"),
    )
    return queue, types


def share(limit_mbit: float, *transfers: Bulk) -> float:
    with Mix(*transfers) as running:
        found = sum(running.rates_mbit(WARM_S, SECONDS)) / limit_mbit
    print(f"{limit_mbit} Mbit/s, {transfers[0]}: {found:.3f}", flush=True)
    return found


@pytest.mark.parametrize("band", [DISTANT, SHORT], ids=["20 ms", "short"])
@pytest.mark.parametrize(("limit_mbit", "flows"), [(2, 1), (2, 3), (2, 30), (10, 1), (10, 30)])
def test_tcp_gets_its_limit_in_a_queue(router: Router, limit_mbit: int, flows: int, band: int) -> None:
    router.shape([customer(limit_mbit)])
    assert LEAST <= share(limit_mbit, Bulk(0, flows, band=band)) <= MOST


@pytest.mark.parametrize("band", [DISTANT, SHORT], ids=["20 ms", "short"])
@pytest.mark.parametrize("flows", [1, 3, 30])
def test_tcp_gets_its_rate_in_a_sub_queue(router: Router, flows: int, band: int) -> None:
    queue, types = office(50, each_mbit=2)
    router.shape([queue], types)
    assert LEAST <= share(2, Bulk(0, flows, band=band)) <= MOST


@pytest.mark.parametrize("congestion", ["bbr", "reno"])
def test_other_ways_to_react_to_losses_get_it_too(router: Router, congestion: str) -> None:
    router.shape([customer(2)])
    for band in (DISTANT, SHORT):
        assert LEAST <= share(2, Bulk(0, 1, "upload", congestion, band)) <= MOST


def test_udp_is_exact_over_a_longer_time(router: Router) -> None:
    """Within 1 % after the bucket was used, which is 300 ms at the limit once."""
    router.shape([customer(2)])
    with Mix(Bulk(0, udp_bps=5 * MEGABIT)) as running:
        assert running.rates_mbit(WARM_S, SECONDS) == [pytest.approx(2, rel=0.01)]
        running.rates_mbit(WARM_S, SECONDS, silent=[0])
        burst_mbit = (running.rates_mbit(0, 1)[0] - 2) / 2
    assert burst_mbit == pytest.approx(0.3, abs=0.05 + DATAGRAM_BYTES * 8 / MEGABIT)


@pytest.mark.parametrize("loud", [Bulk(1, udp_bps=9 * MEGABIT), Bulk(1, 4), Bulk(1, 1, band=SHORT)], ids=str)
def test_what_a_modest_host_leaves_is_used(router: Router, loud: Bulk) -> None:
    """One of three hosts sends 1 of 6 Mbit/s: it loses nothing, and the others have the rest."""
    queue, types = office(6)
    router.shape([queue], types)
    other = Bulk(2, loud.connections, band=loud.band, udp_bps=loud.udp_bps)
    with Mix(Bulk(0, udp_bps=MEGABIT), loud, other) as running:
        rates_mbit = running.rates_mbit(WARM_S, SECONDS)
    print(f"{loud}: {rates_mbit}", flush=True)
    assert rates_mbit[0] == pytest.approx(1, rel=0.02)
    assert rates_mbit[1:] == pytest.approx([2.45] * 2, rel=0.06)
    assert sum(rates_mbit) > 0.95 * 6


def test_a_bystander_loses_nothing_to_buckets_of_others(router: Router) -> None:
    """Beside connections that fill their parent and begin over and over, each with a full bucket."""
    top = Queue("tower", "tower", max_limit_bps=Pair(10 * MEGABIT, 10 * MEGABIT))
    below = [
        Queue(
            *(f"c{n}", f"c{n}"),
            target=(f"{address_of(n)}/32",),
            parent="tower",
            max_limit_bps=Pair(10 * MEGABIT, 10 * MEGABIT),
        )
        for n in range(3)
    ]
    router.shape([top, *below])
    call = Bulk(2, udp_bps=3 * MEGABIT // 10)
    arrived_mbit = 0.0
    with Mix(Bulk(0, 8), Bulk(1, 1), call) as running:
        running.rates_mbit(WARM_S, 1)
        for _ in range(5):
            arrived_mbit += running.rates_mbit(0, 0.5, silent=[1])[2] / 2
            arrived_mbit += running.rates_mbit(0, 0.5)[2] / 2
    assert arrived_mbit / 5 > 0.98 * 0.3
