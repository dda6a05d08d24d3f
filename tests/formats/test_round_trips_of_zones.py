# SPDX-License-Identifier: Apache-2.0
"""Zones and the policy as filter rules of RouterOS: in Weir's order, and the same objects when read back."""

from __future__ import annotations

import re
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from tests.formats.routeros import import_of
from weir.formats import routeros
from weir.kinds.connection_helper import SPOKEN, ConnectionHelper
from weir.kinds.dhcp6_server import Dhcpv6Server
from weir.kinds.firewall import Firewall
from weir.kinds.firewall_rule import FirewallRule
from weir.kinds.nat_rule import NatRule
from weir.kinds.zone import REACHES, Zone, ZonePolicy
from weir.model.announcing import Announcement
from weir.model.document import Document
from weir.model.interface import Interface
from weir.model.objects import ConfigObject, Queue

ZONES = ("lan", "wan", "open", "guests", "servers")
WAN, LAN = Interface("ether1", role="wan"), Interface("ether2", role="lan")
SERVER = NatRule("n1", "destination", protocol="tcp", ports=("443",), to_address="10.0.0.5/32")


@st.composite
def configured(draw: st.DrawFn) -> list[ConfigObject]:
    """Interfaces in zones, what these reach, one policy at most for each pair, and the firewall's own."""
    found: list[ConfigObject] = [Interface("ether9", role="wan")]
    roles = draw(st.lists(st.sampled_from((*ZONES, "none")), max_size=6))
    found += [Interface(f"ether{number}", role=role) for number, role in enumerate(roles)]
    words = st.sampled_from(("", "for visitors: no more", 'a "b" #c'))
    for name in ("guests", "servers"):
        reaches = tuple(sorted(draw(st.sets(st.sampled_from(REACHES), max_size=3))))
        found.append(Zone(name, reaches, draw(words)))
    for pair in sorted(draw(st.sets(st.tuples(st.sampled_from(ZONES), st.sampled_from(ZONES)), max_size=4))):
        action, log = draw(st.sampled_from(("accept", "drop"))), draw(st.booleans())
        found.append(ZonePolicy("-".join(pair), *pair, action, log=log, comment=draw(words)))
    ports = tuple(sorted(draw(st.sets(st.integers(1, 65_535), max_size=20))))
    ping = draw(st.booleans())
    policy = Firewall(masquerade=False, allow_ping_from_wan=ping, allowed_wan_tcp_ports=ports)
    return [*found, replace(policy, helpers=draw(helpers()))]


@st.composite
def helpers(draw: st.DrawFn) -> tuple[ConnectionHelper, ...]:
    """Such as RouterOS has as well."""
    names = sorted(draw(st.sets(st.sampled_from(sorted(SPOKEN)))))
    more = st.sets(st.integers(1, 65_535), min_size=2, max_size=8).map(sorted).map(tuple)
    return tuple(ConnectionHelper(name, () if name == "pptp" else draw(st.just(()) | more)) for name in names)


@given(configured())
def test_zones_policies_and_what_the_firewall_lets_in_come_back(items: list[ConfigObject]) -> None:
    before = Document(items)
    text = routeros.write(before)
    after = Document(import_of(text).others)
    lost = set(re.findall("# Not written: zone-policy ([a-z-]+):", text))
    for item in before:
        if isinstance(item, Interface):
            found = after.interface(item.id)
            assert found is not None and found.role == item.role
        elif item.id not in lost:
            assert after.get(item.kind, item.id) == item, text
    assert not list(after.every(FirewallRule)), "what follows from zones is no rule of people's"


def test_a_command_that_was_changed_in_routeros_is_a_rule_of_its_own() -> None:
    text = routeros.write(Document((WAN, LAN)))
    changed = text.replace("chain=forward", "chain=forward dst-address=10.0.0.9")
    assert not list(Document(import_of(text).others).every(FirewallRule))
    rules = list(Document(import_of(changed).others).every(FirewallRule))
    assert {rule.destination for rule in rules} == {("10.0.0.9/32",)}


def test_rules_of_people_come_before_zones_and_port_forwards_between_them() -> None:
    zone = (Interface("ether3", role="guests"), Zone("guests", ("dns",)))
    rule = FirewallRule("r1", "forward", "drop", family="ipv4", destination=("10.0.0.9/32",))
    policy = ZonePolicy("gw", "guests", "wan")
    said = [
        line
        for line in routeros.write(Document((WAN, LAN, *zone, rule, policy, SERVER))).splitlines()
        if "chain=forward" in line
    ]
    places = [
        next(place for place, line in enumerate(said) if words in line)
        for words in (
            "10.0.0.9",
            "connection-nat-state=dstnat",
            "zone-policy gw",
            "everything else from a WAN",
        )
    ]
    assert places == sorted(places)


def test_a_port_forward_that_lets_nothing_in_by_itself_opens_no_other() -> None:
    closed = NatRule(
        "n2", "destination", protocol="tcp", ports=("22",), to_address="10.0.0.5/32", allow=False
    )
    text = routeros.write(Document((WAN, LAN, SERVER, closed)))
    assert "connection-nat-state" not in text
    assert "# Not written: that port forwards are let in from WANs: it does not hold for nat-rule n2." in text


def test_questions_to_dhcpv6_servers_come_before_all_rules() -> None:
    lan = Interface("ether2", role="lan", addresses=("2001:db8:5::1/64",), ra=Announcement(managed=True))
    rule = FirewallRule("r1", "input", "drop", family="ipv6")
    said = routeros.write(Document((WAN, lan, Dhcpv6Server("six", "ether2"), rule))).splitlines()
    inputs = [line for line in said if "chain=input" in line]
    assert "dst-port=547" in inputs[0] and "Weir dhcpv6-server" in inputs[0]


def test_helpers_that_weir_has_not_on_are_off_in_routeros() -> None:
    rows = (
        ConnectionHelper("ftp", (21, 2121)),
        ConnectionHelper("sip", servers=("192.0.2.0/24",)),
        ConnectionHelper("pptp", (1724,)),
    )
    text = routeros.write(Document((WAN, LAN, Firewall(helpers=rows))))
    said = text[text.index("/ip firewall service-port\n") :].splitlines()[1:10]
    off = ("h323", "irc", "pptp", "rtsp", "sip", "tftp")
    assert said == [
        "set [ find name=ftp ] disabled=no ports=21,2121",
        *(f"set [ find name={name} ] disabled=yes" for name in off),
        "# Not written: the helper pptp: its port cannot be set in RouterOS.",
        "# Not written: the helper sip: RouterOS has no helpers for some servers alone.",
    ]


def test_a_file_of_queues_alone_leaves_the_helpers_of_routeros() -> None:
    assert "service-port" not in routeros.write(Document((Queue("q1", "a"),)))
