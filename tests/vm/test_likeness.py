# SPDX-License-Identifier: Apache-2.0
"""The fast path does what the stack does with VLAN interfaces and in VRFs, as `tests/agent/test_likeness.py`
on two trunks, with a kernel that has both.

The trunks are taps: a veth's tags are not to be seen in XDP. Each has plain frames, a VLAN interface beside
them, and one in a VRF, where the same addresses are and lead to another VLAN.
"""

from __future__ import annotations

import os
import random
from collections import Counter
from collections.abc import Iterator
from contextlib import closing

import pytest

from lab import netns
from tests.agent.likeness import End, Ends, Tap, compared
from tests.agent.random_packets import IPV4, IPV6, QINQ, VLAN, Around, Frames
from tests.agent.rig import Rig
from tests.agent.test_likeness import (
    OPEN,
    PEER_MAC,
    STRANGE_DESTINATIONS,
    STRANGE_SOURCES,
    SYSCTLS,
    mac,
    reason,
)
from tests.polling import until
from weir.model.interface import Interface, Vlan

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not os.environ.get("WEIR_IN_VM"), reason="needs the virtual machine's kernel"),
]

SEED = 20261126
FRAMES = int(os.environ.get("WEIR_LIKENESS_FRAMES", "2000"))
TRUNKS = {"west": ("10.64.0.1", "10.64.0.2"), "east": ("203.0.113.2", "203.0.113.1")}
TAGS = {"west": ((VLAN, 100), (QINQ, 200)), "east": ((VLAN, 300), (VLAN, 301))}
"""The second of each leads into the VRF."""
BESIDE = {"west": "cust", "east": "isp"}
INSIDE = {"west": "bluelan", "east": "bluewan"}
LAN4, LAN6 = "10.64.0.1/24", "2001:db8:64::1/64"
WAN4, WAN6 = "203.0.113.2/24", "2001:db8:113::2/64"
SOURCES = ("10.64.0.2/32", "203.0.113.1/32", "100.64.0.0/10", "2001:db8:64::2/128", "2001:db8:aa::/48")
DESTINATIONS = (
    *("10.64.0.2/32", "203.0.113.1/32", "198.51.100.0/24", "198.18.0.0/16", "192.0.2.0/26", "100.64.0.0/10"),
    *("2001:db8:64::2/128", "2001:db8:200::/64", "2001:db8:201::/64", "2001:db8:202::/64"),
    "2001:db8:aa::/48",
)
ROUTES = """
rule add tos 0x10 lookup 100
route add default via 203.0.114.1 dev isp table 100
route add 198.51.100.0/24 via 203.0.113.1 dev east
route add 198.18.0.0/15 via 203.0.114.1 dev isp
route add 100.64.0.0/10 via 10.65.0.2 dev cust
route add 192.0.2.0/26 via 203.0.113.1 dev east mtu 1300
route add blackhole 192.0.2.64/26
route add 198.51.100.0/24 via 203.0.113.1 dev bluewan vrf blue
route add 198.18.0.0/16 via 10.64.0.2 dev bluelan vrf blue
route add 100.64.0.0/10 via 10.64.0.2 dev bluelan vrf blue
route add blackhole 192.0.2.64/26 vrf blue
""".strip().splitlines()
UNDONE = (
    *("rule delete tos 0x10 lookup 100", "route delete blackhole 192.0.2.64/26"),
    "route delete blackhole 192.0.2.64/26 vrf blue",
)
ROUTES6 = """
route add 2001:db8:200::/64 via 2001:db8:113::1 dev east
route add 2001:db8:201::/64 via 2001:db8:114::1 dev isp
route add 2001:db8:202::/64 via 2001:db8:114::1 dev isp mtu 1400
route add 2001:db8:aa::/48 via 2001:db8:65::2 dev cust
route add 2001:db8:200::/64 via 2001:db8:113::1 dev bluewan vrf blue
route add 2001:db8:201::/64 via 2001:db8:64::2 dev bluelan vrf blue
route add 2001:db8:aa::/48 via 2001:db8:64::2 dev bluelan vrf blue
""".strip().splitlines()
MTUS = {"east": "1300", "isp": "1400"}
OWN = ("10.65.0.1", "203.0.114.2")
"""Of the VLAN interfaces; those in the VRF are the trunks'."""
NEIGHBOURS = {
    "west": ("10.64.0.2", "2001:db8:64::2"),
    "cust": ("10.65.0.2", "2001:db8:65::2"),
    "bluelan": ("10.64.0.2", "2001:db8:64::2"),
    "east": ("203.0.113.1", "2001:db8:113::1"),
    "isp": ("203.0.114.1", "2001:db8:114::1"),
    "bluewan": ("203.0.113.1", "2001:db8:113::1"),
}


def configured(fast_path: str) -> list[Interface]:
    def port(name: str, role: str, *addresses: str, **more: object) -> Interface:
        return Interface(name, role=role, addresses=addresses, fast_path=fast_path, **more)  # type: ignore[arg-type]

    return [
        Interface("blue", vrf_table=1001),
        port("west", "lan", LAN4, LAN6),
        port("cust", "lan", "10.65.0.1/24", "2001:db8:65::1/64", vlan=Vlan("west", 100)),
        port("bluelan", "lan", LAN4, LAN6, vlan=Vlan("west", 200, "802.1ad"), vrf="blue"),
        port("east", "wan", WAN4, WAN6),
        port("isp", "wan", "203.0.114.2/24", "2001:db8:114::2/64", vlan=Vlan("east", 300)),
        port("bluewan", "wan", WAN4, WAN6, vlan=Vlan("east", 301), vrf="blue"),
    ]


Trunks = tuple[Rig, dict[str, Tap]]


@pytest.fixture(scope="module")
def trunks(bare_rig: Rig) -> Iterator[Trunks]:
    made = bare_rig
    taps = {name: Tap(made.router, name) for name in TRUNKS}
    with closing(taps["west"]), closing(taps["east"]):
        made.commit(*configured("auto"), OPEN)
        until("addresses are in use", lambda: "tentative" not in made.run("ip", "-6", "address"))
        made.run("sysctl", "-qw", *SYSCTLS)
        neighbours = [
            f"neigh replace {address} lladdr {PEER_MAC} dev {port} nud permanent"
            for port, addresses in NEIGHBOURS.items()
            for address in (*addresses, "fe80::99")
        ]
        netns.ip(made.router, neighbours + ROUTES)
        netns.run(["ip", "-6", "-n", made.router, "-batch", "-"], stdin="\n".join(ROUTES6) + "\n")
        yield made, taps
        netns.ip(made.router, UNDONE)  # the others go with their devices


def drawn(rig: Rig, count: int) -> list[tuple[str, bytes]]:
    """Frames, each from one of the trunks, in turn."""
    made, draw = Frames(SEED), random.Random(SEED)
    known = SOURCES, STRANGE_SOURCES, DESTINATIONS, STRANGE_DESTINATIONS
    around = [(name, Around(mac(rig, name), *known, tags=TAGS[name])) for name in TRUNKS]
    turns = [draw.choice(around) for _ in range(count)]
    return [(name, made.frame(number, where)) for number, (name, where) in enumerate(turns)]


def test_random_packets_of_vlans_and_vrfs_leave_by_xdp_as_the_stack_sends_them(trunks: Trunks) -> None:
    rig, taps = trunks
    far = [End("", name, mac(rig, name), router, own) for name, (router, own) in TRUNKS.items()]
    frames = drawn(rig, FRAMES)
    kinds = {frame[12:14] for _, frame in frames}
    assert kinds >= {kind.to_bytes(2, "big") for kind in (IPV4, IPV6, VLAN, QINQ)}
    until("XDP knows the MTU of routes", lambda: all(mtu in reason(rig, port) for port, mtu in MTUS.items()))
    with Ends(far, taps, OWN) as ends:
        fast, up = compared(rig, frames, ends, configured)
    assert fast > FRAMES / 8, "hardly any were the fast path's"
    sent = Counter(port_of(trunk, frame) for trunk, frame in frames)
    assert sent.keys() == NEIGHBOURS.keys()
    assert all(up[port] < count * 0.9 for port, count in sent.items()), (sent, up)


def port_of(trunk: str, frame: bytes) -> str:
    """The interface that a frame comes in by, if it is any."""
    tag = int.from_bytes(frame[12:14], "big"), int.from_bytes(frame[14:16], "big") & 0xFFF
    beside, inside = TAGS[trunk]
    return {beside: BESIDE[trunk], inside: INSIDE[trunk]}.get(tag, trunk)
