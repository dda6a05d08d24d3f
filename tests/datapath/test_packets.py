# SPDX-License-Identifier: Apache-2.0
"""Every branch of the parser and every verdict, one packet at a time."""

from __future__ import annotations

import time

import pytest

from tests.datapath import packets as p
from tests.datapath.bpf_run import DROP, NEXT
from tests.datapath.loaded import DOWNLOAD, POLICE_BURST_NS, SECOND_NS, UPLOAD, Loaded
from weir.adapters.datapath_records import ClassRecord, LineRecord

SLOT = 7
MARK_OF_SLOT = SLOT << 8
OWN_BITS = 0xC00000FF  # of the mark: not Weir's

CUSTOMER, INTERNET = "10.64.1.7", "198.51.100.1"
CUSTOMER6, INTERNET6 = "2001:db8:64:7::1", "2001:db8:100::1"

up4 = p.ipv4(CUSTOMER, INTERNET)
up6 = p.ipv6(CUSTOMER6, INTERNET6)

CLASSIFIED = {
    "ipv4": p.ethernet(p.IPV4, up4),
    "ipv4 with options": p.ethernet(p.IPV4, p.ipv4(CUSTOMER, INTERNET, ihl=15)),
    "ipv4 first fragment": p.ethernet(p.IPV4, p.ipv4(CUSTOMER, INTERNET, fragment=0x2000)),
    "ipv4 later fragment": p.ethernet(p.IPV4, p.ipv4(CUSTOMER, INTERNET, fragment=185)),
    "ipv4 without payload": p.ethernet(p.IPV4, p.ipv4(CUSTOMER, INTERNET, b"")),
    "ipv6": p.ethernet(p.IPV6, up6),
    "ipv6 hop by hop": p.ethernet(
        p.IPV6, p.ipv6(CUSTOMER6, INTERNET6, p.hop_by_hop(17, b"x" * 8), next_header=0)
    ),
    "ipv6 later fragment": p.ethernet(
        p.IPV6, p.ipv6(CUSTOMER6, INTERNET6, p.fragment_header(17, 185, b"x" * 8), next_header=44)
    ),
    "ipv6 without payload": p.ethernet(p.IPV6, p.ipv6(CUSTOMER6, INTERNET6, b"")),
    "vlan ipv4": p.ethernet(p.VLAN, p.vlan(100, p.IPV4, up4)),
    "vlan ipv6": p.ethernet(p.VLAN, p.vlan(100, p.IPV6, up6)),
    "qinq ipv4": p.ethernet(p.QINQ, p.vlan(5, p.VLAN, p.vlan(100, p.IPV4, up4))),
    "two 802.1q tags, ipv6": p.ethernet(p.VLAN, p.vlan(5, p.VLAN, p.vlan(100, p.IPV6, up6))),
    "three tags, ipv4": p.ethernet(p.VLAN, p.tags([1, 2, 3], p.IPV4, up4)),
    "eight priority tags, ipv4": p.ethernet(p.VLAN, p.tags([0] * 8, p.IPV4, up4)),
    "eight priority tags, ipv6": p.ethernet(p.VLAN, p.tags([0] * 8, p.IPV6, up6)),
    "eight 802.1ad priority tags, ipv4": p.ethernet(p.QINQ, p.tags([0] * 8, p.IPV4, up4, p.QINQ)),
    "five priority tags, pppoe": p.ethernet(p.VLAN, p.tags([0] * 5, p.PPPOE, p.pppoe(p.PPP_IPV4, up4))),
    "pppoe ipv4": p.ethernet(p.PPPOE, p.pppoe(p.PPP_IPV4, up4)),
    "pppoe ipv6": p.ethernet(p.PPPOE, p.pppoe(p.PPP_IPV6, up6)),
    "qinq pppoe ipv4": p.ethernet(p.QINQ, p.vlan(5, p.VLAN, p.vlan(100, p.PPPOE, p.pppoe(p.PPP_IPV4, up4)))),
    "qinq pppoe ipv6": p.ethernet(p.QINQ, p.vlan(5, p.VLAN, p.vlan(100, p.PPPOE, p.pppoe(p.PPP_IPV6, up6)))),
    "pppoe ipv4, one byte of protocol": p.ethernet(p.PPPOE, p.pppoe_short(p.PPP_IPV4, up4)),
    "pppoe ipv6, one byte of protocol": p.ethernet(p.PPPOE, p.pppoe_short(p.PPP_IPV6, up6)),
    "pppoe version 2": p.ethernet(p.PPPOE, p.pppoe(p.PPP_IPV4, up4, version_type=0x21)),
    "pppoe with a code": p.ethernet(p.PPPOE, p.pppoe(p.PPP_IPV4, up4, code=9)),
}

NOT_CLASSIFIED = {
    "arp": (p.ethernet(p.ARP, bytes(28)), "not-ip"),
    "vlan arp": (p.ethernet(p.VLAN, p.vlan(100, p.ARP, bytes(28))), "not-ip"),
    "ppp control": (p.ethernet(p.PPPOE, p.pppoe(p.PPP_LCP, bytes(8))), "not-ip"),
    "truncated tag": (p.ethernet(p.VLAN, b"\0\x64"), "short"),
    "truncated second tag": (p.ethernet(p.QINQ, p.vlan(5, p.VLAN, b"\0")), "short"),
    "truncated pppoe": (p.ethernet(p.PPPOE, p.pppoe(p.PPP_IPV4, b"")[:6]), "short"),
    "truncated ipv4": (p.ethernet(p.VLAN, p.vlan(100, p.IPV4, up4[:19])), "short"),
    "truncated ipv4 in pppoe": (p.ethernet(p.PPPOE, p.pppoe(p.PPP_IPV4, up4[:10])), "short"),
    "truncated ipv6": (p.ethernet(p.VLAN, p.vlan(100, p.IPV6, up6[:39])), "short"),
    "ipv4 that says version 5": (p.ethernet(p.IPV4, p.ipv4(CUSTOMER, INTERNET, version=5)), "bad-header"),
    "ipv4 with a header of 16 bytes": (p.ethernet(p.IPV4, p.ipv4(CUSTOMER, INTERNET, ihl=4)), "bad-header"),
    "ipv6 that says version 4": (p.ethernet(p.IPV6, p.ipv6(CUSTOMER6, INTERNET6, version=4)), "bad-header"),
    "ipv4 in no queue": (p.frame4("192.0.2.1", INTERNET), "no-class"),
    "ipv6 in no queue": (p.frame6(INTERNET6, "2001:db8:101::1"), "no-class"),
}


@pytest.fixture
def router(loaded: Loaded) -> Loaded:
    """The customer's prefixes are class 7, 8 Mbit/s = 1 byte/us each way, no burst."""
    loaded.mode("edt")
    loaded.limit(SLOT, 8_000_000)
    loaded.classify(4, p.value4(CUSTOMER), 32, SLOT)
    loaded.classify(6, p.value6("2001:db8:64:7::"), 64, SLOT)
    return loaded


def backlog(router: Loaded, slot: int) -> int:
    """Put the slot's download clock half a second ahead, so that no packet finds it idle; returns it."""
    router.set_clock_tk(slot, DOWNLOAD, (time.monotonic_ns() + SECOND_NS // 2) * 16)
    return router.clock_tk(slot, DOWNLOAD)


@pytest.mark.parametrize("name", CLASSIFIED)
def test_upload_is_marked_by_source(router: Loaded, name: str) -> None:
    run = router.ingress(CLASSIFIED[name], mark=OWN_BITS)
    assert (run.verdict, run.mark) == (NEXT, OWN_BITS | MARK_OF_SLOT)


@pytest.mark.parametrize("name", NOT_CLASSIFIED)
def test_a_stale_mark_is_taken_away(router: Loaded, name: str) -> None:
    run = router.ingress(NOT_CLASSIFIED[name][0], mark=0xFFFFFFFF)
    assert (run.verdict, run.mark) == (NEXT, OWN_BITS)


@pytest.mark.parametrize("name", CLASSIFIED)
def test_upload_is_charged_by_mark(router: Loaded, name: str) -> None:
    frame = CLASSIFIED[name]
    assert router.egress(frame, mark=MARK_OF_SLOT).verdict == NEXT
    counted = router.counters(SLOT, UPLOAD)
    assert counted["packets"] == 1
    assert 20 <= counted["bytes"] <= len(frame) - 14
    assert router.counters(SLOT, DOWNLOAD)["packets"] == 0


@pytest.mark.parametrize("name", NOT_CLASSIFIED)
def test_what_cannot_be_classified_passes_and_is_counted(router: Loaded, name: str) -> None:
    frame, reason = NOT_CLASSIFIED[name]
    run = router.egress(frame)
    assert (run.verdict, run.tstamp_ns) == (NEXT, 0)
    assert router.unshaped() == {reason: 1}


@pytest.mark.parametrize(
    ("frame", "ip_bytes"),
    [
        (p.frame4(INTERNET, CUSTOMER, 576), 576),
        (p.frame6(INTERNET6, CUSTOMER6, 1280), 1280),
        (p.ethernet(p.VLAN, p.vlan(9, p.IPV4, p.ipv4(INTERNET, CUSTOMER, bytes(80)))), 100),
        (p.ethernet(p.PPPOE, p.pppoe(p.PPP_IPV4, p.ipv4(INTERNET, CUSTOMER, bytes(80)))), 100),
    ],
)
def test_download_is_charged_the_bytes_of_the_ip_packet(router: Loaded, frame: bytes, ip_bytes: int) -> None:
    before = backlog(router, SLOT)
    assert router.egress(frame).verdict == NEXT
    counted = router.counters(SLOT, DOWNLOAD)
    assert (counted["packets"], counted["bytes"]) == (1, ip_bytes)
    assert router.clock_tk(SLOT, DOWNLOAD) - before == ip_bytes * 1000 * 16


def test_destination_is_compared_before_the_mark(router: Loaded) -> None:
    router.limit(8, 8_000_000)
    router.egress(p.frame4("10.64.1.8", CUSTOMER), mark=8 << 8)
    assert router.counters(SLOT, DOWNLOAD)["packets"] == 1
    assert router.counters(SLOT, UPLOAD)["packets"] == 0
    assert router.counters(8, DOWNLOAD)["packets"] == 0


def test_an_interface_target_takes_what_no_prefix_takes(router: Loaded) -> None:
    router.limit(9, 8_000_000)
    router.mode("edt", slot_for_interface_target=9)
    stranger = p.frame4("192.0.2.1", "192.0.2.2")
    assert router.ingress(stranger).mark == 9 << 8
    assert router.ingress(CLASSIFIED["ipv4"]).mark == MARK_OF_SLOT
    router.egress(stranger)
    router.egress(p.frame4("192.0.2.1", CUSTOMER))
    assert router.counters(9, DOWNLOAD)["packets"] == 1
    assert router.counters(SLOT, DOWNLOAD)["packets"] == 1


def test_overhead_is_charged_for_each_segment_and_not_counted_as_traffic(router: Loaded) -> None:
    router.mode("edt", overhead_bytes=24)
    frame = p.frame4(INTERNET, CUSTOMER, 100)
    before = backlog(router, SLOT)
    wire = 10 * 1514  # ten segments with Ethernet headers
    router.egress(frame, wire_len=wire, gso_segs=10, gso_size=1460)
    assert router.clock_tk(SLOT, DOWNLOAD) - before == (10 * 1500 + 10 * 24) * 1000 * 16
    counted = router.counters(SLOT, DOWNLOAD)
    assert (counted["packets"], counted["bytes"]) == (10, 15000)


def test_negative_overhead_never_credits(router: Loaded) -> None:
    router.mode("edt", overhead_bytes=-200)
    frame = p.frame4(INTERNET, CUSTOMER, 100)
    router.egress(frame)
    before = backlog(router, SLOT)
    router.egress(frame)
    assert router.clock_tk(SLOT, DOWNLOAD) == before


def test_pacing_gives_each_packet_its_departure_time(router: Loaded) -> None:
    frame = p.frame4(INTERNET, CUSTOMER, 1000)
    assert router.egress(frame).tstamp_ns == 0, "the line was idle"
    start_tk = backlog(router, SLOT)
    first, second = router.egress(frame), router.egress(frame)
    assert first.tstamp_ns == start_tk // 16
    assert second.tstamp_ns - first.tstamp_ns == 1_000_000, "1000 bytes at 1 byte/us"
    assert router.counters(SLOT, DOWNLOAD)["delay_us"] > 0


def test_beyond_the_horizon_a_packet_is_dropped_and_not_charged(router: Loaded) -> None:
    router.limit(SLOT, 8_000_000, limit_ns=10_000_000)
    frame = p.frame4(INTERNET, CUSTOMER, 1000)
    router.set_clock_tk(SLOT, DOWNLOAD, (time.monotonic_ns() + SECOND_NS) * 16)
    before = router.clock_tk(SLOT, DOWNLOAD)
    assert router.egress(frame).verdict == DROP
    assert router.clock_tk(SLOT, DOWNLOAD) == before
    counted = router.counters(SLOT, DOWNLOAD)
    assert (counted["packets"], counted["drop_packets"], counted["drop_bytes"]) == (0, 1, 1000)
    assert counted["ancestor_drop_packets"] == 0


def test_policing_drops_instead_of_delaying(router: Loaded) -> None:
    router.mode("police")
    frame = p.frame4(INTERNET, CUSTOMER, 1000)
    router.set_clock_tk(SLOT, DOWNLOAD, (time.monotonic_ns() + 5_000_000) * 16)
    assert router.egress(frame).verdict == DROP
    router.set_clock_tk(SLOT, DOWNLOAD, 0)
    run = router.egress(frame)
    assert (run.verdict, run.tstamp_ns) == (NEXT, 0)


def test_policing_has_a_burst_that_outlasts_a_retransmission_timeout(router: Loaded) -> None:
    router.mode("police")
    frame = p.frame4(INTERNET, CUSTOMER, 1000)
    now_ns = time.monotonic_ns()
    assert router.egress(frame).verdict == NEXT
    credit_ns = now_ns + 1_000_000 - router.clock_tk(SLOT, DOWNLOAD) / 16
    assert POLICE_BURST_NS - (time.monotonic_ns() - now_ns) <= credit_ns <= POLICE_BURST_NS


def with_ecn(frame: bytes, ecn: int) -> bytes:
    """The frame with other ECN bits; an IPv4 checksum of 0 stays wrong in the same way."""
    head = bytearray(frame)
    if head[12:14] == b"\x08\x00":
        head[15] = head[15] & ~3 | ecn
    else:
        head[15] = head[15] & 0xCF | ecn << 4
    return bytes(head)


def ecn_of(frame: bytes) -> int:
    return frame[15] & 3 if frame[12:14] == b"\x08\x00" else frame[15] >> 4 & 3


NOT_ECT, ECT1, ECT0, CE = range(4)


@pytest.mark.parametrize(
    ("ecn", "waits_ms", "after"),
    [
        (ECT0, 50, CE),
        (ECT0, 10, ECT0),
        (ECT1, 10, CE),
        (ECT1, 0, ECT1),
        (NOT_ECT, 50, NOT_ECT),
        (CE, 50, CE),
    ],
)
@pytest.mark.parametrize("frame", [p.frame4(INTERNET, CUSTOMER, 1000), p.frame6(INTERNET6, CUSTOMER6, 1000)])
def test_a_long_wait_is_marked_for_senders_that_understand(
    router: Loaded, frame: bytes, ecn: int, waits_ms: int, after: int
) -> None:
    # Whatever passes between the store and the run: the wait is set with a wide margin to its threshold.
    router.set_clock_tk(SLOT, DOWNLOAD, (time.monotonic_ns() + waits_ms * 1_000_000) * 16)
    run = router.egress(with_ecn(frame, ecn))
    assert run.verdict == NEXT
    assert ecn_of(run.frame) == after
    assert router.counters(SLOT, DOWNLOAD)["mark_packets"] == (1 if after == CE and ecn != CE else 0)


def test_an_unlimited_class_is_only_counted(router: Loaded) -> None:
    router.limit(SLOT, 0)
    frame = p.frame4(INTERNET, CUSTOMER, 1000)
    assert {router.egress(frame).tstamp_ns for _ in range(5)} == {0}
    assert router.clock_tk(SLOT, DOWNLOAD) == 0
    assert router.counters(SLOT, DOWNLOAD)["packets"] == 5


def test_the_later_of_two_departure_times_holds(router: Loaded) -> None:
    router.limit(SLOT, 8_000_000, limit_ns=10 * SECOND_NS)
    router.set_clock_tk(SLOT, DOWNLOAD, (time.monotonic_ns() + SECOND_NS) * 16)
    frame = p.frame4(INTERNET, CUSTOMER, 1000)
    early = time.monotonic_ns()
    assert router.egress(frame, tstamp_ns=early).tstamp_ns > early + SECOND_NS // 2


def test_all_levels_are_charged_and_the_latest_holds(router: Loaded) -> None:
    for slot in range(10, 16):
        router.limit(slot, 80_000_000, parent=slot + 1)
    router.limit(16, 4_000_000)
    router.limit(SLOT, 8_000_000, parent=10)
    frame = p.frame4(INTERNET, CUSTOMER, 1000)
    before = {slot: backlog(router, slot) for slot in (SLOT, *range(10, 17))}
    second, third = router.egress(frame), router.egress(frame)
    assert third.tstamp_ns - second.tstamp_ns == 2_000_000, "the root at 4 Mbit/s is the slowest"
    charged = {slot: router.clock_tk(slot, DOWNLOAD) - clock for slot, clock in before.items()}
    assert charged[SLOT] == 2 * 1000 * 1000 * 16
    assert charged[16] == 2 * 1000 * 2000 * 16
    assert all(charged[slot] == 2 * 1000 * 100 * 16 for slot in range(10, 16))
    assert router.counters(16, DOWNLOAD)["packets"] == 0, "counted where it matched"


def test_an_ancestor_over_its_limit_drops_and_nothing_is_charged(router: Loaded) -> None:
    router.limit(10, 8_000_000, limit_ns=1_000_000)
    router.limit(SLOT, 8_000_000, parent=10)
    router.set_clock_tk(10, DOWNLOAD, (time.monotonic_ns() + SECOND_NS) * 16)
    assert router.egress(p.frame4(INTERNET, CUSTOMER, 1000)).verdict == DROP
    assert router.clock_tk(SLOT, DOWNLOAD) == 0
    counted = router.counters(SLOT, DOWNLOAD)
    assert (counted["drop_packets"], counted["ancestor_drop_packets"]) == (1, 1)


def test_both_directions_share_a_total(router: Loaded) -> None:
    router.limit(20, 4_000_000)
    router.limit(SLOT, 0, total=20)
    router.set_clock_tk(20, UPLOAD, (time.monotonic_ns() + SECOND_NS // 2) * 16)
    down = router.egress(p.frame4(INTERNET, CUSTOMER, 1000))
    up = router.egress(p.frame4(CUSTOMER, INTERNET, 1000), mark=MARK_OF_SLOT)
    assert up.tstamp_ns - down.tstamp_ns == 2_000_000, "1000 bytes at 4 Mbit/s"


def test_a_total_above_counts_what_its_children_send(router: Loaded) -> None:
    router.limit(20, 8_000_000, limit_ns=2_000_000)
    router.limit(9, 0, total=20)
    router.limit(SLOT, 0, parent=9)
    router.set_clock_tk(20, UPLOAD, (time.monotonic_ns() + SECOND_NS) * 16)
    run = router.egress(p.frame4(INTERNET, CUSTOMER, 1000))
    assert run.verdict == DROP
    assert router.counters(SLOT, DOWNLOAD)["ancestor_drop_packets"] == 1


def test_htb_leaves_to_the_tree_all_but_the_total(router: Loaded) -> None:
    router.mode("htb")
    router.limit(20, 8_000_000)
    router.limit(SLOT, 8_000_000, total=20)
    frame = p.frame4(INTERNET, CUSTOMER, 1000)
    own_clock = router.clock_tk(SLOT, DOWNLOAD)
    assert router.egress(frame).verdict == NEXT
    router.set_clock_tk(20, UPLOAD, (time.monotonic_ns() + SECOND_NS) * 16)
    assert router.egress(frame).verdict == DROP
    assert router.clock_tk(SLOT, DOWNLOAD) == own_clock
    assert router.counters(SLOT, DOWNLOAD)["packets"] == 1
    router.limit(SLOT, 8_000_000)
    clock = router.clock_tk(20, UPLOAD)
    assert router.egress(frame).verdict == NEXT, "without a total again"
    assert router.clock_tk(20, UPLOAD) == clock


def test_a_cycle_of_parents_ends(router: Loaded) -> None:
    router.limit(10, 8_000_000, parent=11)
    router.limit(11, 8_000_000, parent=10)
    router.limit(SLOT, 8_000_000, parent=10)
    assert router.egress(p.frame4(INTERNET, CUSTOMER, 1000)).verdict == NEXT


def test_htb_gets_the_class_and_no_clock(router: Loaded) -> None:
    line = LineRecord.of(8_000_000, 0, 0, htb_classid=0x10042)
    router.datapath.write_classes([(SLOT, ClassRecord(SLOT, 0, line, line))])
    router.mode("htb")
    runs = [router.egress(p.frame4(INTERNET, CUSTOMER, 1000)) for _ in range(3)]
    assert [(run.verdict, run.priority, run.tstamp_ns) for run in runs] == [(NEXT, 0x10042, 0)] * 3
    assert router.clock_tk(SLOT, DOWNLOAD) == 0
    assert router.counters(SLOT, DOWNLOAD)["packets"] == 3


def test_mode_none_touches_nothing(router: Loaded) -> None:
    router.mode("none")
    run = router.egress(p.frame4(INTERNET, CUSTOMER), priority=3)
    assert (run.verdict, run.priority, run.tstamp_ns) == (NEXT, 3, 0)
    assert router.counters(SLOT, DOWNLOAD)["packets"] == 0


def test_a_cleared_class_lets_packets_pass_and_says_so(router: Loaded) -> None:
    router.datapath.clear_class(SLOT)
    assert router.egress(p.frame4(INTERNET, CUSTOMER)).verdict == NEXT
    assert router.unshaped() == {"stale-class": 1}


def test_a_mark_beyond_the_table_is_no_class(router: Loaded) -> None:
    assert router.egress(p.frame4("192.0.2.1", INTERNET), mark=0x0FFFFE00).verdict == NEXT
    assert router.unshaped() == {"stale-class": 1}


def test_a_port_that_is_not_attached_is_left_alone(router: Loaded) -> None:
    router.datapath.detach("lo")
    assert router.egress(p.frame4(INTERNET, CUSTOMER)).verdict == NEXT
    assert router.ingress(CLASSIFIED["ipv4"], mark=5).mark == 5
    assert router.counters(SLOT, DOWNLOAD)["packets"] == 0
