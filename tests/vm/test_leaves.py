# SPDX-License-Identifier: Apache-2.0
"""Queue types that become qdiscs below HTB, under traffic, on a kernel that has them.

Which qdisc the packets went through is counted. The rate has room on both sides: on a busy machine the tree
and the receiver may be late.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import Any

import pytest

from lab import measure, netns, plan
from lab.measure import Flow
from tests.router import MEGABIT, Router, customer, rate

pytestmark = [
    pytest.mark.on_ours,
    pytest.mark.skipif(not os.environ.get("WEIR_IN_VM"), reason="needs the virtual machine's kernel"),
]

LIMIT_MBIT = 4
DATAGRAM = 1428
KINDS = {
    "pfifo": ("pfifo", {"pfifo-limit": "40"}),
    "bfifo": ("bfifo", {"bfifo-limit": "60000"}),
    "red": ("red", {}),
    "sfq": ("sfq", {"sfq-perturb": "5"}),
    "codel": ("codel", {"codel-target": "15ms", "codel-ecn": "yes"}),
    "fq-codel": ("fq_codel", {"fq-codel-flows": "64"}),
    "cake": ("cake", {"cake-flowmode": "dual-dsthost"}),
    "mq-pfifo": ("pfifo", {"mq-pfifo-limit": "40"}),
    "none": ("pfifo", {}),
}
"""Queue type -> the qdisc of Linux, options."""


def shape(router: Router, shaper: str) -> None:
    for name in ("lan0", "wan0"):
        found = router.api.call("GET", f"/interfaces/{name}")
        router.api.call(
            "PATCH", f"/interfaces/{name}", {"shaper": shaper}, headers={"If-Match": f'"{found["etag"]}"'}
        )


@pytest.fixture(scope="module")
def trees(standing_router: Router) -> Iterator[Router]:
    """The router with HTB on both interfaces and a queue type of each kind."""
    for kind, (_, options) in KINDS.items():
        standing_router.api.call("PUT", f"/queue-types/of-{kind}", {"type": kind, "options": options})
    shape(standing_router, "htb")
    yield standing_router
    standing_router.clear_queues()
    shape(standing_router, "auto")


def leaf_packets(device: str, kind: str) -> int:
    """What has left the qdiscs of a kind below classes; fails where there is none."""
    shown: list[dict[str, Any]] = json.loads(
        netns.run(["tc", "-n", plan.ROUTER, "-s", "-j", "qdisc", "show", "dev", device])
    )
    found = [item["packets"] for item in shown if "parent" in item and item["kind"] == kind]
    assert found, f"{device} has no {kind} below a class"
    return sum(found)


def explained(router: Router, queue_id: str) -> str:
    """What downloads of the queue wait in, as the kernel has it; "" while the kernel does not agree."""
    found = router.api.call("GET", f"/queues/{queue_id}/explain")
    if not found["agrees"]:
        return ""
    said = (str(line["kernel"]) for line in found["lines"] if line["field"] == "queue_type.download")
    return next(said, "")


@pytest.mark.parametrize("kind", KINDS)
def test_a_leaf_of_each_kind_keeps_the_limit_and_explain_agrees(trees: Router, kind: str) -> None:
    name = f"of-{kind}"
    types = {"upload": name, "download": name}
    queue = customer(0, max_limit_bps=rate(LIMIT_MBIT, LIMIT_MBIT), queue_type=types)
    trees.bulk(upsert=[queue])
    qdisc = KINDS[kind][0]
    assert measure.poll(lambda: explained(trees, queue["id"]).startswith(f"lan0: below HTB {qdisc}")), (
        explained(trees, queue["id"])
    )
    before = leaf_packets("lan0", qdisc)
    offered_bps = int(1.3 * LIMIT_MBIT * MEGABIT)
    flow = Flow(plan.client_v4(0), plan.INTERNET_ADDRESSES[0], "download", offered_bps, DATAGRAM)
    (result,) = measure.measure([flow], warm_s=1.5, seconds=3)
    assert 0.7 * LIMIT_MBIT * MEGABIT < result.rate_bps < 1.1 * LIMIT_MBIT * MEGABIT
    assert leaf_packets("lan0", qdisc) - before >= result.received > 0
