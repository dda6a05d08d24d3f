# SPDX-License-Identifier: Apache-2.0
"""Sub-queues (PCQ): one clock for each masked address, bounded, behind NAT, and as records."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from tests.datapath import packets as p
from tests.datapath.bpf_run import DROP, NEXT
from tests.datapath.loaded import DOWNLOAD, SECOND_NS, UPLOAD, Loaded
from weir.adapters.class_lines import ClassLines
from weir.adapters.datapath import Datapath
from weir.adapters.datapath_records import ClassRecord, LineRecord
from weir.adapters.share_controller import HostRate, ShareController
from weir.adapters.subqueue_records import SubqueuesRecord
from weir.model.problem import Invalid, NotFound, Unavailable

SLOT = 3
NETWORK, NETWORK6 = "10.64.0.0", "2001:db8:64::"
SERVER, SERVER6 = "198.51.100.1", "2001:db8:100::1"
BY_HOST = SubqueuesRecord("destination", rate_bps=8_000)
BUCKET = 7
"""Packets of 1,000 bytes that begin within four full packets; a policer lets the next pass a second later."""


def class_of(datapath: Datapath, record: SubqueuesRecord | None, rate_bps: int = 1_000_000_000) -> None:
    line = LineRecord.of(rate_bps, 0, SECOND_NS, subqueues=record)
    datapath.write_classes([(SLOT, ClassRecord(SLOT, 0, line, line))])


@pytest.fixture
def policed(loaded: Loaded) -> Loaded:
    loaded.mode("police")
    loaded.classify(4, p.value4(NETWORK), 16, SLOT)
    loaded.classify(6, p.value6(NETWORK6), 48, SLOT)
    return loaded


def accepted(router: Loaded, frame: bytes, count: int = 2 * BUCKET) -> int:
    return sum(router.egress(frame).verdict == NEXT for _ in range(count))


@pytest.mark.parametrize(
    "record",
    [
        SubqueuesRecord("source"),
        SubqueuesRecord("destination", v4_length=24, v6_length=64, limit_bytes=20_000),
        SubqueuesRecord.of("both", 32, 128, 2_000_000, 51200, 4_000_000, 1_500_000, 8000),
    ],
)
def test_records_read_back_equal(datapath: Datapath, record: SubqueuesRecord) -> None:
    class_of(datapath, record)
    line = LineRecord.of(1_000_000_000, 0, SECOND_NS, subqueues=record)
    expected = ClassRecord(SLOT, 0, line, line)
    lines = ClassLines(datapath)
    assert datapath.read_classes() == {SLOT: expected}
    assert lines.read(SLOT) == expected
    assert datapath.usage().subqueue_lines[0] == 2
    class_of(datapath, None)
    assert datapath.read_classes()[SLOT].upload.subqueues is None
    assert datapath.usage().subqueue_lines[0] == 0
    lines.close()


def test_a_burst_lasts_as_long_as_the_manual_says() -> None:
    """max 2M, threshold 1500k, burst 4M over 8 s: 3 s from cold. At 4 Mbit/s the bucket of 2 Mbit/s loses as
    much again as it gains: it holds 3 s."""
    record = SubqueuesRecord.of("source", 32, 128, 2_000_000, 51200, 4_000_000, 1_500_000, 8000)
    assert (record.burst_ns, record.peak_bps) == (3 * SECOND_NS, 4_000_000)


@pytest.mark.parametrize(
    ("rate", "burst", "threshold", "time"), [(0, 4, 1, 8), (4, 4, 1, 8), (2, 4, 0, 8), (2, 4, 1, 0)]
)
def test_a_dead_burst_is_none(rate: int, burst: int, threshold: int, time: int) -> None:
    record = SubqueuesRecord.of("source", 32, 128, rate, 51200, burst, threshold, time)
    assert (record.burst_ns, record.peak_bps) == (0, 0)


def test_each_address_has_a_rate_of_its_own(policed: Loaded) -> None:
    class_of(policed.datapath, BY_HOST)
    for host in ("10.64.1.1", "10.64.1.2"):
        assert accepted(policed, p.frame4(SERVER, host, 1000)) == BUCKET
    assert accepted(policed, p.frame6(SERVER6, "2001:db8:64::1", 1000)) == BUCKET


def test_a_mask_puts_neighbours_into_one_sub_queue(policed: Loaded) -> None:
    class_of(policed.datapath, SubqueuesRecord("destination", v4_length=24, v6_length=64, rate_bps=8_000))
    assert accepted(policed, p.frame4(SERVER, "10.64.1.1", 1000)) == BUCKET
    assert accepted(policed, p.frame4(SERVER, "10.64.1.2", 1000)) == 0
    assert accepted(policed, p.frame4(SERVER, "10.64.2.1", 1000)) == BUCKET
    assert accepted(policed, p.frame6(SERVER6, "2001:db8:64:1::1", 1000)) == BUCKET
    assert accepted(policed, p.frame6(SERVER6, "2001:db8:64:1::2", 1000)) == 0
    assert accepted(policed, p.frame6(SERVER6, "2001:db8:64:2::1", 1000)) == BUCKET


def test_both_addresses_make_a_sub_queue_of_each_pair(policed: Loaded) -> None:
    class_of(policed.datapath, SubqueuesRecord("both", rate_bps=8_000))
    for server in ("198.51.100.1", "198.51.100.2"):
        assert accepted(policed, p.frame4(server, "10.64.1.1", 1000)) == BUCKET


def test_upload_goes_by_source(policed: Loaded) -> None:
    class_of(policed.datapath, SubqueuesRecord("source", rate_bps=8_000))
    for host in ("10.64.1.1", "10.64.1.2"):
        frame = p.frame4(host, SERVER, 1000)
        mark = policed.ingress(frame).mark
        taken = sum(policed.egress(frame, mark=mark).verdict == NEXT for _ in range(2 * BUCKET))
        assert taken == BUCKET
    assert policed.counters(SLOT, UPLOAD)["drop_packets"] > 0


def test_the_class_limits_all_its_sub_queues(policed: Loaded) -> None:
    """Each host alone would have had its bucket."""
    class_of(policed.datapath, BY_HOST, rate_bps=8_000)
    assert sum(accepted(policed, p.frame4(SERVER, f"10.64.1.{host}", 1000)) for host in range(1, 9)) == 1


def test_a_sub_queue_waits_at_its_own_rate(loaded: Loaded) -> None:
    loaded.mode("edt")
    loaded.classify(4, p.value4(NETWORK), 16, SLOT)
    class_of(loaded.datapath, SubqueuesRecord("destination", rate_bps=4_000_000), rate_bps=100_000_000_000)
    frame = p.frame4(SERVER, "10.64.1.1", 1000)
    large = {"wire_len": 5014, "gso_segs": 4}  # not sparse
    first, second, third = (loaded.egress(frame, **large).tstamp_ns for _ in range(3))
    assert first == 0
    cost_ns = (5014 - 4 * 14) * 8 * 1000 // 4
    assert third - second == pytest.approx(cost_ns, abs=1000)
    assert loaded.egress(p.frame4(SERVER, "10.64.1.2", 1000), **large).tstamp_ns == 0


def test_what_sub_queues_wait_and_drop_early_is_noted_at_their_class(loaded: Loaded) -> None:
    """That is where the API reads it."""
    loaded.mode("edt")
    loaded.classify(4, p.value4(NETWORK), 16, SLOT)
    record = SubqueuesRecord("destination", rate_bps=1_000_000, limit_bytes=1_000_000)
    class_of(loaded.datapath, record, rate_bps=100_000_000_000)
    frame = p.frame4(SERVER, "10.64.1.1", 1000)
    for _ in range(3):
        assert loaded.egress(frame, wire_len=5014, gso_segs=4).verdict == NEXT
    worst_us = loaded.backlog(SLOT, DOWNLOAD).worst_us
    assert worst_us == pytest.approx(2 * (5014 - 4 * 14) * 8, rel=0.1)
    loaded.set_hosts_chance(SLOT, DOWNLOAD, 1.0)
    assert loaded.egress(frame, wire_len=5014, gso_segs=4).verdict == DROP
    assert loaded.backlog(SLOT, DOWNLOAD).early_packets == 4


def test_a_sub_queue_holds_no_more_than_its_limit(loaded: Loaded) -> None:
    loaded.mode("edt")
    loaded.classify(4, p.value4(NETWORK), 16, SLOT)
    class_of(loaded.datapath, SubqueuesRecord("destination", rate_bps=1_000_000, limit_bytes=20_000))
    frame = p.frame4(SERVER, "10.64.1.1", 1000)
    taken = sum(loaded.egress(frame, wire_len=5014, gso_segs=4).verdict == NEXT for _ in range(30))
    assert taken == 5, "one that leaves at once, and until 20 kB wait"


def test_a_sweep_of_addresses_evicts_idle_ones_only(policed: Loaded) -> None:
    """The place of a busy host stays its own while many thousand others come and go."""
    class_of(policed.datapath, SubqueuesRecord("destination", rate_bps=1000))
    busy = p.frame4(SERVER, "10.64.255.1", 1000)
    assert accepted(policed, busy) == BUCKET  # 56 s of its rate
    class_of(policed.datapath, SubqueuesRecord("destination", rate_bps=1_000_000_000))
    bound = policed.datapath.usage().subqueues[1]
    for number in range(4 * bound):
        frame = p.frame4(SERVER, f"10.64.{number >> 8}.{number & 255}", 64)
        assert policed.egress(frame).verdict == NEXT
    state = policed.datapath.subqueues_state(SLOT, 1)
    assert state.evicted >= 2 * bound
    class_of(policed.datapath, SubqueuesRecord("destination", rate_bps=1000))
    assert policed.egress(busy).verdict == DROP, "it was not forgotten"


def test_hosts_without_a_place_share_one_sub_queue(policed: Loaded) -> None:
    class_of(policed.datapath, SubqueuesRecord("destination", rate_bps=1000))
    bound = policed.datapath.usage().subqueues[1]
    results = [
        policed.egress(p.frame4(SERVER, f"10.64.{number >> 8}.{number & 255}", 1000)).verdict
        for number in range(2 * bound)
    ]
    state = policed.datapath.subqueues_state(SLOT, 1)
    assert state.shared_packets == pytest.approx(bound, rel=0.1)
    assert state.evicted == 0
    assert results.count(NEXT) == 2 * bound - state.shared_packets + BUCKET
    busy, places = policed.datapath.usage().subqueues
    assert busy == pytest.approx(places, rel=0.1)


def busiest(router: Loaded, direction: int, count: int, send: Callable[[], None]) -> list[HostRate]:
    """What the share controller lists once it has seen so many, while they send."""
    share = ShareController(router.datapath, interval_ms=10)
    try:
        deadline_s = time.monotonic() + 60
        while len(found := share.hosts(SLOT, direction, 5)) < count:  # type: ignore[arg-type]
            assert time.monotonic() < deadline_s, found
            send()
        return found
    finally:
        share.stop()


def send_one(router: Loaded, frame: bytes, mark: int = 0) -> None:
    router.egress(frame, mark=mark)


def texts(found: list[HostRate]) -> list[str | None]:
    return [None if host.address is None else host.address.text for host in found]


def test_those_who_send_most_are_listed_with_their_masked_addresses(policed: Loaded) -> None:
    class_of(policed.datapath, SubqueuesRecord("destination", v4_length=24, v6_length=64))

    def send() -> None:
        for _ in range(3):
            policed.egress(p.frame4(SERVER, "10.64.1.77", 1400))
        policed.egress(p.frame6(SERVER6, "2001:db8:64:1::77", 100))

    found = busiest(policed, DOWNLOAD, 2, send)
    assert texts(found) == ["10.64.1.0/24", "2001:db8:64:1::/64"]
    assert found[0].rate_bps > 10 * found[1].rate_bps > 0


def test_an_upload_is_listed_by_its_source(policed: Loaded) -> None:
    class_of(policed.datapath, SubqueuesRecord("source"))
    frame = p.frame4("10.64.1.2", SERVER, 1000)
    mark = policed.ingress(frame).mark
    assert texts(busiest(policed, UPLOAD, 1, lambda: send_one(policed, frame, mark))) == ["10.64.1.2/32"]


def test_a_pair_of_addresses_is_listed_without_them(policed: Loaded) -> None:
    class_of(policed.datapath, SubqueuesRecord("both"))
    frame = p.frame4(SERVER, "10.64.1.1", 1000)
    assert texts(busiest(policed, DOWNLOAD, 1, lambda: send_one(policed, frame))) == [None]


def test_what_cannot_be_is_refused(datapath: Datapath) -> None:
    with pytest.raises(Invalid):
        class_of(datapath, SubqueuesRecord("source", v4_length=33))
    with pytest.raises(Invalid):
        class_of(datapath, SubqueuesRecord("source", rate_bps=50))
    with pytest.raises(NotFound):
        datapath.subqueues_state(SLOT, 0)


def test_the_table_of_classes_with_sub_queues_is_bounded(datapath: Datapath) -> None:
    rows = datapath.usage().subqueue_lines[1]
    line = LineRecord.of(1_000_000, 0, 0, subqueues=SubqueuesRecord("source"))
    classes = [(slot, ClassRecord(slot, 0, line, line)) for slot in range(1, rows // 2 + 3)]
    with pytest.raises(Unavailable) as caught:
        datapath.write_classes(classes)
    assert caught.value.code == "datapath-full"
