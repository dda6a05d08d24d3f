# SPDX-License-Identifier: Apache-2.0
"""Departure times kept by fq, on a kernel that has it: the virtual machine's (lab/vm/run pytest tests/vm)."""

from __future__ import annotations

import json
import os
import statistics

import pytest

from lab import delay, measure, netns, plan, tcp
from lab.measure import Flow
from tests.nearest import nearest
from tests.router import MEGABIT, Router, customer, rate
from weir.adapters import tc

pytestmark = [
    pytest.mark.measured,
    pytest.mark.skipif(not os.environ.get("WEIR_IN_VM"), reason="needs the virtual machine's kernel"),
]

SERVER_V4 = plan.INTERNET_ADDRESSES[0]
DATAGRAM = 1428
PORTS = [link.router_device for link in plan.LINKS]


def test_the_router_chose_edt_on_fq_by_itself(router: Router) -> None:
    def modes() -> dict[str, str]:
        """Empty when the agent, on emulated processors, takes longer to answer than a page waits."""
        shapers = router.api.call("GET", "/system")["shapers"]
        return {shaper["interface"]: shaper["mode"] for shaper in shapers}

    assert measure.poll(lambda: modes() == dict.fromkeys(PORTS, "edt")), modes()


def test_every_leaf_of_the_interfaces_paces(router: Router) -> None:
    for device in PORTS:
        shown = json.loads(netns.run(["tc", "-n", plan.ROUTER, "-j", "qdisc", "show", "dev", device]))
        kinds = [qdisc["kind"] for qdisc in shown if qdisc["kind"] not in {"clsact", "ingress"}]
        assert kinds.count("mq") == 1
        assert kinds.count("fq") == plan.QUEUES_PER_LINK
        assert len(kinds) == 1 + plan.QUEUES_PER_LINK
        masks = {qdisc["options"]["orphan_mask"] for qdisc in shown if qdisc["kind"] == "fq"}
        assert masks == {tc.FQ_ORPHAN_MASK}


@pytest.mark.parametrize("mbit", [1, 10, 50])
def test_udp_arrives_at_the_limit(router: Router, mbit: int) -> None:
    router.bulk(upsert=[customer(0, max_limit_bps=rate(mbit, mbit))])
    flow = Flow(
        plan.client_v4(0), SERVER_V4, "download", int(1.2 * mbit * MEGABIT), DATAGRAM, max(1, mbit // 5)
    )
    measured_bps = nearest(mbit * MEGABIT, lambda: measure.arriving_bps(flow, warm_s=1.5, seconds=4), float)
    assert measured_bps == pytest.approx(mbit * MEGABIT, rel=0.02)


@pytest.mark.parametrize("mbit", [1, 10, 50])
def test_tcp_reaches_the_limit_less_headers(router: Router, mbit: int) -> None:
    router.bulk(upsert=[customer(0, max_limit_bps=rate(mbit, mbit))])
    with delay.netem(20):
        goodput_bps = tcp.goodput_bps(plan.client_v4(0), SERVER_V4, "download", warm_s=4, seconds=6)
    assert goodput_bps == pytest.approx(mbit * MEGABIT * tcp.MSS_SHARE[4], rel=0.05)


def test_paced_packets_leave_evenly(router: Router) -> None:
    """A policer would drop every third packet: its gaps are one or two of the sender's, never between."""
    router.bulk(upsert=[customer(0, max_limit_bps=rate(4, 4))])
    flow = Flow(plan.client_v4(0), SERVER_V4, "download", 6 * MEGABIT, ip_bytes=DATAGRAM)
    gaps_s = measure.gaps(flow, warm_s=1.5, packets=400)
    assert statistics.median(gaps_s) == pytest.approx(DATAGRAM * 8 / (4 * MEGABIT), rel=0.1)
