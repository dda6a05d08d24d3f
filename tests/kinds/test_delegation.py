# SPDX-License-Identifier: Apache-2.0
"""Who asks for a prefix and who takes a part of it: through commands, what is refused, what it becomes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.kinds.toys import toy
from weir.kinds.firewall import Firewall
from weir.model.announcing import Announcement
from weir.model.delegation import Delegated, Dhcpv6
from weir.model.document import Document
from weir.model.interface import Interface, Loopback, Vlan
from weir.model.links import Bridge, BridgePort
from weir.model.objects import ConfigObject
from weir.model.rules import validate_all
from weir.parts.announcing import ANNOUNCING
from weir.parts.firewall import FIREWALL, rule_text
from weir.parts.network import NETWORK

WAN = Interface("wan0", role="wan", ipv6_addressing="auto", dhcpv6=Dhcpv6())


def lan(name: str = "lan0", subnet_id: int | None = None, **more: Any) -> Interface:
    taken = Delegated("wan0", subnet_id)
    return Interface(name, **{"role": "lan", "ra": Announcement(), "delegated": taken, **more})


def found(*objects: ConfigObject) -> dict[str, str]:
    return {item.code: item.message for item in validate_all(Document(objects))}


def test_a_prefix_is_asked_for_and_taken_by_commands(tmp_path: Path) -> None:
    with toy(tmp_path) as router:
        router.weir("interface", "add", "wan0", "--role", "wan", "--dhcpv6-pd-hint", "60")
        router.weir("interface", "add", "lan0", "--role", "lan", "--ra-dns", "--delegated-uplink", "wan0")
        assert router.weir_json("interface", "show", "wan0")["dhcpv6"] == {"pd_hint": 60, "address": False}
        shown = router.weir_json("interface", "show", "lan0")["delegated"]
        assert shown == {"uplink": "wan0", "subnet_id": None}
        refused = router.weir("interface", "set", "lan0", "--delegated-subnet-id", "16", code=1)
        assert "cannot take subnet 16: the /60 that wan0 asks for has 16 networks" in refused


def test_several_networks_take_parts_of_one_prefix() -> None:
    assert not found(WAN, lan("lan0"), lan("lan1", 1), lan("lan2", 255))


@pytest.mark.parametrize(
    ("objects", "code"),
    [
        ((replace(WAN, role="lan"),), "dhcpv6-inside"),
        ((replace(WAN, vrf="blue"),), "dhcpv6-in-vrf"),
        ((replace(WAN, ipv6_addressing="static", loopback=Loopback()),), "dhcpv6-not-here"),
        ((lan(),), "unknown-uplink"),
        ((replace(WAN, dhcpv6=None), lan()), "uplink-without-prefix"),
        ((replace(WAN, disabled=True), lan()), "interface-disabled"),
        ((WAN, lan("lan0", 3), lan("lan1", 3)), "subnet-taken"),
        ((WAN, lan("lan0", 256)), "subnet-does-not-fit"),
        ((replace(WAN, dhcpv6=Dhcpv6(64)), lan("lan0"), lan("lan1")), "too-few-subnets"),
        ((WAN, lan(ra=None)), "delegated-without-ra"),
        ((WAN, lan(role="wan")), "delegated-on-wan"),
        ((WAN, lan(vrf="blue")), "delegated-in-vrf"),
        ((WAN, lan(loopback=Loopback())), "delegated-without-hosts"),
        (
            (WAN, lan(role="none"), Interface("br0", bridge=Bridge((BridgePort("lan0"),)))),
            "member-with-its-own",
        ),
    ],
)
def test_what_cannot_be_is_said(objects: tuple[Interface, ...], code: str) -> None:
    said = found(*objects)
    assert code in said, said
    assert objects[-1].id in said[code] or "wan0" in said[code]


def test_who_takes_the_same_part_is_named() -> None:
    assert found(WAN, lan("lan0", 3), lan("lan1", 3))["subnet-taken"].startswith("lan")
    assert "has 256 networks, counted from 0" in found(WAN, lan("lan0", 256))["subnet-does-not-fit"]


def test_a_taken_away_question_is_found_where_its_prefix_is_used() -> None:
    said = [item for item in validate_all(Document((replace(WAN, dhcpv6=None), lan()))) if item.id == "lan0"]
    assert [(item.code, item.field) for item in said] == [("uplink-without-prefix", "delegated.uplink")]


def test_answers_come_in_from_link_local_to_link_local_and_nothing_else_does() -> None:
    asked = Document((WAN, lan(), Firewall(drop_new_from_wan=True)))
    other = Document((replace(WAN, dhcpv6=None), lan(), Firewall(drop_new_from_wan=True)))
    (added,) = set(FIREWALL.wanted(asked)) - set(FIREWALL.wanted(other))
    assert set(FIREWALL.wanted(other)) - set(FIREWALL.wanted(asked)) == set()
    assert (added.chain, added.verdict, added.in_interfaces) == ("input", "accept", ("wan0",))
    assert (added.family, added.protocol, added.ports) == (6, "udp", ("546",))
    assert added.sources == added.destinations == ("fe80::/10",)
    assert "DHCPv6" in rule_text(added)


def test_what_the_parts_are_told() -> None:
    document = Document((WAN, lan("lan0", 3), Interface("lan0.5", vlan=Vlan("lan0", 5))))
    network = NETWORK.wanted(document)
    assert (network["wan0"].dhcpv6, network["lan0"].delegated) == (Dhcpv6(), Delegated("wan0", 3))
    assert "wan0's prefix" in NETWORK.text(None, network["lan0"])
    told = ANNOUNCING.wanted(document)["lan0"]
    assert told.most_s == (2700, 5400) and "a delegated prefix" in ANNOUNCING.text(None, told)
    off = Document((replace(WAN, disabled=True), replace(lan(), disabled=True)))
    assert NETWORK.wanted(off)["wan0"].dhcpv6 is None and NETWORK.wanted(off)["lan0"].delegated is None
