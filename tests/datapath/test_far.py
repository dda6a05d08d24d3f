# SPDX-License-Identifier: Apache-2.0
"""Queues with a dst: which of several queues with one target takes a packet, by its far end."""

from __future__ import annotations

import ipaddress

import pytest

from tests.datapath import packets as p
from tests.datapath.bpf_run import NEXT
from tests.datapath.loaded import DOWNLOAD, UPLOAD, Loaded
from weir.adapters.datapath_records import ClassRecord, FarEntry

SLOT = 7
CUSTOMER, CUSTOMER6, INTERNET6 = "10.64.1.7", "2001:db8:64:7::1", "2001:db8:100::1"
FORK, CDN, BEHIND = 30, 31, 32


def far(text: str, slot: int, rank: int) -> FarEntry:
    network = ipaddress.ip_network(text)
    end = network.network_address.packed.ljust(16, b"\0")
    return FarEntry(FORK, network.version, end, network.prefixlen, slot, rank)


def behind(ifname: str, slot: int, rank: int) -> FarEntry:
    return FarEntry(FORK, 0, ifname.encode().ljust(16, b"\0"), 128, slot, rank)


@pytest.fixture
def forked(loaded: Loaded) -> Loaded:
    """The customer's prefixes are a fork: traffic with two networks is the CDN's, all else class 7's."""
    loaded.datapath.change_far(remove=loaded.datapath.read_far())
    loaded.mode("edt")
    for slot in (SLOT, CDN, BEHIND):
        loaded.limit(slot, 8_000_000)
    loaded.datapath.change_far(
        [far("198.51.100.0/24", CDN, 1), far("2001:db8:100::/40", CDN, 1), far("198.51.100.64/26", BEHIND, 0)]
    )
    loaded.datapath.write_classes([(FORK, ClassRecord(FORK, SLOT, fork=True))])
    loaded.classify(4, p.value4(CUSTOMER), 32, FORK)
    loaded.classify(6, p.value6("2001:db8:64:7::"), 64, FORK)
    return loaded


@pytest.mark.parametrize(
    ("end", "slot"), [("198.51.100.1", CDN), ("198.51.100.65", BEHIND), ("192.0.2.1", SLOT)]
)
def test_the_far_end_decides_among_queues_of_one_target(forked: Loaded, end: str, slot: int) -> None:
    up = forked.ingress(p.frame4(CUSTOMER, end))
    assert up.mark == FORK << 8
    assert forked.egress(p.frame4(CUSTOMER, end), mark=up.mark).verdict == NEXT
    assert forked.egress(p.frame4(end, CUSTOMER)).verdict == NEXT
    for direction in (UPLOAD, DOWNLOAD):
        assert forked.counters(slot, direction)["packets"] == 1
        assert forked.counters(FORK, direction)["packets"] == 0


def test_the_far_end_decides_for_ipv6(forked: Loaded) -> None:
    forked.egress(p.frame6(INTERNET6, CUSTOMER6))
    forked.egress(p.frame6("2001:db9::1", CUSTOMER6))
    assert forked.counters(CDN, DOWNLOAD)["packets"] == 1
    assert forked.counters(SLOT, DOWNLOAD)["packets"] == 1


@pytest.mark.parametrize(("rank", "slot"), [(0, BEHIND), (2, CDN)])
def test_of_an_interface_and_an_address_the_better_rank_wins(forked: Loaded, rank: int, slot: int) -> None:
    forked.datapath.change_far([behind("lo", BEHIND, rank)], [far("198.51.100.64/26", BEHIND, 0)])
    forked.egress(p.frame4(CUSTOMER, "198.51.100.65"), mark=FORK << 8)
    assert forked.counters(slot, UPLOAD)["packets"] == 1
    forked.egress(p.frame4(CUSTOMER, "192.0.2.1"), mark=FORK << 8)
    assert forked.counters(BEHIND, UPLOAD)["packets"] == (1 if slot == CDN else 2)


def test_a_fork_without_default_leaves_the_packet_to_the_other_end(forked: Loaded) -> None:
    """The customer's download matches no dst; as somebody else's upload it does."""
    forked.datapath.write_classes([(FORK, ClassRecord(FORK, 0, fork=True))])
    forked.limit(40, 8_000_000)
    forked.egress(p.frame4("192.0.2.1", CUSTOMER), mark=40 << 8)
    assert forked.counters(40, UPLOAD)["packets"] == 1
    forked.egress(p.frame4("192.0.2.1", CUSTOMER))
    assert forked.unshaped() == {"no-class": 1}


def test_far_ends_read_back_as_they_were_written(forked: Loaded) -> None:
    entries = {far("198.51.100.0/24", CDN, 1), far("2001:db8:100::/40", CDN, 1), behind("wan0", BEHIND, 7)}
    forked.datapath.change_far([behind("wan0", BEHIND, 7)], [far("198.51.100.64/26", BEHIND, 0)])
    assert set(forked.datapath.read_far()) == entries
    record = forked.datapath.read_classes()[FORK]
    assert (record.fork, record.parent_slot) == (True, SLOT)
