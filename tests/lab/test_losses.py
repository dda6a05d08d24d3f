# SPDX-License-Identifier: Apache-2.0
"""Packets are lost on one side of a router: `weir why` names that side, by TCP that it saw in passing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal

import pytest

from lab import delay, netns, plan, tcp
from tests.router import Router, customer, rate

ROUND_TRIP_MS = 20
"""Longer than a tick of the senders' timestamps, without which nothing is told."""
LOST_OF = 20
SECONDS = 18
"""A queue is looked at for one second in seventeen."""
Side = Literal["customer", "internet"]


@contextmanager
def losing(side: Side) -> Iterator[None]:
    """One in `LOST_OF` of the far server's packets is lost behind the router, or before it."""
    namespace, hook = (plan.INTERNET, "forward") if side == "internet" else (plan.CLIENT, "prerouting")
    rules = (
        "table inet lossy {\n chain lossy {\n"
        f"  type filter hook {hook} priority -300\n"
        f"  ip saddr {delay.FAR_V4} meta length > 1000 numgen random mod {LOST_OF} == 0 drop\n"
        " }\n}\n"
    )
    netns.run(["ip", "netns", "exec", namespace, "nft", "-f", "-"], stdin=rules)
    try:
        yield
    finally:
        netns.run(["ip", "netns", "exec", namespace, "nft", "delete table inet lossy"])


def download(server: str) -> float:
    return tcp.goodput_bps(
        plan.client_v4(0),
        server,
        "download",
        namespace=delay.FAR,
        warm_s=2,
        seconds=SECONDS,
        congestion="cubic",
    )


def losses_of(router: Router, queue_id: str) -> dict[str, Any]:
    found: dict[str, Any] = router.api.call("GET", f"/stats/queues/{queue_id}/details")["losses"]
    return found


@pytest.mark.parametrize(
    ("side", "lossy", "well", "code"),
    [
        ("internet", "before", "after", "loss-internet"),
        ("customer", "after", "before", "loss-device-side"),
    ],
)
def test_the_side_that_loses_packets_is_named(
    router: Router, side: Side, lossy: str, well: str, code: str
) -> None:
    queue = customer(0, max_limit_bps=rate(20, 20))
    router.bulk(upsert=[queue])
    with delay.far_server(ROUND_TRIP_MS) as (server, _), losing(side):
        assert download(server) > 0
        found = losses_of(router, queue["id"])["download"]
        answer = router.api.call("GET", f"/diagnosis/why?queue={queue['id']}")
    share = {where: found[f"{where}_bytes"] / found["seen_bytes"] for where in (lossy, well)}
    assert 0.4 / LOST_OF <= share[lossy] <= 2.5 / LOST_OF, found
    assert share[well] <= 0.005, found
    told = {item["place"]: item for item in answer["line"]}["internet" if side == "internet" else "device"]
    assert told["code"] == code, answer["sentence"]
