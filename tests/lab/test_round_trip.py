# SPDX-License-Identifier: Apache-2.0
"""The round trip of a queue's TCP, as its page shows it, on either side of a router with NAT."""

from __future__ import annotations

from typing import Any

from lab import delay, plan, tcp
from tests.router import Router, customer, rate

ROUND_TRIP_MS = 20


def trips_of(router: Router, queue_id: str) -> dict[str, Any]:
    found: dict[str, Any] = router.api.call("GET", f"/stats/queues/{queue_id}/details")["round_trips"]
    return found


def test_the_round_trip_to_a_server_20_ms_away(router: Router) -> None:
    """Flows last longer than from one look to the next. The far end is 20 ms away, the client next door."""
    queue = customer(0, max_limit_bps=rate(10, 20))
    router.bulk(upsert=[queue])
    assert trips_of(router, queue["id"]) == {"upload": None, "download": None}
    with delay.far_server(ROUND_TRIP_MS) as (server, _):
        tcp.goodput_bps(plan.client_v4(0), server, "upload", namespace=delay.FAR, warm_s=2, seconds=18)
        up = trips_of(router, queue["id"])["upload"]
        tcp.goodput_bps(plan.client_v4(0), server, "download", namespace=delay.FAR, warm_s=2, seconds=18)
        down = trips_of(router, queue["id"])["download"]
    assert abs(up["min_us"] / 1000 - ROUND_TRIP_MS) <= 2, up
    assert up["age_s"] < 20
    assert down["min_us"] / 1000 <= 2, down
