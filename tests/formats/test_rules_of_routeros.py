# SPDX-License-Identifier: Apache-2.0
"""Firewall and NAT rules of RouterOS: none lets pass or translates more than it did without saying so."""

from __future__ import annotations

import time

import pytest

from tests.formats.routeros import LISTS, import_of, of_kind, only
from weir.formats.report import LineDraft
from weir.formats.routeros.menus.router import Wanted

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


def test_what_came_for_port_forwards_is_told_from_the_rest() -> None:
    """RouterOS' own last rule, and what people have before one that drops everything."""
    report = import_of(
        f"{LISTS}/ip firewall filter\nadd chain=forward connection-nat-state=dstnat\n"
        "add action=drop chain=forward connection-nat-state=!dstnat connection-state=new "
        "in-interface-list=WAN\n"
    )
    let_pass, dropped = of_kind(report, "firewall-rule")
    assert (let_pass["action"], let_pass["ct_nat"]) == ("accept", "destination")
    assert (dropped["action"], dropped["ct_nat"], dropped["ct_state"]) == ("drop", "not-destination", ["new"])
    assert dropped["source_set"] == "wan-interfaces"
    assert {line.fate for line in report.lines[-2:]} == {"imported"}


@pytest.mark.parametrize(
    "rule",
    [
        "filter\nadd chain=forward in-interface-list=all",
        "filter\nadd chain=forward in-interface=all out-interface=all",
        "filter\nadd chain=forward out-interface-list=!none",
        "nat\nadd chain=srcnat action=masquerade out-interface-list=all",
    ],
)
def test_a_match_of_any_interface_is_none(rule: str) -> None:
    report = import_of(f"/ip firewall {rule}\n")
    (found,) = of_kind(report, "firewall-rule") + of_kind(report, "nat-rule")
    assert not {"disabled", "in_interface", "out_interface", "interface", "source_set"} & found.keys()


@pytest.mark.parametrize("said", ["in-interface-list=none", "out-interface-list=!all"])
@pytest.mark.parametrize("menu", ["filter\nadd chain=forward", "nat\nadd chain=srcnat action=masquerade"])
def test_a_rule_about_no_interface_is_left_out(menu: str, said: str) -> None:
    report = import_of(f"/ip firewall {menu} {said}\n")
    assert (report.lines[-1].fate, report.lines[-1].code) == ("left-out", "empty-list")
    assert list(report.others) == []


@pytest.mark.parametrize("states", ["", '""', "!new,established,related,invalid,untracked"])
def test_a_rule_that_names_no_state_is_not_about_all(states: str) -> None:
    report = import_of(f"/ip firewall filter\nadd chain=forward connection-state={states}\n")
    assert only(report, "firewall-rule")["disabled"] is True
    assert "names no state" in report.lines[0].reason


@pytest.mark.parametrize("text", ["filter\nadd chain=input", "nat\nadd chain=srcnat action=masquerade"])
def test_a_rule_that_is_to_come_before_others_is_not_in_force_behind_them(text: str) -> None:
    report = import_of(f"/ip firewall {text} place-before=0\n")
    assert all(rule["disabled"] for rule in of_kind(report, "firewall-rule") + of_kind(report, "nat-rule"))
    assert "rules come in the order of the file" in report.lines[0].reason


def test_a_rule_that_was_disabled_says_what_it_lacks() -> None:
    report = import_of("/ip firewall filter\nadd chain=input disabled=yes nth=2,1 ttl=equal:1\n")
    assert report.lines[0].reason == "It was disabled, and stays so: it lacks nth=“2,1”, ttl=“equal:1”."


@pytest.mark.parametrize(
    ("menu", "name", "fits"),
    [("ip", "icmp", True), ("ip", "58", False), ("ipv6", "icmpv6", True), ("ipv6", "icmp", False)],
)
def test_icmp_of_the_other_family_is_not_that_of_the_rule(menu: str, name: str, fits: bool) -> None:
    report = import_of(f"/{menu} firewall filter\nadd chain=input protocol={name}\n")
    assert only(report, "firewall-rule").get("disabled", False) is not fits


@pytest.mark.parametrize("menu", ["filter\nadd chain=forward action=drop", "nat\nadd chain=dstnat"])
@pytest.mark.parametrize("side", ["in", "out"])
def test_not_a_list_is_also_an_interface_that_a_later_command_names_first(menu: str, side: str) -> None:
    if "nat" in menu and side == "out":
        menu = "nat\nadd chain=srcnat"
    report = import_of(
        f"{LISTS}/ip firewall {menu} src-address=10.0.0.0/8 {side}-interface-list=!GUESTS\n"
        "/ip firewall filter\nadd chain=input in-interface=ether8\n/ip route\nadd gateway=ether9\n"
        "add dst-address=10.0.0.0/8 gateway=192.0.2.1%ether7\n"
    )
    field = f"{side}_interface" if "filter" in menu else "interface"
    rules = of_kind(report, "firewall-rule" if "filter" in menu else "nat-rule")
    found = {rule.get(field) for rule in rules if "source" in rule}
    assert found == {"ether1", "ether2", "ether7", "ether8", "ether9"}


def test_a_set_that_thousands_of_rules_name_knows_its_lines_at_once() -> None:
    lines = [LineDraft(number, number, "", "export.rsc") for number in range(1, 30_001)]
    wanted = Wanted("set", "guests", {})
    started = time.process_time()
    for line in lines:
        wanted.of(line).of(line)
    took_s = time.process_time() - started
    assert list(wanted.lines) == lines
    assert took_s < 1


@pytest.mark.parametrize(
    ("said", "is_in_it"), [("GUESTS", False), ("!GUESTS", True), ("WAN", True), ("LAN", False)]
)
@pytest.mark.parametrize("rule", ["filter\nadd chain=forward", "nat\nadd chain=dstnat action=redirect"])
def test_an_interface_and_a_list_are_the_interface_where_it_is_in_the_list(
    rule: str, said: str, is_in_it: bool
) -> None:
    report = import_of(f"{LISTS}/ip firewall {rule} in-interface=ether1 in-interface-list={said}\n")
    rules = of_kind(report, "firewall-rule") + of_kind(report, "nat-rule")
    assert [found.get("in_interface", found.get("interface")) for found in rules] == ["ether1"] * is_in_it
    assert (report.lines[-1].code == "empty-list") is not is_in_it


@pytest.mark.parametrize(
    ("said", "code"),
    [
        ("action=redirect", "wan-only"),
        ("action=redirect in-interface=all", "wan-only"),
        ("action=redirect in-interface=ether2", "ok"),
        ("action=dst-nat to-addresses=192.0.2.7", "wan-only"),
        ("action=dst-nat to-addresses=192.0.2.7 dst-address=198.51.100.7", "ok"),
        ("action=dst-nat to-addresses=192.0.2.7 dst-address-type=local", "ok"),
        ("action=dst-nat to-addresses=192.0.2.7 in-interface=ether1", "ok"),
    ],
)
def test_a_forward_that_names_too_little_says_that_it_is_not_about_hosts_inside(said: str, code: str) -> None:
    report = import_of(f"{LISTS}/ip firewall nat\nadd chain=dstnat protocol=udp dst-port=53 {said}\n")
    assert report.lines[-1].code == code


def test_what_is_left_out_does_not_claim_to_be_imported_disabled() -> None:
    report = import_of(f"{LISTS}/ip firewall filter\nadd chain=input out-interface-list=GUESTS\n")
    assert report.lines[-1].fate == "left-out"
    assert "imported disabled" not in report.lines[-1].reason
