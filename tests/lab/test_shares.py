# SPDX-License-Identifier: Apache-2.0
"""Guarantees, priorities and equal sharing, measured at the receiving end.

All leaves are saturated, and very unequally: by arrival alone the loudest would get nearly all.
"""

from __future__ import annotations

from typing import Any

import pytest

from lab import measure, plan
from lab.measure import Flow
from tests.htb_manual import EXAMPLES, Example
from tests.router import MEGABIT, Router, customer, rate

TOLERANCE = 0.10
SETTLED_S = 1.0
OFFERED_MBIT = (11, 14, 26)


def queue(name: str, parent: str | None, limit: float, guarantee: float, priority: int) -> dict[str, Any]:
    return {
        "id": name,
        "name": name,
        "parent": parent,
        "max_limit_bps": rate(limit, limit),
        "limit_at_bps": rate(guarantee, guarantee),
        "priority": {"upload": priority, "download": priority},
    }


def leaf(number: int, *described: Any) -> dict[str, Any]:
    return customer(number) | queue(*described)


def flows(direction: str, offered_mbit: tuple[float, ...]) -> list[Flow]:
    return [
        Flow(plan.client_v4(number), plan.INTERNET_ADDRESSES[0], direction, int(offered * MEGABIT))
        for number, offered in enumerate(offered_mbit)
        if offered
    ]


def shares_mbit(direction: str, offered_mbit: tuple[float, ...]) -> list[float]:
    received = measure.measure(flows(direction, offered_mbit), warm_s=SETTLED_S, seconds=3)
    return [flow.rate_bps / MEGABIT for flow in received]


@pytest.mark.parametrize("direction", ["upload", "download"])
@pytest.mark.parametrize("example", EXAMPLES)
def test_the_manuals_examples_hold(router: Router, direction: str, example: Example) -> None:
    router.bulk(
        upsert=[
            queue(*asked[:5]) if asked.client is None else leaf(asked.client, *asked[:5])
            for asked in example.queues()
        ]
    )
    shares = shares_mbit(direction, OFFERED_MBIT)
    assert shares == pytest.approx(list(example.expected_mbit), rel=TOLERANCE)


def test_equals_share_equally_and_use_what_an_idle_one_leaves(router: Router) -> None:
    router.bulk(
        upsert=[queue("tower", None, 9, 0, 8), *(leaf(n, f"c{n}", "tower", 9, 0, 8) for n in range(3))]
    )
    assert shares_mbit("download", (5, 10, 20)) == pytest.approx([3, 3, 3], rel=TOLERANCE)
    assert shares_mbit("download", (0, 10, 20)) == pytest.approx([4.5, 4.5], rel=TOLERANCE)


@pytest.mark.parametrize("direction", ["upload", "download"])
def test_the_addresses_of_a_pcq_use_all_that_one_below_its_share_leaves(
    router: Router, direction: str
) -> None:
    """Three addresses in 6 Mbit/s, one of which offers 1 of its 2: the others get the 5 that are left."""
    kinds = {"upload": "pcq-upload-default", "download": "pcq-download-default"}
    targets = [f"{plan.client_v4(number)}/32" for number in range(3)]
    router.put_queue("building", target=targets, max_limit_bps=rate(6, 6), queue_type=kinds)
    shares = shares_mbit(direction, (1, 6, 12))
    assert shares == pytest.approx([1, 2.5, 2.5], rel=TOLERANCE)
    assert sum(shares) >= 0.95 * 6


def test_a_burst_lasts_as_long_as_the_manual_says(router: Router) -> None:
    """max 2M, threshold 1500k, burst 4M over 8 s: 3 s from cold, to within one slot of 0.5 s."""
    burst = {
        "burst_limit_bps": rate(4, 4),
        "burst_threshold_bps": rate(1.5, 1.5),
        "burst_time_ms": {"upload": 8000, "download": 8000},
    }
    router.bulk(upsert=[customer(0, max_limit_bps=rate(2, 2)) | burst])
    (early,) = measure.measure(flows("download", (8,)), warm_s=0.5, seconds=1.5)
    (later,) = measure.measure(flows("download", (8,)), warm_s=2.0, seconds=2)
    assert early.rate_bps == pytest.approx(4e6, rel=TOLERANCE)
    assert later.rate_bps == pytest.approx(2e6, rel=TOLERANCE)
