# SPDX-License-Identifier: Apache-2.0
"""Firewall and NAT rules of RouterOS: none lets pass or translates more than it did without saying so."""

from __future__ import annotations

import pytest

from tests.formats.routeros import LISTS, import_of, of_kind, only
from weir.kinds.firewall import Firewall
from weir.model.document import Document

TO_ITSELF = LISTS + "/ip firewall nat\nadd dst-address-type=local "


@pytest.mark.parametrize(
    "said",
    [
        "chain=srcnat action=accept",
        "chain=dstnat",
        "chain=dstnat action=dst-nat to-addresses=192.0.2.7 in-interface=ether2",
        "chain=dstnat action=dst-nat to-addresses=192.0.2.7 in-interface-list=LAN",
        "chain=dstnat action=redirect protocol=udp dst-port=53 in-interface-list=GUESTS",
        "chain=dstnat action=dst-nat to-addresses=192.0.2.7 in-interface=ether1 dst-address=10.0.0.0/8",
    ],
)
def test_a_nat_rule_about_the_routers_own_addresses_is_not_about_all(said: str) -> None:
    report = import_of(TO_ITSELF + said + "\n")
    assert all(rule["disabled"] for rule in of_kind(report, "nat-rule"))
    assert report.lines[-1].code == "match-not-taken"
    assert "dst-address-type" in report.lines[-1].reason


@pytest.mark.parametrize("arrives", ["in-interface=ether1", "in-interface-list=WAN", ""])
@pytest.mark.parametrize("action", ["dst-nat to-addresses=192.0.2.7", "redirect"])
def test_a_port_forward_on_a_wan_is_about_the_routers_own_addresses(arrives: str, action: str) -> None:
    said = f"chain=dstnat action={action} protocol=tcp dst-port=443 {arrives}\n"
    assert "disabled" not in only(import_of(TO_ITSELF + said), "nat-rule")


def test_a_nat_rule_without_an_action_is_about_the_wans_alone() -> None:
    rule = only(import_of(LISTS + "/ip firewall nat\nadd chain=srcnat out-interface-list=WAN\n"), "nat-rule")
    assert (rule["type"], rule["interface"]) == ("none", "ether1")


@pytest.mark.parametrize("said", ["dst-address-list=office", "protocol=tcp dst-port=25"])
def test_an_interface_that_masquerades_for_some_is_not_outside(said: str) -> None:
    report = import_of(f"/ip firewall nat\nadd chain=srcnat action=masquerade out-interface=ether1 {said}\n")
    assert only(report, "interface")["role"] == "none"


DROP = (
    "add action=drop chain=forward connection-nat-state=!dstnat connection-state=new in-interface-list=WAN\n"
)


@pytest.mark.parametrize(
    "after",
    [
        "add action=accept chain=forward dst-address=192.168.1.0/24",
        "add chain=forward dst-address=192.168.1.0/24",
        "add action=jump chain=forward jump-target=more\nadd chain=more",
    ],
)
def test_the_drop_rule_of_the_policy_is_said_to_be_missing_where_a_later_rule_lets_pass(after: str) -> None:
    report = import_of(f"{LISTS}/ip firewall filter\n{DROP}{after}\n")
    drop = next(rule for rule in of_kind(report, "firewall-rule") if rule["action"] == "drop")
    assert drop["disabled"] is True
    line = next(line for line in report.lines if "action=drop" in line.source)
    assert (line.fate, line.code) == ("warning", "match-not-taken")
    assert "What it stopped" in line.reason


@pytest.mark.parametrize(
    "after",
    [
        "add action=accept chain=forward connection-nat-state=dstnat",
        "add action=accept chain=forward dst-address=192.168.1.0/24 disabled=yes",
        "add action=accept chain=input dst-address=192.168.1.1",
        "add action=drop chain=forward",
    ],
)
def test_the_drop_rule_of_the_policy_is_the_policy_where_nothing_lets_pass_after_it(after: str) -> None:
    before = "add action=accept chain=forward dst-address=192.168.1.0/24\n"
    report = import_of(f"{LISTS}/ip firewall filter\n{before}{DROP}{after}\n")
    line = next(line for line in report.lines if "!dstnat" in line.source)
    assert (line.fate, line.code) == ("left-out", "policy")


def test_the_drop_rule_is_not_the_policy_of_a_router_whose_policy_drops_nothing() -> None:
    existing = Document([Firewall(drop_new_from_wan=False)])
    report = import_of(f"{LISTS}/ip firewall filter\n{DROP}", existing)
    assert report.lines[-1].code == "match-not-taken"


def test_a_drop_rule_of_a_chain_of_ones_own_is_not_the_policy() -> None:
    report = import_of(f"{LISTS}/ip firewall filter\n{DROP.replace('=forward', '=mine')}")
    assert report.lines[-1].code == "match-not-taken"
