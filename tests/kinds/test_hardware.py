# SPDX-License-Identifier: Apache-2.0
"""MAC addresses and ARP modes: where they can be, and what is said of those that know nobody."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from weir.backends.network import LinkState, NetworkBackend, NetworkState
from weir.kinds.dhcp_reservation import DhcpReservation
from weir.kinds.dhcp_server import DhcpServer
from weir.model.arp import KnownHost
from weir.model.document import Document
from weir.model.interface import Interface, Loopback, Vlan, Wireguard
from weir.model.objects import ConfigObject
from weir.model.rules import validate_all
from weir.parts.arp import ARP, ArpSpec
from weir.parts.network import NETWORK

OWN, OTHER, FIRST = "02:00:5e:10:00:01", "02:00:5e:10:00:02", "02:00:5e:10:00:03"
LAN = Interface("lan0", "lan", addresses=("10.64.0.1/24",), arp="reply-only")
SERVER = DhcpServer("lan", "lan0", ranges=("10.64.0.100-10.64.0.199",))


def codes(*items: ConfigObject) -> set[str]:
    return {finding.code for finding in validate_all(Document(items))}


@pytest.mark.parametrize(
    ("item", "field"),
    [
        (Interface("wg0", wireguard=Wireguard(), mac=OWN), "mac"),
        (Interface("dum0", loopback=Loopback(), arp="proxy"), "arp"),
        (Interface("blue", vrf_table=0, arp="reply-only"), "arp"),
    ],
)
def test_there_are_none_where_there_are_no_frames(item: Interface, field: str) -> None:
    findings = [one for one in validate_all(Document([item])) if one.code == "no-frames"]
    assert [(one.field, one.severity) for one in findings] == [(field, "error")]


def test_known_hosts_are_behind_the_interface_and_for_one_mode() -> None:
    host = KnownHost("10.64.0.9", OWN)
    assert "host-elsewhere" not in codes(replace(LAN, known_hosts=(host,)))
    assert "known-hosts-unused" in codes(replace(LAN, arp="on", known_hosts=(host,)))
    for address in ("10.65.0.9", "2001:db8::9"):
        assert "host-elsewhere" in codes(replace(LAN, known_hosts=(KnownHost(address, OWN),)))


def test_one_that_knows_nobody_is_told() -> None:
    assert "nobody-known" in codes(LAN)
    assert "nobody-known" in codes(LAN, replace(SERVER, disabled=True))
    assert "nobody-known" not in codes(LAN, SERVER)
    assert "nobody-known" not in codes(replace(LAN, disabled=True))


def test_what_is_asked_of_the_system() -> None:
    reserved = DhcpReservation("printer", "lan", "10.64.0.7", mac=OTHER)
    by_port = DhcpReservation("desk", "lan", "10.64.0.8", circuit_id="ge1")
    other = Interface("lan1", "lan", arp="proxy")
    asked = ARP.wanted(
        Document([replace(LAN, known_hosts=(KnownHost("10.64.0.9", OWN),)), SERVER, reserved, by_port, other])
    )
    assert asked == {
        "lan0": ArpSpec("lan0", "reply-only", (("10.64.0.7", OTHER), ("10.64.0.9", OWN)), ("10.64.0.0/24",)),
        "lan1": ArpSpec("lan1", "proxy"),
    }


# What the part `network` does with MAC addresses.


def link(mac: str, vlan: Vlan | None = None, ours: bool = False) -> LinkState:
    none: frozenset[str] = frozenset()
    return LinkState(True, 1500, none, none, "vlan" if vlan else "physical", vlan, ours, mac=mac)


def changes(links: dict[str, LinkState], *items: Interface, originals: Any = None) -> Any:
    backend = NetworkBackend(cast(Any, None), Path("/nowhere/mtus"))
    held = NetworkState(links, {}, {}, original_macs=originals or {})
    return backend.diff(held, NETWORK.wanted(Document(items))).macs


def test_what_was_there_before_the_first_change_is_remembered_once() -> None:
    first = changes({"eth0": link(FIRST)}, Interface("eth0", mac=OWN))
    assert (first.macs, first.remembered) == ([("eth0", OWN)], {"eth0": FIRST})
    again = changes({"eth0": link(OWN)}, Interface("eth0", mac=OTHER), originals={"eth0": FIRST})
    assert (again.macs, again.remembered) == ([("eth0", OTHER)], {})
    for items in ((Interface("eth0"),), ()):
        back = changes({"eth0": link(OWN)}, *items, originals={"eth0": FIRST})
        assert back.macs == [("eth0", FIRST)], "also of an interface that is not configured any more"


def test_a_vlan_without_one_has_its_parents_also_when_that_changes() -> None:
    tag = Vlan("eth0", 7)
    links = {"eth0": link(FIRST), "a7": link(OWN, tag, ours=True)}
    assert changes(links, Interface("eth0"), Interface("a7", vlan=tag)).macs == [("a7", FIRST)]
    both = changes(links, Interface("eth0", mac=OTHER), Interface("a7", vlan=tag))
    assert both.macs == [("eth0", OTHER), ("a7", OTHER)] and both.remembered == {"eth0": FIRST}
    assert not changes(links, Interface("eth0"), Interface("a7", vlan=tag, mac=OWN))
