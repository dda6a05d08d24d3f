# SPDX-License-Identifier: Apache-2.0
"""Helpers of connections: what is refused, told and made of them, and which connections they are for."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.kinds.toys import Toy, toy
from weir.kinds.connection_helper import ConnectionHelper
from weir.kinds.firewall import Firewall
from weir.kinds.firewall_rule import FirewallRule
from weir.kinds.nat_rule import NatRule
from weir.kinds.service import Service
from weir.model.document import Document
from weir.model.interface import Interface
from weir.model.rules import validate_all
from weir.parts.firewall import FIREWALL, rule_text

LAN = Interface("lan0", "lan", addresses=("10.64.0.1/24",))
WAN = Interface("wan0", "wan", addresses=("203.0.113.2/24",))
FTP = ConnectionHelper("ftp")


@pytest.fixture(scope="module")
def router(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Toy]:
    with toy(Path(tmp_path_factory.mktemp("helpers"))) as found:
        yield found


def texts(*items: Any, helpers: tuple[ConnectionHelper, ...] = (FTP,)) -> list[str]:
    """The rules that give a connection its helper."""
    rules = FIREWALL.wanted(Document([Firewall(helpers=helpers), *items]))
    return [rule_text(rule) for rule in rules if rule.chain == "helpers"]


def forward(**said: Any) -> NatRule:
    return NatRule("f", "destination", **{"to_address": "10.64.0.2/32", "hairpin": False, **said})


def test_what_begins_inside_is_helped_and_nothing_else() -> None:
    hidden = Interface("far0", "none")
    office = Interface("ops0", "office")
    rule = "helpers helper from lan0, from ops0 ftp_tcp"
    found = texts(LAN, WAN, hidden, office)
    assert [text.replace(" from ops0", ", from ops0") for text in found] == [
        f"{rule}: connections of FTP from inside (TCP 21)"
    ]
    assert texts(WAN) == [], "nothing is inside"
    assert texts(LAN, WAN, helpers=()) == []


def test_nothing_is_helped_where_no_connection_is_tracked() -> None:
    assert texts(LAN) == []
    assert len(texts(LAN, FirewallRule("r", "forward", "drop", ct_state=("new",)))) == 1


def test_servers_are_those_of_connections_from_inside() -> None:
    rows = (
        ConnectionHelper("sip", (5060, 5080), ("192.0.2.0/24", "2001:db8::/32")),
        ConnectionHelper("pptp", servers=("2001:db8::/32", "198.51.100.0/24")),
    )
    assert texts(LAN, WAN, forward(protocol="udp", ports=("5080",)), helpers=rows) == [
        "helpers helper from wan0 sip_udp: NAT rule f",
        *(
            f"helpers helper {family} from lan0 sip_{protocol}: connections of SIP from inside to {network} "
            f"({protocol.upper()} 5060, 5080)"
            for protocol in ("udp", "tcp")
            for family, network in (("IPv4", "192.0.2.0/24"), ("IPv6", "2001:db8::/32"))
        ),
        "helpers helper IPv4 from lan0 pptp_tcp: connections of PPTP from inside to 198.51.100.0/24 "
        "(TCP 1723)",
    ]


@pytest.mark.parametrize(
    ("rule", "ports"),
    [
        (forward(protocol="tcp", ports=("21",)), ["21"]),
        (forward(protocol="tcp", ports=("20-22",)), ["21"]),
        (forward(protocol="tcp", ports=("2121",), to_port=21), ["2121"]),
        (forward(protocol="tcp-udp", ports=("2121",), to_port=21), ["2121"]),
        (forward(protocol="tcp", ports=("21",), to_port=2121), None),
        (forward(protocol="tcp", ports=("22",)), None),
        (forward(protocol="udp", ports=("21",)), None),
        (forward(), ["21"]),
        (forward(service="files"), ["21"]),
        (forward(service="off"), None),
        (forward(protocol="tcp", ports=("21",), disabled=True), None),
        (NatRule("o", "one-to-one", destination=("203.0.113.9/32",), to_address="10.64.0.9/32"), ["21"]),
        (NatRule("r", "redirect", protocol="tcp", ports=("21",)), None),
        (NatRule("m", "masquerade"), None),
    ],
)
def test_a_forward_is_helped_where_it_leads_to_a_server_of_the_protocol(
    rule: NatRule, ports: list[str] | None
) -> None:
    services = (Service("files", ("21", "80")), Service("off", ("21",), disabled=True))
    rules = FIREWALL.wanted(Document([Firewall(helpers=(FTP,)), LAN, WAN, *services, rule]))
    found = [item for item in rules if item.chain == "helpers" and item.nat]
    assert [list(item.ports) for item in found] == ([] if ports is None else [ports])
    order = [item.chain for item in rules if item.nat and item.chain in ("helpers", "prerouting")]
    assert order == sorted(order)


def test_hosts_inside_that_ask_by_the_address_outside_are_helped_as_well() -> None:
    found = texts(LAN, WAN, forward(protocol="tcp", ports=("2121",), to_port=21, hairpin=True))
    assert found[:2] == [
        "helpers helper from wan0 ftp_tcp: NAT rule f",
        "helpers helper not from wan0 ftp_tcp: NAT rule f",
    ]


def test_each_rule_has_a_counter_of_its_own() -> None:
    rows = tuple(map(ConnectionHelper, ("ftp", "pptp", "sip", "tftp")))
    rules = FIREWALL.wanted(Document([Firewall(helpers=rows), LAN, WAN, forward(hairpin=True)]))
    counters = [rule.counter for rule in rules if rule.chain == "helpers"]
    assert len(counters) == 15 == len(set(counters)) and all(
        name.startswith("f_helpers_") for name in counters
    )


def test_a_helper_is_named_once_and_known(router: Toy) -> None:
    etag = router.api("GET", "/firewall").json["etag"]
    for helpers, code in (
        ([{"helper": "ftp"}, {"helper": "ftp", "ports": [2121]}], "repeated"),
        ([{"helper": "irc"}], "bad-choice"),
        ([{"helper": "ftp", "ports": [0]}], "bad-number"),
        ([{}], "missing"),
    ):
        answer = router.api("PATCH", "/firewall", {"helpers": helpers}, etag=etag)
        assert {item["code"] for item in answer.json["findings"]} == {code}, helpers


def test_who_may_have_ports_opened_is_told_unless_servers_are_named() -> None:
    rows = (
        ConnectionHelper("tftp"),
        ConnectionHelper("sip"),
        ConnectionHelper("ftp", servers=("192.0.2.0/24",)),
    )
    found = validate_all(Document([LAN, WAN, Firewall(helpers=rows)]))
    told = [item for item in found if item.code == "helper-for-all-servers"]
    assert [(item.severity, item.path) for item in told] == [
        ("notice", "firewall/firewall/helpers[1].servers")
    ]
    assert "the helper of SIP is for all servers" in told[0].message
