# SPDX-License-Identifier: Apache-2.0
"""Lists of interfaces and addresses: what is in them, how they are called, what is said of what is lost."""

from __future__ import annotations

import pytest

from tests.formats.routeros import LISTS, import_of, of_kind, only
from weir.model.codec import from_json
from weir.model.document import Document
from weir.model.interface import Interface


def test_a_disabled_range_of_addresses_has_no_prefix_in_force() -> None:
    text = "/ip firewall address-list\nadd list=admins address=10.0.0.1-10.0.0.9 disabled=yes\n"
    entries = of_kind(import_of(text), "set-entry")
    assert len(entries) == 4
    assert all(entry["disabled"] for entry in entries)
    entries = of_kind(import_of(text + "add list=admins address=10.0.0.1\n"), "set-entry")
    assert [entry["value"] for entry in entries if not entry.get("disabled")] == ["10.0.0.1/32"]


def zones_of(text: str) -> dict[object, object]:
    return {item["id"]: item["role"] for item in of_kind(import_of(text), "interface")}


def test_a_list_holds_what_its_lists_include_without_what_they_exclude() -> None:
    text = (
        "/interface list\nadd name=staff exclude=guests include=all-of-us\nadd name=all-of-us\n"
        "add name=guests\n"
        "add name=LAN include=staff,none\n/interface list member\n"
        "add interface=ether2 list=all-of-us\nadd interface=ether3 list=all-of-us\n"
        "add interface=ether3 list=guests\nadd interface=ether4 list=LAN\n"
        "/ip firewall filter\nadd chain=input action=drop in-interface-list=!staff\n"
    )
    entries = {(item["set"], item["value"]) for item in of_kind(import_of(text, HERE), "set-entry")}
    assert ("staff-interfaces", "ether2") in entries
    assert ("staff-interfaces", "ether3") not in entries
    assert {value for name, value in entries if name == "not-staff-interfaces"} == {"ether3", "ether4"}
    assert zones_of(text) == {"ether2": "lan", "ether3": "none", "ether4": "lan"}


@pytest.mark.parametrize(
    "said",
    ["include=dynamic", "exclude=static", "include=all", "include=odd", "include=loop", "exclude=loop"],
)
@pytest.mark.parametrize("match", ["odd", "!odd"])
def test_a_list_that_only_a_running_router_knows_is_none(said: str, match: str) -> None:
    report = import_of(
        f"/interface list\nadd name=odd {said}\nadd name=loop include=odd\n"
        "/interface list member\nadd interface=ether2 list=odd\n"
        f"/ip firewall filter\nadd chain=input action=accept in-interface-list={match}\n"
    )
    assert [line.fate for line in report.lines] == ["left-out", "left-out", "left-out", "warning"]
    assert report.lines[-1].code == "match-not-taken"
    assert only(report, "firewall-rule")["disabled"] is True
    assert of_kind(report, "set") == []


HERE = Document([Interface("eth7", "lan")])
"""With an interface of which no file knows."""


def test_the_others_are_also_interfaces_that_a_later_command_names_first() -> None:
    report = import_of(
        LISTS + "/ip firewall filter\nadd chain=input action=drop in-interface-list=!GUESTS\n"
        "add chain=input action=accept in-interface=ether9\n",
        HERE,
    )
    entries = {
        item["value"] for item in of_kind(report, "set-entry") if item["set"] == "not-guests-interfaces"
    }
    assert entries == {"ether1", "ether2", "ether9"}


LONG = "what-the-list-of-the-office-in-the-north-is-called"


@pytest.mark.parametrize(
    ("one", "other"),
    [("Админы", "Гости"), ("Trusted", "trusted"), ("a b", "a-b"), (f"{LONG}1", f"{LONG}2"), ("a", "a-2")],
)
def test_two_names_are_never_one_object(one: str, other: str) -> None:
    report = import_of(
        f'/ip firewall address-list\nadd list="{one}" address=10.0.0.1\nadd list="{other}" address=10.0.0.2\n'
        f'/interface list\nadd name="{one}"\nadd name="{other}"\n'
        f'/ip dhcp-server\nadd name="{one}" interface=ether1\nadd name="{other}" interface=ether2\n'
        f'/ip firewall filter\nadd chain="{one}" action=accept src-address-list="{one}"\n'
        f'add chain="{other}" action=drop src-address-list="{other}"\n'
    )
    assert len({item["id"] for item in of_kind(report, "set")}) == 4
    assert len(of_kind(report, "dhcp-server")) == 2
    first, second = of_kind(report, "firewall-rule")
    assert first["chain"] != second["chain"]
    held = {item["set"]: item["value"] for item in of_kind(report, "set-entry")}
    assert (held[first["source_set"]], held[second["source_set"]]) == ("10.0.0.1/32", "10.0.0.2/32")


def test_a_list_of_interfaces_and_one_of_addresses_are_two_sets() -> None:
    report = import_of(
        LISTS + "/ip firewall address-list\nadd list=guests-interfaces address=10.0.0.1\n"
        "/ip firewall filter\nadd chain=input action=drop src-address-list=guests-interfaces\n"
    )
    types = {item["id"]: item.get("type", "address") for item in of_kind(report, "set")}
    assert sorted(map(str, types.values())) == ["address", "interface"]
    assert types[only(report, "firewall-rule")["source_set"]] == "address"


def test_a_chain_of_ones_own_is_not_the_built_in_one() -> None:
    report = import_of(
        "/ip firewall filter\nadd chain=INPUT action=accept dst-address=10.0.0.1\n"
        "add chain=input action=jump jump-target=INPUT\n"
    )
    jump, accept = sorted(of_kind(report, "firewall-rule"), key=lambda rule: str(rule["chain"]))
    assert (jump["chain"], jump["jump_to"]) == ("input", accept["chain"])
    assert accept["chain"] != "input"


def test_raw_has_chains_of_its_own_and_one_of_them_is_built_in() -> None:
    report = import_of(
        "/ip firewall filter\nadd chain=bad action=drop protocol=tcp\n"
        "/ip firewall raw\nadd chain=prerouting action=jump jump-target=bad\n"
        "add chain=bad action=notrack protocol=udp dst-port=53\n"
        "add chain=output action=notrack\n"
        "add chain=prerouting action=drop connection-state=new\n"
        "add chain=prerouting action=reject\n"
        "/ipv6 firewall raw\nadd chain=prerouting action=drop src-address=2001:db8::/32\n"
    )
    of_filter, jump, inner, output, by_state, reject, sixth = report.lines
    assert [line.fate for line in (of_filter, jump, sixth)] == ["imported"] * 3
    assert (inner.code, output.fate, output.code) == ("ends-chain", "left-out", "raw-output")
    assert (by_state.code, reject.fate) == ("match-not-taken", "left-out")
    rules = {(str(rule["chain"]), str(rule["action"])): rule for rule in of_kind(report, "firewall-rule")}
    assert rules["raw/prerouting", "jump"]["jump_to"] == "raw-bad"
    assert set(rules) == {
        ("bad", "drop"),
        ("raw/prerouting", "jump"),
        ("raw-bad", "notrack"),
        ("raw/prerouting", "drop"),
    }
    drops = [rule for rule in of_kind(report, "firewall-rule") if rule["chain"] == "raw/prerouting"]
    assert sorted(str(rule.get("family")) for rule in drops if rule.get("disabled")) == ["ipv4"]


def test_routes_whose_names_are_long_stay_two() -> None:
    prefix = "2001:db8:1234:5678:9abc:def0:1234"
    report = import_of(
        f"/ipv6 route\nadd dst-address={prefix}:1/128 gateway={prefix}:1111\n"
        f"add dst-address={prefix}:1/128 gateway={prefix}:1112\n"
    )
    assert len(of_kind(report, "static-route")) == 2


@pytest.mark.parametrize("times", [("10s", "1d"), ("1d", "10s")])
def test_a_list_that_learns_for_two_times_forgets_after_the_shorter(times: tuple[str, str]) -> None:
    add = "add chain=input action=add-src-to-address-list address-list=seen address-list-timeout="
    report = import_of(f"/ip firewall filter\n{add}{times[0]}\n{add}{times[1]} protocol=tcp\n")
    assert only(report, "set")["timeout_s"] == 10
    assert [line.code for line in report.lines] == ["ok", "timeout"]
    assert report.lines[1].fate == "changed"


@pytest.mark.parametrize(
    ("said", "timeout_s", "code"),
    [
        *((f"address-list-timeout={zero}", 2_592_000, "timeout") for zero in ("0", "0s", "00:00:00", "0ms")),
        *((f"address-list-timeout={never}", 2_592_000, "timeout") for never in ("none-dynamic", "31d")),
        ("", 2_592_000, "timeout"),
        ("address-list-timeout=500ms", 1, "timeout"),
        ("address-list-timeout=1m", 60, "ok"),
    ],
)
def test_what_is_learnt_for_ever_is_kept_for_as_long_as_weir_can(
    said: str, timeout_s: int, code: str
) -> None:
    text = f"/ip firewall filter\nadd chain=input action=add-src-to-address-list address-list=seen {said}\n"
    report = import_of(text)
    assert only(report, "set")["timeout_s"] == timeout_s
    assert report.lines[0].code == code


def test_an_entry_that_expires_in_less_than_a_second_is_left_out() -> None:
    text = "/ip firewall address-list\nadd list=a address=192.0.2.1 timeout={}\n"
    assert import_of(text.format("500ms")).lines[0].code == "expires"
    assert import_of(text.format("00:00:00")).lines[0].code == "ok"


@pytest.mark.parametrize(("said", "is_one"), [("", True), ("=yes", True), ("=no", False)])
def test_a_route_is_a_blackhole_where_the_file_says_so(said: str, is_one: bool) -> None:
    report = import_of(f"/ip route\nadd dst-address=10.0.0.0/8 gateway=192.0.2.1 blackhole{said}\n")
    assert only(report, "static-route").get("blackhole", False) is is_one


def zone_here(zone: str) -> Document:
    text = {"id": "ether1", "role": zone}
    other = [from_json("zone", {"id": "guests"})] if zone == "guests" else []
    return Document([*other, from_json("interface", text, is_stored=True)])


OUTSIDE = {
    "its member": "/interface list\nadd name=WAN\n/interface list member\nadd interface=ether1 list=WAN\n",
    "it masquerades": "/ip firewall nat\nadd chain=srcnat action=masquerade out-interface=ether1\n",
}


@pytest.mark.parametrize("says", OUTSIDE.values(), ids=OUTSIDE)
@pytest.mark.parametrize(
    ("here", "becomes", "code"),
    [("lan", "wan", "zone-changed"), ("wan", "wan", "ok"), ("guests", "guests", "two-zones")],
)
def test_a_lan_of_this_router_that_is_outside_in_the_file_is_no_lan(
    says: str, here: str, becomes: str, code: str
) -> None:
    report = import_of(says, zone_here(here))
    assert only(report, "interface")["role"] == becomes
    assert report.lines[-1].code == code


def test_an_interface_that_the_file_calls_a_lan_stays_one_though_it_masquerades() -> None:
    members = OUTSIDE["its member"].replace("WAN", "LAN")
    assert only(import_of(members + OUTSIDE["it masquerades"]), "interface")["role"] == "lan"
    both = members + OUTSIDE["its member"]
    report = import_of(both)
    assert only(report, "interface")["role"] == "lan"
    assert report.lines[-1].code == "two-zones"


@pytest.mark.parametrize(("network", "code"), [("192.0.2.9", "peer"), ("192.0.2.1", "ok")])
def test_an_address_with_a_peer_says_that_it_is_not_taken(network: str, code: str) -> None:
    report = import_of(f"/ip address\nadd address=192.0.2.1/32 network={network} interface=ether1\n")
    assert report.lines[0].code == code


def test_a_port_of_a_bridge_that_takes_frames_without_tags_alone_says_what_it_takes_here() -> None:
    port = "add bridge=b interface=ether2 frame-types=admit-only-untagged-and-priority-tagged pvid=7\n"
    report = import_of(f"/interface bridge\nadd name=b vlan-filtering=yes\n/interface bridge port\n{port}")
    assert report.lines[-1].code == "frame-types"


def test_a_property_that_is_given_twice_is_told() -> None:
    rule = "add chain=forward src-address=192.0.2.1 src-address=192.0.2.2\n"
    report = import_of(f"/ip firewall filter\n{rule}")
    assert only(report, "firewall-rule")["source"] == ["192.0.2.2/32"]
    assert (report.lines[0].fate, report.lines[0].code) == ("warning", "repeated-property")


SAID_TWICE = {
    "static-route": "/ip route\nadd dst-address=10.0.0.0/8 gateway=192.0.2.1",
    "dns-forward": "/ip dns static\nadd name=a.lan type=FWD forward-to=192.0.2.1",
}


@pytest.mark.parametrize("kind", SAID_TWICE)
def test_what_is_said_twice_is_in_force_if_one_of_the_two_is(kind: str) -> None:
    command = SAID_TWICE[kind]
    for twice in (f"{command} disabled=yes\n{command}\n", f"{command}\n{command} disabled=yes\n"):
        assert "disabled" not in only(import_of(twice), kind)
    assert only(import_of(f"{command} disabled=yes\n" * 2), kind)["disabled"] is True


def test_routes_by_two_interfaces_are_two() -> None:
    command = SAID_TWICE["static-route"]
    routes = of_kind(import_of(f"{command}%ether1\n{command}%ether2\n"), "static-route")
    assert {route["interface"] for route in routes} == {"ether1", "ether2"}


def test_a_second_server_for_the_names_of_a_domain_is_left_out_and_says_so() -> None:
    command = SAID_TWICE["dns-forward"]
    report = import_of(f"{command}\n{command.replace('192.0.2.1', '192.0.2.2')}\n")
    assert only(report, "dns-forward")["servers"] == [
        {"address": "192.0.2.1", "port": None, "tls_name": None}
    ]
    assert [line.fate for line in report.lines] == ["changed", "left-out"]


@pytest.mark.parametrize(
    ("rule", "is_told"),
    [
        ("filter\nadd chain=input", True),
        ("filter\nadd chain=input action=drop", False),
        ("nat\nadd chain=dstnat action=redirect protocol=tcp dst-port=80", True),
        ("nat\nadd chain=dstnat", False),
    ],
)
def test_a_rule_that_lets_pass_what_a_set_of_this_router_holds_says_so(rule: str, is_told: bool) -> None:
    entry = "/ip firewall address-list\nadd list=office address=192.0.2.1\n"
    text = entry + "/ip firewall {} src-address-list=office\n"
    before = import_of(text.format(rule))
    assert import_of(text.format(rule), Document(before.others)).lines[-1].code == before.lines[-1].code
    by_hand = from_json("set-entry", {"id": "one", "set": "office", "value": "192.0.2.9/32"})
    report = import_of(text.format(rule), Document([*before.others, by_hand]))
    said = "1 entry of “office” was here before: the rule matches these, too."
    assert (said in report.lines[-1].reason) is is_told


def test_a_rule_that_weir_cannot_take_says_what_it_stopped() -> None:
    lists = "/ip firewall address-list\nadd list=office address=192.0.2.1\n/ip firewall filter\n"
    report = import_of(f"{lists}add chain=more action=return src-address-list=office\n")
    assert report.lines[-1].fate == "left-out"
    assert "The rules after it and the zones now decide" in report.lines[-1].reason


OK = "imported"
NAMED = "/ip firewall address-list\nadd list=office address=192.0.2.0/24 comment=site\n"


def test_a_list_that_has_names_and_addresses_is_one_set() -> None:
    report = import_of(
        f"{NAMED}add list=office address=VPN.example.net\n"
        "add list=office address=www.example.net comment=web\n"
        "add list=office address=vpn.example.net\nadd list=office address=old.example.net disabled=yes\n"
        "/ipv6 firewall address-list\nadd list=office address=six.example.net\n"
        "/ip firewall filter\nadd chain=forward action=drop src-address-list=office\n"
    )
    found = only(report, "set")
    assert found["source"] == "dns"
    assert found["names"] == ["vpn.example.net", "www.example.net", "six.example.net"]
    assert [entry["value"] for entry in of_kind(report, "set-entry")] == ["192.0.2.0/24"]
    fates = [(line.fate, line.code) for line in report.lines]
    assert fates[:3] == [(OK, "ok"), (OK, "ok"), ("changed", "comment")]
    assert fates[3:] == [(OK, "ok"), ("left-out", "disabled"), (OK, "ok"), (OK, "ok")]
    assert [line.object_id for line in report.lines[1:4]] == ["office"] * 3
    assert only(report, "firewall-rule")["source_set"] == "office"


def test_more_names_than_a_set_has_are_left_out_and_said_to_be() -> None:
    lines = "".join(f"add list=office address=n{number}.example.net\n" for number in range(258))
    report = import_of(f"{NAMED}{lines}")
    assert len(only(report, "set")["names"]) == 256
    assert [line.fate for line in report.lines[-3:]] == [OK, "left-out", "left-out"]
    assert "at most 256 names" in report.lines[-1].reason


def test_rules_do_not_add_to_a_list_that_has_names() -> None:
    add = "add chain=input action=add-src-to-address-list address-list=office address-list-timeout=1d\n"
    report = import_of(f"{NAMED}add list=office address=a.example.net\n/ip firewall filter\n{add}")
    assert report.lines[-1].fate == "left-out"
    assert only(report, "set")["source"] == "dns"
