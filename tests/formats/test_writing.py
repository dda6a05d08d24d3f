# SPDX-License-Identifier: Apache-2.0
"""What is written for RouterOS means the same when it is read back, and what cannot be written is named."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.formats.report_json import assert_every_line_is_accounted_for
from tests.model.test_validation_properties import OBJECTS, documents
from weir.formats import read, routeros
from weir.kinds.bfd_profile import BfdProfile
from weir.kinds.bgp import Bgp
from weir.kinds.bgp_neighbor import BgpNeighbor
from weir.kinds.dhcp6_server import Dhcpv6Server
from weir.kinds.dns import Dns
from weir.kinds.dns_forward import DnsForward
from weir.kinds.dns_record import DnsRecord
from weir.kinds.firewall_rule import FirewallRule, families
from weir.kinds.identity import Identity
from weir.kinds.nat_rule import NatRule
from weir.kinds.ntp import Ntp
from weir.kinds.ospf import Ospf
from weir.kinds.ospf_interface import OspfInterface
from weir.kinds.service import Service
from weir.kinds.sets import Set, SetEntry
from weir.kinds.source_limit import SourceLimit
from weir.kinds.static_route import StaticRoute
from weir.kinds.wireguard_peer import WireguardPeer
from weir.kinds.zone import Zone, ZonePolicy
from weir.model.codec import to_stored_json
from weir.model.document import Document
from weir.model.interface import Interface, Vlan
from weir.model.links import Bridge, BridgePort
from weir.model.objects import ConfigObject
from weir.model.tunnels import Gre
from weir.parts.dhcp import DHCP

EXPORTS = sorted((Path(__file__).parent / "fixtures" / "routeros").glob("*/*.rsc"))
_NAMES_ONLY = ("id", "position", "comment")
_ONE_TO_ONE, RAW_OF = "one-to-one", "raw/"
WAN = Interface("eth0", role="wan")
ROUTING = (BfdProfile, Bgp, BgpNeighbor, Ospf, OspfInterface)


def document_of(text: bytes) -> Document:
    report = read("routeros", {"a.rsc": text})
    assert_every_line_is_accounted_for(report, {"a.rsc": text})
    return Document((*report.queue_types, *report.others, *report.queues))


def chain_of(rule: FirewallRule | NatRule) -> str:
    """Chains of raw get its name in front each time that they are read."""
    return re.sub("^(raw-)+", "raw-", rule.chain) if isinstance(rule, FirewallRule) else ""


def meaning(document: Document, of: type[FirewallRule] | type[NatRule]) -> list[Any]:
    """Rules in their order, with what is in their sets in place of the sets' names. Said twice is said once:
    what is translated neither way is two commands."""
    held: dict[str, set[str]] = {item.id: set() for item in document.every(Set)}
    for entry in document.every(SetEntry):
        if not entry.disabled:
            held[entry.set].add(entry.value)
    found: list[Any] = []
    for item in sorted(document.every(of), key=lambda rule: (chain_of(rule), rule.position, rule.id)):
        said = {key: value for key, value in to_stored_json(item).items() if key not in _NAMES_ONLY}
        for side in ("source", "destination"):
            networks = {*said.pop(side, ()), *held.get(said.pop(f"{side}_set", ""), ())}
            said |= {side: sorted(networks)} if networks else {}
        for key in ("chain", "jump_to"):
            said |= {key: re.sub("^(raw-)+", "raw-", said[key])} if key in said else {}
        if said not in found:
            found.append(said)
    return found


def without_twins(rules: list[Any]) -> list[Any]:
    """One to one is two commands, of which the second becomes a rule as well."""
    twins = [(rule["destination"][0], rule["to_address"]) for rule in rules if rule["type"] == _ONE_TO_ONE]
    return [rule for rule in rules if (rule.get("to_address"), *rule.get("source", ())) not in twins]


def served(document: Document) -> list[Any]:
    """What clients of DHCP are told, without the names of servers and reservations."""
    return sorted(repr(replace(spec, id="")) for spec in DHCP.wanted(document).values())


def made(document: Document, of: type[ConfigObject]) -> list[Any]:
    """What is said of objects, without their ids, which are made up, and without secrets."""
    names = ("id", "comment", "preshared_key", "password")
    said = [to_stored_json(item) for item in document.every(of)]
    return sorted(str({key: value for key, value in item.items() if key not in names}) for item in said)


@pytest.mark.parametrize("path", EXPORTS, ids=lambda path: path.parent.name)
def test_an_export_of_routeros_means_the_same_after_weir_wrote_it(path: Path) -> None:
    before = document_of(path.read_bytes())
    text = routeros.write(before)
    after = document_of(text.encode())
    assert meaning(after, FirewallRule) == meaning(before, FirewallRule), text
    assert without_twins(meaning(after, NatRule)) == meaning(before, NatRule), text
    for kind in (StaticRoute, DnsRecord, DnsForward, WireguardPeer, Dhcpv6Server, Zone, ZonePolicy, *ROUTING):
        assert made(after, kind) == made(before, kind), text
    for single in (Dns, Ntp, Identity):
        assert after.single(single) == before.single(single), text
    assert served(after) == served(before), text


def lines(*items: ConfigObject) -> list[str]:
    """Of a document with these, without those of the head."""
    return routeros.write(Document(items)).splitlines()[3:]


def commands(*items: ConfigObject) -> list[str]:
    """Without those that follow from zones and the policy."""
    return [line for line in lines(*items) if line.startswith("add ") and 'comment="Weir ' not in line]


def test_a_rule_for_both_families_is_a_command_of_each() -> None:
    drop = FirewallRule("r1", "forward", "drop", source_set="bad")
    entries = (SetEntry("e1", "bad", "198.51.100.0/24"), SetEntry("e2", "bad", "2001:db8::/32"))
    assert lines(drop, Set("bad"), *entries) == [
        "/ip firewall address-list",
        "add address=198.51.100.0/24 list=bad",
        "/ipv6 firewall address-list",
        "add address=2001:db8::/32 list=bad",
        "/ip firewall filter",
        "add action=drop chain=forward src-address-list=bad",
        "/ipv6 firewall filter",
        "add action=drop chain=forward src-address-list=bad",
    ]


def test_a_rule_takes_as_many_commands_as_routeros_needs() -> None:
    ports = tuple(str(port) for port in range(8000, 8017))
    rule = FirewallRule("r1", "input", "accept", family="ipv4", protocol="tcp-udp", ports=ports)
    said = commands(rule)
    assert len(said) == 4 and all(len(re.findall("80[0-9]{2}", line)) in (15, 2) for line in said)
    types = FirewallRule("r2", "input", "accept", protocol="icmp", icmp_types=("echo-request", "redirect"))
    assert [re.findall("icmp-options=([0-9:-]+)", line)[0] for line in commands(types)] == [
        *("8:0-255", "5:0-255"),
        "128:0-255",
    ]


def test_a_limit_that_would_hold_for_each_command_is_named_and_not_written() -> None:
    rule = FirewallRule("r1", "input", "drop", family="ipv4", protocol="tcp-udp", ports=("53",), rate_per_s=3)
    assert lines(rule) == [
        "/ip firewall filter",
        "# Not written: firewall-rule r1: it takes 2 commands, and its limit would hold for each of them.",
    ]


@pytest.mark.parametrize(
    ("rule", "why"),
    [
        (
            FirewallRule("r1", "input", "drop", family="ipv4", source_limit=SourceLimit(rate=3)),
            "RouterOS matches sources within a rate, and not those beyond it",
        ),
        (
            FirewallRule("r1", "forward", "drop", family="ipv4", in_interface="gre1"),
            "the interface gre1 is not written",
        ),
        (
            FirewallRule("r1", "forward", "accept", family="ipv4", service="off"),
            "its service off is disabled, so it matches nothing",
        ),
        (
            FirewallRule("r1", "input", "drop", family="ipv4", source_set="macs"),
            "it matches the set macs, which is of type mac",
        ),
        (
            FirewallRule("r1", "input", "accept", family="ipv4", protocol="tcp", port_set="none"),
            "its set of ports none holds nothing, so it matches nothing",
        ),
    ],
)
def test_a_rule_without_words_in_routeros_is_named_with_the_reason(rule: FirewallRule, why: str) -> None:
    others = (
        Interface("gre1", gre=Gre("192.0.2.9", key=7)),
        Service("off", ports=("80",), protocol="tcp", disabled=True),
        Set("macs", type="mac"),
        Set("none", type="port"),
    )
    assert f"# Not written: firewall-rule r1: {why}." in lines(rule, *others)
    assert commands(rule, *others) == []


def test_who_sent_the_frame_is_written_and_read_again() -> None:
    rule = FirewallRule("r1", "forward", "drop", family="ipv4", source_mac="02:00:5e:10:00:07")
    (said,) = commands(rule)
    assert said == "add action=drop chain=forward src-mac-address=02:00:5E:10:00:07"
    (again,) = document_of(f"/ip firewall filter\n{said}\n".encode()).every(FirewallRule)
    assert again.source_mac == rule.source_mac and not again.disabled


def test_trusted_ports_are_written_and_read_again() -> None:
    bridge = Bridge((BridgePort("eth1", trusted=True), BridgePort("eth2")), dhcp_snooping=True)
    text = "\n".join(lines(Interface("br0", bridge=bridge)))
    (again,) = (item.bridge for item in document_of(f"{text}\n".encode()).interfaces() if item.bridge)
    assert again.dhcp_snooping and [port.trusted for port in again.ports] == [True, False]


def forwarding(*items: ConfigObject) -> list[str]:
    return [line for line in commands(*items) if "chain=forward" in line]


BUT = {
    "src-address=!10.0.0.0/8": {"source": ("10.0.0.0/8",)},
    "dst-address-list=!hosts": {"destination_set": "hosts"},
    "in-interface-list=!sides": {"source_set": "sides"},
    "src-mac-address=!02:00:5E:10:00:07": {"source_mac": "02:00:5e:10:00:07"},
    "in-interface=!eth0": {"in_interface": "eth0"},
    "protocol=!tcp": {"protocol": "tcp"},
    "dscp=!46": {"dscp": 46},
    "dst-port=!80,443 protocol=tcp": {"protocol": "tcp", "ports": ("80", "443")},
    "protocol=udp src-port=!53": {"protocol": "udp", "source_ports": ("53",)},
    "dst-port=!25 protocol=tcp": {"protocol": "tcp", "port_set": "mail"},
}


@pytest.mark.parametrize("said", BUT)
def test_all_but_something_is_written_and_read_again(said: str) -> None:
    match = BUT[said]
    field = next(name for name in match if name != "protocol" or len(match) == 1)
    rule = FirewallRule("r1", "forward", "drop", family="ipv4", negated=(field,), **match)  # type: ignore[arg-type]
    others = (
        *(WAN, Set("hosts"), SetEntry("h1", "hosts", "192.0.2.1/32"), Set("sides", "interface")),
        *(SetEntry("s1", "sides", "eth0"), Set("mail", "port"), SetEntry("p1", "mail", "25")),
    )
    (line,) = forwarding(rule, *others)
    assert {*said.split()} <= {*line.split()}
    text = routeros.write(Document([*others, rule]))
    (again,) = document_of(text.encode()).every(FirewallRule)
    field = "ports" if field == "port_set" else field
    assert again.negated == (field,) and not again.disabled


def test_a_nat_rule_about_who_sent_the_frame_is_written_and_read_again() -> None:
    rule = NatRule("n1", "redirect", protocol="udp", ports=("53",), source_mac="02:00:5e:10:00:07")
    rule = replace(
        rule, interface="eth0", destination=("192.0.2.1/32",), negated=("source_mac", "destination")
    )
    text = routeros.write(Document([WAN, rule]))
    assert "dst-address=!192.0.2.1/32" in text and "src-mac-address=!02:00:5E:10:00:07" in text
    (again,) = (item for item in document_of(text.encode()).every(NatRule) if item.type == rule.type)
    assert {*again.negated} == {*rule.negated} and not again.disabled
    assert (again.source_mac, again.destination) == (rule.source_mac, rule.destination)


def test_a_rule_about_zones_names_the_lists_of_their_interfaces() -> None:
    guests, lan = Interface("eth2", "guests"), Interface("eth1", "lan")
    rule = FirewallRule("r1", "forward", "drop", family="ipv4", from_zone="guests", to_zone="lan")
    (line,) = forwarding(rule, guests, lan, Zone("guests"))[:1]
    assert 'in-interface-list="zone guests"' in line and "out-interface-list=LAN" in line
    (line,) = forwarding(replace(rule, negated=("to_zone",)), guests, lan, Zone("guests"))[:1]
    assert "out-interface-list=!LAN" in line
    text = routeros.write(Document([guests, lan, Zone("guests"), rule]))
    (again,) = document_of(text.encode()).every(FirewallRule)
    assert (again.source_set, again.out_interface, again.disabled) == (
        "zone-guests-interfaces",
        "eth1",
        False,
    )
    for what, others in (
        ("no enabled interface is in its zone", (lan, Zone("guests"))),
        ("a zone and a set of interfaces", (guests, lan, Zone("guests"), Set("sides", "interface"))),
    ):
        both = replace(rule, source_set="sides" if len(others) > 2 else None)
        assert any(what in said for said in lines(both, *others))


def test_all_but_what_no_command_says_is_all_the_others_or_named() -> None:
    many = tuple(str(number) for number in range(10, 50, 2))
    (line,) = forwarding(
        FirewallRule("r1", "forward", "drop", protocol="tcp", ports=many, negated=("ports",))
    )[:1]
    assert "dst-port=1-9,11,13," in line and "!" not in line
    several = ("10.0.0.0/8", "172.16.0.0/12")
    (line,) = forwarding(
        FirewallRule("r1", "forward", "drop", "0", source=several, negated=("source",), family="ipv4")
    )
    assert 'src-address-list="!firewall-rule r1 source"' in line
    for match in ({"protocol": "tcp-udp"}, {"protocol": "icmp", "icmp_types": ("echo-request",)}):
        (field,) = {*match} - ({"protocol"} if len(match) > 1 else set())
        rule = FirewallRule("r1", "forward", "drop", negated=(field,), **match)  # type: ignore[arg-type]
        assert forwarding(rule) == []


def test_raw_is_written_with_the_chains_to_which_it_leads() -> None:
    said = lines(
        FirewallRule("r1", "raw/prerouting", "jump", family="ipv4", jump_to="guard"),
        FirewallRule("r2", "guard", "notrack", family="ipv4"),
        FirewallRule("r3", "input", "accept", family="ipv4"),
    )
    assert said[:3] == [
        "/ip firewall raw",
        "add action=notrack chain=guard",
        "add action=jump chain=prerouting jump-target=guard",
    ]
    assert said[3:] == ["/ip firewall filter", "add action=accept chain=input"]


def test_a_port_forward_is_about_the_routers_own_addresses_and_the_policy_masquerades_last() -> None:
    rule = NatRule(
        "n1", "destination", protocol="tcp", ports=("443",), to_address="10.0.0.5/32", to_port=8443
    )
    said = lines(WAN, rule)
    assert said[said.index("/ip firewall nat") + 1 :] == [
        "add action=dst-nat chain=dstnat dst-address-type=local dst-port=443 protocol=tcp "
        "to-addresses=10.0.0.5 to-ports=8443",
        "# For hosts of one network with that of n1, RouterOS needs a rule of srcnat, too.",
        "add action=masquerade chain=srcnat out-interface-list=WAN",
    ]


def test_what_has_no_place_is_counted() -> None:
    assert "# Not written: 2 of service." not in lines(Service("a", ports=("1",), protocol="tcp"))
    vlan = Interface("vlan7", vlan=Vlan("eth0", 7), addresses=("10.7.0.1/24",), disabled=True)
    assert commands(vlan) == [
        "add disabled=yes interface=eth0 name=vlan7 vlan-id=7",
        "add address=10.7.0.1/24 disabled=yes interface=vlan7",
    ]
    gre = Interface("gre1", gre=Gre("192.0.2.9"), addresses=("10.8.0.1/30",))
    assert commands(gre) == [
        "add name=gre1 remote-address=192.0.2.9",
        "add address=10.8.0.1/30 interface=gre1",
    ]


@pytest.mark.parametrize("kind", sorted(OBJECTS))
@given(data=st.data())
def test_whatever_there_is_is_written_or_named(kind: str, data: st.DataObject) -> None:
    """Also of objects that nobody could commit. Each line is a menu, a command or for people, and plain."""
    document = data.draw(documents(OBJECTS[kind], 6))
    text = routeros.write(document)
    assert text.isascii()
    assert all(line.startswith(("/", "add ", "set ", "# ")) for line in text.splitlines())
    for rule in document.every(FirewallRule):
        named = f"# Not written: firewall-rule {rule.id}:"
        asked = sum(named in line for line in text.splitlines())
        assert asked or not families(rule) or f"chain={rule.chain.removeprefix(RAW_OF)}" in text


def test_a_neighbor_with_policies_is_written_disabled() -> None:
    neighbor = BgpNeighbor("up", "b", "192.0.2.9", 65000, import_prefix_list="l", export_prefix_list="l")
    said = lines(Bgp("b", 65001, networks=("10.0.0.0/8",)), neighbor)
    (session,) = [line for line in said if "remote.address" in line]
    assert "disabled=yes" in session and 'output.network="bgp b networks"' in session
    assert any(line.startswith("# Not written: the policies of bgp-neighbor up") for line in said)
    assert 'add address=10.0.0.0/8 list="bgp b networks"' in said


def test_what_a_policy_of_ospf_decides_is_not_announced_without_it() -> None:
    said = lines(Ospf("o", redistribute_static=True, redistribute_route_map="m"))
    assert not any("redistribute=" in line for line in said)
    assert any(line.startswith("# Not written: what ospf o announces") for line in said)
