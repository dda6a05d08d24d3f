# SPDX-License-Identifier: Apache-2.0
"""Packets that have to wait: sparse flows go first, bulk is dropped early or marked, and nothing is lost or
charged twice on the way."""

from __future__ import annotations

import itertools
import struct
import time
from collections.abc import Callable

import pytest

from tests.datapath import packets as p
from tests.datapath.bpf_run import DROP, NEXT
from tests.datapath.loaded import DOWNLOAD, SECOND_NS, Loaded
from weir.adapters.datapath_records import ClassRecord, LineRecord

SLOT = 5
CUSTOMER, INTERNET = "10.64.1.5", "198.51.100.1"
TICKS_PER_NS = 16
GOLDEN, MASK64 = 0x9E3779B97F4A7C15, 2**64 - 1
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


def test_a_clock_that_goes_back_reorders_no_flow(router: Loaded) -> None:
    """As when another processor drops a larger packet early and takes its charge back."""
    router.limit(SLOT, RATE_BPS, limit_ns=10 * SECOND_NS, sparse=True)
    be_behind(router, 300)
    port = next(PORTS)
    departures = [router.egress(flow(port, 1400)).tstamp_ns for _ in range(5)]
    be_behind(router, 200)
    departures += [router.egress(flow(port, 1400)).tstamp_ns for _ in range(3)]
    assert departures[2:] == sorted(departures[2:])
    other = [router.egress(flow(next(PORTS), 1400)).tstamp_ns for _ in range(1)]
    assert other == [0], "another flow is not held back by it"


def flow_set(owner: int, packet: bytes, entries: int) -> int:
    """The set of the flow table that a UDP packet's flow belongs to (flow_hash.h, flows.h)."""
    source, destination, ports = struct.unpack_from("<III", packet, 14 + 12)
    mixed = source << 32 | destination
    for word in (17, ports):
        mixed = (mixed ^ word) * GOLDEN & MASK64
    return ((owner << 32 | mixed >> 32) * GOLDEN & MASK64) >> 32 & (entries - 1) & ~1


def test_a_flow_that_finds_a_place_late_does_not_overtake_itself(router: Loaded) -> None:
    """Of three flows of one set with two places, the third waits like bulk; when it is sparse later, its
    packet leaves with those that wait."""
    router.limit(SLOT, RATE_BPS, limit_ns=10 * SECOND_NS, sparse=True)
    entries = router.datapath.usage().subqueues[1]  # as many as there are flows
    wanted = flow_set(SLOT * 2 + DOWNLOAD, flow(1000), entries)
    ports = [
        port for port in range(1000, 65536) if flow_set(SLOT * 2 + DOWNLOAD, flow(port), entries) == wanted
    ][:3]
    assert len(ports) == 3
    clock_tk = be_behind(router, 150)
    for port in ports[:2]:
        departures = [router.egress(flow(port, 1400)).tstamp_ns for _ in range(4)]
        assert departures[0] == 0 < departures[-1]
    be_behind(router, 2000)
    turned_away_ns = router.egress(flow(ports[2], 1400)).tstamp_ns
    assert turned_away_ns > clock_tk // TICKS_PER_NS, "it has no place"
    until_ns = time.monotonic_ns() + 500_000_000
    while time.monotonic_ns() < until_ns:
        time.sleep(0.05)  # the others' places become idle
    assert router.egress(flow(ports[2], 60)).tstamp_ns == turned_away_ns


CUSTOMER6, INTERNET6 = "2001:db8::5", "2001:db8:f::1"
MORE_FRAGMENTS = 0x2000


def udp(port: int) -> bytes:
    return p.udp(port, 7, bytes(1400))


def by4(inner: bytes, **fields: int) -> bytes:
    return p.ethernet(p.IPV4, p.ipv4(INTERNET, CUSTOMER, inner, **fields))


def by6(inner: bytes, source: str = INTERNET6, **fields: int) -> bytes:
    return p.ethernet(p.IPV6, p.ipv6(source, CUSTOMER6, inner, **fields))


def by_session(inner: bytes) -> bytes:
    return p.ethernet(p.PPPOE, p.pppoe(p.PPP_IPV4, p.ipv4(INTERNET, CUSTOMER, inner)))


def by_tag(inner: bytes) -> bytes:
    return p.ethernet(p.VLAN, p.vlan(7, p.IPV4, p.ipv4(INTERNET, CUSTOMER, inner)))


PORTS = itertools.count(100, 2)
"""Each test has flows of its own: those of others may have spent what a sparse one may."""


@pytest.mark.parametrize("around", [by4, by_session, by_tag])
def test_bulk_has_its_departure_whatever_is_around_it(
    router: Loaded, around: Callable[[bytes], bytes]
) -> None:
    clock_tk = be_behind(router, 30)
    port = next(PORTS)
    departures = [router.egress(around(udp(port))).tstamp_ns for _ in range(4)]
    assert departures[:2] == [0, 0], "sparse"
    assert departures[2] == (clock_tk + 2 * cost_tk(1428)) // TICKS_PER_NS
    assert departures[3] > departures[2]


def piece4(offset: int, port: int) -> bytes:
    return by4(udp(port), fragment=offset or MORE_FRAGMENTS)


def piece6(offset: int, port: int) -> bytes:
    return by6(p.fragment_header(17, offset, udp(port)), next_header=44, source="2001:db8:f::3")


@pytest.mark.parametrize(
    ("bulk", "other", "apart"),
    [
        pytest.param(lambda n: by4(udp(n)), lambda n: by4(udp(n)), False, id="one flow"),
        pytest.param(lambda n: by4(udp(n)), lambda n: by4(udp(n + 1)), True, id="ports"),
        pytest.param(lambda n: by4(udp(n)), lambda n: by4(udp(n), protocol=6), True, id="protocols"),
        pytest.param(
            lambda n: by4(udp(n), ihl=7), lambda n: by4(udp(n + 1), ihl=7), True, id="ports behind options"
        ),
        pytest.param(
            lambda n: by4(udp(n), protocol=47), lambda n: by4(udp(n + 1), protocol=47), False, id="a tunnel"
        ),
        pytest.param(lambda n: piece4(0, n), lambda n: piece4(185, n + 1), False, id="fragments of a packet"),
        pytest.param(lambda n: by6(udp(n)), lambda n: by6(udp(n)), False, id="one flow, v6"),
        pytest.param(lambda n: by6(udp(n)), lambda n: by6(udp(n + 1)), True, id="ports, v6"),
        pytest.param(
            lambda n: by6(udp(n)), lambda n: by6(udp(n), source="2001:db8:f::2"), True, id="addresses, v6"
        ),
        pytest.param(
            lambda n: piece6(0, n), lambda n: piece6(175, n + 1), False, id="fragments of a packet, v6"
        ),
        pytest.param(
            lambda n: by_session(udp(n)), lambda n: by_session(udp(n + 1)), True, id="ports in a session"
        ),
        pytest.param(lambda n: by_tag(udp(n)), lambda n: by_tag(udp(n + 1)), True, id="ports behind a tag"),
    ],
)
def test_flows_are_told_apart(
    router: Loaded, bulk: Callable[[int], bytes], other: Callable[[int], bytes], apart: bool
) -> None:
    """What is not the bulk's flow passes it; what is does not."""
    router.classify(6, p.value6(CUSTOMER6), 128, SLOT)
    be_behind(router, 30)
    port = next(PORTS)
    assert [router.egress(bulk(port)).tstamp_ns > 0 for _ in range(3)] == [False, False, True]
    assert (router.egress(other(port)).tstamp_ns == 0) == apart


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
        deadline = time.monotonic() + 60
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
