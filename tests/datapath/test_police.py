# SPDX-License-Identifier: Apache-2.0
"""Real packets through a policing router: rates to 2 %, in both directions and families, behind NAT."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

import pytest

from tests.datapath import packets as p
from tests.datapath.topology import CLIENT, CLIENT6, PUBLIC, SERVER, SERVER6, Topology, fullest_rate_bps, run
from weir.adapters.datapath import Datapath
from weir.adapters.datapath_records import ClassRecord, LineRecord

SLOT = 3


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
