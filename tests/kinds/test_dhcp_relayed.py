# SPDX-License-Identifier: Apache-2.0
"""DHCP servers for networks behind relay agents: what is refused, who gets in, and what Kea is told."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.kinds.toys import Toy, toy
from weir.backends.kea_config import config_text, links_of
from weir.kinds.dhcp_relay import DhcpRelay
from weir.kinds.dhcp_relayed import Relayed
from weir.kinds.dhcp_reservation import DhcpReservation
from weir.kinds.dhcp_server import DhcpServer
from weir.kinds.dns import Dns
from weir.kinds.firewall import Firewall
from weir.kinds.firewall_rule import FirewallRule
from weir.kinds.zone import Zone
from weir.model.codec import from_json, to_stored_json
from weir.model.document import Document
from weir.model.interface import Interface, Loopback
from weir.model.rules import validate_all
from weir.parts.decision import Members, Packet, Rules, Walk
from weir.parts.dhcp import DHCP, DHCP_RELAYED
from weir.parts.firewall import FIREWALL

UP = Interface("up0", "lan", addresses=("10.9.0.1/24",))
LAN = Interface("lan0", "lan", addresses=("10.64.0.1/24",))
HERE = DhcpServer("here", "lan0", dns_servers=("192.0.2.53",))
RELAYED = Relayed("10.70.0.0/24", ("10.70.0.1",))
FAR = DhcpServer("far", "up0", dns_servers=("192.0.2.53",), relayed=RELAYED)
NEAR = replace(FAR, id="near", relayed=Relayed("10.71.0.0/24", ("10.71.0.1",)))


def codes(*items: Any) -> list[tuple[str, str, str | None]]:
    found = validate_all(Document(items))
    return [(item.id, item.code, item.field) for item in found if item.kind.startswith("dhcp-")]


def far(**fields: Any) -> DhcpServer:
    return replace(FAR, relayed=replace(RELAYED, **fields))


def test_it_serves_a_network_elsewhere_beside_servers_of_interfaces() -> None:
    assert codes(UP, LAN, HERE, FAR, NEAR) == []
    document = Document((UP, LAN, HERE, FAR))
    assert list(DHCP.wanted(document)) == ["server here"]
    (spec,) = DHCP_RELAYED.wanted(document).values()
    assert DHCP_RELAYED.text(None, spec) == (
        "server far on up0: 10.70.0.2-10.70.0.254 of 10.70.0.0/24, gateway 10.70.0.1, for 10.70.0.1"
    )


@pytest.mark.parametrize(
    ("server", "code", "field"),
    [
        (far(network="2001:db8::/64"), "not-ipv4", "relayed.network"),
        (far(network="10.64.0.128/25"), "network-here", "relayed.network"),
        (far(relays=()), "no-relay", "relayed.relays"),
        (far(relays=("10.70.0.1", "224.0.0.1")), "no-relay", "relayed.relays"),
        (far(relays=("10.70.0.1", "2001:db8::1")), "not-ipv4", "relayed.relays"),
        (far(relays=("10.70.0.1", "10.64.0.1")), "own-address", "relayed.relays"),
        (far(sources=("2001:db8::/32",)), "not-ipv4", "relayed.sources[0]"),
        (far(relays=("192.0.2.7",)), "no-gateway", "gateway"),
        (far(network="10.0.0.0/9", relays=("10.0.0.1",)), "network-here", "relayed.network"),
        (replace(FAR, gateway="10.71.0.1"), "gateway-outside", "gateway"),
        (replace(FAR, ranges=("10.9.0.7",)), "range-outside", "ranges"),
        (replace(FAR, ranges=("10.70.0.1",)), "no-addresses", "ranges"),
        (replace(FAR, interface="loop"), "no-relays-there", "interface"),
        (replace(FAR, interface="bare"), "no-address", "interface"),
        (replace(FAR, interface="red0"), "dhcp-in-vrf", "interface"),
        (replace(FAR, interface="lan0"), "relays-and-hosts", "interface"),
        (replace(FAR, dns_servers=()), "no-dns-server", "dns_servers"),
    ],
)
def test_what_cannot_be_served_is_refused(server: DhcpServer, code: str, field: str) -> None:
    others = (
        Interface("loop", addresses=("10.255.0.1/32",), loopback=Loopback()),
        Interface("bare", "lan"),
        Interface("red", vrf_table=9),
        Interface("red0", addresses=("10.8.0.1/24",), vrf="red"),
    )
    assert ("far", code, field) in codes(UP, LAN, HERE, *others, server)


def test_networks_and_relay_agents_belong_to_one_server_unless_one_is_disabled() -> None:
    wider = replace(NEAR, relayed=Relayed("10.70.0.0/16", ("10.70.0.1",)))
    assert codes(UP, FAR, wider) == [
        ("near", "networks-overlap", "relayed.network"),
        ("near", "relay-twice", "relayed.relays"),
    ]
    assert codes(UP, FAR, replace(wider, disabled=True)) == []


def test_a_relay_of_this_router_does_not_take_the_port() -> None:
    relay = DhcpRelay("mine", "up0", ("192.0.2.67",))
    assert codes(UP, FAR, relay) == [("mine", "relay-and-server", "interface")]


def test_a_reservation_is_in_the_network_elsewhere_and_no_relay_agents() -> None:
    def found(address: str) -> list[tuple[str, str, str | None]]:
        return codes(UP, FAR, DhcpReservation("r1", "far", address, circuit_id="port 7"))

    assert found("10.70.0.9") == []
    assert found("10.9.0.9") == [("r1", "address-outside", "address")]
    assert found("10.70.0.1") == [("r1", "own-address", "address")]


def test_relay_agents_and_the_gateway_are_nobodys_address() -> None:
    server = replace(far(relays=("10.70.0.1", "10.70.0.9")), gateway="10.70.0.254")
    (spec,) = DHCP_RELAYED.wanted(Document((UP, server))).values()
    assert "10.70.0.2-10.70.0.8, 10.70.0.10-10.70.0.253 of" in DHCP_RELAYED.text(None, spec)


def test_clients_elsewhere_ask_this_router_for_names_where_it_answers_them() -> None:
    server = replace(FAR, dns_servers=())
    for served, servers in (((), ()), (("10.70.0.0/16",), ("10.9.0.1",)), (("10.71.0.0/16",), ())):
        dns = Dns(enabled=True, serve_to=served)
        (spec,) = DHCP_RELAYED.servers(Document((UP, server, dns))).values()
        assert getattr(spec, "dns_servers", None) == servers


def test_kea_hears_relay_agents_by_udp_and_answers_those_that_are_named() -> None:
    wanted = DHCP_RELAYED.wanted(Document((UP, FAR, NEAR)))
    text = config_text(wanted, {"up0": 3}, Path("/s"), Path("/l"))
    said = json.loads(text)["Dhcp4"]
    assert said["interfaces-config"]["interfaces"] == ["up0/10.9.0.1"] and links_of(text) == {"up0"}
    assert said["interfaces-config"]["dhcp-socket-type"] == "udp"
    tests = [item["test"] for item in said["client-classes"]]
    assert tests[0] == "pkt4.giaddr == 0.0.0.0 or pkt4.giaddr == 10.70.0.1"
    first = said["subnet4"][0]
    assert "interface" not in first and first["relay"] == {"ip-addresses": ["10.70.0.1"]}
    assert first["client-class"] == said["client-classes"][0]["name"]
    direct = json.loads(config_text(DHCP.wanted(Document((LAN, HERE))), {"lan0": 3}, Path("/s"), Path("/l")))
    assert not {"client-classes"} & direct["Dhcp4"].keys()
    assert "dhcp-socket-type" not in direct["Dhcp4"]["interfaces-config"]


WAN = Interface("wan0", "wan", addresses=("203.0.113.2/24",))
POLICY = Firewall(drop_new_from_wan=True)
ANY = FirewallRule("any", chain="input", action="accept")
OPS = (Zone("ops", ("dns",)), Interface("ops0", "ops", addresses=("10.8.0.1/24",)))


def decided(came: str, source: str, to: str, *items: Any, port: int = 67) -> str:
    document = Document(items)
    packet = Packet(4, source, to, "udp", port, in_names=frozenset((came,)), to_router=True)
    found = Rules(FIREWALL.wanted(document), Members.of(document)).decide("input", packet, Walk())
    return "accept" if found is None or found.verdict == "accept" else found.verdict


@pytest.mark.parametrize("others", [(), (ANY,), (WAN, POLICY), (WAN, POLICY, ANY, *OPS)])
def test_only_its_network_relay_agents_and_sources_reach_it(others: tuple[Any, ...]) -> None:
    items = (UP, far(sources=("192.0.2.0/24",)), *others)
    for source in ("10.70.0.1", "10.70.0.77", "192.0.2.9"):
        assert decided("up0", source, "10.9.0.1", *items) == "accept", source
    for came, source in (("up0", "10.9.0.5"), ("up0", "10.71.0.1"), ("wan0", "198.51.100.9")):
        assert decided(came, source, "10.9.0.1", *items) == "drop", source
    assert decided("up0", "10.9.0.5", "10.9.0.1", *items, port=53) == "accept"
    assert decided("up0", "10.9.0.5", "10.9.0.255", *items) == "accept", "another address is none of its"


def test_they_come_in_by_a_wan_and_by_a_zone_that_reaches_dhcp() -> None:
    assert decided("wan0", "10.70.0.1", "10.9.0.1", UP, WAN, POLICY, FAR) == "accept"
    assert decided("wan0", "10.70.0.1", "10.9.0.1", UP, WAN, POLICY) == "drop"
    ops, port = OPS
    assert decided("ops0", "10.70.0.1", "10.9.0.1", UP, ops, port, FAR) == "drop"
    reaching = replace(ops, reaches=("dhcp",))
    assert decided("ops0", "10.70.0.1", "10.9.0.1", UP, reaching, port, FAR) == "accept"
    assert decided("ops0", "10.8.0.9", "10.9.0.1", UP, reaching, port, FAR) == "drop"


@pytest.fixture
def router(tmp_path: Path) -> Iterator[Toy]:
    with toy(tmp_path) as made:
        body = {"role": "lan", "addresses": ["10.9.0.1/24"]}
        assert made.api("PUT", "/interfaces/up0", body).status_code in (200, 201)
        yield made


def test_the_command_line_names_network_and_relay_agents(router: Toy) -> None:
    network = ("--relayed-network", "10.70.0.0/24", "--relay", "10.70.0.1")
    router.weir("dhcp-server", "add", "far", "up0", *network, "--dns", "192.0.2.53")
    router.weir("dhcp-server", "set", "far", "--relay", "10.70.0.1", "--relay", "10.70.0.9")
    found = router.api("GET", "/dhcp-servers/far").json
    assert found["relayed"]["relays"] == ["10.70.0.1", "10.70.0.9"]
    assert found["relayed"]["network"] == "10.70.0.0/24"
    refused = router.api("PUT", "/dhcp-servers/other", {"interface": "up0", "relayed": {"relays": []}})
    assert refused.status_code == 422
    assert [item["field"] for item in refused.json["findings"]] == ["relayed.network"]
    router.weir("dhcp-server", "set", "far", "--unset", "relayed")
    assert router.api("GET", "/dhcp-servers/far").json["relayed"] is None


def test_what_was_stored_before_reads_as_a_server_of_its_interface() -> None:
    stored = to_stored_json(HERE)
    assert "relayed" not in stored and from_json("dhcp-server", stored) == HERE
    assert from_json("dhcp-server", to_stored_json(FAR)) == FAR
