# SPDX-License-Identifier: Apache-2.0
"""The round trip of a queue's TCP, as its page shows it, on either side of a router with NAT."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

from lab import delay, plan, tcp
from tests.router import Router, customer, rate

ROUND_TRIP_MS = 20


def trips_of(router: Router, queue_id: str) -> dict[str, Any]:
    found: dict[str, Any] = router.api.call("GET", f"/stats/queues/{queue_id}/details")["round_trips"]
    return found


def flow_of_20_s(server: str, direction: str) -> float:
    return tcp.goodput_bps(plan.client_v4(0), server, direction, namespace=delay.FAR, warm_s=2, seconds=18)


def test_the_round_trip_to_a_server_20_ms_away(router: Router) -> None:
    """Flows last longer than from one look to the next. The far end is 20 ms away, the client next door."""
    queue = customer(0, max_limit_bps=rate(10, 20))
    router.bulk(upsert=[queue])
    before = trips_of(router, queue["id"])
    assert (before["upload"], before["download"]) == (None, None)
    with delay.far_server(ROUND_TRIP_MS) as (server, _), ThreadPoolExecutor() as both:
        flows = [both.submit(flow_of_20_s, server, direction) for direction in ("upload", "download")]
        assert all(flow.result() > 0 for flow in flows)
        after = trips_of(router, queue["id"])
    up, down = after["upload"], after["download"]
    assert abs(up["min_us"] / 1000 - ROUND_TRIP_MS) <= 2, up
    assert up["age_s"] < 20
    assert down["min_us"] / 1000 <= 2, down
