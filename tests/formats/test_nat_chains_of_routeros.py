# SPDX-License-Identifier: Apache-2.0
"""Jumps of /ip firewall nat: the rules of their chains have the conditions of both, in the file's order."""

from __future__ import annotations

from ipaddress import IPv4Network, ip_network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.formats.routeros import LISTS, import_of, of_kind, only
from weir.formats.routeros.menus.nat_chains import joined

HEAD = f"{LISTS}/ip firewall nat\n"


def test_a_jump_is_replaced_by_the_rules_of_its_chain() -> None:
    report = import_of(
        HEAD + "add chain=web action=dst-nat protocol=tcp dst-port=443 to-addresses=10.0.0.5 comment=shop\n"
        "add chain=dstnat action=redirect in-interface-list=WAN protocol=udp dst-port=53\n"
        "add chain=dstnat action=jump jump-target=web in-interface=ether1 dst-address=192.0.2.0/24\n"
        "add chain=web action=dst-nat protocol=tcp dst-port=25 to-addresses=10.0.0.6 dst-address=192.0.2.7\n"
        "add chain=srcnat action=masquerade out-interface-list=WAN\n"
    )
    first, second, third, last = of_kind(report, "nat-rule")
    assert [item["type"] for item in (first, second, third, last)] == [
        "redirect",
        "destination",
        "destination",
        "masquerade",
    ]
    assert (second["interface"], second["destination"], second["ports"]) == (
        "ether1",
        ["192.0.2.0/24"],
        ["443"],
    )
    assert (third["interface"], third["destination"], third["ports"]) == ("ether1", ["192.0.2.7/32"], ["25"])
    assert second["comment"] == "shop"
    fates = [(line.fate, line.code) for line in report.lines if line.source.startswith("/ip firewall nat")]
    assert fates[2] == ("changed", "jump") and {fate for fate, _ in fates} == {"imported", "changed"}


def test_jumps_lead_on_and_two_of_them_make_two_rules() -> None:
    report = import_of(
        HEAD + "add chain=dstnat action=jump jump-target=a in-interface=ether1\n"
        "add chain=dstnat action=jump jump-target=a in-interface=ether2 disabled=yes\n"
        "add chain=a action=jump jump-target=b protocol=tcp\n"
        "add chain=b action=dst-nat protocol=6 dst-port=1-100 to-addresses=10.0.0.5\n"
        "add chain=b action=return\n"
    )
    one, other = of_kind(report, "nat-rule")
    assert (one["interface"], one["protocol"], one["ports"]) == ("ether1", "tcp", ["1-100"])
    assert (other["interface"], other["disabled"]) == ("ether2", True)


@pytest.mark.parametrize(
    ("jump", "rule", "code", "told"),
    [
        ("src-address-list=a", "src-address-list=b", "not-joined", "src-address-list=“a”"),
        ("dst-address=!10.0.0.1", "dst-address=10.0.0.2", "not-joined", "dst-address=“!10.0.0.1”"),
        ("protocol=udp", "protocol=tcp", "never-matches", "no packet"),
        ("in-interface=ether2", "in-interface=ether1", "never-matches", "no packet"),
        ("dst-address=192.0.2.1", "dst-address=192.0.2.2", "never-matches", "no packet"),
    ],
)
def test_conditions_that_are_not_one_leave_the_rule_out(jump: str, rule: str, code: str, told: str) -> None:
    report = import_of(
        HEAD + f"add chain=dstnat action=jump jump-target=a {jump}\n"
        f"add chain=a action=dst-nat to-addresses=10.0.0.5 {rule}\n"
    )
    assert of_kind(report, "nat-rule") == []
    first, second = report.lines[-2:]
    assert (first.fate, second.fate, second.code) == ("left-out", "left-out", code)
    assert told in second.reason


def test_a_condition_of_the_jump_that_weir_lacks_keeps_its_rules_out_of_force() -> None:
    report = import_of(
        HEAD + "add chain=dstnat action=jump jump-target=a connection-mark=m\n"
        "add chain=a action=dst-nat protocol=tcp dst-port=80 to-addresses=10.0.0.5 in-interface=ether1\n"
    )
    assert only(report, "nat-rule")["disabled"] is True
    assert "connection-mark" in report.lines[-1].reason


def test_what_is_behind_a_return_and_in_unused_or_circular_chains_is_left_out() -> None:
    report = import_of(
        HEAD + "add chain=dstnat action=jump jump-target=a\n"
        "add chain=a action=return src-address=10.0.0.1\n"
        "add chain=a action=redirect in-interface=ether1\n"
        "add chain=unused action=redirect in-interface=ether1\n"
        "add chain=dstnat action=jump jump-target=c\n"
        "add chain=c action=jump jump-target=c\n"
        "add chain=dstnat action=jump jump-target=nowhere\n"
    )
    assert of_kind(report, "nat-rule") == []
    found = [(line.fate, line.code) for line in report.lines[-7:]]
    assert [fate for fate, _ in found] == ["left-out"] * 7
    assert [code for _, code in found[1:4]] == ["return", "return", "unused-chain"]


NETWORKS = st.builds(
    lambda value, bits: str(IPv4Network((value, bits), strict=False)), st.integers(0, 15), st.integers(28, 32)
)
PORTS = st.lists(
    st.tuples(st.integers(1, 9), st.integers(0, 3)).map(lambda span: f"{span[0]}-{span[0] + span[1]}"),
    min_size=1,
    max_size=3,
).map(",".join)


def matched(given: dict[str, str] | None) -> set[tuple[int, int]]:
    """Each address of sixteen with each port of twelve that the rule is about."""
    if given is None:
        return set()
    network = ip_network(given["dst-address"])
    hosts = range(int(network[0]), int(network[-1]) + 1)
    return {(host, port) for host in hosts for text in given["dst-port"].split(",") for port in span(text)}


def span(text: str) -> range:
    low, _, high = text.partition("-")
    return range(int(low), int(high or low) + 1)


@given(NETWORKS, NETWORKS, PORTS, PORTS)
def test_a_joined_rule_is_about_what_both_are_about(one: str, other: str, ports: str, more: str) -> None:
    outer = {"chain": "dstnat", "dst-address": one, "dst-port": ports}
    inner = {"chain": "a", "dst-address": other, "dst-port": more}
    assert matched(joined(outer, inner)) == matched(outer) & matched(inner)
