# SPDX-License-Identifier: Apache-2.0
"""The last slots of the largest tables shape as the first ones do, in both directions."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from tests.datapath import packets as p
from tests.datapath.bpf_run import DROP, NEXT
from tests.datapath.fast_router import XDP_PASS, XDP_REDIRECT, Fast, download, fast_router
from tests.datapath.loaded import DOWNLOAD, SECOND_NS, UPLOAD, Loaded
from tests.datapath.topology import CLIENT, SERVER, Topology
from weir.adapters.class_lines import ClassLines
from weir.adapters.datapath import MAX_CAPACITY, Datapath
from weir.adapters.datapath_records import ClassRecord, LineRecord, PrefixEntry
from weir.adapters.subqueue_records import SubqueuesRecord
from weir.model.problem import ApplyFailed, Invalid

CUSTOMER, CUSTOMER6, INTERNET, INTERNET6 = "10.64.1.7", "2001:db8:64:7::1", "198.51.100.1", "2001:db8:100::1"
UP, DOWN = p.frame4(CUSTOMER, INTERNET, 1000), p.frame4(INTERNET, CUSTOMER, 1000)
UP6, DOWN6 = (
    p.ethernet(p.IPV6, p.ipv6(*ends, bytes(960))) for ends in ((CUSTOMER6, INTERNET6), (INTERNET6, CUSTOMER6))
)
RATE_BPS = 8_000_000
COST_TK = 1000 * 1000 * 16
"""Of a packet of 1,000 bytes at 8 Mbit/s."""
OWN_BITS = 0xC00000FF
"""Of the mark: not Weir's."""


@pytest.fixture(scope="module", params=[262_144, MAX_CAPACITY])
def large(own_namespace: None, request: pytest.FixtureRequest) -> Iterator[Datapath]:
    with Datapath.open(None, capacity=request.param) as opened:
        yield opened


@pytest.fixture
def router(large: Datapath) -> Iterator[Loaded]:
    with Loaded(large) as opened:
        opened.forget_flows()
        yield opened
    empty(large)


def empty(datapath: Datapath) -> None:
    for ifname in datapath.attached():
        datapath.detach(ifname)
    datapath.change_prefixes(remove=list(datapath.read_prefixes()))
    for slot in datapath.read_classes():
        datapath.clear_class(slot)


def highest(router: Loaded) -> int:
    return router.datapath.usage().classes[1] - 1


def customer(router: Loaded, **limits: int) -> tuple[int, int]:
    """The customer in the last slot, below a class in the one before: both slots."""
    slot = highest(router)
    router.limit(slot - 1, 10 * RATE_BPS)
    router.limit(slot, RATE_BPS, burst_bytes=20_000, parent=slot - 1, **limits)
    router.classify(4, p.value4(CUSTOMER), 32, slot)
    router.classify(6, p.value6("2001:db8:64:7::"), 64, slot)
    return slot, slot - 1


@pytest.mark.parametrize(("up", "down"), [(UP, DOWN), (UP6, DOWN6)], ids=["ipv4", "ipv6"])
def test_the_last_class_and_its_parent_are_charged(router: Loaded, up: bytes, down: bytes) -> None:
    router.mode("edt")
    slot, parent = customer(router)
    marked = router.ingress(up, mark=OWN_BITS).mark
    assert marked == OWN_BITS | slot << 8
    for direction, frame, mark in ((UPLOAD, up, marked), (DOWNLOAD, down, 0)):
        router.set_clock_tk(slot, direction, (time.monotonic_ns() - 1_000_000) * 16)
        before = router.clock_tk(slot, direction)
        assert router.egress(frame, mark=mark).verdict == NEXT
        assert router.clock_tk(slot, direction) - before == COST_TK
        assert router.clock_tk(parent, direction) > 0
        counted = router.counters(slot, direction)
        assert (counted["packets"], counted["bytes"], counted["drop_packets"]) == (1, 1000, 0)


@pytest.mark.parametrize("direction", [UPLOAD, DOWNLOAD])
def test_the_last_class_paces_and_drops(router: Loaded, direction: int) -> None:
    router.mode("edt")
    slot, _ = customer(router, limit_ns=SECOND_NS // 2)
    frame, mark = (UP, slot << 8) if direction == UPLOAD else (DOWN, 0)
    due_ns = time.monotonic_ns() + SECOND_NS // 4
    router.set_clock_tk(slot, direction, due_ns * 16)
    paced = router.egress(frame, mark=mark)
    assert (paced.verdict, paced.tstamp_ns) == (NEXT, due_ns)
    router.set_clock_tk(slot, direction, (time.monotonic_ns() + SECOND_NS) * 16)
    assert router.egress(frame, mark=mark).verdict == DROP
    assert router.counters(slot, direction)["drop_packets"] == 1


@pytest.mark.parametrize("direction", [UPLOAD, DOWNLOAD])
def test_the_last_parent_refuses_for_all_below(router: Loaded, direction: int) -> None:
    router.mode("police")
    slot, parent = highest(router) - 1, highest(router)
    router.limit(parent, RATE_BPS, limit_ns=0)
    router.limit(slot, 10 * RATE_BPS, limit_ns=0, parent=parent)
    router.classify(4, p.value4(CUSTOMER), 32, slot)
    router.set_clock_tk(parent, direction, (time.monotonic_ns() + SECOND_NS) * 16)
    frame, mark = (UP, router.ingress(UP).mark) if direction == UPLOAD else (DOWN, 0)
    assert router.egress(frame, mark=mark).verdict == DROP
    assert router.counters(slot, direction)["ancestor_drop_packets"] == 1


def test_the_last_class_may_have_sub_queues_and_a_total(router: Loaded) -> None:
    router.mode("edt")
    slot, total = highest(router), highest(router) - 1
    router.limit(total, 10 * RATE_BPS)
    by_address = SubqueuesRecord("destination", rate_bps=RATE_BPS // 2)
    router.limit(slot, RATE_BPS, total=total, subqueues=by_address)
    router.classify(4, p.value4(CUSTOMER), 32, slot)
    for _ in range(3):
        assert router.egress(DOWN).verdict == NEXT
    assert router.clock_tk(total, UPLOAD) > 0
    assert router.datapath.usage().subqueues[0] == 1


def test_the_fast_path_charges_the_last_class(large: Datapath, fast_topology: Topology) -> None:
    slot = large.usage().classes[1] - 1
    with fast_router(large) as fast:
        fast.loaded.limit(slot, RATE_BPS, burst_bytes=20_000)
        fast.loaded.classify(4, p.value4(CLIENT), 32, slot)
        assert_forwarded_until_it_must_wait(fast, slot)
    empty(large)


def assert_forwarded_until_it_must_wait(fast: Fast, slot: int) -> None:
    up = p.ethernet(p.IPV4, p.ipv4(CLIENT, SERVER, p.udp(5001, 2000, bytes(972))))
    for direction, verdict in ((DOWNLOAD, fast.from_wan(download(2000))), (UPLOAD, fast.from_lan(up))):
        assert verdict[0] == XDP_REDIRECT
        counted = fast.loaded.counters(slot, direction)
        assert (counted["packets"], counted["fast_bytes"]) == (1, 1000)
    fast.loaded.set_clock_tk(slot, DOWNLOAD, (time.monotonic_ns() + SECOND_NS) * 16)
    assert fast.from_wan(download(2001))[0] == XDP_PASS


def test_the_agents_reader_sees_the_last_class(router: Loaded) -> None:
    slot, parent = customer(router)
    lines = ClassLines(router.datapath)
    held = lines.read(slot)
    assert held is not None
    assert (held.key, held.parent_slot) == (slot, parent)
    assert [found for found, _ in lines.in_use()] == [parent, slot]
    assert lines.read(slot + 1) is None
    lines.close()


def test_a_slot_beyond_the_last_one_is_refused(router: Loaded) -> None:
    line, beyond = LineRecord.of(RATE_BPS, 20_000, SECOND_NS), highest(router) + 1
    with pytest.raises(Invalid, match="slot"):
        router.datapath.write_classes([(beyond, ClassRecord(beyond, 0, line, line))])
    with pytest.raises(Invalid, match="slot"):
        router.datapath.change_prefixes([PrefixEntry(0, 4, p.value4(CUSTOMER), 32, beyond)])


@pytest.mark.parametrize("capacity", [MAX_CAPACITY + 1, 1])
def test_more_slots_than_a_mark_holds_are_refused(capacity: int) -> None:
    with pytest.raises((Invalid, ApplyFailed), match=f"capacity of {capacity} classes"):
        Datapath.open(None, capacity=capacity)
