# SPDX-License-Identifier: Apache-2.0
"""TCP through a limit, to a server 20 ms away: near the limit, and never above it."""

from __future__ import annotations

import os

import pytest

from lab import delay, plan, tcp
from tests.router import Router, customer, rate

LEAST = 0.95 if os.environ.get("WEIR_IN_VM") else 0.85
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
