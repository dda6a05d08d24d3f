# SPDX-License-Identifier: Apache-2.0
"""DHCP relays: what is refused, what a relay becomes, and what it does to messages."""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from weir.kinds.dhcp_relay import DhcpRelay
from weir.kinds.dhcp_server import DhcpServer
from weir.kinds.firewall import Firewall
from weir.model.document import Document
from weir.model.interface import Interface
from weir.model.rules import validate_all
from weir.parts.dhcp_relay import DHCP_RELAY
from weir.parts.firewall import FIREWALL
from weir.relay.messages import (
    ALL_STATIONS,
    EVERYBODY,
    HOPS,
    MALFORMED,
    STRANGER,
    UNTRUSTED,
    Answer,
    Dropped,
    Rules,
    agent_option,
    packet_to_client,
    payload,
    to_client,
    to_server,
)

LAN = Interface("lan0", "lan", addresses=("2001:db8::1/64", "10.64.0.1/24", "10.65.0.1/24"))
RELAY = DhcpRelay("near", "lan0", ("192.0.2.67",))


def codes(*items: Any) -> list[tuple[str, str]]:
    return [
        (item.code, str(item.field)) for item in validate_all(Document(items)) if item.kind == "dhcp-relay"
    ]


def test_a_relay_with_a_server_elsewhere_is_taken() -> None:
    assert codes(LAN, RELAY) == []


@pytest.mark.parametrize(
    ("items", "code", "field"),
    [
        ((replace(LAN, addresses=("2001:db8::1/64",)), RELAY), "no-address", "interface"),
        ((replace(LAN, role="wan"), RELAY), "dhcp-on-wan", "interface"),
        ((replace(LAN, vrf="red"), Interface("red", vrf_table=7), RELAY), "dhcp-in-vrf", "interface"),
        ((LAN, RELAY, DhcpServer("own", "lan0")), "relay-and-server", "interface"),
        ((LAN, RELAY, replace(RELAY, id="other")), "two-relays", "interface"),
        ((LAN, replace(RELAY, servers=())), "no-server", "servers"),
        ((LAN, replace(RELAY, servers=("255.255.255.255",))), "no-server", "servers"),
        ((LAN, replace(RELAY, servers=("2001:db8::67",))), "not-ipv4", "servers"),
        ((LAN, replace(RELAY, servers=("10.65.0.7",))), "server-beside-clients", "servers"),
        ((LAN, replace(RELAY, servers=("10.64.0.1",))), "own-address", "servers"),
        ((LAN, replace(RELAY, remote_id="ä" * 101)), "too-long", "remote_id"),
    ],
)
def test_what_cannot_work_is_refused(items: tuple[Any, ...], code: str, field: str) -> None:
    assert codes(*items) == [(code, field)]


def test_what_is_disabled_is_in_nobodys_way() -> None:
    off = replace(RELAY, disabled=True, servers=())
    assert codes(LAN, off, RELAY, DhcpServer("own", "lan0", disabled=True)) == []


def test_it_becomes_the_first_address_of_its_interface() -> None:
    (spec,) = DHCP_RELAY.wanted(Document((LAN, replace(RELAY, servers=("192.0.2.67",) * 2)))).values()
    assert (spec.ifname, spec.address, spec.servers) == ("lan0", "10.64.0.1", ("192.0.2.67",))
    assert not DHCP_RELAY.wanted(Document((replace(LAN, disabled=True), RELAY)))


def test_a_wan_lets_its_servers_answers_in_and_nothing_else_of_them() -> None:
    wan = Interface("wan0", "wan", addresses=("203.0.113.2/24",))
    rules = FIREWALL.wanted(Document((wan, LAN, RELAY, Firewall(drop_new_from_wan=True))))
    (rule,) = [rule for rule in rules if rule.made_by == "dhcp-relay/near"]
    assert (rule.chain, rule.verdict, rule.in_interfaces) == ("input", "accept", ("wan0",))
    assert (rule.sources, rule.destinations, rule.ports) == (("192.0.2.67",), ("10.64.0.1",), ("67",))


# -- messages ------------------------------------------------------------------------------------------------

OWN, OTHER, MAC = bytes((10, 64, 0, 1)), bytes((10, 9, 0, 1)), bytes.fromhex("02005e100001")
MARK = agent_option(b"lan0", b"tower")
RULES = Rules(OWN, MARK, trusted=False, max_hops=4)
TRUSTING = replace(RULES, trusted=True)
KIND, FORGED = bytes((53, 1, 1)), bytes((82, 6, 1, 4)) + b"evil"


def message(operation: int, *options: bytes, hops: int = 0, flags: int = 0, **fields: bytes) -> bytes:
    body = struct.pack("!BBBBIHH", operation, 1, 6, hops, 1, 0, flags) + bytes(4)
    body += fields.get("offered", bytes(4)) + bytes(4) + fields.get("relay", bytes(4))
    body += MAC.ljust(16, b"\0") + fields.get("sname", b"").ljust(64, b"\0")
    body += fields.get("file", b"").ljust(128, b"\0")
    return body + bytes.fromhex("63825363") + b"".join(options) + b"\xff"


def test_a_question_gets_the_relays_address_a_hop_and_where_it_came_from() -> None:
    asked = to_server(message(1, KIND, b"\0\0"), RULES)
    assert asked[3] == 1 and asked[24:28] == OWN and len(asked) == 300
    assert asked[240:].rstrip(b"\0") == KIND + bytes((82, len(MARK))) + MARK + b"\xff"
    assert b"lan0" not in to_server(message(1, KIND), replace(RULES, agent_option=b""))


def test_no_room_for_option_82_leaves_it_out() -> None:
    long = b"".join(bytes((224 + number, 240)) + bytes(240) for number in range(5))
    assert b"lan0" not in to_server(message(1, KIND, long, bytes((230, 9)) + bytes(9)), RULES)


@pytest.mark.parametrize(
    "forged",
    [
        message(1, KIND, FORGED),
        message(1, FORGED, KIND),
        message(1, KIND, bytes((52, 1, 1)), file=FORGED + b"\xff"),
        message(1, KIND, bytes((52, 1, 2)), sname=FORGED + b"\xff"),
        message(1, KIND, relay=OTHER),
        message(1, KIND, relay=OWN),
    ],
)
def test_only_who_is_trusted_says_where_a_client_is(forged: bytes) -> None:
    with pytest.raises(Dropped, match=UNTRUSTED):
        to_server(forged, RULES)
    if forged[24:28] != OWN:
        passed = to_server(forged, TRUSTING)
        assert b"lan0" not in passed and passed[24:28] == (forged[24:28].strip(b"\0") or OWN)


def test_what_stands_behind_the_end_goes_no_further() -> None:
    assert b"evil" not in to_server(message(1, KIND, b"\xff", FORGED), RULES)


@pytest.mark.parametrize(
    ("body", "take", "reason"),
    [
        (message(1, KIND, hops=4), to_server, HOPS),
        (message(1), to_server, MALFORMED),
        (message(2, KIND), to_server, MALFORMED),
        (message(1, KIND, b"\x0c\xf0x"), to_server, MALFORMED),
        (message(1, KIND)[:239], to_server, MALFORMED),
        (message(1, KIND, b"\x0c")[:-1], to_server, MALFORMED),
        (message(1, KIND, relay=OWN), to_client, MALFORMED),
        (message(2, KIND, relay=OTHER), to_client, STRANGER),
    ],
)
def test_what_is_not_passed_on(body: bytes, take: Callable[[bytes, Rules], object], reason: str) -> None:
    with pytest.raises(Dropped, match=reason):
        take(body, RULES)


def test_an_answer_goes_to_its_station_without_option_82() -> None:
    own = bytes((82, len(MARK))) + MARK
    offered = bytes((10, 64, 0, 50))
    answer = to_client(message(2, KIND, own, relay=OWN, offered=offered), RULES)
    assert (answer.address, answer.mac) == (offered, MAC) and b"lan0" not in answer.body
    answer = to_client(message(2, KIND, own, FORGED, relay=OWN, offered=offered, flags=0x8000), TRUSTING)
    assert (answer.address, answer.mac) == (EVERYBODY, ALL_STATIONS)
    assert b"lan0" not in answer.body and FORGED in answer.body
    assert to_client(message(2, KIND, relay=OWN), RULES).address == EVERYBODY


def test_packets_to_a_server_elsewhere_are_not_the_relays() -> None:
    packet = packet_to_client(Answer(b"x" * 300, EVERYBODY, ALL_STATIONS), OWN)
    asked = packet[:20] + struct.pack("!HH", 68, 67) + packet[24:]
    assert payload(asked, OWN) == b"x" * 300 and payload(packet, OWN) is None
    assert payload(asked[:16] + OWN + asked[20:], OWN) == b"x" * 300
    assert payload(asked[:16] + OTHER + asked[20:], OWN) is None
    assert all(payload(asked[:length], OWN) is None for length in range(len(asked)))
