# SPDX-License-Identifier: Apache-2.0
"""Helpers of connections from RouterOS: /ip firewall service-port."""

from __future__ import annotations

import pytest

from tests.formats.routeros import import_of, of_kind, only
from weir.kinds.connection_helper import ConnectionHelper
from weir.kinds.firewall import Firewall
from weir.model.document import Document

MENU = "/ip firewall service-port\n"


def row(helper: str, *ports: int, servers: tuple[str, ...] = ()) -> dict[str, object]:
    return {"helper": helper, "ports": list(ports), "servers": list(servers)}


def test_a_line_that_names_ports_or_says_on_is_a_helper() -> None:
    report = import_of(
        f"{MENU}set ftp ports=21,2121\nset tftp disabled=no ports=69\n"
        "set sip ports=5060,5061 sip-direct-media=yes sip-timeout=1h\nset pptp disabled=no\n"
    )
    assert only(report, "firewall")["helpers"] == [
        row("ftp", 21, 2121),
        row("tftp"),
        row("sip", 5060, 5061),
        row("pptp"),
    ]
    assert {line.code for line in report.lines} == {"ok"}


def test_what_is_off_or_not_there_is_left_out() -> None:
    report = import_of(
        f"{MENU}set ftp disabled=yes\nset irc ports=6667\nset h323 disabled=yes\nset sctp disabled=no\n"
    )
    assert of_kind(report, "firewall") == []
    assert [(line.fate, line.code) for line in report.lines] == [
        ("left-out", "helper-off"),
        ("left-out", "no-helper"),
        ("left-out", "helper-off"),
        ("left-out", "no-helper"),
    ]


def test_a_helper_may_be_found_by_its_name() -> None:
    report = import_of(
        f"{MENU}set [ find name=ftp ] disabled=no ports=2121\nset [find name=telnet] disabled=yes\n"
    )
    assert only(report, "firewall")["helpers"] == [row("ftp", 2121)]
    assert [line.fate for line in report.lines] == ["imported", "left-out"]


def test_what_is_here_stays() -> None:
    here = Firewall(
        masquerade=False,
        helpers=(ConnectionHelper("sip", (5080,), ("192.0.2.0/24",)), ConnectionHelper("ftp", (2121,))),
    )
    report = import_of(f"{MENU}set sip disabled=no\nset ftp ports=21\nset tftp ports=69\n", Document([here]))
    found = only(report, "firewall")
    assert found["helpers"] == [row("sip", 5080, servers=("192.0.2.0/24",)), row("ftp"), row("tftp")]
    assert found["masquerade"] is False


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("set ftp ports=ftp", "bad-value"),
        ("set ftp ports=0", "bad-value"),
        ("set ftp ports=1,2,3,4,5,6,7,8,9", "bad-value"),
        ("set ports=21", "bad-value"),
        ("set sip ports=5060 sip-direct-media=no", "not-taken"),
        ("set sip ports=5060 sip-timeout=2h", "not-taken"),
    ],
)
def test_what_cannot_be_said_here_is_named(line: str, code: str) -> None:
    report = import_of(f"{MENU}{line}\n")
    (found,) = report.lines
    assert found.code == code
