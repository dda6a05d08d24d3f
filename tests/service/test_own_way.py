# SPDX-License-Identifier: Apache-2.0
"""Nobody cuts off his own way to the router without a timer, and nobody is told that he stays where that was
not looked at."""

from __future__ import annotations

import base64
from dataclasses import replace

import pytest

from tests.service.router import Router, person
from weir.accounts.principal import Caller, Principal
from weir.kinds import DECLARED
from weir.kinds.bounded_source import BoundedSource
from weir.kinds.certificate import Certificate
from weir.kinds.dns import Dns
from weir.kinds.firewall import Firewall
from weir.kinds.firewall_rule import FirewallRule
from weir.kinds.management import Management
from weir.kinds.nat_rule import NatRule
from weir.kinds.sets import Set, SetEntry
from weir.kinds.ssh_server import SshServer
from weir.kinds.static_route import StaticRoute
from weir.kinds.wireguard_peer import WireguardPeer
from weir.kinds.zone import Zone
from weir.model.interface import Interface, Vlan, Wireguard
from weir.model.links import Bridge, BridgePort
from weir.model.objects import ConfigObject
from weir.model.problem import Conflict
from weir.service.types import Edit
from weir.service.way_in import HARMLESS, LOOKED_AT, YourWay

LAN = Interface("lan0", role="office", addresses=("192.168.88.1/24",))
VLAN = Interface("v7", role="lan", vlan=Vlan("lan0", 7), addresses=("192.168.7.1/24",))
WAN = Interface("wan0", role="wan", addresses=("203.0.113.2/24",))
OFFICE = Zone("office", reaches=("management", "dns"))
ROUTE = StaticRoute("branch", destination="10.9.0.0/16", gateway="192.168.88.9")
HERE = Caller("192.168.88.20", "192.168.88.1", 443)
TAGGED = Caller("192.168.7.20", "192.168.7.1", 443)
BRANCH = Caller("10.9.1.1", "192.168.88.1", 443)
KEY, OTHER = (base64.b64encode(bytes([value] * 32)).decode() for value in (7, 9))
CAMERA = NatRule(
    "camera", type="destination", interface="lan0", protocol="tcp", ports=("443",), to_address="192.168.88.50"
)
LAST = {"chain": "input", "action": "drop"}


@pytest.fixture
def office(router: Router) -> Router:
    router.put(LAN, VLAN, WAN, OFFICE, ROUTE)
    return router


def at(caller: Caller | None) -> Principal:
    return person(caller=caller)


def edits(*items: ConfigObject) -> list[Edit]:
    return [Edit(item.kind, item.id, item) for item in items]


def gone(item: ConfigObject) -> Edit:
    return Edit(item.kind, item.id, None)


def way(router: Router, caller: Caller | None, *changes: Edit) -> YourWay:
    """As the caller's candidate tells it; the commit without a timer has to agree."""
    me = at(caller)
    router.service.candidates.forget(me.username)
    router.service.candidates.stage(me, changes)
    found = router.service.candidates.diff(me).effect
    assert found is not None and found.your_way is not None, found
    assert router.service.candidates.validate(me).your_way == found.your_way
    head = router.head
    if found.your_way.fate == "cuts-off-you":
        with pytest.raises(Conflict) as refused:
            router.service.candidates.commit(me, "")
        assert refused.value.code == "cuts-off-you" and found.your_way.text in refused.value.message
        assert "--confirm-within" in refused.value.message and router.head == head
    else:
        router.service.candidates.commit(me, "")
        assert router.head == head + 1
    return found.your_way


CUTS = {
    "the interface goes": (HERE, [gone(VLAN), gone(ROUTE), gone(LAN)], "would be gone", "interface/lan0"),
    "it is disabled": (HERE, edits(replace(LAN, disabled=True)), "gone or disabled", "interface/lan0"),
    "what it is made on is disabled": (
        TAGGED,
        edits(replace(LAN, disabled=True)),
        "lan0 would be disabled, and v7",
        "interface/lan0",
    ),
    "another tag": (TAGGED, edits(replace(VLAN, vlan=Vlan("lan0", 8))), "another VLAN", "interface/v7"),
    "the address goes": (
        HERE,
        edits(replace(LAN, addresses=("192.168.88.2/24",))),
        "would not have the address 192.168.88.1",
        "interface/lan0",
    ),
    "no zone": (HERE, edits(replace(LAN, role="none")), "interfaces without a zone", "firewall/firewall"),
    "a zone that reaches less": (
        HERE,
        edits(replace(OFFICE, reaches=("dns",))),
        "everything else from zone office",
        "zone/office",
    ),
    "outside": (HERE, edits(replace(LAN, role="wan")), "everything else from a WAN", "firewall/firewall"),
    "a rule": (
        HERE,
        edits(FirewallRule("shut", source=("192.168.88.0/24",), **LAST)),
        "rule shut",
        "firewall-rule/shut",
    ),
    "a rule before tracking": (
        HERE,
        edits(FirewallRule("shut", "raw/prerouting", "drop", source=("192.168.88.0/24",))),
        "rule shut",
        "firewall-rule/shut",
    ),
    "a rule that looks at a set": (
        HERE,
        edits(
            Set("bad", type="address", source="static"),
            SetEntry("e1", set="bad", value="192.168.88.20/32"),
            FirewallRule("shut", source_set="bad", **LAST),
        ),
        "rule shut",
        "firewall-rule/shut",
    ),
    "a rule about answers": (
        HERE,
        edits(FirewallRule("mute", chain="output", action="drop", destination=("192.168.88.20/32",))),
        "mute",
        "firewall-rule/mute",
    ),
    "sources of management that he is none of": (
        HERE,
        edits(Management(sources=("10.0.0.0/8", "2001:db8::/32"))),
        "web interface and API from elsewhere",
        "management/management",
    ),
    "the same, though a rule accepts him": (
        HERE,
        edits(
            FirewallRule("me", chain="input", action="accept", source=("192.168.88.20/32",)),
            Management(sources=("2001:db8::/32",)),
        ),
        "web interface and API from elsewhere",
        "management/management",
    ),
    "a port forward": (
        replace(TAGGED, port=22),
        edits(replace(CAMERA, interface="v7", ports=("22",), destination=("192.168.7.1/32",))),
        "192.168.88.50",
        "nat-rule/camera",
    ),
    "the way back goes": (BRANCH, [gone(ROUTE)], "no way that is configured", None),
    "the way back leads elsewhere": (
        BRANCH,
        edits(replace(ROUTE, gateway="203.0.113.9")),
        "wan0 would lead back to 10.9.1.1",
        None,
    ),
    "a VRF": (
        HERE,
        [*edits(Interface("red", vrf_table=10), replace(LAN, vrf="red")), gone(VLAN), gone(ROUTE)],
        "in a VRF",
        "interface/lan0",
    ),
}


@pytest.mark.parametrize("name", CUTS)
def test_what_cuts_off_its_author_is_told_and_refused_without_a_timer(office: Router, name: str) -> None:
    caller, changes, said, where = CUTS[name]
    found = way(office, caller, *changes)
    assert found.fate == "cuts-off-you" and said in found.text, found
    assert (None if found.kind is None else f"{found.kind}/{found.id}") == where
    assert found.address == caller.address
    elsewhere = replace(caller, address="203.0.113.77", reached="203.0.113.2")
    assert way(office, elsewhere, *changes).fate == "not-known", "whom the firewall keeps out is not judged"


@pytest.mark.parametrize("name", CUTS)
def test_a_timer_lets_it_be_done_and_going_back_needs_none(office: Router, name: str) -> None:
    caller, changes, _, _ = CUTS[name]
    done = office.service.config.commit(at(caller), changes, confirm_within_s=60)
    assert done.confirm is not None
    office.service.config.revert(at(caller))


def test_a_single_write_is_judged_as_well(office: Router) -> None:
    with pytest.raises(Conflict) as refused:
        office.service.config.commit(at(HERE), edits(replace(OFFICE, reaches=())))
    assert (refused.value.code, refused.value.path) == ("cuts-off-you", "zone/office")


def test_an_older_revision_is_judged_as_well(office: Router) -> None:
    shut = FirewallRule("shut", **LAST)
    before = office.head
    office.service.config.commit(at(None), edits(replace(OFFICE, reaches=()), shut))
    shut_at = office.head
    office.service.config.commit(at(None), [*edits(OFFICE), gone(shut)])
    with pytest.raises(Conflict) as refused:
        office.service.revisions.restore(at(HERE), shut_at)
    assert refused.value.code == "cuts-off-you"
    office.service.revisions.restore(at(HERE), before)


STAYS = {
    "another rule": edits(FirewallRule("shut", source=("192.168.88.21/32",), **LAST)),
    "what asks the API for him, on loopback": edits(
        FirewallRule("inner", protocol="tcp", ports=("8080",), **LAST),
        FirewallRule("asks", chain="output", action="drop", protocol="tcp", ports=("8080",)),
    ),
    "sources of management that he is one of": edits(Management(sources=("192.168.88.16/28", "::/0"))),
    "the certificate": edits(Management(certificate="own"), Certificate("own", names=("192.168.88.1",))),
    "another port": edits(FirewallRule("shut", protocol="tcp", ports=("22",), **LAST)),
    "one more address": edits(replace(LAN, addresses=("192.168.88.1/24", "192.168.90.1/24"))),
    "another zone that may": edits(replace(LAN, role="lan")),
    "the policy": edits(Firewall(allow_ping_from_wan=True)),
    "a port forward of what is for others": edits(CAMERA),
    "words": edits(replace(LAN, description="first floor")),
    "what decides nothing": edits(Dns(rebind_protection=False)),
}


@pytest.mark.parametrize("name", STAYS)
def test_what_leaves_the_way_as_it_is_needs_no_timer(office: Router, name: str) -> None:
    assert way(office, HERE, *STAYS[name]).fate == "stays"


def test_sources_of_management_leave_sessions_of_ssh_alone(office: Router) -> None:
    office.put(SshServer(enabled=True))
    by_ssh = Caller("192.168.88.20", "192.168.88.1", 22, is_repeated=True)
    assert way(office, by_ssh, *edits(Management(sources=("10.0.0.0/8",)))).fate == "stays"


def test_a_port_that_becomes_one_of_a_bridge_is_followed(office: Router) -> None:
    bridge = Interface(
        "br0", role="office", addresses=LAN.addresses, bridge=Bridge(ports=(BridgePort("lan0"),))
    )
    found = way(office, HERE, gone(VLAN), gone(LAN), *edits(bridge))
    assert found.fate == "not-known" and "br0" in found.text
    shut = replace(bridge, role="none")
    office.service.config.commit(at(None), [gone(bridge), *edits(LAN)])
    assert way(office, HERE, gone(LAN), *edits(shut)).fate == "cuts-off-you"


NOT_KNOWN = {
    "nobody looked": (None, edits(OFFICE_LESS := replace(OFFICE, reaches=("dns",))), "not known from where"),
    "a proxy that does not say": (Caller(unknown="a reason"), edits(OFFICE_LESS), "a reason"),
    "who comes by nothing": (
        Caller("198.51.100.7", "203.0.113.2", 443),
        edits(OFFICE_LESS),
        "nothing says by which interface",
    ),
    "who would be refused today": (
        Caller("203.0.113.77", "203.0.113.2", 443),
        edits(OFFICE_LESS),
        "would refuse 203.0.113.77",
    ),
    "a kind that is not looked at": (
        HERE,
        edits(BoundedSource("crowd", source="192.168.88.0/24", packets_per_second=1000)),
        "bounded-source",
    ),
    "a learnt set": (
        HERE,
        edits(Set("seen", type="address", source="dynamic"), FirewallRule("shut", source_set="seen", **LAST)),
        "what the set seen has learnt",
    ),
    "a set from a list in the web": (
        HERE,
        edits(
            Set("drop", source="url", url="https://lists.example.net/"),
            FirewallRule("shut", source_set="drop", **LAST),
        ),
        "what the set drop has from https://lists.example.net/",
    ),
    "a set of names": (
        HERE,
        edits(
            Set("office", source="dns", names=("a.example", "b.example")),
            FirewallRule("shut", source_set="office", **LAST),
        ),
        "what the set office has from a.example, b.example",
    ),
    "a session of SSH to somewhere else": (
        Caller("192.168.88.20", "192.168.99.1", 22, is_repeated=True),
        edits(OFFICE_LESS),
        "not configured here",
    ),
}


@pytest.mark.parametrize("name", NOT_KNOWN)
def test_what_was_not_looked_at_is_not_said_to_stay(office: Router, name: str) -> None:
    caller, changes, said = NOT_KNOWN[name]
    found = way(office, caller, *changes)
    assert found.fate == "not-known" and said in found.text, found


def test_other_names_of_a_set_are_not_known_to_leave_the_way(office: Router) -> None:
    named = Set("office", source="dns", names=("a.example",))
    office.put(named, FirewallRule("shut", source_set="office", **LAST))
    other = replace(named, names=("b.example",))
    assert way(office, HERE, *edits(other)).fate == "not-known"
    assert way(office, HERE, *edits(replace(other, comment="of the office"))).fate == "stays"


def test_a_rule_that_looks_at_a_learnt_set_may_not_become_another(office: Router) -> None:
    """What it looks at is not known, and so is what becomes of who is in it when the rule changes."""
    let_in = FirewallRule("by", **{**LAST, "action": "accept"}, source_set="seen")
    led = replace(let_in, id="led", action="jump", jump_to="more")
    more = FirewallRule("more-1", chain="more", action="accept")
    office.put(Set("seen", type="address", source="dynamic"), let_in, led, more)
    assert way(office, HERE, *edits(replace(let_in, action="drop"))).fate == "not-known"
    assert way(office, HERE, *edits(replace(more, action="drop"))).fate == "not-known"
    assert way(office, HERE, *edits(FirewallRule("late", **{**LAST, "action": "accept"}))).fate == "stays"


def test_a_peer_of_a_tunnel_keeps_its_key(office: Router) -> None:
    tunnel = Interface("wg0", role="lan", addresses=("10.8.0.1/24",), wireguard=Wireguard())
    peer = WireguardPeer("me", interface="wg0", public_key=KEY, allowed_ips=("10.8.0.2/32",))
    office.put(tunnel, peer)
    caller = Caller("10.8.0.2", "10.8.0.1", 443)
    for change in (gone(peer), *edits(replace(peer, public_key=OTHER), replace(peer, disabled=True))):
        assert way(office, caller, change).fate == "cuts-off-you", change
    assert way(office, caller, *edits(replace(peer, comment="mine"))).fate == "stays"
    assert way(office, caller, *edits(replace(peer, endpoint="192.0.2.7:1"))).fate == "not-known"


def test_every_kind_is_looked_at_or_said_not_to_be() -> None:
    assert not LOOKED_AT & HARMLESS
    assert set(DECLARED) >= LOOKED_AT | HARMLESS
