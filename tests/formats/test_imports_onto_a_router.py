# SPDX-License-Identifier: Apache-2.0
"""A RouterOS file that is imported on a router which has something already: that makes no rule wider."""

from __future__ import annotations

import pytest

from tests.formats.routeros import import_of, of_kind
from weir.formats import ImportReport
from weir.model.codec import from_json
from weir.model.document import Document

Json = dict[str, object]


def router_with(*objects: tuple[str, Json]) -> Document:
    return Document([from_json(kind, body, is_stored=True) for kind, body in objects])


def after(report: ImportReport) -> Document:
    """The router that the import was committed on."""
    return Document(report.others)


def in_force(report: ImportReport, kind: str = "firewall-rule") -> list[Json]:
    return [rule for rule in of_kind(report, kind) if not rule.get("disabled")]


def not_wan(*wans: str) -> str:
    members = "".join(f"add interface={name} list=WAN\n" for name in wans)
    return (
        f"/interface list\nadd name=WAN\n/interface list member\n{members}"
        "/ip address\nadd address=10.0.0.1/24 interface=ether5\nadd address=10.0.1.1/24 interface=ether2\n"
        "/ip firewall filter\nadd chain=input in-interface-list=!WAN\n"
    )


def test_an_interface_that_is_in_the_list_now_is_not_among_the_others_of_an_earlier_import() -> None:
    eth7 = router_with(("interface", {"id": "eth7", "role": "none"}))
    before = Document([*eth7, *import_of(not_wan("ether1"), eth7).others])
    assert len(in_force(import_of(not_wan("ether1"), before))) == 1
    report = import_of(not_wan("ether1", "ether5"), before)
    assert in_force(report) == []
    assert report.lines[-1].fate == "warning"
    assert "the set not-wan-interfaces of this router also holds ether5." in report.lines[-1].reason
    mended = Document([*eth7, *report.others])
    assert len(in_force(import_of(not_wan("ether1", "ether5"), mended))) == 1


def test_all_but_a_list_is_all_but_what_is_in_it_now() -> None:
    before = after(import_of(not_wan("ether1")))
    for wans in (("ether1",), ("ether1", "ether5")):
        (rule,) = in_force(import_of(not_wan(*wans), before))
        assert (rule["source_set"], rule["negated"]) == ("wan-interfaces", ["source_set"])
    drop = not_wan("ether1").replace("chain=input", "chain=input action=drop")
    more = ("set-entry", {"id": "mine", "set": "wan-interfaces", "value": "ether2"})
    report = import_of(drop, Document([*before, *router_with(more)]))
    assert len(in_force(report)) == 1
    assert "also holds ether2: the rule does not match these here." in report.lines[-1].reason


@pytest.mark.parametrize(
    ("action", "is_in_force"),
    [
        ("accept", False),
        ("jump jump-target=more", False),
        ("add-src-to-address-list address-list=seen", False),
        ("drop", True),
        ("reject", True),
    ],
)
@pytest.mark.parametrize("said", [{}, {"disabled": True}, {"value": "ether5"}])
def test_a_set_of_this_router_that_is_called_as_a_list_holds_no_more(
    action: str, is_in_force: bool, said: Json
) -> None:
    text = (
        "/interface list\nadd name=VPN\n/interface list member\nadd interface=ether5 list=VPN\n"
        f"/ip firewall filter\nadd chain=input action={action} in-interface-list=VPN\n"
    )
    existing = router_with(
        ("interface", {"id": "eth9", "role": "none"}),
        ("interface", {"id": "ether5", "role": "none"}),
        ("set", {"id": "vpn-interfaces", "type": "interface"}),
        ("set-entry", {"id": "mine", "set": "vpn-interfaces", "value": "eth9", **said}),
    )
    report = import_of(text, existing)
    assert bool(in_force(report)) is (is_in_force or bool(said))
    said_why = "also holds eth9." in report.lines[-1].reason
    assert said_why is not bool(in_force(report))


CHAIN = (
    "/ip firewall filter\nadd chain=input action=jump jump-target=customers protocol=tcp dst-port=22\n"
    "add chain=customers src-address=10.0.0.5\nadd chain=customers action=drop\n"
)


def of_chain(**said: object) -> tuple[str, Json]:
    return "firewall-rule", {"id": "mine", "chain": "customers", "position": 10, **said}


@pytest.mark.parametrize(
    ("here", "leads", "lets_pass"),
    [
        ([of_chain(action="accept")], False, True),
        ([of_chain(action="return")], False, True),
        ([of_chain(action="drop")], True, True),
        ([of_chain(action="accept", disabled=True)], True, True),
        ([of_chain(action="accept", chain="others")], True, True),
        ([of_chain(action="jump", chain="forward", jump_to="customers")], True, False),
        ([of_chain(action="jump", chain="forward", jump_to="customers", disabled=True)], True, True),
    ],
)
def test_a_chain_of_this_router_that_is_called_as_one_of_the_file_is_not_led_to(
    here: list[tuple[str, Json]], leads: bool, lets_pass: bool
) -> None:
    used = ("firewall-rule", {"id": "known", "chain": "customers", "action": "drop", "position": 20})
    report = import_of(CHAIN, router_with(*here, used))
    actions = {rule["action"] for rule in in_force(report)}
    assert actions == {"drop", *["jump"] * leads, *["accept"] * lets_pass}


def test_a_chain_of_an_earlier_import_is_the_same_chain() -> None:
    before = import_of(CHAIN)
    again = import_of(CHAIN, after(before))
    assert [*again.others] == [*before.others]
    changed = import_of(CHAIN.replace("10.0.0.5", "10.0.0.6"), after(before))
    assert {rule["action"] for rule in in_force(changed)} == {"accept", "drop"}
    assert changed.lines[0].code == "chain-here"


KNOCK = (
    "/ip firewall filter\nadd chain=input action=add-src-to-address-list address-list=knock "
    "address-list-timeout=10m protocol=tcp dst-port=7777\n"
    "add chain=input {} src-address-list=knock protocol=tcp dst-port=22\n"
)


@pytest.mark.parametrize(
    ("rule", "is_told"),
    [
        ("action=accept", True),
        ("action=jump jump-target=more", True),
        ("action=add-src-to-address-list address-list=seen address-list-timeout=1d", True),
        ("action=drop", False),
        ("action=accept disabled=yes", False),
    ],
)
def test_a_rule_about_what_rules_of_this_router_add_says_so(rule: str, is_told: bool) -> None:
    text = KNOCK.format(rule)
    before = import_of(text)
    assert import_of(text, after(before)).lines[-1].code == before.lines[-1].code == "ok"
    rule_here = {"chain": "input", "action": "add-to-set", "family": "ipv4", "add_set": "knock"}
    existing = router_with(
        ("set", {"id": "knock", "type": "address", "source": "dynamic", "timeout_s": 600}),
        ("firewall-rule", {"id": "one", "position": 10, **rule_here}),
        ("firewall-rule", {"id": "other", "position": 20, "disabled": True, **rule_here}),
    )
    line = import_of(text, existing).lines[-1]
    said = "1 rule that adds to “knock” was here before: the rule matches what these add, too."
    assert (said in line.reason) is is_told
    assert (line.code == "more-entries") is is_told
