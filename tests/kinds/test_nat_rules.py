# SPDX-License-Identifier: Apache-2.0
"""NAT rules: what is refused, what they become, and how many are compiled for a change of one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.kinds.toys import Toy, toy
from weir.kinds.firewall import Firewall
from weir.kinds.nat_rule import NatRule
from weir.model.document import Change, Document
from weir.model.interface import Interface
from weir.parts import nat as translations
from weir.parts.firewall import FIREWALL
from weir.parts.rule import PacketRule

FORWARD = {"type": "destination", "protocol": "tcp", "ports": ["8443"], "to_address": "10.64.0.2"}


@pytest.fixture(scope="module")
def router(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Toy]:
    with toy(Path(tmp_path_factory.mktemp("nat"))) as found:
        for path, body in (
            ("/interfaces/wan0", {"role": "wan", "addresses": ["203.0.113.2/24"]}),
            ("/interfaces/lan0", {"role": "lan", "addresses": ["10.64.0.1/24", "2001:db8:64::1/64"]}),
            ("/interfaces/wg0", {"wireguard": {"listen_port": 51820}, "addresses": ["10.99.0.1/24"]}),
            ("/sets/web", {"type": "port"}),
            ("/sets/friends", {}),
            ("/services/sip", {"protocol": "tcp-udp", "ports": ["5060-5061"]}),
            ("/firewall", {"allowed_wan_tcp_ports": [8022]}),
            (
                "/nat-rules/taken",
                {"type": "destination", "protocol": "tcp", "ports": ["7000-7009"], "to_address": "10.64.0.9"},
            ),
            (
                "/nat-rules/by-day",
                {**FORWARD, "ports": ["7100-7109"], "time": {"end": "08:00"}},
            ),
        ):
            etag = found.api("GET", path).json.get("etag")
            answer = found.api("PUT", path, body, etag=etag)
            assert answer.status_code in (200, 201), answer.json
        yield found


ONE = {"type": "one-to-one", "destination": ["198.51.100.0/28"], "to_address": "10.64.9.0/28"}
SIX = {"type": "prefix", "destination": ["2001:db8:1::/48"], "to_address": "fd00:1::/48"}


@pytest.mark.parametrize(
    ("said", "code"),
    [
        ({**FORWARD, "protocol": "any"}, "ports-without-protocol"),
        ({**FORWARD, "protocol": "any", "ports": [], "to_port": 80}, "ports-without-protocol"),
        ({**FORWARD, "service": "sip"}, "service-and-ports"),
        ({**FORWARD, "to_address": None}, "target-missing"),
        ({**FORWARD, "to_address": "10.64.0.0/24"}, "target-too-large"),
        ({**FORWARD, "to_address": "203.0.113.77"}, "target-outside"),
        ({**FORWARD, "to_address": "10.64.0.1"}, "own-address"),
        ({**FORWARD, "source": ["2001:db8::/32"]}, "family-mismatch"),
        ({**FORWARD, "to_address": "10.64.0"}, "bad-prefix"),
        ({**FORWARD, "to_port": 0}, "bad-number"),
        ({**FORWARD, "negated": ["source"]}, "nothing-negated"),
        ({**FORWARD, "source_mac": "01:00:5e:00:00:01"}, "bad-mac"),
        ({**FORWARD, "negated": ["source_mac"]}, "nothing-negated"),
        ({"type": "masquerade", "source_mac": "02:00:5e:10:00:07"}, "mac-not-seen"),
        ({"type": "none", "source_mac": "02:00:5e:10:00:07"}, "mac-not-seen"),
        ({**ONE, "source_mac": "02:00:5e:10:00:07"}, "mac-not-seen"),
        ({**FORWARD, "ports": [], "negated": ["protocol"], "to_port": 80}, "ports-without-protocol"),
        ({**FORWARD, "ports": ["1-65535"], "negated": ["ports"]}, "matches-nothing"),
        ({**FORWARD, "source": ["0.0.0.0/0"], "negated": ["source"]}, "family-mismatch"),
        ({**ONE, "negated": ["destination"]}, "too-narrow"),
        ({**FORWARD, "ports": ["1-7004"], "negated": ["ports"]}, "takes-open-port"),
        ({**FORWARD, "ports": ["1-7004", "7006-65535"], "negated": ["ports"]}, "port-taken"),
        (
            {**FORWARD, "destination": ["192.0.2.0/24"], "negated": ["destination"], "ports": ["8022"]},
            "takes-open-port",
        ),
        ({**FORWARD, "protocol": "udp", "ports": [], "negated": ["protocol"]}, "takes-open-port"),
        ({**FORWARD, "ports": ["9-8"]}, "bad-ports"),
        ({**FORWARD, "source": ["192.0.2.0/24"], "source_set": "friends"}, "prefixes-and-set"),
        ({**FORWARD, "source_set": "web"}, "wrong-type"),
        ({**FORWARD, "source_set": "nowhere"}, "unknown-set"),
        ({**FORWARD, "interface": "nowhere"}, "unknown-interface"),
        ({**FORWARD, "connections": 7}, "read-only"),
        ({**FORWARD, "ports": ["7005"]}, "port-taken"),
        ({**FORWARD, "ports": ["80", "6990-7000"], "interface": "wan0"}, "port-taken"),
        ({**FORWARD, "ports": ["7005"], "time": {"end": "08:00"}}, "port-taken"),
        ({**FORWARD, "ports": ["7105"], "time": {"end": "08:00"}}, "port-taken"),
        ({**FORWARD, "time": {"start": "22:00", "end": "06:00"}}, "bad-time"),
        ({**FORWARD, "ports": ["8000-8100"]}, "takes-open-port"),
        ({**FORWARD, "protocol": "any", "ports": []}, "takes-open-port"),
        ({**FORWARD, "protocol": "udp", "ports": ["51820"]}, "takes-open-port"),
        ({"type": "redirect", "protocol": "tcp", "ports": ["8022"], "to_port": 22}, "takes-open-port"),
        (
            {**FORWARD, "ports": ["443"], "interface": "lan0", "destination": ["10.64.0.0/24"]},
            "takes-management",
        ),
        ({**FORWARD, "ports": ["443"], "destination": ["0.0.0.0/0"]}, "takes-management"),
        ({"type": "masquerade", "to_address": "10.64.0.2"}, "target-unused"),
        ({"type": "none", "to_port": 7, "protocol": "tcp"}, "target-unused"),
        ({"type": "source"}, "target-missing"),
        ({**ONE, "to_address": "10.64.9.0/27"}, "sizes-differ"),
        ({**ONE, "destination": []}, "network-missing"),
        ({**ONE, "protocol": "tcp"}, "too-narrow"),
        ({**ONE, "to_address": "fd00::/28"}, "family-mismatch"),
        ({**SIX, "to_address": "fd00:1::/56"}, "sizes-differ"),
        ({**ONE, "type": "prefix"}, "family-mismatch"),
        ({"type": "carrier-pigeon"}, "bad-choice"),
    ],
)
def test_what_cannot_be_is_refused_with_a_reason(router: Toy, said: dict[str, Any], code: str) -> None:
    answer = router.api("POST", "/nat-rules", said)
    assert answer.status_code == 422, answer.json
    assert code in [item["code"] for item in answer.json["findings"]], answer.json


@pytest.mark.parametrize(
    "said",
    [
        FORWARD,
        {**FORWARD, "ports": ["443"]},
        {**FORWARD, "ports": ["7005"], "source": ["198.51.100.0/24"]},
        {**FORWARD, "ports": ["7005"], "protocol": "udp"},
        {**FORWARD, "ports": ["7005"], "destination": ["198.51.100.7"]},
        {**FORWARD, "ports": ["7005"], "disabled": True},
        {**FORWARD, "ports": ["7105"], "time": {"start": "18:00"}, "position": 1},
        {**FORWARD, "ports": ["7105"], "position": 2**50},
        {**FORWARD, "ports": ["8022"], "destination": ["198.51.100.7"]},
        {"type": "redirect", "protocol": "tcp", "ports": ["443"], "interface": "lan0"},
        ONE,
        SIX,
    ],
)
def test_what_takes_nothing_from_anybody_is_taken(router: Toy, said: dict[str, Any]) -> None:
    answer = router.api("POST", "/nat-rules", said)
    assert answer.status_code == 201, answer.json
    gone = router.api("DELETE", f"/nat-rules/{answer.json['id']}", etag=answer.json["etag"])
    assert gone.status_code == 204


def test_who_opens_a_forwarded_port_on_the_router_is_told_which_rule_has_it(router: Toy) -> None:
    etag = router.api("GET", "/firewall").json["etag"]
    answer = router.api("PUT", "/firewall", {"allowed_wan_tcp_ports": [7003]}, etag=etag)
    assert answer.status_code == 422
    (found,) = answer.json["findings"]
    assert (found["code"], found["kind"], found["id"]) == ("takes-open-port", "nat-rule", "taken")
    assert "7003" in found["message"] and "allowed_wan_tcp_ports" in found["message"]


def test_an_address_outside_that_nobody_has_is_told(router: Toy) -> None:
    body = {**FORWARD, "destination": ["203.0.113.77"]}
    made = router.api("POST", "/nat-rules", body)
    assert made.status_code == 201
    assert [item["code"] for item in made.json["warnings"]] == ["nobody-answers"]
    router.api("DELETE", f"/nat-rules/{made.json['id']}", etag=made.json["etag"])


LAN, WAN = Interface("lan0", "lan", ("10.64.0.1/24",)), Interface("wan0", "wan", ("203.0.113.2/24",))
RULE = NatRule("web", "destination", protocol="tcp", ports=("8443",), to_address="10.64.0.2/32")


def made(*items: Any) -> list[PacketRule]:
    return [rule for rule in FIREWALL.wanted(Document(items)) if rule.nat]


def test_a_forward_opens_the_firewall_only_where_that_is_closed() -> None:
    assert [rule.verdict for rule in made(LAN, WAN, RULE) if rule.chain == "forward"] == ["accept"]
    assert not [rule for rule in made(LAN, WAN, replace(RULE, allow=False)) if rule.chain == "forward"]
    opened = Firewall(drop_new_from_wan=False)
    assert not [rule for rule in made(LAN, WAN, RULE, opened) if rule.chain == "forward"]


def test_without_a_wan_there_is_nothing_to_forward_from() -> None:
    assert made(LAN, RULE) == []
    assert made(LAN, WAN, replace(RULE, disabled=True)) == []


def test_what_leads_through_the_router_back_to_the_same_network_gets_its_address() -> None:
    (back,) = [rule for rule in made(LAN, WAN, RULE) if rule.chain == "postrouting"]
    assert (back.verdict, back.in_interfaces, back.out_interfaces) == ("masquerade", ("lan0",), ("lan0",))
    routed = replace(RULE, to_address="10.99.0.2/32")
    (back,) = [rule for rule in made(LAN, WAN, routed) if rule.chain == "postrouting"]
    assert (back.in_interfaces, back.outside) == ((), ("wan0",))


def test_of_many_rules_the_one_that_changes_is_compiled() -> None:
    document = Document([LAN, WAN])
    for number in range(300):
        document.put(replace(RULE, id=f"many{number}", ports=(str(9000 + number),)))
    before = FIREWALL.wanted(document)
    old = document.get("nat-rule", "many7")
    assert isinstance(old, NatRule)
    change = Change("nat-rule", "many7", old, replace(old, ports=("80",)))
    document.apply([change])
    compiled = translations._translated.cache_info().misses
    _, delta = FIREWALL.moved(before, document, [change])
    assert translations._translated.cache_info().misses - compiled == 1
    assert {rule.nat for rule in delta.entries_after if rule not in delta.entries_before} == {"many7"}
