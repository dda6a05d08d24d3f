# SPDX-License-Identifier: Apache-2.0
"""The XDP program: what it forwards, what it leaves to the stack, and the clocks it shares with tc."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from tests.datapath import bpf_run
from tests.datapath import packets as p
from tests.datapath.loaded import DOWNLOAD, SECOND_NS, UPLOAD, Loaded
from tests.datapath.topology import CLIENT, CLIENT6, SERVER, SERVER6, Topology, fullest_rate_bps, run
from weir.adapters.datapath import Datapath
from weir.adapters.datapath_records import Mode, Role
from weir.model.problem import Unsupported

SLOT = 3
XDP_DROP, XDP_PASS, XDP_REDIRECT = 1, 2, 4
FAST = Role.CLASSIFY | Role.SHAPE | Role.FAST


@dataclass
class Fast:
    """A loaded router with two fast ports, and frames sent through the program by hand."""

    loaded: Loaded
    program_fd: int

    def mode(self, mode: Mode) -> None:
        for ifname in ("lan0", "wan0"):
            self.loaded.datapath.attach(ifname, FAST, mode)

    def from_lan(self, frame: bytes) -> tuple[int, bytes]:
        return bpf_run.run_xdp(self.program_fd, frame, socket.if_nametoindex("lan0"))

    def from_wan(self, frame: bytes) -> tuple[int, bytes]:
        return bpf_run.run_xdp(self.program_fd, frame, socket.if_nametoindex("wan0"))


@pytest.fixture(scope="module")
def topology(own_namespace: None) -> Iterator[Topology]:
    with Topology() as topology:
        for peer in (topology.client, topology.server):
            # Frames of XDP carry no offload state: senders compute checksums, receivers poll.
            peer.run("ethtool", "-K", "far0", "tx", "off", "gro", "on")
        for address, ifname in ((CLIENT, "lan0"), (SERVER, "wan0"), (CLIENT6, "lan0"), (SERVER6, "wan0")):
            run(
                "ip",
                "neigh",
                "replace",
                address,
                "lladdr",
                "02:00:00:00:00:0a",
                "dev",
                ifname,
                "nud",
                "permanent",
            )
        yield topology


@pytest.fixture
def fast(topology: Topology, datapath: Datapath) -> Iterator[Fast]:
    loaded = Loaded(datapath)
    fast = Fast(loaded, datapath.program_fd("weir_fast"))
    fast.mode("edt")
    loaded.limit(SLOT, 8_000_000, burst_bytes=20_000)
    loaded.classify(4, p.value4(CLIENT), 32, SLOT)
    loaded.classify(6, p.value6("2001:db8:64::"), 64, SLOT)
    yield fast
    os.close(fast.program_fd)


def with_ttl(frame: bytes, ttl: int) -> bytes:
    """An IPv4 frame with another TTL and a right checksum."""
    head = bytearray(frame)
    head[22] = ttl
    head[24:26] = b"\0\0"
    total = sum(int.from_bytes(head[at : at + 2], "big") for at in range(14, 34, 2))
    total = (total & 0xFFFF) + (total >> 16)
    total = (total & 0xFFFF) + (total >> 16)
    head[24:26] = (0xFFFF - total).to_bytes(2, "big")
    return bytes(head)


def test_ipv4_is_routed_rewritten_and_charged(fast: Fast) -> None:
    frame = with_ttl(p.frame4(SERVER, CLIENT, 1000), 64)
    verdict, after = fast.from_wan(frame)
    assert verdict == XDP_REDIRECT
    assert after[:6] == bytes.fromhex("02000000000a")
    assert after[14:] == with_ttl(frame, 63)[14:]
    counted = fast.loaded.counters(SLOT, DOWNLOAD)
    assert (counted["packets"], counted["bytes"], counted["fast_bytes"]) == (1, 1000, 1000)
    assert fast.loaded.clock_tk(SLOT, DOWNLOAD) > 0


@pytest.mark.parametrize("ttl", [2, 3, 64, 128, 255])
def test_the_checksum_is_right_for_every_ttl(fast: Fast, ttl: int) -> None:
    fast.loaded.limit(SLOT, 0)
    for identification in range(0, 0xFFFF, 4099):
        frame = bytearray(p.frame4(SERVER, CLIENT, 100))
        frame[18:20] = identification.to_bytes(2, "big")
        verdict, after = fast.from_wan(with_ttl(bytes(frame), ttl))
        assert verdict == XDP_REDIRECT
        assert after[14:] == with_ttl(bytes(frame), ttl - 1)[14:]


def test_ipv6_upload_is_charged_by_source(fast: Fast) -> None:
    frame = p.frame6(CLIENT6, SERVER6, 1280)
    verdict, after = fast.from_lan(frame)
    assert verdict == XDP_REDIRECT
    assert after[21] == 63
    assert fast.loaded.counters(SLOT, UPLOAD)["fast_bytes"] == 1280


UP = {
    "arp": p.ethernet(p.ARP, bytes(46)),
    "vlan": p.ethernet(p.VLAN, p.vlan(5, p.IPV4, p.ipv4(SERVER, CLIENT))),
    "multicast frame": b"\x01" + p.frame4(SERVER, CLIENT)[1:],
    "ttl 1": with_ttl(p.frame4(SERVER, CLIENT), 1),
    "options": p.ethernet(p.IPV4, p.ipv4(SERVER, CLIENT, ihl=6)),
    "first fragment": p.ethernet(p.IPV4, p.ipv4(SERVER, CLIENT, fragment=0x2000)),
    "later fragment": p.ethernet(p.IPV4, p.ipv4(SERVER, CLIENT, fragment=185)),
    "to the router": p.frame4(SERVER, "10.64.0.1"),
    "no route": p.frame4(SERVER, "203.0.113.77"),
    "multicast": p.frame4(SERVER, "224.0.0.5"),
    "loopback source": p.frame4("127.0.0.1", CLIENT),
    "longer than the frame": p.ethernet(p.IPV4, p.ipv4(SERVER, CLIENT, bytes(100))[:60]),
    "ipsec": p.frame4(SERVER, CLIENT)[:23] + b"\x32" + p.frame4(SERVER, CLIENT)[24:],
    "ipv6 hop by hop": p.ethernet(
        p.IPV6, p.ipv6(SERVER6, CLIENT6, p.hop_by_hop(17, bytes(8)), next_header=0)
    ),
    "ipv6 fragment": p.ethernet(
        p.IPV6, p.ipv6(SERVER6, CLIENT6, p.fragment_header(17, 1, bytes(8)), next_header=44)
    ),
    "ipv6 link-local": p.frame6("fe80::1", CLIENT6),
    "ipv6 multicast": p.frame6(SERVER6, "ff02::5"),
    "ipv6 hop limit 1": p.frame6(SERVER6, CLIENT6)[:21] + b"\x01" + p.frame6(SERVER6, CLIENT6)[22:],
    "larger than the mtu": p.frame4(SERVER, CLIENT, 1600),
}


@pytest.mark.parametrize("name", UP)
def test_all_else_goes_up_unchanged_and_uncharged(fast: Fast, name: str) -> None:
    frame = UP[name]
    assert fast.from_wan(frame) == (XDP_PASS, frame)
    assert fast.loaded.clock_tk(SLOT, DOWNLOAD) == 0


def test_a_packet_that_would_wait_goes_up_uncharged(fast: Fast) -> None:
    fast.loaded.set_clock_tk(SLOT, DOWNLOAD, (time.monotonic_ns() + SECOND_NS // 2) * 16)
    before = fast.loaded.clock_tk(SLOT, DOWNLOAD)
    frame = p.frame4(SERVER, CLIENT, 1000)
    assert fast.from_wan(frame) == (XDP_PASS, frame)
    assert fast.loaded.clock_tk(SLOT, DOWNLOAD) == before


def test_a_class_that_was_busy_just_now_stays_in_the_stack(fast: Fast) -> None:
    """Packets that went up may not have been charged yet: the clock must lie a guard time behind."""
    fast.loaded.set_clock_tk(SLOT, DOWNLOAD, (time.monotonic_ns() + 400_000_000) * 16)
    deadline = time.monotonic() + 5
    clock_ns = fast.loaded.clock_tk(SLOT, DOWNLOAD) // 16
    while fast.from_wan(p.frame4(SERVER, CLIENT, 100))[0] == XDP_PASS:
        assert time.monotonic() < deadline
    assert time.monotonic_ns() >= clock_ns + 5_000_000


def test_a_busy_ancestor_keeps_its_descendants_in_the_stack(fast: Fast) -> None:
    fast.loaded.limit(9, 8_000_000)
    fast.loaded.limit(SLOT, 8_000_000, burst_bytes=20_000, parent=9)
    fast.loaded.set_clock_tk(9, DOWNLOAD, (time.monotonic_ns() + SECOND_NS // 2) * 16)
    assert fast.from_wan(p.frame4(SERVER, CLIENT, 1000))[0] == XDP_PASS


def test_over_the_horizon_it_drops_before_the_stack(fast: Fast) -> None:
    fast.loaded.set_clock_tk(SLOT, DOWNLOAD, (time.monotonic_ns() + 5 * SECOND_NS) * 16)
    assert fast.from_wan(p.frame4(SERVER, CLIENT, 1000))[0] == XDP_DROP
    assert fast.loaded.counters(SLOT, DOWNLOAD)["drop_packets"] == 1


def test_htb_and_slow_ports_stay_in_the_stack(fast: Fast) -> None:
    frame = p.frame4(SERVER, CLIENT, 1000)
    fast.mode("htb")
    assert fast.from_wan(frame)[0] == XDP_PASS
    fast.mode("edt")
    fast.loaded.datapath.attach("lan0", Role.CLASSIFY | Role.SHAPE, "edt")
    assert fast.from_wan(frame)[0] == XDP_PASS


def test_what_is_in_no_queue_is_forwarded_and_counted(fast: Fast) -> None:
    fast.loaded.datapath.change_prefixes(remove=list(fast.loaded.datapath.read_prefixes()))
    assert fast.from_wan(p.frame4(SERVER, CLIENT, 1000))[0] == XDP_REDIRECT
    assert fast.loaded.datapath.port_counters()["lan0"].packets["no-class"] == 1


def test_a_device_without_native_xdp_says_so_and_stays_attached(datapath: Datapath) -> None:
    run("ip", "link", "add", "slow0", "type", "bridge")
    try:
        datapath.attach("slow0")
        with pytest.raises(Unsupported, match="slow0: the kernel refuses the fast program"):
            datapath.attach("slow0", FAST)
        port = datapath.attached()["slow0"]
        assert port.alive
        assert port.roles == Role.CLASSIFY | Role.SHAPE
    finally:
        run("ip", "link", "del", "slow0")


@pytest.fixture
def real_neighbours(topology: Topology) -> Iterator[None]:
    """The kernel finds the peers' addresses by itself."""
    for address, ifname in ((CLIENT, "lan0"), (SERVER, "wan0")):
        run("ip", "neigh", "del", address, "dev", ifname)
    topology.client.run("ping", "-c", "1", "-W", "5", SERVER)
    yield
    for address, ifname in ((CLIENT, "lan0"), (SERVER, "wan0")):
        run(
            "ip",
            "neigh",
            "replace",
            address,
            "lladdr",
            "02:00:00:00:00:0a",
            "dev",
            ifname,
            "nud",
            "permanent",
        )


def test_policed_traffic_takes_the_fast_path_at_its_rate(
    topology: Topology, fast: Fast, real_neighbours: None
) -> None:
    fast.mode("police")
    fast.loaded.limit(SLOT, 20_000_000, burst_bytes=50_000)
    measured, _ = fullest_rate_bps(topology.server, topology.client, SERVER, CLIENT, 20_000_000, size=1400)
    counted = fast.loaded.counters(SLOT, DOWNLOAD)
    assert measured == pytest.approx(20_000_000, rel=0.02)
    assert counted["fast_bytes"] > counted["bytes"] * 0.95
