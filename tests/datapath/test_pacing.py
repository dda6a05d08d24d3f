# SPDX-License-Identifier: Apache-2.0
"""Departure times on a kernel with fq: exact rates without loss inside the horizon."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator

import pytest

from tests.datapath import packets as p
from tests.datapath.loaded import DOWNLOAD, SECOND_NS, Loaded
from tests.datapath.topology import CLIENT, SERVER, Topology, run, udp_rate_bps
from weir.adapters.datapath import Datapath
from weir.adapters.datapath_records import ClassRecord, LineRecord

SLOT = 3
FQ = ["fq", "horizon", "10s", "horizon_drop", "flow_limit", "10000", "limit", "100000"]


@pytest.fixture(scope="module")
def topology(own_namespace: None) -> Iterator[Topology]:
    with Topology() as topology:
        tried = subprocess.run(
            ["tc", "qdisc", "replace", "dev", "lan0", "root", *FQ], capture_output=True, text=True
        )
        if tried.returncode != 0:
            pytest.skip(f"this kernel cannot pace: {tried.stderr.strip()}")
        run("tc", "qdisc", "replace", "dev", "wan0", "root", *FQ)
        yield topology


@pytest.fixture
def paced(topology: Topology, datapath: Datapath) -> Loaded:
    for ifname in ("lan0", "wan0"):
        datapath.attach(ifname, mode="edt")
    datapath.change_prefixes([(0, 4, p.value4(CLIENT), 32, SLOT)])
    return Loaded(datapath)


def limit(paced: Loaded, rate_bps: int, limit_ns: int) -> None:
    line = LineRecord.of(rate_bps, 0, limit_ns)
    paced.datapath.write_classes([(SLOT, ClassRecord(1, 0, line, line))])


@pytest.mark.parametrize("rate_bps", [1_000_000, 10_000_000, 50_000_000])
def test_download_of_udp_is_within_2_percent(topology: Topology, paced: Loaded, rate_bps: int) -> None:
    limit(paced, rate_bps, 50_000_000)
    size = 400 if rate_bps == 1_000_000 else 1400
    offered_bps = rate_bps * 5 // 4
    measured, _ = udp_rate_bps(topology.server, topology.client, SERVER, CLIENT, offered_bps, size=size)
    assert measured == pytest.approx(rate_bps, rel=0.02)


def test_a_burst_within_the_horizon_is_spread_and_not_dropped(topology: Topology, paced: Loaded) -> None:
    """An offer just under the rate, sent in clumps: all of it arrives, and late rather than never."""
    limit(paced, 8_000_000, SECOND_NS)
    measured, _ = udp_rate_bps(topology.server, topology.client, SERVER, CLIENT, 4_000_000)
    counted = paced.counters(SLOT, DOWNLOAD)
    assert measured == pytest.approx(4_000_000 * 1028 / 1000, rel=0.05)
    assert counted["drop_packets"] == 0
