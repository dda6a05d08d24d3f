# SPDX-License-Identifier: Apache-2.0
"""The first setup by presets: what each makes, what is shown before, and what is refused, all at once."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest

from tests.http.agent import port_of
from tests.http.test_setup import NEAR, PASSWORD, NewWorld, new, prepared
from weir.compiler import SlotAllocation, compile_document
from weir.kinds.zone import Zone
from weir.model.delegation import Delegated, Dhcpv6
from weir.model.document import Document
from weir.model.rules import validate_all
from weir.service import Edit
from weir.service.presets import PRESETS
from weir.service.setup import WEIR

__all__ = ["new"]
PORTS = ("lan0", "wan0", "eth2", "eth3")


@pytest.fixture
def router(new: NewWorld) -> NewWorld:
    new.agent.interfaces = [port_of(name, number) for number, name in enumerate(PORTS, 1)]
    return prepared(new)


def chosen(preset: str, *, wan: Any = None, **changed: Any) -> dict[str, Any]:
    second = {"ports": ["eth3"], "addresses": ["10.20.0.1/24"]}
    lan = {"ports": ["lan0", "eth2"], "addresses": ["192.168.88.1/24"]}
    wanted = {"id": preset, "lan": lan, "second": None if preset == "home" else second, **changed}
    return {"preset": wanted, "wan": wan or {"interface": "wan0", "addressing": "dhcp"}}


def plan(world: NewWorld, body: dict[str, Any], origin: dict[str, str] = NEAR) -> Any:
    return world.client(None)("POST", "/setup/plan", body, environ_overrides=origin)


def running(world: NewWorld) -> dict[str, Any]:
    with world.parts.service.config.document(WEIR) as document:
        return {f"{item.kind}/{item.id}": item for item in document}


@pytest.mark.parametrize("preset", [preset.id for preset in PRESETS])
def test_what_is_shown_is_what_is_made_and_it_compiles(router: NewWorld, preset: str) -> None:
    before = running(router)
    shown = plan(router, chosen(preset))
    assert shown.status_code == 200, shown.json
    assert running(router) == before, "nothing is changed by looking"
    done = router.ask("POST", {"password": PASSWORD, **chosen(preset)})
    assert done.status_code == 201, done.json
    assert done.json["revision"] == 2, "one revision makes all of it"
    made = running(router)
    told = {f"{item['kind']}/{item['id']}": item["action"] for item in shown.json["changes"]}
    assert told.pop("interface/lan0") == "remove", "its address goes to the bridge"
    assert {name for name, action in told.items() if action == "add"} == set(made)
    document = Document(list(made.values()))
    assert [item for item in validate_all(document) if item.severity == "error"] == []
    assert compile_document(document, SlotAllocation(), datetime(2026, 1, 5))


def test_home_is_three_objects_with_names_and_a_closed_firewall(router: NewWorld) -> None:
    assert router.ask("POST", {"password": PASSWORD, **chosen("home")}).status_code == 201
    made = running(router)
    assert set(made) == {
        "interface/wan0", "interface/br-lan", "dhcp-server/lan", "dns/dns", "firewall/firewall"
    }  # fmt: skip
    wan, lan = made["interface/wan0"], made["interface/br-lan"]
    assert (wan.role, wan.addressing, wan.ipv6_addressing, wan.reverse_path) == (
        "wan",
        "dhcp",
        "auto",
        "loose",
    )
    assert (wan.dhcpv6, lan.delegated, lan.ra is not None) == (Dhcpv6(), Delegated("wan0"), True)
    assert (lan.role, lan.addresses, lan.reverse_path) == ("lan", ("192.168.88.1/24",), "strict")
    assert [port.interface for port in lan.bridge.ports] == ["lan0", "eth2"]
    assert {wan.overhead_bytes, lan.overhead_bytes} == {18}
    assert (made["dhcp-server/lan"].interface, made["dhcp-server/lan"].ranges) == ("br-lan", ())
    assert made["dns/dns"].enabled and made["dns/dns"].interfaces == ()
    policy = made["firewall/firewall"]
    assert (policy.allow_ping_from_wan, policy.drop_new_from_wan, policy.masquerade) == (False, True, True)


def test_guests_and_customers_reach_the_internet_and_not_the_login_page(router: NewWorld) -> None:
    second = {"ports": [], "addresses": ["100.64.0.1/22"], "vlan_id": 100}
    assert router.ask("POST", {"password": PASSWORD, **chosen("isp", second=second)}).status_code == 201
    made = running(router)
    customers = made["interface/customers"]
    assert customers.delegated is None and made["interface/wan0"].dhcpv6 is None
    assert (customers.vlan.parent, customers.vlan.id, customers.overhead_bytes) == ("br-lan", 100, 22)
    assert (customers.role, customers.unknown, customers.reverse_path) == ("customers", "drop", "strict")
    assert "management" not in made["zone/customers"].reaches
    policies = {(item.from_zone, item.to_zone) for name, item in made.items() if "zone-policy" in name}
    assert policies == {("customers", "wan"), ("lan", "customers")}
    assert [item.interface for item in made["dns/dns"].interfaces] == ["br-lan", "customers"]
    assert made["firewall/firewall"].allow_ping_from_wan


def test_several_ports_of_customers_do_not_reach_each_other(router: NewWorld) -> None:
    body = chosen(
        "isp",
        lan={"ports": ["lan0"], "addresses": ["192.168.88.1/24"]},
        second={"ports": ["eth2", "eth3"], "addresses": ["10.20.0.1/24"]},
        unknown="allow",
    )
    assert router.ask("POST", {"password": PASSWORD, **body}).status_code == 201
    made = running(router)
    bridge = made["interface/br-customers"]
    assert [port.isolated for port in bridge.bridge.ports] == [True, True]
    assert bridge.unknown == "allow"
    assert made["interface/lan0"].addresses == ("192.168.88.1/24",), "one port needs no bridge"


def test_public_networks_are_announced_and_not_translated(router: NewWorld) -> None:
    """A /64 that was given goes to hosts in place of a part of the provider's prefix."""
    lan = {"ports": ["lan0"], "addresses": ["8.8.4.1/24", "2001:db8:1::1/64"]}
    assert router.ask("POST", {"password": PASSWORD, **chosen("home", lan=lan)}).status_code == 201
    made = running(router)
    assert made["interface/lan0"].ra is not None and made["interface/lan0"].delegated is None
    rule = made["nat-rule/n1"]
    assert (rule.type, rule.source) == ("none", ("8.8.4.0/24",))


def test_a_fixed_wan_has_its_gateways(router: NewWorld) -> None:
    wan = {
        "interface": "wan0",
        "addresses": ["203.0.113.2/30", "2001:db8:9::2/64"],
        "gateways": ["203.0.113.1", "2001:db8:9::1"],
    }
    assert router.ask("POST", {"password": PASSWORD, **chosen("home", wan=wan)}).status_code == 201
    made = running(router)
    assert made["static-route/default-v4"].gateway == "203.0.113.1"
    assert made["static-route/default-v6"].gateway == "2001:db8:9::1"
    assert made["interface/wan0"].ipv6_addressing == "static"
    assert made["interface/wan0"].dhcpv6 is None and made["interface/br-lan"].delegated is None


LAN = {"ports": ["lan0"], "addresses": ["192.168.88.1/24"]}
WAN = {"interface": "wan0", "addressing": "dhcp"}


@pytest.mark.parametrize(
    ("wrong", "field", "words"),
    [
        ({"lan": {**LAN, "ports": ["lan0", "lan0"]}}, "preset.lan.ports", "lan0 is named twice"),
        ({"lan": {**LAN, "ports": ["wan0"]}}, "preset.lan.ports", "wan0 is a port of the WAN already"),
        ({"lan": {**LAN, "ports": []}}, "preset.lan.ports", "at least one port"),
        ({"lan": {**LAN, "ports": ["eth9"]}}, "preset.lan.ports", "no port eth9"),
        ({"lan": {**LAN, "addresses": []}}, "preset.lan.addresses", "give one, such as"),
        ({"lan": {**LAN, "addresses": ["fd00::1/64"]}}, "preset.lan.addresses", "give one, such as"),
        ({"lan": {**LAN, "addresses": ["ten"]}}, "preset.lan.addresses", "needs a prefix length"),
        ({"lan": {**LAN, "addresses": ["10.0.0.1/8"]}}, "preset.lan.addresses", "too large"),
        ({"lan": {**LAN, "addresses": ["10.0.0.1/31"]}}, "preset.lan.addresses", "no room for a host"),
        ({"lan": {**LAN, "addresses": ["10.0.0.0/24"]}}, "preset.lan.addresses", "10.0.0.0/24"),
        (
            {"wan": {"interface": "wan0", "addresses": ["192.168.88.9/29"]}},
            "preset.lan.addresses",
            "192.168.88.0/24 overlaps 192.168.88.8/29 of the WAN",
        ),
        ({"wan": {"interface": "wan0"}}, "wan.addresses", "a WAN needs an address"),
        ({"second": {"ports": ["eth3"], "addresses": []}}, "preset.second.ports", "Home has one network"),
        ({"wan": {**WAN, "gateways": ["nowhere"]}}, "wan.gateways", "nowhere"),
        ({"wan": {**WAN, "gateways": ["8.8.8.8"]}}, "wan.gateways", "not in a network of the WAN"),
    ],
)
def test_hostile_choices_are_refused_at_their_field(
    router: NewWorld, wrong: dict[str, Any], field: str, words: str
) -> None:
    body = chosen("home", **{"lan": LAN, **wrong})
    for refused in (plan(router, body), router.ask("POST", {"password": PASSWORD, **body})):
        assert refused.status_code == 422, refused.json
        (finding,) = refused.json["findings"]
        assert (finding["field"], refused.json["path"]) == (field, field)
        assert words in finding["message"]
    assert router.agent.revision == 1 and router.ask("GET").json["needed"] is True


@pytest.mark.parametrize(
    ("second", "words"),
    [
        (None, "needs a port or VLAN"),
        ({"ports": [], "addresses": ["10.20.0.1/24"]}, "either ports of its own, or a VLAN"),
        ({"ports": ["eth3"], "addresses": ["10.20.0.1/24"], "vlan_id": 5}, "either ports"),
        ({"ports": ["lan0"], "addresses": ["10.20.0.1/24"]}, "lan0 is a port of the LAN already"),
        ({"ports": ["eth3"], "addresses": ["192.168.88.200/25"]}, "overlaps 192.168.88.0/24 of the LAN"),
    ],
)
def test_a_second_network_is_apart_from_the_lan(router: NewWorld, second: Any, words: str) -> None:
    refused = plan(router, chosen("branch", second=second))
    assert refused.status_code == 422 and words in refused.json["detail"], refused.json


def test_all_that_is_wrong_is_said_at_once(router: NewWorld) -> None:
    body = chosen("home", lan={"ports": ["lan0", "eth9"], "addresses": ["ten"]}, wan={"interface": "wan0"})
    refused = router.ask("POST", {"password": "short", **body})
    assert {item["field"] for item in refused.json["findings"]} == {
        "password", "preset.lan.ports", "preset.lan.addresses", "wan.addresses"
    }  # fmt: skip


def test_a_router_with_one_port_says_so(router: NewWorld) -> None:
    router.agent.interfaces = router.agent.interfaces[:1]
    refused = plan(router, chosen("home", lan=LAN))
    assert [item["field"] for item in refused.json["findings"]] == ["wan.interface"]
    assert "needs two ports" in refused.json["detail"]


def test_a_configured_router_is_offered_no_preset_and_keeps_what_it_has(router: NewWorld) -> None:
    assert [item["id"] for item in router.ask("GET").json["presets"]] == ["home", "branch", "isp"]
    zone = Zone("mine")
    router.parts.service.config.commit(WEIR, [Edit("zone", zone.id, zone)])
    assert router.ask("GET").json["presets"] == []
    before = running(router)
    refused = router.ask("POST", {"password": PASSWORD, **chosen("home")})
    assert (refused.status_code, refused.json["code"]) == (409, "setup-configured")
    assert running(router) == before
    assert router.ask("POST", {"password": PASSWORD}).status_code == 201, "an account alone goes"


def test_the_plan_is_for_the_own_network_and_ends_with_the_account(router: NewWorld) -> None:
    refused = plan(router, chosen("home"), {"REMOTE_ADDR": "8.8.8.8"})
    assert (refused.status_code, refused.json["code"]) == (403, "setup-from-outside")
    assert router.ask("POST", {"password": PASSWORD}).status_code == 201
    assert plan(router, chosen("home")).json["code"] == "setup-done"
