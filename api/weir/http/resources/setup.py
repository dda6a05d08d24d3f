# SPDX-License-Identifier: Apache-2.0
"""The first setup of a router that nobody has an account on, and making it one again."""

from __future__ import annotations

from typing import Any

from flask import Response

from weir.http.answers import NO_SETUP, findings_json
from weir.http.context import me, service, settings
from weir.http.endpoint import ADMIN, PUBLIC, Resource, answer
from weir.http.rendering import object_diff_json
from weir.http.schemas import setup, updates
from weir.http.security import origin
from weir.model.address import parse_host
from weir.model.codec import from_json
from weir.model.interface import Interface
from weir.model.problem import Invalid, Unsupported
from weir.service.presets import Choices, Network, Uplink
from weir.service.setup import Wishes

resource = Resource("setup", "The first setup of a new router, factory reset, power.")


@resource.operation("GET", "/setup", scope=PUBLIC, answers=setup.Setup)
def get_setup() -> Response:
    """Whether the router waits for its first account, and what it has to offer

    Answered to the router's own networks only while it waits.
    """
    return answer((settings().first_setup and service().setup.state(origin())) or NO_SETUP)


@resource.operation(
    "POST", "/setup", scope=PUBLIC, body=setup.SetupInput, answers=setup.SetupDone, status=201
)
def finish_setup(body: dict[str, Any]) -> Response:
    """Make the first account and configure a preset, or LAN and WAN alone, and the time zone

    Refused as a whole when a part is not acceptable, and (409) as soon as there is an account. A new LAN
    address holds at once: the answer may not arrive over the old one.
    """
    _require_first_setup()
    if body["preset"] is not None:
        chosen = Wishes(body["password"], preset=_choices(body), time_zone=body["time_zone"])
        return answer({"username": "admin", "revision": service().setup.finish(chosen, origin())}, 201)
    wishes = Wishes(
        password=body["password"],
        lan=_port(body["lan"], "lan"),
        wan=_port(body["wan"], "wan"),
        gateways=_gateways(body["wan"]["gateways"]) if body["wan"] else (),
        time_zone=body["time_zone"],
    )
    return answer({"username": "admin", "revision": service().setup.finish(wishes, origin())}, 201)


@resource.operation("POST", "/setup/plan", scope=PUBLIC, body=setup.SetupPlanInput, answers=setup.SetupPlan)
def plan_setup(body: dict[str, Any]) -> Response:
    """Show what a preset would make

    Changes nothing. Like the setup it is for the router's own networks, until there is an account.
    """
    _require_first_setup()
    changes, findings = service().setup.plan(_choices(body), origin())
    return answer(
        {"changes": [object_diff_json(item) for item in changes], "findings": findings_json(findings)}
    )


@resource.operation(
    "POST",
    "/system/factory-reset",
    scope=ADMIN,
    body=setup.FactoryResetInput,
    answers=updates.Restarting,
    status=202,
)
def reset_to_factory(body: dict[str, Any]) -> Response:
    """Restart as a new router

    Carried out by the start, before anything opens a file; after a power failure the next start goes on.
    """
    service().appliance.factory_reset(me(), body["mode"])
    return answer({"restarting": True}, 202)


@resource.operation("POST", "/system/power-off", scope=ADMIN, answers=setup.PoweringOff, status=202)
def power_off() -> Response:
    """Switch the router off"""
    service().appliance.power_off(me())
    return answer({"powering_off": True}, 202)


def _require_first_setup() -> None:
    if not settings().first_setup:
        raise Unsupported("accounts of this router are not made in the browser", code="no-setup")


def _choices(body: dict[str, Any]) -> Choices:
    preset, wan = body["preset"], body["wan"]
    return Choices(
        preset["id"],
        wan and Uplink(wan["interface"], wan["addressing"], tuple(wan["addresses"]), tuple(wan["gateways"])),
        _network(preset["lan"]),
        preset["second"] and _network(preset["second"]),
        preset["unknown"],
    )


def _network(chosen: dict[str, Any]) -> Network:
    return Network(tuple(chosen["ports"]), tuple(chosen["addresses"]), chosen.get("vlan_id"))


def _gateways(texts: list[str]) -> tuple[str, ...]:
    try:
        return tuple(parse_host(text) for text in texts)
    except Invalid as problem:
        raise Invalid(problem.message, code=problem.code, path="wan.gateways") from problem


def _port(chosen: dict[str, Any] | None, role: str) -> Interface | None:
    if chosen is None:
        return None
    fields: dict[str, Any] = {name: chosen[name] for name in ("addresses", "addressing") if name in chosen}
    fields |= {"id": chosen["interface"], "role": role}
    found = from_json("interface", fields, chosen["interface"])
    assert isinstance(found, Interface)
    return found
