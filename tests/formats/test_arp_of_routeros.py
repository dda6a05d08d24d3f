# SPDX-License-Identifier: Apache-2.0
"""ARP modes, known hosts and MAC addresses from RouterOS, and back."""

from __future__ import annotations

import pytest

from tests.formats.routeros import import_of, of_kind
from weir.formats import routeros
from weir.kinds.dhcp_server import DhcpServer
from weir.model.arp import KnownHost
from weir.model.document import Document
from weir.model.interface import Interface, Vlan
from weir.model.links import Bond, BondMember, Bridge, BridgePort
from weir.model.objects import ConfigObject
from weir.model.tunnels import Vxlan

OWN = "02:00:5e:10:00:01"


def interfaces(text: str) -> dict[str, dict[str, object]]:
    return {str(item["id"]): item for item in of_kind(import_of(text), "interface")}


@pytest.mark.parametrize(
    ("word", "mode"),
    [
        ("enabled", "on"),
        ("disabled", "on"),
        ("proxy-arp", "proxy"),
        ("local-proxy-arp", "local-proxy"),
        ("reply-only", "reply-only"),
    ],
)
def test_a_mode(word: str, mode: str) -> None:
    report = import_of(f"/interface ethernet\nset [ find default-name=ether1 ] arp={word}\n")
    (item,) = of_kind(report, "interface")
    assert item.get("arp", "on") == mode
    (line,) = report.lines
    assert (line.code == "arp") == (word in ("disabled", "reply-only"))


def test_hosts_are_known_where_no_others_are() -> None:
    text = (
        "/interface bridge\nadd arp=reply-only name=lan\n"
        "/interface bridge port\nadd bridge=lan interface=ether2\n"
        "/ip address\nadd address=192.168.88.1/24 interface=lan\nadd address=10.0.0.1/24 interface=ether3\n"
        f"/ip arp\nadd address=192.168.88.9 interface=lan mac-address={OWN.upper()}\n"
        f"add address=192.168.89.9 interface=lan mac-address={OWN}\n"
        f"add address=10.0.0.9 interface=ether3 mac-address={OWN}\n"
        f"add address=192.168.88.8 disabled=yes interface=lan mac-address={OWN}\n"
    )
    found = interfaces(text)
    assert found["lan"]["known_hosts"] == [{"address": "192.168.88.9", "mac": OWN}]
    assert "known_hosts" not in found["ether3"]
    report = import_of(text)
    assert [(line.fate, line.code) for line in list(report.lines)[-4:]] == [
        ("imported", "ok"),
        ("left-out", "elsewhere"),
        ("left-out", "learnt"),
        ("left-out", "disabled"),
    ]


def test_a_port_has_the_address_that_it_was_given_and_not_that_of_its_hardware() -> None:
    found = interfaces(
        f"/interface ethernet\nset [ find default-name=ether1 ] mac-address={OWN.upper()}\n"
        f"set [ find default-name=ether2 ] mac-address={OWN} orig-mac-address={OWN.upper()} mtu=1600\n"
    )
    assert found["ether1"]["mac"] == OWN and "mac" not in found["ether2"]


def test_what_belongs_to_others_or_is_a_loopback_has_neither() -> None:
    found = interfaces(
        "/interface bridge\nadd name=lan\n"
        "add admin-mac=02:00:5E:10:00:02 arp=proxy-arp auto-mac=no name=lo0\n"
        f"/interface ethernet\nset [ find default-name=ether1 ] arp=reply-only mac-address={OWN}\n"
        f"set [ find default-name=ether2 ] arp=proxy-arp mac-address={OWN}\n"
        "/interface bonding\nadd mode=802.3ad name=bond1 slaves=ether2,ether3\n"
        "/interface bridge port\nadd bridge=lan interface=ether1\n"
    )
    assert found["ether1"]["mac"] == OWN
    assert all(item.get("arp", "on") == "on" for item in found.values())
    assert not any("mac" in found[name] for name in ("ether2", "lo0"))


@pytest.mark.parametrize(
    "items",
    [
        (Interface("ether1", mac=OWN, arp="proxy", mtu=1400, description="to the provider"),),
        (Interface("ether1", disabled=True),),
        (Interface("br0", mac=OWN, arp="local-proxy", bridge=Bridge((BridgePort("ether1"),))),),
        (Interface("bond0", mac=OWN, bond=Bond((BondMember("ether1"),))),),
        (
            Interface("vx0", mac=OWN, vxlan=Vxlan(7, local="192.0.2.1")),
            Interface("ether1", addresses=("192.0.2.1/24",)),
        ),
        (
            Interface(
                "ether1",
                addresses=("10.0.0.1/24",),
                arp="reply-only",
                known_hosts=(KnownHost("10.0.0.9", OWN), KnownHost("10.0.0.10", OWN)),
            ),
            DhcpServer("lan", "ether1", ranges=("10.0.0.100-10.0.0.199",)),
        ),
    ],
)
def test_what_is_written_is_read_back(items: tuple[ConfigObject, ...]) -> None:
    written = routeros.write(Document(items))
    found = interfaces(written)
    for item in items:
        if isinstance(item, Interface):
            same = found.get(item.id, {})
            assert same.get("mac") == item.mac and same.get("arp", "on") == item.arp
            assert same.get("mtu") == item.mtu and same.get("description", "") == item.description
            assert bool(same.get("disabled")) == item.disabled
            hosts = same.get("known_hosts", [])
            assert isinstance(hosts, list)
            assert {(row["address"], row["mac"]) for row in hosts} == {
                (one.address, one.mac) for one in item.known_hosts
            }
    assert ("add-arp=yes" in written) == any(isinstance(item, DhcpServer) for item in items)


def test_a_vlans_address_has_no_words_there() -> None:
    written = routeros.write(
        Document([Interface("ether1"), Interface("v7", mac=OWN, vlan=Vlan("ether1", 7))])
    )
    assert (
        f"# Not written: MAC address {OWN} of the VLAN v7: RouterOS gives it that of what it is on."
        in written
    )
