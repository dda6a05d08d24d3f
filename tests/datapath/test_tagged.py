# SPDX-License-Identifier: Apache-2.0
"""VLAN tags in XDP: taken off, put on, changed, and untouched where a frame goes up.

The programs know a VLAN interface by its record alone, so plain devices stand for them here and need no VLAN
in the kernel: `lan0` is tag 100 on `wan0`, `other0` is service tag 200 on it.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator

import pytest

from tests.datapath import bpf_run
from tests.datapath import packets as p
from tests.datapath.loaded import DOWNLOAD, UPLOAD, Loaded
from tests.datapath.stamps import looked_at, stamped
from tests.datapath.topology import CLIENT, SERVER, Topology, run
from weir.adapters.datapath import Datapath
from weir.adapters.datapath_records import PrefixEntry, Role, Tag
from weir.model.problem import Invalid

XDP_DROP, XDP_PASS, XDP_REDIRECT = 1, 2, 4
FAST = Role.CLASSIFY | Role.SHAPE | Role.FAST
CUSTOMER, NEIGHBOUR = 3, 5
OTHER = "10.200.0.2"
OWN_MAC, PEER_MAC = "02:00:00:00:00:01", "02:00:00:00:00:0a"
C_TAG, S_TAG = 0x8100, 0x88A8
NO_IPV6 = "echo 1 > /proc/sys/net/ipv6/conf/all/disable_ipv6"
"""Multicast reports of the peers would be counted with the packets of the tests."""
MACS = bytes.fromhex((PEER_MAC + OWN_MAC).replace(":", ""))


def tagged(frame: bytes, tci: int, protocol: int = C_TAG) -> bytes:
    return frame[:12] + protocol.to_bytes(2, "big") + tci.to_bytes(2, "big") + frame[12:]


def forwarded(frame: bytes) -> bytes:
    """What a router makes of an IPv4 frame, tag apart: addresses, one hop less, checksum (RFC 1624)."""
    check = int.from_bytes(frame[24:26], "big") + 0x100
    check = (check & 0xFFFF) + (check >> 16)
    return MACS + frame[12:22] + bytes([frame[22] - 1]) + frame[23:24] + check.to_bytes(2, "big") + frame[26:]


@pytest.fixture(scope="module")
def topology(own_namespace: None) -> Iterator[Topology]:
    with Topology() as topology:
        run("ip", "link", "add", "other0", "type", "veth", "peer", "name", "other1")
        for ifname in ("lan0", "wan0", "other0"):
            run("ip", "link", "set", ifname, "address", OWN_MAC, "up")
        run("ip", "link", "set", "other1", "up")
        run("ip", "address", "add", "10.200.0.1/24", "dev", "other0")
        for address, ifname in ((CLIENT, "lan0"), (SERVER, "wan0"), (OTHER, "other0")):
            run("ip", "neigh", "replace", address, "lladdr", PEER_MAC, "dev", ifname, "nud", "permanent")
        topology.server.run("ethtool", "-K", "far0", "gro", "on")
        for silence in (run, topology.client.run, topology.server.run):
            silence("sh", "-c", NO_IPV6)
        yield topology


class Trunk:
    def __init__(self, loaded: Loaded, program_fd: int) -> None:
        self.loaded = loaded
        self._program_fd = program_fd
        self._index = socket.if_nametoindex("wan0")
        attach = loaded.datapath.attach
        attach("lan0", FAST | Role.TAGGED, domain=2, tag=Tag(self._index, 100, C_TAG))
        attach("other0", FAST | Role.TAGGED, domain=3, tag=Tag(self._index, 200, S_TAG))
        self.be_trunk(Role.TRUNK)
        for slot in (CUSTOMER, NEIGHBOUR):
            loaded.limit(slot, 8_000_000, burst_bytes=20_000)
        loaded.datapath.change_prefixes(
            [
                PrefixEntry(2, 4, p.value4(CLIENT), 32, CUSTOMER),
                PrefixEntry(3, 4, p.value4(OTHER), 32, NEIGHBOUR),
            ]
        )

    def be_trunk(self, role: Role) -> None:
        self.loaded.datapath.attach("wan0", FAST | role)

    def receive(self, frame: bytes) -> tuple[int, bytes]:
        return bpf_run.run_xdp(self._program_fd, frame, self._index)

    def fast_bytes(self) -> dict[tuple[int, int], int]:
        lines = [(slot, direction) for slot in (CUSTOMER, NEIGHBOUR) for direction in (UPLOAD, DOWNLOAD)]
        counted = {line: self.loaded.counters(*line)["fast_bytes"] for line in lines}
        return {line: count for line, count in counted.items() if count}

    def sent_up(self) -> dict[str, dict[str, int]]:
        """By port and reason, without what did not occur."""
        counters = self.loaded.datapath.port_counters()
        found = {name: {why: n for why, n in port.up.items() if n} for name, port in counters.items()}
        return {name: up for name, up in found.items() if up}


@pytest.fixture
def trunk(topology: Topology, datapath: Datapath) -> Iterator[Trunk]:
    with Loaded(datapath) as loaded:
        loaded.forget_what_went_up()
        program_fd = datapath.program_fd("weir_fast")
        yield Trunk(loaded, program_fd)
        os.close(program_fd)


@pytest.mark.parametrize("tci", [100, 0xE064], ids=["plain", "with priority"])
def test_a_tag_is_taken_off_where_the_way_out_has_none(trunk: Trunk, tci: int) -> None:
    frame = p.frame4(CLIENT, SERVER, 1000)
    assert trunk.receive(tagged(frame, tci)) == (XDP_REDIRECT, forwarded(frame))
    assert trunk.fast_bytes() == {(CUSTOMER, UPLOAD): 1000}


def test_a_tag_is_put_on_where_the_way_out_has_one(trunk: Trunk) -> None:
    frame = p.frame4(SERVER, CLIENT, 1000)
    assert trunk.receive(frame) == (XDP_REDIRECT, tagged(forwarded(frame), 100))
    assert trunk.fast_bytes() == {(CUSTOMER, DOWNLOAD): 1000}


def test_between_two_customers_tagged_frames_are_the_stacks(trunk: Trunk) -> None:
    frame = tagged(p.frame4(CLIENT, OTHER, 1000), 100)
    assert trunk.receive(frame) == (XDP_PASS, frame)
    assert trunk.sent_up() == {"lan0": {"waits": 1}}


def test_a_tag_becomes_another(trunk: Trunk) -> None:
    trunk.loaded.datapath.change_prefixes(remove=[(2, 4, p.value4(CLIENT), 32)])
    frame = p.frame4(CLIENT, OTHER, 1000)
    assert trunk.receive(tagged(frame, 100)) == (XDP_REDIRECT, tagged(forwarded(frame), 200, S_TAG))
    assert trunk.fast_bytes() == {(NEIGHBOUR, DOWNLOAD): 1000}


def test_another_tags_upload_belongs_to_its_own_domain(trunk: Trunk) -> None:
    frame = p.frame4(OTHER, SERVER, 500)
    assert trunk.receive(tagged(frame, 200, S_TAG))[0] == XDP_REDIRECT
    assert trunk.fast_bytes() == {(NEIGHBOUR, UPLOAD): 500}


PLAIN = p.frame4(CLIENT, SERVER, 200)
LAST_HOP = PLAIN[:22] + b"\x01" + PLAIN[23:]


@pytest.mark.parametrize(
    ("frame", "port", "reason"),
    [
        (tagged(PLAIN, 101), "wan0", "unusual"),
        (tagged(PLAIN, 100, S_TAG), "wan0", "unusual"),
        (tagged(PLAIN, 0), "wan0", "unusual"),
        (tagged(tagged(PLAIN, 7), 100), "lan0", "unusual"),
        (tagged(LAST_HOP, 0xE064), "lan0", "unusual"),
        (tagged(PLAIN, 100)[:17], "wan0", "unusual"),
        (tagged(p.ethernet(0x0806, bytes(28)), 100), "lan0", "unusual"),
        (tagged(p.frame4(CLIENT, "203.0.113.77", 200), 0xE064), "lan0", "route"),
    ],
    ids=["unknown tag", "other kind", "priority tag", "two tags", "last hop", "short", "ARP", "no route"],
)
def test_what_goes_up_is_as_it_came_and_counted_where_it_belongs(
    trunk: Trunk, frame: bytes, port: str, reason: str
) -> None:
    assert trunk.receive(frame) == (XDP_PASS, frame)
    assert trunk.sent_up() == {port: {reason: 1}}
    assert trunk.fast_bytes() == {}


def test_a_tagged_packet_that_would_wait_goes_up_with_its_tag(trunk: Trunk) -> None:
    trunk.loaded.limit(CUSTOMER, 100_000)
    frames = [tagged(p.frame4(CLIENT, SERVER, 1400 - n), 0x2064) for n in range(3)]
    answers = [trunk.receive(frame) for frame in frames]
    assert answers[-1] == (XDP_PASS, frames[-1])
    assert trunk.sent_up()["lan0"].keys() <= {"waits", "order"}


def test_over_its_limit_a_tagged_packet_is_dropped(trunk: Trunk) -> None:
    trunk.loaded.limit(CUSTOMER, 8_000, limit_ns=1000)
    verdicts = [trunk.receive(tagged(PLAIN, 100))[0] for _ in range(3)]
    assert verdicts[0] == XDP_REDIRECT
    assert XDP_DROP in verdicts


def test_without_vlan_interfaces_on_it_a_port_leaves_tags_alone(trunk: Trunk) -> None:
    trunk.be_trunk(Role.NOTHING)
    assert trunk.receive(tagged(PLAIN, 100)) == (XDP_PASS, tagged(PLAIN, 100))
    assert trunk.sent_up() == {"wan0": {"unusual": 1}}


def test_a_vlan_interface_that_is_not_fast_keeps_its_packets_in_the_stack(trunk: Trunk) -> None:
    index = socket.if_nametoindex("wan0")
    slow = Role.CLASSIFY | Role.SHAPE | Role.TAGGED
    trunk.loaded.datapath.attach("lan0", slow, domain=2, tag=Tag(index, 100, C_TAG))
    assert trunk.receive(tagged(PLAIN, 100)) == (XDP_PASS, tagged(PLAIN, 100))
    assert trunk.receive(p.frame4(SERVER, CLIENT, 200))[0] == XDP_PASS
    assert trunk.sent_up() == {"wan0": {"unusual": 1, "port": 1}}


def test_a_tag_goes_with_its_port(trunk: Trunk) -> None:
    assert trunk.loaded.datapath.attached()["lan0"].tag == Tag(socket.if_nametoindex("wan0"), 100, C_TAG)
    trunk.loaded.datapath.detach("lan0")
    assert trunk.receive(tagged(PLAIN, 100)) == (XDP_PASS, tagged(PLAIN, 100))


@pytest.mark.parametrize("tag", [Tag(0, 100, C_TAG), Tag(1, 0, C_TAG), Tag(1, 4095, C_TAG)])
def test_impossible_tags_are_refused(datapath: Datapath, tag: Tag) -> None:
    with pytest.raises(Invalid):
        datapath.attach("lo", Role.SHAPE | Role.TAGGED, tag=tag)


def test_round_trips_are_seen_through_tags(trunk: Trunk) -> None:
    """A download gets its tag after it was looked at, its answer loses it before."""
    slot = looked_at()
    trunk.loaded.limit(slot, 10_000_000_000)
    trunk.loaded.datapath.change_prefixes([PrefixEntry(2, 4, p.value4(CLIENT), 32, slot)])
    for value in (100, 101):
        data = stamped(value, 1, ports=(443, 5000), data=500)
        sent = trunk.receive(p.ethernet(p.IPV4, p.ipv4(SERVER, CLIENT, data, protocol=6)))
        assert (sent[0], sent[1][12:16]) == (XDP_REDIRECT, bytes.fromhex("81000064"))
    answer = stamped(2, 101, ports=(5000, 443), data=0)
    frame = p.ethernet(p.IPV4, p.ipv4(CLIENT, SERVER, answer, protocol=6))
    assert trunk.receive(tagged(frame, 100))[0] == XDP_REDIRECT
    found = trunk.loaded.datapath.round_trips(slot, DOWNLOAD)
    assert len(found.samples_ns) == 1
