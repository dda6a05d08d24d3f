# SPDX-License-Identifier: Apache-2.0
"""OSPF and BFD in the model: what is said about what cannot be, and the lines that FRR gets."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from weir.kinds.bfd_profile import BfdProfile
from weir.kinds.firewall_rule import FirewallRule
from weir.kinds.ospf import Ospf
from weir.kinds.ospf_interface import OspfInterface
from weir.kinds.route_map import RouteMap
from weir.kinds.route_map_entry import RouteMapEntry
from weir.model.document import Change, Document
from weir.model.interface import Interface
from weir.model.objects import ConfigObject
from weir.model.rules import validate, validate_all
from weir.parts.routing import ROUTING

CORE = Ospf("core")
PORT = OspfInterface("i1", "core", "eth0", bfd="fast")
ETH0 = Interface("eth0", "lan", ("192.0.2.1/24",))
WAN = replace(ETH0, role="wan")
REST = (CORE, BfdProfile("fast", transmit_ms=100), BfdProfile("unused"), RouteMap("tell"))


def said(*items: ConfigObject) -> list[str]:
    return [f"{item.severity} {item.code} {item.path}" for item in validate_all(Document(items))]


def test_an_interface_that_takes_part_is_fine() -> None:
    assert said(*REST, ETH0, PORT) == []


@pytest.mark.parametrize(
    ("items", "expected"),
    [
        ([ETH0, PORT, Ospf("other")], "error ospf-twice ospf/other/id"),
        ([ETH0, PORT, replace(PORT, id="i2")], "error ospf-interface-twice ospf-interface/i2/interface"),
        ([ETH0, replace(PORT, hello_s=5, dead_s=5)], "error bad-timers ospf-interface/i1/dead_s"),
        ([PORT], "error unknown-interface ospf-interface/i1/interface"),
        ([ETH0, replace(PORT, bfd="none")], "error unknown-bfd-profile ospf-interface/i1/bfd"),
        (
            [replace(ETH0, vrf="red"), Interface("red", vrf_table=10), PORT],
            "error interface-in-other-vrf ospf-interface/i1/interface",
        ),
    ],
)
def test_what_cannot_be_is_named(items: list[ConfigObject], expected: str) -> None:
    assert said(*REST, *items) == [expected]


def test_a_wan_needs_a_rule_that_lets_ospf_in() -> None:
    warned = "warning ospf-on-wan ospf-interface/i1/interface"
    rule = FirewallRule("r1", chain="input", action="accept", protocol="ospf")
    assert warned in said(*REST, WAN, PORT)
    assert warned not in said(*REST, WAN, PORT, rule)
    assert warned not in said(*REST, WAN, replace(PORT, passive=True))


def test_a_policy_that_matches_by_protocol_is_refused_when_it_comes_and_when_it_changes() -> None:
    announcing = replace(CORE, redistribute_static=True, redistribute_route_map="tell")
    entry = RouteMapEntry("tell-1", "tell")
    document = Document([*REST[1:], announcing, ETH0, PORT, entry])
    change = Change("route-map-entry", "tell-1", entry, replace(entry, match_protocol="static"))
    document.apply([change])
    assert {item.code for item in validate(document, [change])} == {"match-not-possible"}


@pytest.mark.parametrize(
    ("changed", "lines"),
    [
        ({}, ["bfd", "bfd profile fast", "area 0"]),
        ({"bfd": None, "hello_s": 10, "dead_s": 40}, ["area 0"]),
        ({"bfd": None, "hello_s": 2, "area": 7}, ["hello-interval 2", "dead-interval 8", "area 7"]),
        ({"passive": True, "point_to_point": True}, ["passive", "area 0"]),
        ({"bfd": None, "point_to_point": True, "cost": 5}, ["cost 5", "network point-to-point", "area 0"]),
    ],
)
def test_an_interface_gets_these_lines_and_its_area_last(changed: dict[str, Any], lines: list[str]) -> None:
    blocks = ROUTING.wanted(Document([*REST, ETH0, replace(PORT, **changed)]))
    assert [path[-1] for path in blocks["interface eth0"].lines] == [f"ip ospf {line}" for line in lines]


def test_only_profiles_that_something_enabled_names_are_given_to_bfdd() -> None:
    blocks = ROUTING.wanted(Document([*REST, ETH0, PORT]))
    assert blocks["bfd"].lines == (("profile fast",), ("profile fast", "transmit-interval 100"))
    for idle in (replace(CORE, disabled=True), CORE):
        port = replace(PORT, disabled=not idle.disabled)
        assert "bfd" not in ROUTING.wanted(Document([*REST[1:], idle, ETH0, port]))
