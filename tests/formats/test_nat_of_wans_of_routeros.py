# SPDX-License-Identifier: Apache-2.0
"""NAT rules about the interface list WAN: about its members, and about every WAN only where these are all."""

from __future__ import annotations

import pytest

from tests.formats.routeros import LISTS, import_of, of_kind, only
from weir.model.codec import from_json
from weir.model.document import Document


@pytest.mark.parametrize(
    ("rule", "here", "interfaces"),
    [
        ("chain=dstnat action=redirect in-interface-list", "ether1", [None]),
        ("chain=dstnat action=redirect in-interface-list", "ether8", ["ether1"]),
        ("chain=srcnat action=masquerade out-interface-list", "ether8", ["ether1"]),
        ("chain=srcnat action=masquerade dst-address=10.0.0.0/8 out-interface-list", "ether8", ["ether1"]),
        ("chain=srcnat action=masquerade out-interface=ether1 out-interface-list", "ether8", ["ether1"]),
    ],
)
def test_a_nat_rule_about_the_list_of_wans_is_not_about_another_wan_that_is_here(
    rule: str, here: str, interfaces: list[str | None]
) -> None:
    existing = Document([from_json("interface", {"id": here, "role": "wan"})])
    report = import_of(f"{LISTS}/ip firewall nat\nadd {rule}=WAN\n", existing)
    assert [item.get("interface") for item in of_kind(report, "nat-rule")] == interfaces
    assert report.lines[-1].code == "ok"


def test_a_nat_rule_about_the_list_of_wans_that_also_names_where_it_leaves_is_not_in_force() -> None:
    rule = "add chain=dstnat action=redirect in-interface-list=WAN out-interface-list=!LAN\n"
    assert only(import_of(f"{LISTS}/ip firewall nat\n{rule}"), "nat-rule")["disabled"] is True


def test_a_nat_rule_about_the_list_of_wans_is_not_about_one_that_masquerades_later() -> None:
    text = (
        f"{LISTS}add interface=ether5 list=WAN\n/ip firewall nat\n"
        "add chain=dstnat action=redirect in-interface-list=WAN protocol=udp dst-port=53\n"
    )
    assert len(of_kind(import_of(text), "nat-rule")) == 1
    report = import_of(f"{text}add chain=srcnat action=masquerade out-interface=ether9\n")
    rules = of_kind(report, "nat-rule")
    assert [rule["interface"] for rule in rules] == ["ether1", "ether5", "ether9"]
    assert report.lines[-2].code == "several-rules"
    positions = [rule["position"] for rule in rules]
    assert positions == sorted(set(positions))


NO_WAN = "/interface list\nadd name=WAN\n/interface list member\nadd interface={} list=WAN disabled={}\n"


@pytest.mark.parametrize(
    ("member", "disabled", "here", "code"),
    [
        ("ether1", "yes", "lan", "empty-list"),
        ("ether1", "yes", "wan", "empty-list"),
        ("pppoe-out1", "yes", "lan", "empty-list"),
        ("pppoe-out1", "no", "wan", "empty-list"),
        ("pppoe-out1", "no", "lan", "every-wan"),
    ],
)
def test_a_nat_rule_about_a_list_without_interfaces_is_not_about_every_wan(
    member: str, disabled: str, here: str, code: str
) -> None:
    existing = Document([from_json("interface", {"id": "ether9", "role": here})])
    rule = "/ip firewall nat\nadd chain=srcnat action=masquerade out-interface-list=WAN\n"
    report = import_of(NO_WAN.format(member, disabled) + rule, existing)
    assert report.lines[-1].code == code
    assert len(of_kind(report, "nat-rule")) == (code == "every-wan")
