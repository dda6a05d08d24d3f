# SPDX-License-Identifier: Apache-2.0
"""From a router that nobody has an account on to one that somebody signs in to."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.http.world import Client, World
from weir.http.answers import NO_SETUP
from weir.service.setup import LAN_ADDRESS, WEIR

PASSWORD = "correct horse battery"
NEAR = {"REMOTE_ADDR": "192.168.88.20"}


class NewWorld(World):
    """An appliance at its first start; its ports are the fake agent's `lan0` and `wan0`."""

    def ask(self, method: str, body: Any = None, origin: dict[str, str] = NEAR) -> Any:
        # The application is shared between worlds, so its settings are this world's while it asks.
        return self.client(None)(method, "/setup", body, environ_overrides=origin)


@pytest.fixture
def new(tmp_path: Path) -> Iterator[NewWorld]:
    world = NewWorld(tmp_path, first_setup=True)
    world.parts.service.setup.stop()  # the tests say when
    with world:
        yield world


def prepared(world: NewWorld) -> NewWorld:
    assert world.parts.service.setup.prepare()
    return world


def port(interface: str, *addresses: str) -> dict[str, Any]:
    return {"interface": interface, "addresses": list(addresses)}


def test_the_first_start_gives_the_first_port_an_address(new: NewWorld) -> None:
    told = prepared(new).ask("GET").json
    assert told["needed"] is True
    assert told["lan"] == {"interface": "lan0", "address": LAN_ADDRESS}
    assert [port["id"] for port in told["ports"]] == ["lan0", "wan0"]
    assert new.parts.service.setup.prepare(), "a second look changes nothing"
    assert new.agent.revision == 1


def test_a_router_without_a_port_says_so_and_waits_for_one(new: NewWorld) -> None:
    new.agent.interfaces, ports = [], new.agent.interfaces
    assert new.parts.service.setup.prepare() is False
    assert "no network port" in new.ask("GET").json["reason"]
    new.agent.interfaces = ports
    prepared(new)
    assert new.ask("GET").json["reason"] is None


def test_the_first_visitor_makes_the_account_and_nobody_after(new: NewWorld) -> None:
    prepared(new)
    done = new.ask("POST", {"password": PASSWORD})
    assert (done.status_code, done.json["username"]) == (201, "admin")
    again = new.ask("POST", {"password": "another good one 7"})
    assert (again.status_code, again.json["code"]) == (409, "setup-done")
    assert new.ask("GET").json == NO_SETUP
    signed = new.client(None)("POST", "/auth/sign-in", {"username": "admin", "password": PASSWORD})
    assert (signed.status_code, signed.json["must_change_password"]) == (200, False)


def test_a_new_routers_ports_count_the_ethernet_frame(new: NewWorld) -> None:
    wan = {"interface": "wan0", "addresses": ["203.0.113.2/24"], "gateways": ["203.0.113.1"]}
    assert prepared(new).ask("POST", {"password": PASSWORD, "wan": wan}).status_code == 201
    with new.parts.service.config.document(WEIR) as document:
        assert {item.id: item.overhead_bytes for item in document.interfaces()} == {"lan0": 18, "wan0": 18}


def test_ports_and_the_way_out_are_configured_in_one_revision(new: NewWorld) -> None:
    before = prepared(new).agent.revision
    wishes = {
        "password": PASSWORD,
        "lan": {"interface": "wan0", "addresses": ["10.1.0.1/24"]},
        "wan": {"interface": "lan0", "addresses": ["198.51.100.2/30"], "gateways": ["198.51.100.1"]},
        "time_zone": "Europe/Berlin",
    }
    assert new.ask("POST", wishes).json["revision"] == before + 1
    kernel = new.agent.kernel
    assert kernel["interface", "wan0"].addresses == ("10.1.0.1/24",)
    checks = [kernel["interface", name].reverse_path for name in ("wan0", "lan0")]
    assert checks == ["strict", "loose"], "of a new router: its LAN is wan0 here"
    assert (kernel["interface", "lan0"].role, kernel["static-route", "default-v4"].gateway) == (
        "wan",
        "198.51.100.1",
    )
    assert kernel["identity", "identity"].time_zone == "Europe/Berlin"


def test_the_provider_may_give_the_address(new: NewWorld) -> None:
    prepared(new)
    done = new.ask("POST", {"password": PASSWORD, "wan": {"interface": "wan0", "addressing": "dhcp"}})
    assert done.status_code == 201, done.json
    made = new.agent.kernel["interface", "wan0"]
    assert (made.role, made.addressing, made.addresses) == ("wan", "dhcp", ())


@pytest.mark.parametrize(
    ("wrong", "code", "path"),
    [
        ({"password": "short"}, "weak-password", "password"),
        ({"password": "administrator"}, "weak-password", "password"),
        ({"time_zone": "Moon/Sea"}, "unknown-time-zone", "time_zone"),
        ({"lan": port("lan0", "10.1.0.0/24")}, "bad-address", "interface/lan0/addresses"),
        ({"lan": port("lan0", "ten")}, "bad-prefix", "interface/lan0/addresses[0]"),
        ({"lan": port("lan0")}, "invalid", "lan.addresses"),
        ({"lan": port("wan0", "10.1.0.1/24"), "wan": port("wan0")}, "one-port", "wan.interface"),
        ({"wan": port("lan0", "198.51.100.2/30")}, "one-port", "wan.interface"),
        ({"wan": port("wan0")}, "invalid", "wan.addresses"),
        ({"wan": {**port("wan0"), "gateways": ["nowhere"]}}, "bad-prefix", "wan.gateways"),
        (
            {"wan": {**port("wan0", "198.51.100.2/30"), "gateways": ["198.51.100.9"]}},
            "invalid",
            "wan.gateways",
        ),
    ],
)
def test_what_is_not_acceptable_is_refused_and_nothing_is_done(
    new: NewWorld, wrong: dict[str, Any], code: str, path: str | None
) -> None:
    before = prepared(new).agent.revision
    refused = new.ask("POST", {"password": PASSWORD, **wrong})
    assert refused.status_code == 422, refused.json
    assert (refused.json["code"], refused.json["path"]) == (code, path), refused.json
    assert new.agent.revision == before
    assert new.ask("GET").json["needed"] is True


def test_a_public_address_cannot_set_a_router_up(new: NewWorld) -> None:
    prepared(new)
    for method, body in (("GET", None), ("POST", {"password": PASSWORD})):
        refused = new.ask(method, body, {"REMOTE_ADDR": "8.8.8.8"})
        assert (refused.status_code, refused.json["code"]) == (403, "setup-from-outside")
    assert new.ask("GET", None, {"REMOTE_ADDR": "fe80::1"}).status_code == 200


def test_where_accounts_are_made_otherwise_there_is_no_setup(world: World) -> None:
    assert world.client(None)("GET", "/setup").json["needed"] is False
    assert world.client(None)("POST", "/setup", {"password": PASSWORD}).json["code"] == "no-setup"


def test_reset_and_power_are_for_administrators(world: World, api: Client) -> None:
    for scope in ("read", "write"):
        client = world.client(scope)
        assert client("POST", "/system/factory-reset", {"mode": "wipe"}).status_code == 403
        assert client("POST", "/system/power-off").status_code == 403
    assert world.agent.appliance.asked == []
    assert api("POST", "/system/factory-reset", {}).status_code == 422
    assert api("POST", "/system/factory-reset", {"mode": "keep"}).status_code == 202
    assert api("POST", "/system/power-off").json == {"powering_off": True}
    assert world.agent.appliance.asked == ["reset keep", "off"]


@pytest.mark.parametrize(
    ("state", "health"),
    [
        *(("ok", "ok"), ("reset", "ok"), ("repaired", "warning"), ("full", "warning")),
        *(("damaged", "failed"), ("missing", "failed"), ("failed", "failed")),
    ],
)
def test_health_tells_of_the_data_partition(world: World, api: Client, state: str, health: str) -> None:
    world.agent.data = {"state": state, "message": f"the data partition is {state}", "free_bytes": 1}
    world.parts.stats.stop()
    world.parts.stats.tick()
    check = next(item for item in api("GET", "/system").json["checks"] if item["id"] == "data")
    assert check == {"id": "data", "state": health, "message": f"The data partition is {state}."}
