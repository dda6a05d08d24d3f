# SPDX-License-Identifier: Apache-2.0
"""The XDP program: what it forwards, what it leaves to the stack, and the clocks it shares with tc."""

from __future__ import annotations

import os
import re
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
from weir.adapters.datapath_records import Mode, PrefixEntry, Role
from weir.model.problem import Unsupported

SLOT = 3
XDP_DROP, XDP_PASS, XDP_REDIRECT = 1, 2, 4
FAST = Role.CLASSIFY | Role.SHAPE | Role.FAST
UP_MARGIN_NS, HELD_MARGIN_NS, STAMP_NS = 5_000_000, 20_000_000, 1 << 16
UP_GROUP, UP_GROUPS = 64, 512
"""Flows with a common stamp in weir_up, and how many such stamps come before those of flows."""


OWN_MAC, PEER_MAC = "02:00:00:00:00:01", "02:00:00:00:00:0a"
"""Of the router's ports (what the frames of packets.py are for), and of everybody behind them."""
NEIGHBOURS = ((CLIENT, "lan0"), (SERVER, "wan0"), (CLIENT6, "lan0"), (SERVER6, "wan0"))


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

    def sent_up(self, ifname: str) -> dict[str, int]:
        """Packets that the port's program left to the stack, by reason; without what did not occur."""
        up = self.loaded.datapath.port_counters()[ifname].up
        return {reason: count for reason, count in up.items() if count}

    def sent_up_of_ours(self, ifname: str) -> dict[str, int]:
        """As `sent_up`, for frames that are not unusual: the far end's own kernel sends some that are
        (multicast listener reports, router solicitations), whenever it likes."""
        return {reason: count for reason, count in self.sent_up(ifname).items() if reason != "unusual"}


def know_neighbours() -> None:
    for address, ifname in NEIGHBOURS:
        run("ip", "neigh", "replace", address, "lladdr", PEER_MAC, "dev", ifname, "nud", "permanent")


@pytest.fixture(scope="module")
def topology(own_namespace: None) -> Iterator[Topology]:
    with Topology() as topology:
        for peer in (topology.client, topology.server):
            # Frames of XDP carry no offload state: senders compute checksums, receivers poll.
            peer.run("ethtool", "-K", "far0", "tx", "off", "gro", "on")
        for ifname in ("lan0", "wan0"):
            run("ip", "link", "set", ifname, "address", OWN_MAC)
        know_neighbours()
        yield topology


@pytest.fixture
def fast(topology: Topology, datapath: Datapath) -> Iterator[Fast]:
    loaded = Loaded(datapath)
    fast = Fast(loaded, datapath.program_fd("weir_fast"))
    fast.mode("edt")
    loaded.forget_what_went_up()
    loaded.limit(SLOT, 8_000_000, burst_bytes=20_000)
    loaded.classify(4, p.value4(CLIENT), 32, SLOT)
    loaded.classify(6, p.value6("2001:db8:64::"), 64, SLOT)
    yield fast
    os.close(fast.program_fd)


def download(source_port: int, size: int = 1000) -> bytes:
    """UDP from the server to the client, a flow of its own for each port."""
    return p.ethernet(p.IPV4, p.ipv4(SERVER, CLIENT, p.udp(source_port, 5001, bytes(size - 28))))


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


UNUSUAL = {
    "arp": p.ethernet(p.ARP, bytes(46)),
    "vlan": p.ethernet(p.VLAN, p.vlan(5, p.IPV4, p.ipv4(SERVER, CLIENT))),
    "no ethernet header": p.frame4(SERVER, CLIENT)[:14],
    "multicast frame": b"\x01" + p.frame4(SERVER, CLIENT)[1:],
    "for another host": bytes.fromhex("0200000000ff") + p.frame4(SERVER, CLIENT)[6:],
    "for another host of this vendor": bytes.fromhex("0200ff000001") + p.frame4(SERVER, CLIENT)[6:],
    "short ipv4 header": p.frame4(SERVER, CLIENT)[:33],
    "ip version 5": p.ethernet(p.IPV4, p.ipv4(SERVER, CLIENT, version=5)),
    "ttl 1": with_ttl(p.frame4(SERVER, CLIENT), 1),
    "options": p.ethernet(p.IPV4, p.ipv4(SERVER, CLIENT, ihl=6)),
    "first fragment": p.ethernet(p.IPV4, p.ipv4(SERVER, CLIENT, fragment=0x2000)),
    "later fragment": p.ethernet(p.IPV4, p.ipv4(SERVER, CLIENT, fragment=185)),
    "multicast": p.frame4(SERVER, "224.0.0.5"),
    "loopback source": p.frame4("127.0.0.1", CLIENT),
    "source in net 0": p.frame4("0.0.0.1", CLIENT),
    "longer than the frame": p.ethernet(p.IPV4, p.ipv4(SERVER, CLIENT, bytes(100))[:60]),
    "esp": p.ethernet(p.IPV4, p.ipv4(SERVER, CLIENT, protocol=50)),
    "ah": p.ethernet(p.IPV4, p.ipv4(SERVER, CLIENT, protocol=51)),
    "half a udp header": p.ethernet(p.IPV4, p.ipv4(SERVER, CLIENT, bytes(7))),
    "half a tcp header": p.ethernet(p.IPV4, p.ipv4(SERVER, CLIENT, bytes(19), protocol=6)),
    "short ipv6 header": p.frame6(SERVER6, CLIENT6)[:53],
    "ip version 7 as ipv6": p.ethernet(p.IPV6, p.ipv6(SERVER6, CLIENT6, version=7)),
    "ipv6 hop by hop": p.ethernet(
        p.IPV6, p.ipv6(SERVER6, CLIENT6, p.hop_by_hop(17, bytes(8)), next_header=0)
    ),
    "ipv6 fragment": p.ethernet(
        p.IPV6, p.ipv6(SERVER6, CLIENT6, p.fragment_header(17, 1, bytes(8)), next_header=44)
    ),
    "ipv6 esp": p.ethernet(p.IPV6, p.ipv6(SERVER6, CLIENT6, next_header=50)),
    "half a udp header over ipv6": p.ethernet(p.IPV6, p.ipv6(SERVER6, CLIENT6, bytes(7))),
    "ipv6 link-local": p.frame6("fe80::1", CLIENT6),
    "ipv6 loopback": p.frame6("::1", CLIENT6),
    "ipv6 multicast": p.frame6(SERVER6, "ff02::5"),
    "ipv6 hop limit 1": p.frame6(SERVER6, CLIENT6)[:21] + b"\x01" + p.frame6(SERVER6, CLIENT6)[22:],
}
NO_WAY = {
    "to the router": p.frame4(SERVER, "10.64.0.1"),
    "no route": p.frame4(SERVER, "203.0.113.77"),
    "no neighbour": p.frame4(SERVER, "10.64.0.77"),
    "larger than the mtu": p.frame4(SERVER, CLIENT, 1600),
}


def assert_goes_up_unchanged_and_uncharged(fast: Fast, frame: bytes) -> None:
    assert fast.from_wan(frame) == (XDP_PASS, frame)
    assert fast.loaded.clock_tk(SLOT, DOWNLOAD) == 0


@pytest.mark.parametrize("frame", UNUSUAL.values(), ids=UNUSUAL)
def test_unusual_frames_go_up_and_are_counted(fast: Fast, frame: bytes) -> None:
    assert_goes_up_unchanged_and_uncharged(fast, frame)
    assert fast.sent_up("wan0")["unusual"] >= 1
    assert not fast.sent_up_of_ours("wan0")


@pytest.mark.parametrize("frame", NO_WAY.values(), ids=NO_WAY)
def test_frames_without_a_way_go_up_and_are_counted(fast: Fast, frame: bytes) -> None:
    assert_goes_up_unchanged_and_uncharged(fast, frame)
    assert fast.sent_up_of_ours("wan0") == {"route": 1}


@pytest.mark.parametrize("protocol", [1, 6, 17, 47, 132])
def test_any_transport_protocol_is_forwarded(fast: Fast, protocol: int) -> None:
    frame = p.ethernet(p.IPV4, p.ipv4(SERVER, CLIENT, bytes(60), protocol=protocol))
    assert fast.from_wan(frame)[0] == XDP_REDIRECT


def test_a_packet_that_would_wait_goes_up_uncharged(fast: Fast) -> None:
    fast.loaded.set_clock_tk(SLOT, DOWNLOAD, (time.monotonic_ns() + SECOND_NS // 2) * 16)
    before = fast.loaded.clock_tk(SLOT, DOWNLOAD)
    frame = p.frame4(SERVER, CLIENT, 1000)
    assert fast.from_wan(frame) == (XDP_PASS, frame)
    assert fast.loaded.clock_tk(SLOT, DOWNLOAD) == before
    assert fast.sent_up_of_ours("wan0") == {"waits": 1}


def test_a_packet_does_not_overtake_one_of_its_flow_that_went_up(fast: Fast) -> None:
    """What went up may not have been charged yet, so the clock alone cannot tell."""
    for port in range(1000, 1100):
        began_ns = time.monotonic_ns()
        fast.loaded.set_clock_tk(SLOT, DOWNLOAD, (began_ns + SECOND_NS // 2) * 16)
        assert fast.from_wan(download(port))[0] == XDP_PASS
        fast.loaded.set_clock_tk(SLOT, DOWNLOAD, 0)
        verdict = fast.from_wan(download(port))[0]
        if time.monotonic_ns() - began_ns < UP_MARGIN_NS:
            assert verdict == XDP_PASS
            assert fast.from_wan(download(port + 1000))[0] == XDP_REDIRECT, "nothing of this flow is up there"
            assert fast.sent_up("wan0")["order"] == 1
            return
    pytest.fail("this machine is too busy to run two packets within 5 ms")


def flows_of_one_group(fast: Fast) -> tuple[int, int]:
    """Ports of two flows with stamps of their own, but a common one for their group."""
    members: dict[int, int] = {}
    fast.loaded.set_clock_tk(SLOT, DOWNLOAD, (time.monotonic_ns() + SECOND_NS // 2) * 16)
    for port in range(2000, 4000):
        before = fast.loaded.stamps_of_what_went_up()
        assert fast.from_wan(download(port))[0] == XDP_PASS
        for place in fast.loaded.stamps_of_what_went_up() - before:
            if place >= UP_GROUPS and members.setdefault(place // UP_GROUP, port) != port:
                return members[place // UP_GROUP], port
    pytest.fail("no two of 2,000 flows share a group")


def test_a_flow_stays_in_the_fast_path_while_another_of_its_group_is_held(fast: Fast) -> None:
    held, free = flows_of_one_group(fast)
    for _ in range(100):
        pause(UP_MARGIN_NS + 2 * STAMP_NS)
        began_ns = time.monotonic_ns()
        fast.loaded.set_clock_tk(SLOT, DOWNLOAD, (began_ns + SECOND_NS // 2) * 16)
        assert fast.from_wan(download(held))[0] == XDP_PASS
        fast.loaded.set_clock_tk(SLOT, DOWNLOAD, 0)
        verdicts = fast.from_wan(download(held))[0], fast.from_wan(download(free))[0]
        if time.monotonic_ns() - began_ns < UP_MARGIN_NS:
            assert verdicts == (XDP_PASS, XDP_REDIRECT)
            return
    pytest.fail("this machine is too busy to run three packets within 5 ms")


def test_a_flow_comes_back_to_the_fast_path_after_a_pause(fast: Fast) -> None:
    fast.loaded.set_clock_tk(SLOT, DOWNLOAD, (time.monotonic_ns() + SECOND_NS // 2) * 16)
    last_up_ns = time.monotonic_ns()
    assert fast.from_wan(download(1000))[0] == XDP_PASS
    fast.loaded.set_clock_tk(SLOT, DOWNLOAD, 0)
    pause_ns = 1_000_000
    while pause_ns < SECOND_NS:
        called_ns = time.monotonic_ns()
        if fast.from_wan(download(1000))[0] == XDP_REDIRECT:
            break
        last_up_ns = called_ns
        pause_ns *= 2
        pause(pause_ns)
    assert UP_MARGIN_NS - STAMP_NS <= time.monotonic_ns() - last_up_ns < SECOND_NS


def pause(duration_ns: int) -> None:
    """Let the kernel's clock advance, which is what the program goes by."""
    until_ns = time.monotonic_ns() + duration_ns
    while time.monotonic_ns() < until_ns:
        pass


def test_a_class_stays_in_the_stack_while_fq_may_hold_its_packets(fast: Fast) -> None:
    fast.loaded.limit(SLOT, 8_000_000, burst_bytes=0)
    for _ in range(20):
        queued = fast.loaded.egress(p.frame4(SERVER, CLIENT, 1000), ifindex=socket.if_nametoindex("lan0"))
    assert queued.tstamp_ns > time.monotonic_ns(), "the last of 20 ms of packets waits"
    fast.loaded.set_clock_tk(SLOT, DOWNLOAD, 0)
    deadline = time.monotonic() + 5
    port = 1000
    while fast.from_wan(download(port))[0] == XDP_PASS:
        assert time.monotonic() < deadline
        port = port % 60_000 + 1
    assert time.monotonic_ns() >= queued.tstamp_ns + HELD_MARGIN_NS


def test_a_class_at_its_rate_takes_the_fast_path(fast: Fast) -> None:
    """No burst to spare: its clock is never far behind now, and packets that conform go at once."""
    fast.loaded.limit(SLOT, 80_000_000, burst_bytes=0)
    for _ in range(20):
        clock_ns = fast.loaded.clock_tk(SLOT, DOWNLOAD) // 16
        pause(max(clock_ns - time.monotonic_ns(), 0) + 1000)
        assert fast.from_wan(download(1000))[0] == XDP_REDIRECT


def test_a_class_with_sub_queues_is_the_stacks(fast: Fast) -> None:
    fast.loaded.set_line_flags(SLOT, DOWNLOAD, 0x10)
    assert fast.from_wan(download(1000))[0] == XDP_PASS


def test_a_busy_ancestor_keeps_its_descendants_in_the_stack(fast: Fast) -> None:
    fast.loaded.limit(9, 8_000_000)
    fast.loaded.limit(SLOT, 8_000_000, burst_bytes=20_000, parent=9)
    fast.loaded.set_clock_tk(9, DOWNLOAD, (time.monotonic_ns() + SECOND_NS // 2) * 16)
    assert fast.from_wan(p.frame4(SERVER, CLIENT, 1000))[0] == XDP_PASS


def test_only_flows_of_the_flow_table_where_a_filter_must_see_them(fast: Fast) -> None:
    """The kernel of the virtual machine has the lookup; others say why not."""
    datapath = fast.loaded.datapath
    roles = FAST | Role.FLOW
    if reason := datapath.flow_reason():
        with pytest.raises(Unsupported, match=re.escape(reason)):
            datapath.attach("wan0", roles, "edt")
        return
    datapath.attach("wan0", roles, "edt")
    assert fast.from_wan(download(1000))[0] == XDP_PASS
    assert fast.sent_up_of_ours("wan0") == {"no-flow": 1}


def test_over_the_horizon_it_drops_before_the_stack(fast: Fast) -> None:
    fast.loaded.set_clock_tk(SLOT, DOWNLOAD, (time.monotonic_ns() + 5 * SECOND_NS) * 16)
    assert fast.from_wan(p.frame4(SERVER, CLIENT, 1000))[0] == XDP_DROP
    assert fast.loaded.counters(SLOT, DOWNLOAD)["drop_packets"] == 1


def test_htb_and_slow_ports_stay_in_the_stack(fast: Fast) -> None:
    fast.mode("htb")
    assert fast.from_wan(download(1000))[0] == XDP_PASS
    fast.mode("edt")
    fast.loaded.datapath.attach("lan0", Role.CLASSIFY | Role.SHAPE, "edt")
    assert fast.from_wan(download(2000))[0] == XDP_PASS
    assert fast.sent_up_of_ours("wan0") == {"port": 2}


OTHER = 5
"""The class of the client's addresses in domain 2."""


@pytest.fixture
def two_domains(fast: Fast) -> Iterator[Fast]:
    """The client is behind a port of domain 2, and domain 0 has a class for its address as well."""
    fast.loaded.datapath.attach("lan0", FAST, "edt", domain=2)
    fast.loaded.limit(OTHER, 8_000_000, burst_bytes=20_000)
    fast.loaded.datapath.change_prefixes([PrefixEntry(2, 4, p.value4(CLIENT), 32, OTHER)])
    return fast


def fast_bytes(fast: Fast) -> dict[tuple[int, int], int]:
    """By slot and direction, without those that forwarded nothing."""
    lines = [(slot, direction) for slot in (SLOT, OTHER) for direction in (UPLOAD, DOWNLOAD)]
    counted = {line: fast.loaded.counters(*line)["fast_bytes"] for line in lines}
    return {line: count for line, count in counted.items() if count}


def test_a_download_into_another_domain_is_that_domains(two_domains: Fast) -> None:
    verdict, _ = two_domains.from_wan(download(1, 1000))
    assert verdict == XDP_REDIRECT
    assert fast_bytes(two_domains) == {(OTHER, DOWNLOAD): 1000}


def test_an_upload_out_of_another_domain_is_that_domains(two_domains: Fast) -> None:
    frame = p.ethernet(p.IPV4, p.ipv4(CLIENT, SERVER, p.udp(1, 5001, bytes(972))))
    verdict, _ = two_domains.from_lan(frame)
    assert verdict == XDP_REDIRECT
    assert fast_bytes(two_domains) == {(OTHER, UPLOAD): 1000}


def test_an_upload_is_its_own_domains_where_the_other_end_is_a_queue_there(two_domains: Fast) -> None:
    """In domain 2 the server's address is a customer's; behind the WAN, in domain 0, it is the internet's."""
    two_domains.loaded.datapath.change_prefixes([PrefixEntry(2, 4, p.value4(SERVER), 32, SLOT)])
    frame = p.ethernet(p.IPV4, p.ipv4(CLIENT, SERVER, p.udp(1, 5001, bytes(972))))
    assert two_domains.from_lan(frame)[0] == XDP_REDIRECT
    assert fast_bytes(two_domains) == {(OTHER, UPLOAD): 1000}


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
    know_neighbours()


def test_policed_traffic_takes_the_fast_path_at_its_rate(
    topology: Topology, fast: Fast, real_neighbours: None
) -> None:
    fast.mode("police")
    fast.loaded.limit(SLOT, 20_000_000, burst_bytes=50_000)
    measured, _ = fullest_rate_bps(topology.server, topology.client, SERVER, CLIENT, 20_000_000, size=1400)
    counted = fast.loaded.counters(SLOT, DOWNLOAD)
    assert measured == pytest.approx(20_000_000, rel=0.02)
    assert counted["fast_bytes"] > counted["bytes"] * 0.95
