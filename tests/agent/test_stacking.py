# SPDX-License-Identifier: Apache-2.0
"""Packets that leave by two ports, a bridge and its member or a tunnel and its way out, are charged once."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from lab import netns
from tests.agent import traffic
from tests.agent.rig import Rig, lan, running, wan
from weir.adapters.datapath_records import Role
from weir.adapters.netlink import Link
from weir.backends.stacking import stacking
from weir.kinds.firewall import Firewall
from weir.model.interface import Interface
from weir.model.objects import Pair, Queue

LIMIT_BPS = 4_000_000
FAR = {"bridge": "203.0.113.1", "tunnel": "198.51.100.1"}
"""With whom the client talks; the second is behind the tunnel."""


def link(name: str, index: int, kind: str = "physical", *, lower: int = 0, master: int = 0) -> Link:
    return Link(name, index, kind, "", 1500, True, True, True, 1, "", master, lower, {}, vlan=(7, 0x8100))


LINKS = {
    item.name: item
    for item in (
        link("eth0", 1, master=9),
        link("eth1", 2),
        link("bond0", 3, "bond"),
        link("eth2", 4, master=3),
        link("bond0.7", 5, "vlan", lower=3),
        link("br0", 9, "bridge"),
        link("gre1", 10, "gre"),
        link("red", 11, "vrf"),
        link("eth3", 12, master=11),
        link("wg0", 13, "wireguard"),
        link("mac0", 14, "macvlan", lower=2),
    )
}
UPON, BELOW = Role.CARRIED | Role.TRUNK, Role.TRUNK


@pytest.mark.parametrize(
    ("ports", "roles"),
    [
        ({"br0", "eth0", "eth1"}, {"br0": UPON, "eth0": BELOW, "eth1": Role.NOTHING}),
        ({"gre1", "eth1"}, {"gre1": UPON, "eth1": BELOW}),
        ({"bond0.7", "bond0", "eth2"}, {"bond0.7": Role.TAGGED, "bond0": UPON, "eth2": BELOW}),
        ({"bond0.7", "eth2"}, {"bond0.7": UPON, "eth2": BELOW}),
        ({"red", "eth3", "wg0", "eth1"}, dict.fromkeys(("red", "eth3", "wg0", "eth1"), Role.NOTHING)),
        ({"mac0", "eth1", "eth3"}, {"mac0": UPON, "eth1": BELOW, "eth3": Role.NOTHING}),
    ],
    ids=["bridge", "tunnel", "tag on a bond", "below is no port", "VRF and WireGuard", "macvlan"],
)
def test_who_is_upon_whom(ports: set[str], roles: dict[str, Role]) -> None:
    assert {name: stacking(LINKS[name], LINKS, ports)[0] for name in ports} == roles


@pytest.fixture(scope="module")
def stacked() -> Iterator[Rig]:
    """The client is behind br0 with lan0; the internet has an address behind vx0, which goes over wan0."""
    tunnel = "link add vx0 type vxlan id 7 dstport 4789 local {} remote {}"
    with running() as rig:
        netns.ip(
            rig.router,
            [
                "link add br0 type bridge",
                "link set lan0 master br0 up",
                tunnel.format("203.0.113.2", "203.0.113.1"),
            ],
        )
        netns.ip(
            rig.internet,
            [
                tunnel.format("203.0.113.1", "203.0.113.2"),
                "addr add 198.51.100.1/24 dev vx0",
                "link set vx0 up",
                "route replace 10.64.0.0/16 via 198.51.100.2",
                "route add 203.0.113.2/32 dev i0",
                "rule add from 203.0.113.1 lookup 100 pref 100",
                "route add default via 203.0.113.2 table 100",
            ],
        )
        rig.commit(
            lan(addresses=()),
            Interface("br0", "lan", ("10.64.0.1/24",)),
            wan(),
            Interface("vx0", "wan", ("198.51.100.2/24",)),
            Firewall(drop_new_from_wan=False, masquerade=False),
            Queue("client", "client", ("10.64.0.2/32",), max_limit_bps=Pair(LIMIT_BPS, LIMIT_BPS)),
        )
        yield rig


@pytest.mark.parametrize("direction", ["upload", "download"])
@pytest.mark.parametrize("way", FAR)
def test_a_packet_is_charged_once(stacked: Rig, way: str, direction: str) -> None:
    before = stacked.counters("client", direction)
    arrived = traffic.measured(
        stacked.client_ns, stacked.internet, direction, 2 * LIMIT_BPS, far_address=FAR[way]
    )
    # Charged twice, it would be a half of the limit at most.
    assert 0.7 * LIMIT_BPS < arrived.rate_bps < 1.1 * LIMIT_BPS
    after = stacked.counters("client", direction)
    assert after["bytes"] - before["bytes"] == pytest.approx(arrived.every_bytes, rel=0.5)
