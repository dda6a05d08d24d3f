# SPDX-License-Identifier: Apache-2.0
"""Queue types that become qdiscs below HTB, under traffic, on a kernel that has them.

Which qdisc the packets went through is counted, and when they arrived is stamped by the kernel, so a receiver
that is late does not matter. On a busy machine the tree is late at times as well, and what is then beyond its
burst is lost: so it is all of the time that is asked whether the limit holds, and the best half of it whether
the limit is reached.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Any

import pytest

from lab import measure, netns, plan
from lab.measure import Flow
from lab.netns import LabError
from tests.router import MEGABIT, Router, customer, rate

pytestmark = [
    pytest.mark.on_ours,
    pytest.mark.skipif(not os.environ.get("WEIR_IN_VM"), reason="needs the virtual machine's kernel"),
]

LIMIT_MBIT = 4
TOLERANCE = 0.03
DATAGRAM = 1428
STRETCH, PACKETS = 700, 1400
"""Packets of two seconds, and of four."""
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
    """What downloads of the queue wait in, as the kernel has it; "" while it does not agree or is silent."""
    try:
        found = router.api.call("GET", f"/queues/{queue_id}/explain")
    except LabError as error:
        if "agent-timeout" not in str(error):
            raise
        return ""
    if not found["agrees"]:
        return ""
    said = (str(line["kernel"]) for line in found["lines"] if line["field"] == "queue_type.download")
    return next(said, "")


def mbit(packets: int, seconds: float) -> float:
    return packets * DATAGRAM * 8 / seconds / MEGABIT


def stretches_s(gaps_s: Sequence[float]) -> list[float]:
    """How long so many packets in a row took, from each packet on."""
    ends_s = [0.0, *accumulate(gaps_s)]
    return [end_s - begin_s for begin_s, end_s in zip(ends_s, ends_s[STRETCH:], strict=False)]


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
    gaps_s = measure.gaps(flow, warm_s=1.5, packets=PACKETS)
    whole_mbit, best_mbit = mbit(PACKETS, sum(gaps_s)), mbit(STRETCH, min(stretches_s(gaps_s)))
    print(f"{kind}: {whole_mbit:.3f} Mbit/s, at best {best_mbit:.3f}")
    assert whole_mbit < LIMIT_MBIT * (1 + TOLERANCE)
    assert best_mbit > LIMIT_MBIT * (1 - TOLERANCE)
    assert leaf_packets("lan0", qdisc) - before >= PACKETS
