# SPDX-License-Identifier: Apache-2.0
"""/ip firewall mangle: what shares connections over several ways out becomes uplinks, or nothing of it."""

from __future__ import annotations

import pytest

from tests.formats.routeros import import_of, of_kind
from weir.formats import ImportReport

HEAD = (
    "/ip address\nadd address=192.0.2.2/30 interface=ether1\nadd address=198.51.100.2/30 interface=ether2\n"
    "add address=10.0.0.1/24 interface=ether3\n"
    "/routing table\nadd fib name=to_a\nadd fib name=to_b\n"
)
RULES = (
    "/ip firewall mangle\n"
    "add action=accept chain=prerouting dst-address=192.0.2.0/30 in-interface=ether3\n"
    "add action=mark-connection chain=prerouting connection-mark=no-mark in-interface=ether1 "
    "new-connection-mark=a\n"
    "add action=mark-connection chain=prerouting connection-mark=no-mark dst-address-type=!local "
    "in-interface=ether3 new-connection-mark=a per-connection-classifier=both-addresses:3/0\n"
    "add action=mark-connection chain=prerouting connection-mark=no-mark dst-address-type=!local "
    "in-interface=ether3 new-connection-mark=a per-connection-classifier=both-addresses:3/1\n"
    "add action=mark-connection chain=prerouting connection-mark=no-mark dst-address-type=!local "
    "in-interface=ether3 new-connection-mark=b per-connection-classifier=both-addresses:3/2\n"
    "add action=mark-routing chain=prerouting connection-mark=a in-interface=ether3 new-routing-mark=to_a\n"
    "add action=mark-routing chain=prerouting connection-mark=b in-interface=ether3 new-routing-mark=to_b\n"
    "add action=mark-routing chain=output connection-mark=a new-routing-mark=to_a\n"
)
ROUTES = (
    "/ip route\n"
    "add check-gateway=ping comment=fibre dst-address=0.0.0.0/0 gateway=192.0.2.1 routing-table=to_a\n"
    "add dst-address=0.0.0.0/0 gateway=198.51.100.1 routing-table=to_b\n"
    "add distance=2 dst-address=0.0.0.0/0 gateway=198.51.100.1 routing-table=to_a\n"
    "add distance=1 dst-address=0.0.0.0/0 gateway=192.0.2.1\n"
    "add distance=2 dst-address=0.0.0.0/0 gateway=198.51.100.1%ether2\n"
    "add dst-address=203.0.113.0/24 gateway=10.0.0.9\n"
)


def said_of(report: ImportReport, menu: str) -> list[str]:
    return [line.fate for line in report.lines if line.source.startswith(menu)]


def test_connections_that_are_shared_become_uplinks_with_weights() -> None:
    report = import_of(HEAD + RULES + ROUTES)
    a, b = of_kind(report, "uplink")
    assert (a["interface"], a["gateway"], a["weight"], a["comment"]) == ("ether1", "192.0.2.1", 2, "fibre")
    assert (b["interface"], b["gateway"], b["weight"]) == ("ether2", "198.51.100.1", 1)
    (route,) = of_kind(report, "static-route")
    assert route["destination"] == "203.0.113.0/24", "uplinks have the default routes"
    assert said_of(report, "/ip firewall mangle") == ["changed"] * 8
    assert said_of(report, "/ip route") == ["changed"] * 5 + ["imported"]


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("both-addresses:3/2", "both-addresses:3/1", "not about each connection once"),
        ("both-addresses:3/2", "both-addresses:4/2", "not about each connection once"),
        (
            "connection-mark=b in-interface=ether3 new-routing-mark",
            "connection-mark=c new-routing-mark",
            "“b”",
        ),
        ("new-routing-mark=to_b", "new-routing-mark=to_a", "several routing tables"),
        ("gateway=198.51.100.1 routing-table=to_b", "gateway=10.9.9.9 routing-table=to_b", "10.9.9.9"),
        (
            "dst-address-type=!local in-interface=ether3 new-connection-mark=b",
            "src-address=10.0.0.7 new-connection-mark=b",
            "src-address",
        ),
        ("0.0.0.0/0 gateway=198.51.100.1 routing-table=to_b", "10.0.0.0/8 gateway=10.0.0.7", "“to_b”"),
    ],
)
def test_where_a_part_is_missing_nothing_is_taken(old: str, new: str, told: str) -> None:
    text = HEAD + RULES + ROUTES
    assert old in text
    report = import_of(text.replace(old, new))
    assert of_kind(report, "uplink") == []
    lines = [line for line in report.lines if line.source.startswith("/ip firewall mangle")]
    assert {line.fate for line in lines} == {"left-out"}
    assert all(told in line.reason for line in lines), lines[0].reason


def test_other_marks_are_left_out() -> None:
    report = import_of(
        "/ip firewall mangle\nadd action=mark-packet chain=forward new-packet-mark=x passthrough=no\n"
        "add action=change-mss chain=forward new-mss=clamp-to-pmtu protocol=tcp tcp-flags=syn\n"
    )
    assert said_of(report, "/ip firewall mangle") == ["left-out"] * 2
