# SPDX-License-Identifier: Apache-2.0
"""Packets that have to wait: sparse flows go first, bulk is dropped early or marked, and nothing is lost or
charged twice on the way."""

from __future__ import annotations

import struct
import time

import pytest

from tests.datapath import packets as p
from tests.datapath.bpf_run import DROP, NEXT
from tests.datapath.loaded import DOWNLOAD, SECOND_NS, Loaded
from weir.adapters.datapath_records import ClassRecord, LineRecord

SLOT = 5
CUSTOMER, INTERNET = "10.64.1.5", "198.51.100.1"
TICKS_PER_NS = 16
RATE_BPS = 20_000_000


def flow(port: int, size: int = 200) -> bytes:
    """A UDP packet of one flow."""
    return p.ethernet(
        p.IPV4, p.ipv4(INTERNET, CUSTOMER, struct.pack("!HHHH", port, 7, size - 20, 0) + bytes(size - 28))
    )


@pytest.fixture
def router(loaded: Loaded) -> Loaded:
    """A class of 20 Mbit/s with a limit of 50 ms."""
    loaded.mode("edt")
    loaded.classify(4, p.value4(CUSTOMER), 32, SLOT)
    loaded.limit(SLOT, RATE_BPS, limit_ns=SECOND_NS // 20, sparse=True)
    return loaded


def be_behind(router: Loaded, delay_ms: int) -> int:
    """Make the class wait so long from now; returns its clock."""
    clock_tk = (time.monotonic_ns() + delay_ms * 1_000_000) * TICKS_PER_NS
    router.set_clock_tk(SLOT, DOWNLOAD, clock_tk)
    return clock_tk


def cost_tk(size_bytes: int) -> int:
    return size_bytes * 8 * SECOND_NS * TICKS_PER_NS // RATE_BPS


def test_a_sparse_flow_leaves_at_once_and_is_charged(router: Loaded) -> None:
    clock_tk = be_behind(router, 30)
    run = router.egress(flow(1))
    assert (run.verdict, run.tstamp_ns) == (NEXT, 0)
    assert router.clock_tk(SLOT, DOWNLOAD) - clock_tk == cost_tk(200)


def test_a_flow_that_sends_more_than_its_part_waits(router: Loaded) -> None:
    """Two full packets at once are still sparse, the third is not."""
    be_behind(router, 10)
    departures = [router.egress(flow(2, 1400)).tstamp_ns for _ in range(4)]
    assert departures[:2] == [0, 0]
    assert departures[2] > time.monotonic_ns()
    assert departures[3] > departures[2]


def test_a_flow_is_not_reordered_when_it_becomes_sparse_again(router: Loaded) -> None:
    """Its next packet leaves right with its last one, not before."""
    router.limit(SLOT, RATE_BPS, limit_ns=10 * SECOND_NS, sparse=True)
    be_behind(router, 5000)
    departures = [router.egress(flow(3, 1400)).tstamp_ns for _ in range(4)]
    deadline = time.monotonic() + 4
    while departures[-1] != departures[-2] and time.monotonic() < deadline:
        time.sleep(0.02)  # the flow's own clock recovers
        if (run := router.egress(flow(3, 60))).verdict == NEXT:
            departures.append(run.tstamp_ns)
    assert departures[-1] == departures[-2] > time.monotonic_ns()
    assert departures[2:] == sorted(departures[2:])


CUSTOMER6, INTERNET6 = "2001:db8::5", "2001:db8:f::1"
MORE_FRAGMENTS = 0x2000


def udp(port: int) -> bytes:
    return p.udp(port, 7, bytes(1400))


def by4(inner: bytes, **fields: int) -> bytes:
    return p.ethernet(p.IPV4, p.ipv4(INTERNET, CUSTOMER, inner, **fields))


def by6(inner: bytes, source: str = INTERNET6, **fields: int) -> bytes:
    return p.ethernet(p.IPV6, p.ipv6(source, CUSTOMER6, inner, **fields))


@pytest.mark.parametrize(
    ("bulk", "other", "apart"),
    [
        pytest.param(by4(udp(1)), by4(udp(1)), False, id="one flow"),
        pytest.param(by4(udp(1)), by4(udp(2)), True, id="ports"),
        pytest.param(by4(udp(1)), by4(udp(1), protocol=6), True, id="protocols"),
        pytest.param(by4(udp(1), ihl=7), by4(udp(2), ihl=7), True, id="ports behind options"),
        pytest.param(by4(udp(1), protocol=47), by4(udp(2), protocol=47), False, id="a tunnel"),
        pytest.param(
            by4(udp(1), fragment=MORE_FRAGMENTS), by4(udp(2), fragment=185), False, id="fragments of a packet"
        ),
        pytest.param(by6(udp(1)), by6(udp(1)), False, id="one flow, v6"),
        pytest.param(by6(udp(1)), by6(udp(2)), True, id="ports, v6"),
        pytest.param(by6(udp(1)), by6(udp(1), source="2001:db8:f::2"), True, id="addresses, v6"),
        pytest.param(
            by6(p.fragment_header(17, 0, udp(1)), next_header=44),
            by6(p.fragment_header(17, 175, udp(2)), next_header=44),
            False,
            id="fragments of a packet, v6",
        ),
    ],
)
def test_flows_are_told_apart(router: Loaded, bulk: bytes, other: bytes, apart: bool) -> None:
    """What is not the bulk's flow passes it; what is does not."""
    router.classify(6, p.value6(CUSTOMER6), 128, SLOT)
    be_behind(router, 30)
    assert [router.egress(bulk).tstamp_ns > 0 for _ in range(3)] == [False, False, True]
    assert (router.egress(other).tstamp_ns == 0) == apart


def test_a_large_packet_is_not_sparse(router: Loaded) -> None:
    be_behind(router, 10)
    run = router.egress(flow(4, 1400), wire_len=14 * 3 + 4000, gso_segs=3)
    assert run.tstamp_ns > time.monotonic_ns()


def test_a_sweep_of_flows_passes_no_more_than_half_of_the_rate(router: Loaded) -> None:
    """A hundred flows of one packet each within a moment: a few leave early, then the rest waits."""
    router.limit(SLOT, 1_000_000, limit_ns=SECOND_NS, sparse=True)
    be_behind(router, 5)
    began_ns = time.monotonic_ns()
    runs = [router.egress(flow(1000 + number, 1000)) for number in range(100)]
    took_s = (time.monotonic_ns() - began_ns) / SECOND_NS
    early = sum(run.verdict == NEXT and run.tstamp_ns == 0 for run in runs)
    assert 3 <= early <= 5 + 500_000 / 8 / 1000 * took_s


def test_sparse_flows_pass_a_class_over_its_limit_but_not_far_over(router: Loaded) -> None:
    be_behind(router, 60)
    assert router.egress(flow(5, 1400), wire_len=14 * 3 + 4000, gso_segs=3).verdict == DROP
    run = router.egress(flow(6))
    assert (run.verdict, run.tstamp_ns) == (NEXT, 0)
    be_behind(router, 110)
    assert router.egress(flow(7)).verdict == DROP


def test_a_dropped_packet_gets_its_charge_back(router: Loaded) -> None:
    """Also from the ancestors; and it is counted as dropped."""
    router.limit(1, 2 * RATE_BPS)
    router.limit(SLOT, RATE_BPS, parent=1)
    clock_tk = be_behind(router, 100)
    router.set_clock_tk(1, DOWNLOAD, clock_tk)
    router.set_chance(SLOT, DOWNLOAD, 1.0)
    assert router.egress(flow(8)).verdict == DROP
    assert router.clock_tk(SLOT, DOWNLOAD) == clock_tk
    assert router.clock_tk(1, DOWNLOAD) == clock_tk
    assert router.counters(SLOT, DOWNLOAD)["drop_packets"] == 1
    assert router.counters(SLOT, DOWNLOAD)["packets"] == 0
    assert router.backlog(SLOT, DOWNLOAD).early_packets == 1


@pytest.mark.parametrize(("chance", "share"), [(0.5, 0.25), (0.2, 0.04), (0.0, 0.0)])
def test_the_chance_of_a_drop_is_its_square(router: Loaded, chance: float, share: float) -> None:
    router.limit(SLOT, 80_000_000_000)
    dropped = 0
    for _ in range(2000):
        be_behind(router, 50)
        router.set_chance(SLOT, DOWNLOAD, chance)
        dropped += router.egress(flow(9)).verdict == DROP
    assert dropped / 2000 == pytest.approx(share, abs=4 * (share * (1 - share) / 2000) ** 0.5)


def test_what_waits_less_than_half_the_target_is_never_dropped(router: Loaded) -> None:
    router.limit(SLOT, 80_000_000_000)
    be_behind(router, 6)
    router.set_chance(SLOT, DOWNLOAD, 1.0)
    assert router.egress(flow(10)).verdict == NEXT


def test_the_law_raises_the_chance_above_the_target_and_lowers_it_below(router: Loaded) -> None:
    """At 200 kbit/s the target is 242 ms, and a busy machine may pause as long."""
    router.limit(SLOT, 200_000)

    def chance_after(delay_ms: int) -> int:
        before = router.backlog(SLOT, DOWNLOAD)
        deadline = time.monotonic() + 5
        while time.monotonic() < deadline:
            be_behind(router, delay_ms)
            router.egress(flow(11))
            now = router.backlog(SLOT, DOWNLOAD)
            if now.updated != before.updated:
                return now.chance
        raise AssertionError("the law did not run")

    chance_after(300)  # after an idle time the first look only begins
    high = [chance_after(400) for _ in range(4)]
    assert high[-1] > high[0] > 0
    assert chance_after(10) < high[-1]


def test_delays_are_kept_as_they_are_now_and_as_the_worst(router: Loaded) -> None:
    router.limit(SLOT, 80_000_000_000)
    be_behind(router, 40)
    router.egress(flow(12))
    be_behind(router, 8)
    router.egress(flow(12))
    backlog = router.backlog(SLOT, DOWNLOAD)
    assert max(backlog.worst_us, backlog.worst_before_us) == pytest.approx(40_000, rel=0.1)


@pytest.mark.parametrize("classes", [1, 300])
def test_a_class_in_the_place_of_others_begins_without_their_backlog(router: Loaded, classes: int) -> None:
    slots = range(SLOT, SLOT + classes)
    for slot in slots:
        router.set_chance(slot, DOWNLOAD, 0.5)
    line = LineRecord(RATE_BPS, 0, SECOND_NS // 20)
    fresh = [(slot, ClassRecord(1000 + slot, 0, line, line)) for slot in slots]
    router.datapath.write_classes(fresh)
    assert {router.backlog(slot, DOWNLOAD).chance for slot in slots} == {0}
    router.set_chance(SLOT, DOWNLOAD, 0.5)
    router.datapath.write_classes(fresh)
    assert router.backlog(SLOT, DOWNLOAD).chance > 0
    for slot in slots:
        router.datapath.clear_class(slot)
    assert router.backlog(SLOT, DOWNLOAD).chance == 0
