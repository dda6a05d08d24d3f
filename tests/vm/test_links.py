# SPDX-License-Identifier: Apache-2.0
"""Bridges, with a kernel that filters VLANs; tests/agent/test_bridges.py has the rest, test_bonds.py bonds.
And VXLAN and GRE, in bridges and by themselves.

Each port leads to a namespace of its own, so that frames have to pass the cable.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lab import netns
from tests.datapath.topology import run
from weir.adapters.netlink import Links
from weir.backends.bonds import BondsBackend
from weir.backends.bridges import BridgesBackend
from weir.backends.firewall import FirewallBackend, FirewallWanted
from weir.backends.network import NetworkBackend
from weir.kinds.firewall import Firewall
from weir.model.document import Document
from weir.model.interface import Interface, Vlan
from weir.model.links import Bond, BondMember, Bridge, BridgePort
from weir.model.objects import ConfigObject
from weir.model.tunnels import Gre, Vxlan
from weir.parts.bonds import BONDS
from weir.parts.bridges import BRIDGES
from weir.parts.firewall import FIREWALL
from weir.parts.network import NETWORK

pytestmark = [
    pytest.mark.skipif(not os.environ.get("WEIR_IN_VM"), reason="needs the virtual machine's kernel"),
]

PORTS = ("lk0", "lk1", "lk2")


class Router:
    """This namespace, brought to a document as the agent does it."""

    def __init__(self, folder: Path) -> None:
        self.links = Links()
        self.network, self.bridges = NetworkBackend(self.links, folder / "mtus"), BridgesBackend()
        self.bonds, self.rules = BondsBackend(), FirewallBackend()

    def parts(self, document: Document) -> list[tuple[Any, Any]]:
        """Each backend with what it is asked for, in their order."""
        return [
            (self.rules, FirewallWanted(FIREWALL.wanted(document), ())),
            (self.network, NETWORK.wanted(document)),
            (self.bonds, BONDS.wanted(document)),
            (self.bridges, BRIDGES.wanted(document)),
        ]

    def bring(self, *objects: ConfigObject) -> list[str]:
        """The steps; and then nothing is left to do."""
        parts = self.parts(Document(objects))
        steps: list[str] = []
        for backend, wanted in parts:
            difference = backend.diff(backend.read(), wanted)
            steps += [f"{step.action} {step.text}" for step in difference.steps() if step.what != "setting"]
            backend.apply(difference)
            backend.verify(difference)
        for backend, wanted in parts:
            left = backend.diff(backend.read(), wanted)
            assert not left, left.steps()
        return steps


def far(port: str) -> str:
    return f"far-{port}"


def begin(port: str, address: str, *words: str) -> subprocess.Popen[str]:
    command = ["ping", "-q", *(words or ("-c", "2", "-i", "0.2", "-W", "2")), address]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, preexec_fn=netns.entering(far(port)))


def reaches(port: str, address: str) -> bool:
    return " 0% packet loss" in begin(port, address).communicate()[0]


@pytest.fixture
def router(tmp_path: Path) -> Iterator[Router]:
    """Three ports; behind each a host with an address without a tag and one in VLANs 10 and 20."""
    for number, port in enumerate(PORTS, 2):
        netns.create(far(port))
        run("ip", "link", "add", port, "type", "veth", "peer", "name", "e0", "netns", far(port))
        netns.ip(far(port), ["link set lo up", "link set e0 up", f"address add 10.1.0.{number}/24 dev e0"])
        for vlan in (10, 20):
            netns.ip(
                far(port),
                [
                    f"link add link e0 name e0.{vlan} type vlan id {vlan}",
                    f"link set e0.{vlan} up",
                    f"address add 10.{vlan}.0.{number}/24 dev e0.{vlan}",
                ],
            )
    made = Router(tmp_path)
    try:
        yield made
        made.bring()
        assert "br0" not in run("ip", "link", "show")
    finally:
        made.links.close()
        for port in PORTS:
            netns.remove(far(port))


def bridge(*ports: BridgePort, **more: Any) -> list[Interface]:
    given = Bridge(ports, vlan_filtering=True, **more)
    return [
        Interface("br0", "lan", addresses=("10.1.0.1/24",), bridge=given),
        Interface("guests", "lan", addresses=("10.20.0.1/24",), vlan=Vlan("br0", 20)),
    ]


def test_frames_pass_in_the_vlans_of_both_ports_only(router: Router) -> None:
    trunk = BridgePort("lk0", pvid=0, tagged=("10", "20-29"))
    router.bring(
        *bridge(trunk, BridgePort("lk1", tagged=("10",)), BridgePort("lk2", pvid=20), tagged=("20",))
    )
    assert reaches("lk0", "10.10.0.3"), "VLAN 10 passes with its tag"
    assert reaches("lk0", "10.20.0.1"), "and VLAN 20 to the router"
    assert reaches("lk1", "10.1.0.1"), "and what has no tag, in VLAN 1"
    assert not reaches("lk0", "10.1.0.3"), "a trunk takes no frames without a tag"
    assert not reaches("lk1", "10.20.0.1") and not reaches("lk2", "10.1.0.3")
    netns.ip(far("lk2"), ["address add 10.20.0.9/24 dev e0", "route add 10.20.0.1/32 dev e0 src 10.20.0.9"])
    assert reaches("lk2", "10.20.0.1"), "without a tag, and the router has one"
    between = begin("lk0", "10.10.0.3", "-c", "100", "-i", "0.02")
    router.bring(
        *bridge(trunk, BridgePort("lk1", tagged=("10",)), BridgePort("lk2", pvid=30), tagged=("20",))
    )
    assert " 0% packet loss" in between.communicate()[0], "other ports notice nothing"
    assert not reaches("lk2", "10.20.0.1")
    run("bridge", "vlan", "add", "dev", "lk2", "vid", "20", "untagged", "pvid")
    wanted = BRIDGES.wanted(
        Document(bridge(trunk, BridgePort("lk1", tagged=("10",)), BridgePort("lk2", pvid=30), tagged=("20",)))
    )
    left = router.bridges.diff(router.bridges.read(), wanted)
    assert [step.text for step in left.steps()] == ["lk2 VLANs + 30 - 20"]


def test_filtering_that_begins_later_costs_what_stays_no_packet(router: Router) -> None:
    ports = (BridgePort("lk0"), BridgePort("lk1"))
    plain, filtered = bridge(*ports, tagged=("20",)), bridge(*ports, tagged=("20",))
    plain[0] = Interface("br0", "lan", addresses=("10.1.0.1/24",), bridge=Bridge(ports))
    router.bring(*plain)
    assert reaches("lk0", "10.20.0.3"), "tags are nobody's business"
    between = begin("lk0", "10.1.0.3", "-c", "100", "-i", "0.02")
    router.bring(*filtered)
    assert " 0% packet loss" in between.communicate()[0]
    assert not reaches("lk0", "10.20.0.3")
    router.bring(*plain)
    assert reaches("lk0", "10.20.0.3")


def tunnels(**more: Any) -> list[ConfigObject]:
    """To the host behind lk0, which is outside: GRE over both families, and a VXLAN in a bridge."""
    gre = {"key": 7, "local": "10.1.0.1", **more}
    return [
        Interface("lk0", "wan", addresses=("10.1.0.1/24", "fd01::1/64")),
        Interface("gre1", "lan", addresses=("10.8.0.1/30",), gre=Gre("10.1.0.2", **gre)),
        Interface("gre2", "lan", addresses=("10.8.0.5/30",), gre=Gre("fd01::2", "fd01::1", 1)),
        Interface("vx1", vxlan=Vxlan(5, ("10.1.0.2",), local="10.1.0.1")),
        Interface("br0", "lan", addresses=("10.9.0.1/24",), bridge=Bridge((BridgePort("vx1"),))),
        Firewall(),
    ]


def test_tunnels_lead_through_the_firewall_and_change_one_by_one(router: Router) -> None:
    netns.ip(
        far("lk0"),
        [
            "address add fd01::2/64 dev e0 nodad",
            "link add t1 type gre local 10.1.0.2 remote 10.1.0.1 key 7",
            "link add t2 type ip6gre local fd01::2 remote fd01::1 key 1 encaplimit none",
            "link add t3 type vxlan id 5 dstport 4789 local 10.1.0.2 remote 10.1.0.1",
            *(f"link set t{number} up" for number in (1, 2, 3)),
            "address add 10.8.0.2/30 dev t1",
            "address add 10.8.0.6/30 dev t2",
            "address add 10.9.0.2/24 dev t3",
        ],
    )
    router.bring(*tunnels())
    for address in ("10.8.0.1", "10.8.0.5", "10.9.0.1"):
        tries = (reaches("lk0", address) for _ in range(5))
        assert any(tries), f"{address}; an IPv6 address is used after nobody else said that it has it"
    mtus = {name: router.links.link(name).mtu for name in ("gre1", "gre2", "vx1", "br0")}
    assert mtus == {"gre1": 1472, "gre2": 1452, "vx1": 1450, "br0": 1450}
    indexes = {name: router.links.link(name).index for name in mtus}
    flows = [begin("lk0", address, "-c", "60", "-i", "0.02") for address in ("10.8.0.5", "10.9.0.1")]
    assert router.bring(*tunnels(key=8)) == ["change gre1 from 10.1.0.1 to 10.1.0.2, key 8, TTL 64"]
    assert not reaches("lk0", "10.8.0.1"), "the other end has the key 7"
    router.bring(*tunnels(ttl=9))
    assert reaches("lk0", "10.8.0.1")
    assert all(" 0% packet loss" in flow.communicate()[0] for flow in flows)
    assert {name: router.links.link(name).index for name in mtus} == indexes

    run("ip", "link", "set", "gre1", "type", "gre", "remote", "10.1.0.9", "local", "10.1.0.1", "key", "3")
    run("bridge", "fdb", "del", "00:00:00:00:00:00", "dst", "10.1.0.2", "dev", "vx1")
    run("ip", "link", "del", "gre2")
    steps = router.bring(*tunnels(ttl=9))
    assert [step for step in steps if step.startswith("add gre2")]
    assert len([step for step in steps if step.startswith(("change gre1 from", "change vx1 from"))]) == 2
    assert all(reaches("lk0", address) for address in ("10.8.0.1", "10.8.0.5", "10.9.0.1"))

    swapped = Interface("gre3", "lan", gre=Gre("10.1.0.2", "10.1.0.1", 9))
    router.bring(*tunnels(), swapped)
    router.bring(*tunnels(key=9), Interface("gre3", "lan", gre=Gre("10.1.0.2", "10.1.0.1", 7)))
    assert not reaches("lk0", "10.8.0.1"), "each has the key of the other one"

    router.bring(*tunnels()[:1], Firewall())
    names = {link.name for link in router.links.links().values() if link.ours}
    assert not names, "and nothing is left of them"
    assert "4789" not in run("nft", "list", "table", "inet", "weir") and not reaches("lk0", "10.9.0.1")
    router.bring(Firewall())


def test_vlans_and_bonds_have_an_address_of_their_own(router: Router) -> None:
    """A VLAN without one has its parent's; a bond's members have the bond's."""

    def macs() -> dict[str, str]:
        links = router.links.links()
        return {name: links[name].mac for name in ("lk0", "lk1", "bond0", "v7") if name in links}

    own, other = "02:00:5e:10:00:01", "02:00:5e:10:00:02"
    members = Bond((BondMember("lk1"),), mode="active-backup")
    port, bond = Interface("lk0"), Interface("bond0", mac=other, bond=members)
    router.bring(port, bond, Interface("v7", mac=own, vlan=Vlan("lk0", 7)))
    first = macs()
    assert (first["v7"], first["bond0"], first["lk1"]) == (own, other, other) and first["lk0"] != own
    router.bring(port, bond, Interface("v7", vlan=Vlan("lk0", 7)))
    assert macs()["v7"] == first["lk0"]
    router.bring(Interface("lk0", mac=own), bond, Interface("v7", vlan=Vlan("lk0", 7)))
    assert (macs()["v7"], macs()["lk0"]) == (own, own)
    router.bring(port)
    assert macs()["lk0"] == first["lk0"]
