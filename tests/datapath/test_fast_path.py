# SPDX-License-Identifier: Apache-2.0
"""The XDP program: what it forwards, what it leaves to the stack, and the clocks it shares with tc."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator

import pytest

from tests.datapath import packets as p
from tests.datapath.fast_router import (
    FAST,
    PEER_MAC,
    SLOT,
    XDP_DROP,
    XDP_PASS,
    XDP_REDIRECT,
    Fast,
    download,
    know_neighbours,
    pause,
)
from tests.datapath.loaded import DOWNLOAD, SECOND_NS, UPLOAD
from tests.datapath.topology import CLIENT, CLIENT6, SERVER, SERVER6, Topology, fullest_rate_bps, run
from weir.adapters.datapath import Datapath
from weir.adapters.datapath_records import Role, used_mark
from weir.model.problem import Unsupported


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


def with_length(frame: bytes, length: int) -> bytes:
    """An IPv4 frame with another length and a right checksum."""
    return with_ttl(frame[:16] + length.to_bytes(2, "big") + frame[18:], frame[22])


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
    "damaged checksum": p.ethernet(p.IPV4, p.ipv4(SERVER, CLIENT, damage=1)),
    "damaged checksum's high byte": p.ethernet(p.IPV4, p.ipv4(SERVER, CLIENT, damage=0x8000)),
    "its own address as source": p.frame4("198.51.100.1", CLIENT),
    "its other address as source": p.frame4("10.64.0.1", CLIENT),
    "a broadcast address as source": p.frame4("198.51.100.255", CLIENT),
    "its udp header is padding": with_length(p.frame4(SERVER, CLIENT, 46), 27),
    "ttl 1": with_ttl(p.frame4(SERVER, CLIENT), 1),
    "options": p.ethernet(p.IPV4, p.ipv4(SERVER, CLIENT, ihl=6)),
    "first fragment": p.ethernet(p.IPV4, p.ipv4(SERVER, CLIENT, fragment=0x2000)),
    "later fragment": p.ethernet(p.IPV4, p.ipv4(SERVER, CLIENT, fragment=185)),
    "multicast": p.frame4(SERVER, "224.0.0.5"),
    "longer than the frame": p.ethernet(p.IPV4, p.ipv4(SERVER, CLIENT, bytes(100))[:60]),
    "longer than its packet": p.frame4(SERVER, CLIENT, 100) + bytes(400),
    "longer than its ipv6 packet": p.frame6(SERVER6, CLIENT6, 100) + bytes(400),
    "without a length": with_length(p.frame4(SERVER, CLIENT, 46), 0),
    "shorter than its header": with_length(p.frame4(SERVER, CLIENT, 46), 19),
    "ip in ip": p.ethernet(p.IPV4, p.ipv4(SERVER, CLIENT, protocol=4)),
    "ipv6 in ip": p.ethernet(p.IPV4, p.ipv4(SERVER, CLIENT, protocol=41)),
    "gre": p.ethernet(p.IPV4, p.ipv4(SERVER, CLIENT, protocol=47)),
    "l2tp": p.ethernet(p.IPV4, p.ipv4(SERVER, CLIENT, protocol=115)),
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
    "gre over ipv6": p.ethernet(p.IPV6, p.ipv6(SERVER6, CLIENT6, next_header=47)),
    "ipv6 esp": p.ethernet(p.IPV6, p.ipv6(SERVER6, CLIENT6, next_header=50)),
    "half a udp header over ipv6": p.ethernet(p.IPV6, p.ipv6(SERVER6, CLIENT6, bytes(7))),
    "ipv6 link-local": p.frame6("fe80::1", CLIENT6),
    "ipv6 multicast": p.frame6(SERVER6, "ff02::5"),
    "ipv6 hop limit 1": p.frame6(SERVER6, CLIENT6)[:21] + b"\x01" + p.frame6(SERVER6, CLIENT6)[22:],
}
NO_WAY = {
    "back by the port it came by": p.frame4(CLIENT, SERVER),
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


@pytest.mark.parametrize("trailer", [18, 22, 26])
def test_a_padded_frame_is_forwarded(fast: Fast, trailer: int) -> None:
    """To 60 bytes, the least; or to what is left of 64 and 68 when a switch took one tag or two off."""
    assert fast.from_wan(p.frame4(SERVER, CLIENT, 28) + bytes(trailer))[0] == XDP_REDIRECT
    assert fast.loaded.counters(SLOT, DOWNLOAD)["fast_bytes"] == 28


@pytest.mark.parametrize("protocol", [1, 6, 17, 33, 132])
def test_any_transport_protocol_is_forwarded(fast: Fast, protocol: int) -> None:
    frame = p.ethernet(p.IPV4, p.ipv4(SERVER, CLIENT, bytes(60), protocol=protocol))
    assert fast.from_wan(frame)[0] == XDP_REDIRECT


def test_padding_is_cut_off_and_never_forwarded(fast: Fast) -> None:
    _, after = fast.from_wan(p.frame4(SERVER, CLIENT, 28) + b"secret" * 3)
    assert len(after) == 14 + 28


def test_sources_are_asked_for_only_where_they_may_be_the_routers(fast: Fast) -> None:
    own, broadcast = p.frame4("198.51.100.1", CLIENT), p.frame4("198.51.100.255", CLIENT)
    fast.loaded.datapath.refuse_sources([])  # wrong on purpose: nobody is asked for
    assert fast.from_wan(own)[0] == XDP_REDIRECT
    fast.loaded.datapath.refuse_sources(map(p.value4, ("198.51.100.1", "198.51.100.255")))
    assert [fast.from_wan(frame)[0] for frame in (own, broadcast, download(1000))] == [
        *(XDP_PASS, XDP_PASS, XDP_REDIRECT)
    ]
    fast.loaded.datapath.refuse_sources(None)


def test_packets_that_a_route_may_treat_otherwise_go_up(fast: Fast) -> None:
    fast.loaded.datapath.attach("lan0", FAST, "edt", largest_bytes=500)
    assert fast.from_wan(download(1000, 500))[0] == XDP_REDIRECT
    assert fast.from_wan(download(1001, 501))[0] == XDP_PASS
    fast.loaded.datapath.attach("lan0", FAST, "edt", largest_bytes=0)
    assert fast.from_wan(download(1002, 100))[0] == XDP_PASS
    assert fast.sent_up_of_ours("wan0") == {"route": 2}


def test_neighbours_that_are_sent_to_are_marked_until_they_are_taken(fast: Fast) -> None:
    datapath, mark = fast.loaded.datapath, used_mark(bytes.fromhex(PEER_MAC.replace(":", "")))
    datapath.take_used()
    assert datapath.take_used() == b""
    assert fast.from_wan(download(1000))[0] == XDP_REDIRECT
    marks = datapath.take_used()
    assert [place for place, is_used in enumerate(marks) if is_used] == [mark]
    assert datapath.take_used() == b""


def test_a_packet_that_would_wait_goes_up_uncharged(fast: Fast) -> None:
    fast.loaded.set_clock_tk(SLOT, DOWNLOAD, (time.monotonic_ns() + SECOND_NS // 2) * 16)
    before = fast.loaded.clock_tk(SLOT, DOWNLOAD)
    frame = p.frame4(SERVER, CLIENT, 1000)
    assert fast.from_wan(frame) == (XDP_PASS, frame)
    assert fast.loaded.clock_tk(SLOT, DOWNLOAD) == before
    assert fast.sent_up_of_ours("wan0") == {"waits": 1}


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
def real_neighbours(fast_topology: Topology) -> Iterator[None]:
    """The kernel finds the peers' addresses by itself."""
    for address, ifname in ((CLIENT, "lan0"), (SERVER, "wan0")):
        run("ip", "neigh", "del", address, "dev", ifname)
    fast_topology.client.run("ping", "-c", "1", "-W", "5", SERVER)
    yield
    know_neighbours()


def test_policed_traffic_takes_the_fast_path_at_its_rate(
    fast_topology: Topology, fast: Fast, real_neighbours: None
) -> None:
    fast.mode("police")
    fast.loaded.limit(SLOT, 20_000_000, burst_bytes=50_000)
    measured, _ = fullest_rate_bps(
        fast_topology.server, fast_topology.client, SERVER, CLIENT, 20_000_000, size=1400
    )
    counted = fast.loaded.counters(SLOT, DOWNLOAD)
    assert measured == pytest.approx(20_000_000, rel=0.02)
    assert counted["fast_bytes"] > counted["bytes"] * 0.95
