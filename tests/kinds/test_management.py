# SPDX-License-Identifier: Apache-2.0
"""From where the web interface and the API may be reached, as rules and in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.kinds.toys import Toy, toy
from weir.kinds.certificate import Certificate
from weir.kinds.firewall import Firewall
from weir.kinds.firewall_rule import FirewallRule
from weir.kinds.management import Management
from weir.kinds.ssh_server import SshServer
from weir.kinds.zone import MANAGEMENT_PORTS, Zone
from weir.model.codec import from_json
from weir.model.document import Document
from weir.model.interface import Interface
from weir.model.problem import Problem
from weir.parts.decision import Members, Packet, Rules, Walk
from weir.parts.firewall import FIREWALL, rule_text
from weir.parts.registry import PARTS

BOTH = Management(sources=("192.0.2.0/24", "10.7.0.0/16", "2001:db8::/32"))
ANY = FirewallRule("any", chain="input", action="accept")
WAN, POLICY = Interface("wan0", "wan"), Firewall(allowed_wan_tcp_ports=(443,))
ACME = Certificate("web", "acme", names=("r.example.net",), directory="https://acme.example.net/d")


def texts(*items: Any) -> list[str]:
    return [rule_text(rule) for rule in FIREWALL.wanted(Document(items))]


GUARD = [
    "input accept from lo: what the router sends to itself",
    "input jump management: web interface and API (TCP 80, 443, 8080)",
    "management return IPv4: web interface and API from 192.0.2.0/24, 10.7.0.0/16",
    "management return IPv6: web interface and API from 2001:db8::/32",
    "management drop: web interface and API from elsewhere",
]


def test_who_may_come_is_asked_before_what_people_and_zones_let_in() -> None:
    zone, port = Zone("ops", ("management",)), Interface("lan0", "ops")
    assert texts(BOTH) == GUARD
    for others in (
        (ANY,),
        (zone, port),
        (WAN, POLICY),
        (ANY, zone, port, WAN, POLICY, SshServer(enabled=True)),
    ):
        found = texts(BOTH, *others)
        assert found[: len(GUARD)] == GUARD
        assert found[len(GUARD) :] == [text for text in texts(*others) if text not in GUARD]
    assert texts(Management()) == []


def test_a_family_that_none_of_the_sources_is_of_is_kept_out() -> None:
    found = texts(Management(sources=("2001:db8::/32",)))
    assert [text for text in found if "return" in text] == [
        "management return IPv6: web interface and API from 2001:db8::/32"
    ]


def decided(family: Any, source: str, port: int, came: str, *items: Any) -> str:
    document = Document(items)
    own = "203.0.113.2" if family == 4 else "2001:db8:9::1"
    packet = Packet(family, source, own, "tcp", port, in_names=frozenset((came,)), to_router=True)
    found = Rules(FIREWALL.wanted(document), Members.of(document)).decide("input", packet, Walk())
    return "accept" if found is None else f"{found.verdict} by {found.made_by or found.comment}"


@pytest.mark.parametrize("port", [int(port) for port in MANAGEMENT_PORTS])
def test_which_rule_decides(port: int) -> None:
    last = FirewallRule("last", chain="input", action="drop")
    refused = "drop by management/management"
    assert decided(4, "192.0.2.9", port, "lan0", BOTH, last) == "drop by last", (
        "rules of people's still count"
    )
    assert decided(4, "192.0.2.9", port, "lan0", BOTH) == "accept"
    assert decided(6, "2001:db8::9", port, "lan0", BOTH) == "accept"
    for family, source in ((4, "192.0.3.9"), (4, "203.0.113.2"), (6, "fe80::9"), (6, "2001:db9::9")):
        assert decided(family, source, port, "lan0", BOTH, ANY) == refused, source
    assert decided(4, "127.0.0.1", port, "lo", BOTH, last) == "accept by what the router sends to itself"
    assert decided(4, "127.0.0.1", port, "lan0", BOTH) == refused, "of another interface it is no loopback"


@pytest.mark.parametrize("port", [22, 53, 81, 8443])
def test_other_ports_are_none_of_its(port: int) -> None:
    assert decided(4, "192.0.3.9", port, "lan0", BOTH) == "accept"


def test_an_authority_reaches_the_port_that_it_asks_while_there_is_a_certificate_of_one() -> None:
    assert decided(4, "192.0.3.9", 80, "lan0", BOTH, ACME) == "accept"
    assert decided(4, "192.0.3.9", 443, "lan0", BOTH, ACME) == "drop by management/management"
    own = Certificate("web", names=("r.example.net",))
    assert decided(4, "192.0.3.9", 80, "lan0", BOTH, own) == "drop by management/management"
    assert (
        decided(4, "192.0.3.9", 80, "wan0", BOTH, ACME, WAN, POLICY)
        == "drop by everything else from a WAN to the router"
    )
    (part,) = (part for part in PARTS if part.name == "firewall")
    assert {"management", "certificate"} <= part.made_of


@pytest.mark.parametrize(
    ("rules", "own"),
    [
        ((), []),
        ((FirewallRule("f", chain="forward", action="drop"),), []),
        ((FirewallRule("i", chain="input", action="drop"),), ["input accept from lo"]),
        ((FirewallRule("o", chain="output", action="drop"),), ["outgoing accept to lo"]),
        (
            (
                FirewallRule("i", chain="input", action="drop"),
                FirewallRule("o", chain="output", action="drop"),
            ),
            ["input accept from lo", "outgoing accept to lo"],
        ),
        ((FirewallRule("i", chain="input", action="drop", disabled=True),), []),
    ],
)
def test_what_the_router_sends_to_itself_meets_no_rule_of_people(
    rules: Sequence[FirewallRule], own: Sequence[str]
) -> None:
    found = texts(*rules)
    first = [f"{text}: what the router sends to itself" for text in own]
    assert found[: len(first)] == first
    assert sum("itself" in text for text in found) == len(first)


@pytest.mark.parametrize(
    "sources",
    [
        "192.0.2.0/24",
        ["192.0.2.300"],
        ["192.0.2.1/24"],
        ["office"],
        [""],
        [None],
        [7],
        ["192.0.2.0/24"] * 65,
        {"a": 1},
    ],
)
def test_what_is_no_list_of_networks_is_refused_at_its_field(sources: Any) -> None:
    with pytest.raises(Problem) as refused:
        from_json("management", {"sources": sources}, "management")
    assert "sources" in str(refused.value.path)


def test_changed_sources_are_told_as_the_rules_that_change() -> None:
    before, after = (FIREWALL.wanted(Document([item])) for item in (Management(), BOTH))
    delta = FIREWALL.delta(before, after)
    assert [step.text for step in FIREWALL.made(delta)] == GUARD
    assert [step.text for step in FIREWALL.removed(delta.inverse())] == GUARD


@pytest.fixture
def router(tmp_path: Path) -> Iterator[Toy]:
    with toy(tmp_path) as found:
        yield found


def test_rest_command_and_which_rule_say_the_same(router: Toy) -> None:
    router.api("PUT", "/interfaces/lan0", {"role": "lan", "addresses": ["10.64.0.1/24"]})
    router.weir("management", "set", "--sources", "10.64.0.0/24", "--sources", "2001:db8::/32")
    held = router.api("GET", "/management").json
    assert held["sources"] == ["10.64.0.0/24", "2001:db8::/32"]
    assert "10.64.0.0/24" in router.weir("management", "show")
    asked = {"destination": "10.64.0.1", "protocol": "tcp", "port": 443, "in_interface": "lan0"}
    found = router.api("GET", "/firewall/decision", query_string={**asked, "source": "10.65.0.7"}).json
    decider = {"kind": "management", "id": "management", "text": GUARD[-1]}
    assert (found["verdict"], found["decided_by"]) == ("drop", decider)
    assert "elsewhere" in router.weir(
        "firewall", "decide", "10.65.0.7", "10.64.0.1", "tcp", "443", "--in", "lan0"
    )
    (listed,) = router.api("GET", "/firewall/ruleset", query_string={"chain": "input"}).json["items"][1:]
    assert (listed["kind"], listed["id"], listed["text"]) == ("management", "management", GUARD[1])
    near = router.api("GET", "/firewall/decision", query_string={**asked, "source": "10.64.0.7"}).json
    assert near["verdict"] == "accept"
    router.weir("management", "set", "--unset", "sources")
    assert router.api("GET", "/firewall/ruleset").json["total"] == 0


def test_a_packet_to_the_router_from_itself_meets_the_rule_of_its_loopback(router: Toy) -> None:
    router.api("PUT", "/interfaces/lan0", {"role": "lan", "addresses": ["10.64.0.1/24"]})
    router.api("PUT", "/firewall-rules/mute", {"chain": "output", "action": "drop"})
    asked = {"source": "10.64.0.1", "protocol": "tcp", "port": 8080}
    own = router.api("GET", "/firewall/decision", query_string={**asked, "destination": "10.64.0.1"}).json
    assert (own["verdict"], own["decided_by"]["kind"]) == ("accept", "firewall")
    far = router.api("GET", "/firewall/decision", query_string={**asked, "destination": "10.64.0.9"}).json
    assert (far["verdict"], far["decided_by"]["id"]) == ("drop", "mute")
