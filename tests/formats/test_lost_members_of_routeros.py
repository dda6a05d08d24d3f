# SPDX-License-Identifier: Apache-2.0
"""Lists that are known in part, as a command about them was lost: what rules about them say and do."""

from __future__ import annotations

import pytest

from tests.formats.routeros import LISTS, import_of, of_kind, only
from weir.model.codec import from_json
from weir.model.document import Document

MORE = "add interface=ether6 list=MORE"
PARTIAL = {
    "an include of its line": ("add name=BAD include=$x", "", True),
    "another property of its line": ("add name=BAD include=BASE disabled=perhaps", "", True),
    "its line's name": ("add name=$x include=BASE\nadd name=BAD", "", True),
    "a list that it includes": ("add name=BAD include=MORE\nadd name=MORE include=$x", MORE, True),
    "a member": ("add name=BAD", "add interface=[find name=ether5] list=BAD", True),
    "a member's list": ("add name=BAD", "add interface=ether5 list=$x", True),
    "a property of a member": ("add name=BAD", "add interface=ether5 list=BAD disabled=perhaps", True),
    "what it excludes": ("add name=BAD exclude=MORE\nadd name=MORE include=$x", MORE, False),
    "a change of it": ("add name=BAD\nset BAD include=BASE", "", False),
    "a change of a found one": ("add name=BAD\nset [find name=BAD] exclude=BASE", "", False),
    "a member that is removed": ("add name=BAD", "remove [find interface=ether1]", False),
}
"""By what could not be read: the commands, and whether what is known to be in the list is in it."""


@pytest.mark.parametrize("case", PARTIAL)
@pytest.mark.parametrize("side", ["in", "out"])
@pytest.mark.parametrize("menu", ["filter\nadd chain=forward", "nat\nadd chain=srcnat action=masquerade"])
def test_all_others_than_a_list_that_is_known_in_part_are_not_known(menu: str, side: str, case: str) -> None:
    if "nat" in menu and side == "in":
        menu = "nat\nadd chain=dstnat action=redirect protocol=tcp dst-port=80"
    lists, member, holds = PARTIAL[case]
    text = (
        f"/interface list\nadd name=BASE\n{lists}\n/interface list member\nadd interface=ether1 list=BAD\n"
        f"add interface=ether5 list=BASE\n{member}\n/ip address\nadd address=10.0.0.1/24 interface=ether5\n"
        f"/ip firewall {menu} {side}-interface-list="
    )
    report = import_of(f"{text}!BAD\n")
    rules = of_kind(report, "firewall-rule") + of_kind(report, "nat-rule")
    assert [rule.get("disabled") for rule in rules] == [True]
    assert "could not be read" in report.lines[-1].reason
    report = import_of(f"{text}BAD\n")
    rules = of_kind(report, "firewall-rule") + of_kind(report, "nat-rule")
    assert {rule.get("disabled", False) for rule in rules} == {not holds}


@pytest.mark.parametrize(
    "member",
    [
        "add interface=ether5 list=GUESTS disabled=yes",
        "add interface=pppoe-out1 list=GUESTS",
        "print",
        '/interface list set [find name=all] comment="all" exclude="" include="" name=all',
    ],
)
def test_the_others_are_known_where_what_was_left_out_cannot_be_one(member: str) -> None:
    rule = "/ip firewall filter\nadd chain=input in-interface-list=!GUESTS\n"
    report = import_of(f"{LISTS}{member}\n{rule}")
    assert "disabled" not in only(report, "firewall-rule")


def test_a_drop_rule_about_a_list_that_is_known_in_part_says_so() -> None:
    report = import_of(
        "/interface list\nadd name=BASE\nadd name=BAD include=$x\n/interface list member\n"
        "add interface=ether1 list=BAD\n/ip firewall filter\n"
        "add chain=input action=drop in-interface-list=BAD\n"
        "add chain=input action=drop in-interface-list=BASE\nadd chain=input in-interface-list=BAD\n"
    )
    assert [line.code for line in report.lines[-3:]] == ["entries-lost", "ok", "ok"]


@pytest.mark.parametrize("action", ["drop", "reject", "jump jump-target=more"])
def test_a_rule_whose_list_lost_entries_says_what_passes_on(action: str) -> None:
    report = import_of(
        "/ip firewall address-list\nadd list=bad address=192.0.2.1\nadd list=bad address=no..name\n"
        "add list=bad address=192.0.2.2 timeout=1d\nadd list=bad address=nothing:at:all\n"
        "add list=bad address=example.org disabled=yes\nadd list=good address=no..name\n"
        "/ipv6 firewall address-list\nadd list=bad address=no..name\n"
        f"/ip firewall filter\nadd chain=forward src-address-list=bad action={action}\n"
        "add chain=more\nadd chain=forward src-address-list=bad action=drop disabled=yes\n"
        "add chain=forward src-address-list=good\nadd chain=forward dst-address-list=good action=drop\n"
    )
    lines = [line for line in report.lines if "filter" in line.source]
    assert [line.code for line in lines] == ["entries-lost", "ok", "ok", "ok", "entries-lost"]
    assert lines[0].reason == "3 entries of “bad” were not taken: the rule does not match these here."
    assert lines[4].reason == "1 entry of “good” was not taken: the rule does not match these here."


@pytest.mark.parametrize(
    ("entries", "why"),
    [
        ("add list=good address=no..name", "1 of what fills “good” was not taken (src-address-list)"),
        ("add list=good address=192.0.2.2 timeout=1d", "1 of what fills “good” was not taken"),
        ("add list=good address=$x\nadd list=$x address=192.0.2.2", "2 of what fills “good” were not taken"),
        ("remove [find list=good]", "1 of what fills “good” was not taken"),
        (
            "/ip firewall filter\nadd chain=input action=add-src-to-address-list address-list=good psd=1",
            "1 of",
        ),
        ("add list=good address=no..name disabled=yes", ""),
        ("/ipv6 firewall address-list\nadd list=good address=no..name", ""),
    ],
)
@pytest.mark.parametrize("rule", ["filter\nadd chain=forward", "nat\nadd chain=srcnat action=masquerade"])
def test_all_but_a_list_that_lost_entries_is_more_than_it_was(rule: str, entries: str, why: str) -> None:
    text = f"/ip firewall address-list\nadd list=good address=192.0.2.1\n{entries}\n/ip firewall {rule} "
    report = import_of(f"{text}src-address-list=!good\n")
    found = [*of_kind(report, "firewall-rule"), *of_kind(report, "nat-rule")][-1]
    assert found["negated"] == ["source_set"] and found.get("disabled", False) is bool(why)
    assert why in (report.lines[-1].reason or "")


def test_all_but_a_list_that_nothing_fills_is_everything() -> None:
    rule = "/ip firewall filter\nadd chain=input src-address-list=!good\n"
    report = import_of(rule)
    assert only(report, "firewall-rule")["disabled"] is True
    assert "nothing that is imported fills “good”" in report.lines[-1].reason
    by_hand = from_json("set-entry", {"id": "one", "set": "good", "value": "192.0.2.1/32"})
    report = import_of(rule, Document([*report.others, by_hand]))
    assert "disabled" not in only(report, "firewall-rule")
    report = import_of(rule.replace("input", "input action=drop"), Document([*report.others, by_hand]))
    assert "1 entry of “good” was here before: the rule does not match these here." in report.lines[-1].reason
    learnt = f"{ADDS}address-list=good dst-port=22\n".replace("address-list=seen ", "")
    assert "disabled" not in of_kind(import_of(f"{rule}{learnt}"), "firewall-rule")[0]


ADDS = (
    "add chain=input action=add-src-to-address-list address-list=seen address-list-timeout=1d protocol=tcp "
)


@pytest.mark.parametrize("adds", ["psd=21,3s,3,1", "address-list-timeout=never", "protocol=icmp dst-port=5"])
def test_a_rule_about_what_a_rule_adds_that_is_not_in_force_says_so(adds: str) -> None:
    drop = "add chain=input action=drop src-address-list=seen\n"
    report = import_of(
        f"/ip firewall filter\n{drop}{ADDS}dst-port=22\n{ADDS}{adds}\n{ADDS}psd=1 disabled=yes\n"
    )
    assert (report.lines[0].fate, report.lines[0].code) == ("warning", "entries-lost")
    assert report.lines[0].reason.startswith("1 rule that adds to “seen” was not taken, or disabled:")
    assert import_of(f"/ip firewall filter\n{drop}{ADDS}dst-port=22\n").lines[0].code == "ok"


def test_a_drop_rule_about_a_list_that_nothing_fills_says_so() -> None:
    text = (
        "/ip firewall address-list\nadd list=old address=192.0.2.1 disabled=yes\n"
        "/ip firewall filter\nadd chain=input action=drop src-address-list=bad\n"
        "add chain=input src-address-list=good\nadd chain=input action=drop src-address-list=old\n"
    )
    report = import_of(text)
    assert [line.code for line in report.lines[1:]] == ["empty-list", "ok", "ok"]
    by_hand = from_json("set-entry", {"id": "one", "set": "bad", "value": "192.0.2.1/32"})
    existing = Document([*report.others, by_hand])
    assert import_of(text, existing).lines[1].code == "ok"


def test_a_rule_whose_list_of_interfaces_lost_some_says_so() -> None:
    report = import_of(
        LISTS.replace("ether4", "uplink") + "/interface list\nadd name=all-guests include=GUESTS\n"
        "/ip firewall filter\nadd chain=input action=drop in-interface-list=all-guests\n"
        "add chain=forward action=drop out-interface-list=GUESTS\nadd chain=input in-interface-list=GUESTS\n"
        "add chain=input action=drop in-interface-list=!GUESTS\n"
    )
    lines = [line for line in report.lines if "filter" in line.source]
    said = "1 interface of its list was not taken: the rule does not match these here."
    assert [said in line.reason for line in lines] == [True, True, False, False]
    assert lines[0].code == "entries-lost"


@pytest.mark.parametrize(
    ("lacks", "said"),
    [
        ("src-address-list=office", "1 entry of “office” was not taken: the rule does not match these here."),
        ("dscp=5", "What it exempted is translated as the rules after it say."),
    ],
)
def test_an_exemption_from_nat_that_is_about_less_says_so(lacks: str, said: str) -> None:
    lists = "/ip firewall address-list\nadd list=office address=no..name\n/ip firewall nat\n"
    report = import_of(
        f"{lists}add chain=srcnat action=accept {lacks}\nadd chain=srcnat action=masquerade {lacks}\n"
    )
    assert said in report.lines[1].reason
    assert said not in report.lines[2].reason
