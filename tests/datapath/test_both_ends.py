# SPDX-License-Identifier: Apache-2.0
"""A packet between two customers is charged to both: the sender's upload and the receiver's download."""

from __future__ import annotations

import itertools
import time

import pytest

from tests.datapath import packets as p
from tests.datapath.bpf_run import DROP, NEXT
from tests.datapath.fast_router import SLOT as FAST_SLOT
from tests.datapath.fast_router import XDP_DROP, XDP_PASS, XDP_REDIRECT, Fast, download
from tests.datapath.loaded import DOWNLOAD, SECOND_NS, UPLOAD, Loaded
from tests.datapath.topology import SERVER
from weir.adapters.datapath_records import ClassRecord, LineRecord, Mode
from weir.adapters.subqueue_records import SubqueuesRecord

SENDER, RECEIVER, PARENT = 7, 8, 9
FROM, TO = "10.64.1.7", "10.64.1.8"
FRAME = p.frame4(FROM, TO, 1000)
COST_TK = 1000 * 1000 * 16
"""Of FRAME, at 8 Mbit/s."""
MODES: list[Mode] = ["edt", "police"]
PORTS = itertools.count(1000)


@pytest.fixture
def router(loaded: Loaded) -> Loaded:
    loaded.mode("edt")
    loaded.limit(PARENT, 80_000_000)
    for slot, address in ((SENDER, FROM), (RECEIVER, TO)):
        loaded.limit(slot, 8_000_000, burst_bytes=20_000, parent=PARENT if slot == SENDER else 0)
        loaded.classify(4, p.value4(address), 32, slot)
    return loaded


def ahead(router: Loaded, slot: int, direction: int, ns: int) -> int:
    router.set_clock_tk(slot, direction, (time.monotonic_ns() + ns) * 16)
    return router.clock_tk(slot, direction)


def new_flow() -> bytes:
    """As FRAME, of a flow that nobody has seen: no packet leaves before its flow's last."""
    return p.ethernet(p.IPV4, p.ipv4(FROM, TO, p.udp(next(PORTS), 7, bytes(1000 - 28))))


def sent(router: Loaded) -> dict[tuple[int, int], int]:
    lines = [(slot, way) for slot in (SENDER, RECEIVER) for way in (UPLOAD, DOWNLOAD)]
    return {line: count for line in lines if (count := router.counters(*line)["packets"])}


@pytest.mark.parametrize("mode", [*MODES, "htb"])
def test_both_ends_are_charged_and_counted(router: Loaded, mode: Mode) -> None:
    router.mode(mode)
    before = ahead(router, SENDER, UPLOAD, -1_000_000)
    assert router.egress(FRAME, mark=router.ingress(FRAME).mark).verdict == NEXT
    assert sent(router) == {(SENDER, UPLOAD): 1, (RECEIVER, DOWNLOAD): 1}
    assert router.counters(SENDER, UPLOAD)["bytes"] == 1000
    assert router.clock_tk(SENDER, UPLOAD) - before == COST_TK
    if mode != "htb":
        assert router.clock_tk(RECEIVER, DOWNLOAD) != 0
        assert router.clock_tk(PARENT, UPLOAD) + router.clock_tk(PARENT, DOWNLOAD) != 0


@pytest.mark.parametrize("mode", [*MODES, "htb"])
def test_a_sender_over_the_limit_is_dropped_and_the_receiver_pays_nothing(router: Loaded, mode: Mode) -> None:
    router.mode(mode)
    router.limit(SENDER, 8_000_000, limit_ns=10_000_000)
    sender = ahead(router, SENDER, UPLOAD, SECOND_NS)
    receiver = router.clock_tk(RECEIVER, DOWNLOAD)
    assert router.egress(FRAME, mark=SENDER << 8).verdict == DROP
    assert sent(router) == {}
    assert router.counters(SENDER, UPLOAD)["drop_packets"] == 1
    assert router.clock_tk(SENDER, UPLOAD) == sender
    assert router.clock_tk(RECEIVER, DOWNLOAD) == receiver


@pytest.mark.parametrize("mode", MODES)
def test_a_receiver_over_the_limit_is_dropped_and_the_sender_gets_it_back(router: Loaded, mode: Mode) -> None:
    router.mode(mode)
    router.limit(RECEIVER, 8_000_000, limit_ns=10_000_000)
    ahead(router, RECEIVER, DOWNLOAD, SECOND_NS)
    sender = ahead(router, SENDER, UPLOAD, -1_000_000)
    assert router.egress(FRAME, mark=SENDER << 8).verdict == DROP
    assert sent(router) == {}
    assert router.counters(RECEIVER, DOWNLOAD)["drop_packets"] == 1
    assert router.clock_tk(SENDER, UPLOAD) == sender


@pytest.mark.parametrize(
    ("sender_ns", "receiver_ns"), [(400_000_000, 0), (0, 400_000_000), (300_000_000, 200_000_000)]
)
def test_it_leaves_when_both_allow_it(router: Loaded, sender_ns: int, receiver_ns: int) -> None:
    starts = [
        ahead(router, SENDER, UPLOAD, sender_ns) if sender_ns else 0,
        ahead(router, RECEIVER, DOWNLOAD, receiver_ns) if receiver_ns else 0,
    ]
    assert router.egress(new_flow(), mark=SENDER << 8).tstamp_ns == max(starts) // 16
    assert sent(router) == {(SENDER, UPLOAD): 1, (RECEIVER, DOWNLOAD): 1}
    late = (SENDER, UPLOAD) if sender_ns > receiver_ns else (RECEIVER, DOWNLOAD)
    assert router.counters(*late)["delay_us"] > 0


def test_a_flow_stays_in_order_when_the_other_end_holds_it_back(router: Loaded) -> None:
    """Packets wait for the sender; then the receiver allows the next one later still. It may not pass them
    as a flow that the receiver has not seen."""
    router.limit(RECEIVER, 8_000_000, burst_bytes=20_000, sparse=True)
    ahead(router, SENDER, UPLOAD, 400_000_000)
    frame = new_flow()
    waiting = [router.egress(frame, mark=SENDER << 8).tstamp_ns for _ in range(20)]
    assert waiting[-1] > time.monotonic_ns()
    ahead(router, RECEIVER, DOWNLOAD, 600_000_000)
    assert router.egress(frame, mark=SENDER << 8).tstamp_ns >= waiting[-1]


def test_an_early_drop_gives_both_their_charge_back(router: Loaded) -> None:
    receiver = ahead(router, RECEIVER, DOWNLOAD, -1_000_000)
    sender = ahead(router, SENDER, UPLOAD, 400_000_000)
    router.set_chance(SENDER, UPLOAD, 1.0)
    assert router.egress(FRAME, mark=SENDER << 8).verdict == DROP
    assert (router.clock_tk(SENDER, UPLOAD), router.clock_tk(RECEIVER, DOWNLOAD)) == (sender, receiver)
    assert sent(router) == {}


def test_the_senders_host_is_charged_its_part(router: Loaded) -> None:
    line = LineRecord.of(
        80_000_000,
        20_000,
        SECOND_NS,
        subqueues=SubqueuesRecord("source", rate_bps=8_000_000, limit_bytes=50_000),
    )
    router.datapath.write_classes([(SENDER, ClassRecord(SENDER, 0, line, line))])
    mark = router.ingress(FRAME).mark
    verdicts = [router.egress(FRAME, mark=mark).verdict for _ in range(90)]
    assert verdicts.count(NEXT) < 80, "90 kB at once, of 50 kB that a host may hold"


def test_an_interfaces_queue_is_an_end_as_well(router: Loaded) -> None:
    router.limit(10, 8_000_000)
    router.mode("edt", slot_for_interface_target=10)
    stranger = p.frame4("192.0.2.1", TO, 1000)
    router.egress(stranger, mark=router.ingress(stranger).mark)
    router.egress(p.frame4(FROM, "192.0.2.2", 1000), mark=SENDER << 8)
    assert router.counters(10, UPLOAD)["packets"] == 1
    assert router.counters(10, DOWNLOAD)["packets"] == 1
    assert sent(router) == {(SENDER, UPLOAD): 1, (RECEIVER, DOWNLOAD): 1}


def test_a_sender_without_a_class_any_more_costs_nothing(router: Loaded) -> None:
    router.datapath.clear_class(SENDER)
    assert router.egress(FRAME, mark=SENDER << 8).verdict == NEXT
    assert sent(router) == {(RECEIVER, DOWNLOAD): 1}


def test_a_receiver_without_a_class_any_more_leaves_it_to_the_sender(router: Loaded) -> None:
    router.datapath.clear_class(RECEIVER)
    assert router.egress(FRAME, mark=SENDER << 8).verdict == NEXT
    assert sent(router) == {(SENDER, UPLOAD): 1}


FAST_SENDER = 5


@pytest.fixture
def both(fast: Fast) -> Fast:
    fast.loaded.limit(FAST_SENDER, 8_000_000, burst_bytes=20_000)
    fast.loaded.classify(4, p.value4(SERVER), 32, FAST_SENDER)
    return fast


def test_the_fast_path_charges_both(both: Fast) -> None:
    assert both.from_wan(download(4000))[0] == XDP_REDIRECT
    for line in ((FAST_SENDER, UPLOAD), (FAST_SLOT, DOWNLOAD)):
        counted = both.loaded.counters(*line)
        assert (counted["packets"], counted["fast_bytes"]) == (1, 1000)
        assert both.loaded.clock_tk(*line) != 0


@pytest.mark.parametrize(
    "direction", [(FAST_SENDER, UPLOAD), (FAST_SLOT, DOWNLOAD)], ids=["sender", "receiver"]
)
def test_what_one_of_them_may_not_send_at_once_goes_up_or_is_dropped(
    both: Fast, direction: tuple[int, int]
) -> None:
    lines = ((FAST_SENDER, UPLOAD), (FAST_SLOT, DOWNLOAD))
    before = {line: ahead(both.loaded, *line, -1_000_000) for line in lines}
    before[direction] = ahead(both.loaded, *direction, 100_000_000)
    assert both.from_wan(download(4001))[0] == XDP_PASS
    both.mode("police")
    assert both.from_wan(download(4002))[0] == XDP_DROP
    assert both.loaded.counters(*direction)["drop_packets"] == 1
    assert {line: both.loaded.clock_tk(*line) for line in before} == before


def test_a_sender_with_sub_queues_is_the_stacks(both: Fast) -> None:
    line = LineRecord.of(
        8_000_000,
        20_000,
        SECOND_NS,
        subqueues=SubqueuesRecord("source", rate_bps=8_000_000, limit_bytes=50_000),
    )
    both.loaded.datapath.write_classes([(FAST_SENDER, ClassRecord(FAST_SENDER, 0, line, line))])
    assert both.from_wan(download(4003))[0] == XDP_PASS
    assert both.sent_up_of_ours("wan0") == {"waits": 1}
