# SPDX-License-Identifier: Apache-2.0
"""The fast path does what the stack does: random frames through both, what leaves compared byte by byte."""

from __future__ import annotations

import os
import socket
import struct
from collections.abc import Iterator

import pytest

from lab import netns
from tests.agent.likeness import End, Ends, compared, mute
from tests.agent.random_packets import LABEL, MARK, Around, Frames
from tests.agent.rig import Rig, lan, running, wan
from tests.datapath.packets import ipv4, udp
from tests.polling import until
from weir.kinds.firewall import Firewall
from weir.model.interface import Interface

SEED = 20261122
FRAMES = int(os.environ.get("WEIR_LIKENESS_FRAMES", "3000"))
"""The long form has 10,000."""

OPEN = Firewall(masquerade=False, drop_new_from_wan=False)
ALT_MTU = 1400
PEER_MAC = "02:00:00:00:00:aa"
SOURCES = (
    "10.64.0.2/32",
    "203.0.113.1/32",
    "203.0.114.1/32",
    "100.64.0.0/10",
    "2001:db8:64::2/128",
    "2001:db8:aa::/48",
)
"""Of neighbours that are known: answers to others would wait for these."""
STRANGE_SOURCES = (
    *(
        "10.64.0.1/32",
        "203.0.113.2/32",
        "203.0.114.2/32",
        "10.64.0.255/32",
        "203.0.113.255/32",
        "10.64.0.0/32",
    ),
    *("0.0.0.0/32", "0.1.2.0/24", "127.0.0.0/24", "224.0.0.0/24", "240.0.0.0/8", "255.255.255.255/32"),
    *("169.254.0.0/16", "::/128", "::1/128", "fe80::/64", "ff02::/64", "2001:db8:64::1/128", "::ffff:0:0/96"),
)
DESTINATIONS = (
    *("10.64.0.2/32", "203.0.113.1/32", "198.51.100.0/24", "198.18.0.0/16", "192.0.2.0/26", "203.0.114.1/32"),
    *(
        "2001:db8:64::2/128",
        "2001:db8:200::/64",
        "2001:db8:201::/64",
        "2001:db8:202::/64",
        "2001:db8:203::/64",
    ),
)
STRANGE_DESTINATIONS = (
    *("192.0.2.64/26", "192.0.2.128/26", "192.0.2.192/26", "8.8.8.0/24", "10.64.0.1/32", "203.0.113.2/32"),
    *("10.64.0.255/32", "255.255.255.255/32", "224.0.0.0/24", "239.0.0.0/24", "127.0.0.0/24", "0.0.0.0/32"),
    *(
        "240.0.0.0/8",
        "169.254.0.0/16",
        "2001:db8:204::/64",
        "2001:db8:205::/64",
        "2001:4860::/32",
        "ff02::/64",
    ),
    *("2001:db8:64::1/128", "2001:db8:64::/128", "fe80::99/128", "::1/128", "ff0e::/64"),
)
SYSCTLS = (
    *("net.ipv4.icmp_ratelimit=0", "net.ipv4.icmp_msgs_per_sec=1000000", "net.ipv4.icmp_msgs_burst=1000000"),
    *(
        "net.ipv6.icmp.ratelimit=0",
        "net.ipv4.fib_multipath_hash_policy=1",
        "net.ipv6.fib_multipath_hash_policy=1",
    ),
)
ROUTES = """
rule add tos 0x10 lookup 100
rule add ipproto sctp dport 5001 lookup 100
route add default via 203.0.114.1 dev alt0 table 100
route add 198.51.100.0/24 via 203.0.113.1 dev wan0
route add 198.18.0.0/15 via 203.0.114.1 dev alt0
route add 100.64.0.0/10 via 10.64.0.2 dev lan0
route add 192.0.2.0/26 via 203.0.113.1 dev wan0 mtu 1300
route add blackhole 192.0.2.64/26
route add unreachable 192.0.2.128/26
route add prohibit 192.0.2.192/26
""".strip().splitlines()
ROUTES6 = """
rule add dsfield 0x20 lookup 100
route add default via 2001:db8:114::1 dev alt0 table 100
route add 2001:db8:200::/64 via 2001:db8:113::1 dev wan0
route add 2001:db8:200::/60 via 2001:db8:114::1 dev alt0
route add 2001:db8:202::/64 via 2001:db8:113::1 dev wan0 mtu 1300
route add 2001:db8:203::/64 via 2001:db8:114::1 dev alt0
route add 2001:db8:aa::/48 via 2001:db8:64::2 dev lan0
route add blackhole 2001:db8:204::/64
route add prohibit 2001:db8:205::/64
""".strip().splitlines()
FRA_PRIORITY, FRA_TABLE, FRA_FLOWLABEL, FRA_FLOWLABEL_MASK, FR_ACT_TO_TBL, RTM_NEWRULE = 6, 15, 26, 27, 1, 32
NLM_F_REQUEST, NLM_F_ACK, NLM_F_EXCL, NLM_F_CREATE = 0x1, 0x4, 0x200, 0x400
KERNEL = tuple(map(int, os.uname().release.split(".")[:2]))
RULES_BY_FLOW_LABEL = (6, 13)
NEIGHBOURS = {
    "lan0": ("10.64.0.2", "2001:db8:64::2"),
    "wan0": ("203.0.113.1", "2001:db8:113::1"),
    "alt0": ("203.0.114.1", "2001:db8:114::1"),
}
SHARED = "nexthop via {} dev wan0 nexthop via {} dev alt0"
PEERS = {"lan0": "c0", "wan0": "i0", "alt0": "i1"}


def configured(fast_path: str) -> list[Interface]:
    wan_addresses = ("203.0.113.2/24", "2001:db8:113::2/64")
    alt = Interface(
        "alt0", role="wan", addresses=("203.0.114.2/24", "2001:db8:114::2/64"), fast_path=fast_path
    )
    return [lan(fast_path=fast_path), wan(addresses=wan_addresses, fast_path=fast_path), alt]


@pytest.fixture(scope="module")
def rig() -> Iterator[Rig]:
    with running(xdp=True) as made:
        made.cable("alt0", made.internet, "i1")
        made.run("ethtool", "-K", "i1", "tx", "off", "gro", "on", namespace=made.internet)
        for namespace, device in ((made.router, "alt0"), (made.internet, "i1")):
            netns.ip(namespace, [f"link set {device} mtu {ALT_MTU}"])
        for namespace in (made.client_ns, made.internet):
            mute(namespace)
        made.commit(*configured("auto"), OPEN)
        until("addresses are in use", lambda: "tentative" not in made.run("ip", "-6", "address"))
        made.run("sysctl", "-qw", *SYSCTLS)
        netns.ip(made.router, neighbours() + ROUTES)
        netns.run(["ip", "-6", "-n", made.router, "-batch", "-"], stdin="\n".join(ROUTES6) + "\n")
        if KERNEL >= RULES_BY_FLOW_LABEL:
            look_up_flow_label(made.router, LABEL, 100)
        yield made


def neighbours() -> list[str]:
    return [
        f"neigh replace {address} lladdr {PEER_MAC} dev {port} nud permanent"
        for port, addresses in NEIGHBOURS.items()
        for address in (*addresses, "fe80::99")
    ]


def look_up_flow_label(namespace: str, label: int, table: int) -> None:
    """A rule for IPv6 packets with this flow label (`ip -6 rule add flowlabel`, iproute2 6.13)."""
    attributes = struct.pack("=HHI", 8, FRA_PRIORITY, 200) + struct.pack("=HHI", 8, FRA_TABLE, table)
    for name, value in ((FRA_FLOWLABEL, label), (FRA_FLOWLABEL_MASK, 0xFFFFF)):
        attributes += struct.pack("=HH", 8, name) + struct.pack("!I", value)
    rule = struct.pack("=8BI", socket.AF_INET6, 0, 0, 0, 0, 0, 0, FR_ACT_TO_TBL, 0) + attributes
    flags = NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL
    with netns.inside(namespace):
        netlink = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE)
    with netlink:
        netlink.send(struct.pack("=IHHII", 16 + len(rule), RTM_NEWRULE, flags, 1, 0) + rule)
        (code,) = struct.unpack_from("=i", netlink.recv(4096), 16)
    assert code == 0, os.strerror(-code)


def mac(rig: Rig, device: str) -> bytes:
    return bytes.fromhex(rig.json("ip", "-j", "link", "show", "dev", device)[0]["address"].replace(":", ""))


def ends(rig: Rig) -> list[End]:
    own = {"lan0": "10.64.0.1", "wan0": "203.0.113.2", "alt0": "203.0.114.2"}
    return [
        End(rig.client_ns if port == "lan0" else rig.internet, PEERS[port], mac(rig, port), own[port], far)
        for port, (far, _) in NEIGHBOURS.items()
    ]


def drawn(rig: Rig, count: int, seed: int) -> list[tuple[str, bytes]]:
    """Frames, each from one of the ends, in turn."""
    made = Frames(seed)
    known = SOURCES, STRANGE_SOURCES, DESTINATIONS, STRANGE_DESTINATIONS
    around = [
        (device, Around(mac(rig, port), *known, frame_bytes=14 + (ALT_MTU if port == "alt0" else 1500)))
        for port, device in PEERS.items()
    ]
    turns = ((number, *around[number % len(around)]) for number in range(count))
    return [(device, made.frame(number, where)) for number, device, where in turns]


@pytest.mark.slow
def test_random_packets_leave_by_xdp_as_the_stack_sends_them(rig: Rig) -> None:
    with Ends(ends(rig)) as far:
        fast, _ = compared(rig, drawn(rig, FRAMES, SEED), far, configured)
    assert fast > FRAMES / 5, "hardly any were the fast path's"


@pytest.mark.slow
def test_packets_that_several_gateways_share_leave_by_the_same_as_from_the_stack(rig: Rig) -> None:
    shared = [
        ["route", "add", "198.18.0.0/16", *SHARED.format("203.0.113.1", "203.0.114.1").split()],
        [
            "-6",
            "route",
            "add",
            "2001:db8:201::/64",
            *SHARED.format("2001:db8:113::1", "2001:db8:114::1").split(),
        ],
    ]
    for words in shared:
        rig.run("ip", *words)
    rig.commit(*configured("auto"))
    until("XDP knows the routes", lambda: "over several gateways" in reason(rig, "wan0"))
    with Ends(ends(rig)) as far:
        compared(rig, drawn(rig, FRAMES // 4, SEED + 1), far, configured)


FLOWS, PACKETS = 300, 3


@pytest.mark.slow
def test_flows_over_several_gateways_stay_with_the_one_that_the_stack_chose(rig: Rig) -> None:
    rig.commit(*configured("auto"))
    until("XDP knows the routes", lambda: "over several gateways" in reason(rig, "wan0"))
    mac_lan = mac(rig, "lan0")
    frames = [
        ("c0", mac_lan + bytes.fromhex("0200000000aa0800") + _udp("198.18.0.9", 1024 + flow, flow))
        for _ in range(PACKETS)
        for flow in range(FLOWS)
    ]
    with Ends(ends(rig)) as far:
        by_xdp = far.sent(frames)
        rig.commit(*configured("off"))
        by_stack = far.sent(frames)
    assert by_xdp == by_stack
    ways = {flow: {device for device, _ in by_xdp[flow]} for flow in range(FLOWS)}
    assert all(len(found) == 1 for found in ways.values())
    assert set.union(*ways.values()) == {"i0", "i1"}


def _udp(destination: str, port: int, number: int) -> bytes:
    return ipv4("10.64.0.2", destination, udp(port, 53, MARK % number))


def reason(rig: Rig, port: str) -> str:
    items = rig.agent.call("interfaces")["value"]
    return next(str(item["shaper"]["fast_path_reason"]) for item in items if item["name"] == port)
