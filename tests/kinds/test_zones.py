# SPDX-License-Identifier: Apache-2.0
"""What zones compile to beside what packets show (tests/agent/test_zones.py)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from weir.kinds.firewall import Firewall
from weir.kinds.management import Management
from weir.kinds.nat_rule import NatRule
from weir.kinds.ssh_server import SshServer
from weir.kinds.zone import Zone, ZonePolicy
from weir.model.codec import from_json
from weir.model.document import Document
from weir.model.interface import Interface
from weir.model.rules import validate_all
from weir.parts.decision import Members, Packet, Rules, Walk
from weir.parts.firewall import FIREWALL, rule_text

WAN = Interface("wan0", "wan", ("203.0.113.2/24",))
LAN = Interface("lan0", "lan", ("10.1.0.1/24",))
DMZ = Interface("dmz0", "dmz", ("10.9.0.1/24", "10.19.0.1/24"))
SIGN_IN = "sign-in-open-to-wan"
FORWARD = NatRule("web", type="destination", protocol="tcp", ports=("443",), to_address="10.9.0.5")


def verdict(document: Document, came: str, leaves: str, **packet: Any) -> str:
    """Of the first packet of a connection that is forwarded."""
    rules = Rules(FIREWALL.wanted(document), Members.of(document))
    sent = Packet(
        4, "10.0.0.9", "10.9.0.5", "tcp", 443, in_names=frozenset((came,)), out_names=frozenset((leaves,))
    )
    found = rules.decide("forward", replace(sent, **packet), Walk())
    return "accept" if found is None else found.verdict


@pytest.mark.parametrize("drop_new_from_wan", [True, False])
@pytest.mark.parametrize("role", ["dmz", "lan"])
def test_a_port_forward_reaches_its_zone_whatever_the_policy_is(drop_new_from_wan: bool, role: str) -> None:
    there = [replace(DMZ, role=role), Zone("dmz"), ZonePolicy("p", "wan", "lan", action="drop")]
    document = Document([WAN, *there, Firewall(drop_new_from_wan=drop_new_from_wan), FORWARD])
    assert verdict(document, "wan0", "dmz0", is_forwarded=True) == "accept"
    other = Document([WAN, *there, Firewall(drop_new_from_wan=drop_new_from_wan)])
    assert verdict(other, "wan0", "dmz0") == "drop"


def test_a_zone_keeps_its_interfaces_apart_and_lets_pass_what_stays_on_one() -> None:
    document = Document([DMZ, Interface("dmz1", "dmz", ("10.29.0.1/24",)), Zone("dmz")])
    assert verdict(document, "dmz0", "dmz0") == "accept"
    assert verdict(document, "dmz0", "dmz1") == "drop"
    within = Document([LAN, Interface("lan1", "lan"), ZonePolicy("p", "lan", "lan", action="drop")])
    assert verdict(within, "lan0", "lan0") == "accept"
    assert verdict(within, "lan0", "lan1") == "drop"


@pytest.mark.parametrize("action", ["accept", "drop"])
def test_a_policy_that_logs_decides_as_before(action: str) -> None:
    policy = ZonePolicy("web", "lan", "dmz", action)
    objects = [LAN, DMZ, Zone("dmz")]
    plain, logging = (Document([*objects, replace(policy, log=log)]) for log in (False, True))
    assert verdict(plain, "lan0", "dmz0") == verdict(logging, "lan0", "dmz0") == action
    rules = FIREWALL.wanted(logging)
    (line,) = [rule for rule in rules if rule not in FIREWALL.wanted(plain)]
    assert (line.verdict, line.target, line.ct_states, line.rate_per_s) == ("log", "web: ", ("new",), 10)
    assert rule_text(line).endswith("policy web, new connections only, at most 10 a second")
    assert rules[rules.index(line) + 1].counter == "p_web", "the line is written before the verdict"


BRIDGE = {
    "type": "bridge",
    "role": "guest",
    "addresses": ["10.1.0.1/24"],
    "bridge": {"ports": [{"interface": "eth1"}]},
}


@pytest.mark.parametrize(
    "objects",
    [
        [Interface("eth0", "none", ("10.1.0.1/24",))],
        [from_json("interface", BRIDGE, "br0"), Interface("eth1", "open"), Zone("guest")],
    ],
    ids=["none", "a member in open"],
)
def test_it_is_said_where_nobody_reaches_the_login_page(objects: list[Any]) -> None:
    codes = [item.code for item in validate_all(Document([*objects, Firewall()]))]
    assert "locks-out" in codes
    assert "locks-out" not in [item.code for item in validate_all(Document([LAN, *objects, Firewall()]))]


@pytest.mark.parametrize(
    ("objects", "said"),
    [
        ([], []),
        ([Firewall(allowed_wan_tcp_ports=(80, 5000))], []),
        ([Firewall(allowed_wan_tcp_ports=(443,))], ["management"]),
        ([Firewall(allowed_wan_tcp_ports=(443,)), Management(sources=("192.0.2.0/24",))], []),
        ([Firewall(allowed_wan_tcp_ports=(22, 443)), SshServer(enabled=True)], ["management", "ssh-server"]),
        ([Firewall(allowed_wan_tcp_ports=(22,)), SshServer(enabled=False)], []),
        ([Firewall(allowed_wan_tcp_ports=(22,)), SshServer(enabled=True, port=2222)], []),
        (
            [Firewall(allowed_wan_tcp_ports=(22,)), SshServer(enabled=True, sources=("192.0.2.0/24",))],
            [],
        ),
        ([Firewall(allowed_wan_tcp_ports=(443,), drop_new_from_wan=False)], []),
    ],
)
def test_it_is_said_where_everybody_outside_may_try_to_sign_in(objects: list[Any], said: list[str]) -> None:
    found = [item for item in validate_all(Document([LAN, WAN, *objects])) if item.code == SIGN_IN]
    assert [item.message.split(", and ")[1].removesuffix(" names no sources") for item in found] == said
    inside = [item for item in validate_all(Document([LAN, *objects])) if item.code == SIGN_IN]
    assert not inside, "nothing is outside"
