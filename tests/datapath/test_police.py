# SPDX-License-Identifier: Apache-2.0
"""Real packets through a policing router: rates to 2 %, in both directions and families, behind NAT."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator

import pytest

from tests.datapath import packets as p
from tests.datapath.topology import (
    CLIENT,
    CLIENT6,
    PUBLIC,
    RECEIVE,
    SEND,
    SERVER,
    SERVER6,
    Topology,
    fullest_rate_bps,
    run,
)
from weir.adapters.datapath import Datapath
from weir.adapters.datapath_records import ClassRecord, LineRecord
from weir.adapters.share_controller import ShareController
from weir.adapters.subqueue_records import SubqueuesRecord

SLOT = 3
SECOND_CLIENT = "10.64.0.3"


@pytest.fixture(scope="module")
def topology(own_namespace: None) -> Iterator[Topology]:
    with Topology() as topology:
        yield topology


@pytest.fixture
def policed(topology: Topology, datapath: Datapath) -> Datapath:
    for ifname in ("lan0", "wan0"):
        datapath.attach(ifname, mode="police")
    datapath.change_prefixes(
        [(0, 4, p.value4(CLIENT), 32, SLOT), (0, 6, p.value6("2001:db8:64::"), 64, SLOT)]
    )
    return datapath


def limit(datapath: Datapath, upload_bps: int, download_bps: int) -> None:
    lines = [LineRecord.of(rate_bps, rate_bps // 8 // 50, 0) for rate_bps in (upload_bps, download_bps)]
    datapath.write_classes([(SLOT, ClassRecord(1, 0, lines[0], lines[1]))])


@pytest.mark.parametrize("rate_bps", [1_000_000, 10_000_000, 100_000_000])
def test_download_of_udp_is_within_2_percent(topology: Topology, policed: Datapath, rate_bps: int) -> None:
    limit(policed, 5_000_000, rate_bps)
    size = 400 if rate_bps == 1_000_000 else 1400
    measured, _ = fullest_rate_bps(topology.server, topology.client, SERVER, CLIENT, rate_bps, size=size)
    assert measured == pytest.approx(rate_bps, rel=0.02)


def test_upload_of_ipv6_has_its_own_limit(topology: Topology, policed: Datapath) -> None:
    limit(policed, 4_000_000, 50_000_000)
    measured, _ = fullest_rate_bps(topology.client, topology.server, CLIENT6, SERVER6, 4_000_000)
    assert measured == pytest.approx(4_000_000, rel=0.02)


@pytest.mark.skipif(shutil.which("nft") is None, reason="masquerading needs nft")
def test_upload_behind_nat_is_limited_by_its_inner_address(topology: Topology, policed: Datapath) -> None:
    run("nft", "add table ip weir_test_nat")
    try:
        run("nft", "add chain ip weir_test_nat post { type nat hook postrouting priority 100; }")
        run("nft", "add rule ip weir_test_nat post oifname wan0 masquerade")
        limit(policed, 4_000_000, 50_000_000)
        measured, sender = fullest_rate_bps(topology.client, topology.server, CLIENT, SERVER, 4_000_000)
        assert sender == PUBLIC, "the server sees the router's address"
        assert measured == pytest.approx(4_000_000, rel=0.02)
    finally:
        run("nft", "delete table ip weir_test_nat")


@pytest.mark.skipif(shutil.which("nft") is None, reason="masquerading needs nft")
@pytest.mark.parametrize(
    ("class_bps", "subqueues"),
    [
        pytest.param(50_000_000, SubqueuesRecord("source", rate_bps=2_000_000), id="a rate for each host"),
        pytest.param(4_000_000, SubqueuesRecord("source"), id="equal shares of the class"),
    ],
)
def test_hosts_behind_nat_have_sub_queues_of_their_own(
    topology: Topology, policed: Datapath, class_bps: int, subqueues: SubqueuesRecord
) -> None:
    """By their addresses before NAT, which the server sees as one; they offer 3 and 9 Mbit/s at once."""
    line = LineRecord.of(class_bps, class_bps // 8 // 50, 0, subqueues=subqueues)
    policed.write_classes([(SLOT, ClassRecord(1, 0, line, line))])
    policed.change_prefixes([(0, 4, p.value4("10.64.0.0"), 24, SLOT)])
    topology.client.run("ip", "address", "replace", f"{SECOND_CLIENT}/24", "dev", "far0")
    sharing = ShareController(policed)
    run("nft", "add table ip weir_test_nat")
    try:
        run("nft", "add chain ip weir_test_nat post { type nat hook postrouting priority 100; }")
        run("nft", "add rule ip weir_test_nat post oifname wan0 masquerade")
        rates_bps = fullest_uploads_bps(topology, (3_000_000, 9_000_000), 2_000_000)
    finally:
        run("nft", "delete table ip weir_test_nat")
        sharing.stop()
    assert rates_bps == pytest.approx([2_000_000] * 2, rel=0.1)


def fullest_uploads_bps(topology: Topology, offered_bps: tuple[int, int], share_bps: int) -> list[float]:
    """`two_uploads_bps`, again where a busy machine starves senders or the share controller, as in
    `fullest_rate_bps`; more than a share is returned at once."""
    for _ in range(3):
        rates_bps = two_uploads_bps(topology, offered_bps)
        if min(rates_bps) > share_bps * 0.9 or max(rates_bps) > share_bps * 1.1:
            break
    return rates_bps


def two_uploads_bps(topology: Topology, offered_bps: tuple[int, int]) -> list[float]:
    """What arrives of each, IP bytes, after a second to settle."""
    receivers = [topology.server.start(RECEIVE, 2, port, 1.0, 2.0) for port in (5001, 5002)]
    for receiver in receivers:
        assert receiver.stdout is not None and receiver.stdout.readline() == "ready\n"
    senders = [
        topology.client.start(SEND, SERVER, 5001 + number, 1000, offered_bps[number], 4.0, source)
        for number, source in enumerate((CLIENT, SECOND_CLIENT))
    ]
    found = [json.loads(receiver.communicate(timeout=30)[0]) for receiver in receivers]
    for sender in senders:
        sender.kill()
        sender.communicate()
    assert {each["sender"] for each in found} == {PUBLIC}
    return [(each["bytes"] + 28 * each["packets"]) * 8 / each["seconds"] for each in found]
