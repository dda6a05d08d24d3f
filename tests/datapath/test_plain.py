# SPDX-License-Identifier: Apache-2.0
"""The short way of plain packets (bpf/plain.h) and the general one treat the same IP packet alike."""

from __future__ import annotations

import time
from typing import NamedTuple

import pytest

from tests.datapath import packets as p
from tests.datapath.bpf_run import DROP, NEXT
from tests.datapath.loaded import DOWNLOAD, SECOND_NS, UPLOAD, Loaded

CLASS, PARENT, OTHER = 7, 8, 9
CUSTOMER, NEIGHBOUR, INTERNET = "10.64.1.7", "10.64.1.9", "198.51.100.1"
BYTES = 1000
COST_TK = BYTES * 1000 * 16
"""At 8 Mbit/s."""


class Case(NamedTuple):
    to: str = CUSTOMER
    mark: int = 0
    direction: int = DOWNLOAD
    ahead_ns: int = -1
    """The class's clock, from now."""
    parent_ahead_ns: int = -1
    verdict: int = NEXT
    charged: int = 1
    waits: bool = False


CASES = {
    "a download that conforms": Case(),
    "an upload that conforms": Case(INTERNET, CLASS << 8, UPLOAD),
    "a download that waits": Case(ahead_ns=SECOND_NS // 2, waits=True),
    "an upload that waits": Case(INTERNET, CLASS << 8, UPLOAD, SECOND_NS // 2, waits=True),
    "one over its limit": Case(ahead_ns=2 * SECOND_NS, verdict=DROP, charged=0),
    "one that waits for its parent": Case(parent_ahead_ns=SECOND_NS // 2, waits=True),
    "one whose parent is over its limit": Case(parent_ahead_ns=2 * SECOND_NS, verdict=DROP, charged=0),
    "one between two customers": Case(mark=OTHER << 8),
}
WAYS = {
    "plain": lambda ip: p.ethernet(p.IPV4, ip),
    "tagged": lambda ip: p.ethernet(p.VLAN, p.vlan(5, p.IPV4, ip)),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", CASES)
def test_a_packet_is_judged_charged_and_counted_alike(loaded: Loaded, name: str, way: str) -> None:
    case = CASES[name]
    loaded.mode("edt")
    loaded.limit(PARENT, 8_000_000, burst_bytes=10**6)
    loaded.limit(CLASS, 8_000_000, burst_bytes=10**6, parent=PARENT)
    loaded.limit(OTHER, 8_000_000, burst_bytes=10**6)
    loaded.classify(4, p.value4(CUSTOMER), 32, CLASS)
    loaded.classify(4, p.value4(NEIGHBOUR), 32, OTHER)
    now_ns = time.monotonic_ns()
    for slot, ahead_ns in ((CLASS, case.ahead_ns), (PARENT, case.parent_ahead_ns), (OTHER, -1)):
        for direction in (UPLOAD, DOWNLOAD):
            loaded.set_clock_tk(slot, direction, (now_ns + ahead_ns) * 16)
    before = loaded.clock_tk(CLASS, case.direction), loaded.clock_tk(PARENT, case.direction)

    run = loaded.egress(WAYS[way](p.ipv4(NEIGHBOUR, case.to, b"x" * (BYTES - 20))), mark=case.mark)

    counted = loaded.counters(CLASS, case.direction)
    assert (run.verdict, run.tstamp_ns > 0) == (case.verdict, case.waits)
    assert loaded.clock_tk(CLASS, case.direction) - before[0] == COST_TK * case.charged
    prepaid_tk = loaded.prepaid_tk(PARENT, case.direction)
    assert loaded.clock_tk(PARENT, case.direction) - before[1] - prepaid_tk == COST_TK * case.charged
    assert (counted["packets"], counted["bytes"]) == (case.charged, BYTES * case.charged)
    assert (counted["drop_packets"], counted["drop_bytes"]) == (1 - case.charged, BYTES * (1 - case.charged))
    sent_by_other = 1 if case.mark == OTHER << 8 else 0
    assert loaded.counters(OTHER, UPLOAD)["packets"] == sent_by_other
    assert loaded.counters(CLASS, 1 - case.direction)["packets"] == 0
