# SPDX-License-Identifier: Apache-2.0
"""TCP through a limit, to a server 20 ms away and to one next door: near the limit, and never above it."""

from __future__ import annotations

import os

import pytest

from lab import delay, plan, tcp
from tests.router import Router, customer, rate

LEAST = 0.95 if os.environ.get("WEIR_IN_VM") else 0.90
"""Share of the limit less headers: pacing (in the virtual machine) loses little; policing loses packets."""


@pytest.mark.parametrize("family", [4, 6])
def test_goodput_at_a_distance_of_20_ms(router: Router, family: int) -> None:
    router.bulk(upsert=[customer(0, max_limit_bps=rate(10, 20)), customer(1, max_limit_bps=rate(10, 20))])
    with delay.far_server(20) as servers:
        server = servers[0] if family == 4 else servers[1]
        clients = [plan.client_v4(n) if family == 4 else plan.client_v6(n) for n in range(2)]
        for client, direction, limit_bps in ((clients[0], "download", 20e6), (clients[1], "upload", 10e6)):
            goodput_bps = tcp.goodput_bps(client, server, direction, namespace=delay.FAR, warm_s=3, seconds=5)
            share = goodput_bps / (limit_bps * tcp.MSS_SHARE[family])
            assert LEAST <= share <= 1.02, direction


@pytest.mark.parametrize("flows", [1, 3, 30])
@pytest.mark.parametrize("subqueue", [False, True], ids=["queue", "sub-queue"])
def test_goodput_at_the_labs_own_round_trip(router: Router, subqueue: bool, flows: int) -> None:
    """Less than a packet of 2 Mbit/s fits such a round trip: a connection lives on what its bucket holds."""
    queue = customer(0, max_limit_bps=rate(2, 2))
    if subqueue:
        queue = customer(
            0,
            max_limit_bps=rate(2, 2),
            queue_type={"upload": "pcq-upload-default", "download": "pcq-download-default"},
        )
    router.bulk(upsert=[queue])
    for direction in ("download", "upload"):
        # One connection loses its rhythm for some seconds now and then: the lower bound has three tries.
        for left in reversed(range(3)):
            goodput_bps = tcp.goodput_bps(
                *(plan.client_v4(0), plan.INTERNET_ADDRESSES[0], direction),
                warm_s=3,
                seconds=8,
                flows=flows,
                congestion="cubic",
            )
            share = goodput_bps / (2e6 * tcp.MSS_SHARE[4])
            # The bucket is 4 % of what is measured, and may be full or empty at either end.
            assert share <= 1.06, direction
            if share >= 0.90:
                break
            assert left, f"{direction}: {share:.3f}"
