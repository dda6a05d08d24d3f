# SPDX-License-Identifier: Apache-2.0
"""First setup and factory reset as JSON."""

from __future__ import annotations

from typing import Any

from marshmallow import fields, validate

from weir.http.schemas.base import Answer, Input, Text, Whole, one_of
from weir.http.schemas.changes import Change
from weir.http.schemas.problem import Finding
from weir.model.limits import MAX_VLAN_ID, MIN_VLAN_ID
from weir.service.presets import BY_ID

MAX_ADDRESSES = 8
MAX_PORTS = 256


class SetupPort(Answer):
    id = fields.String()
    mac = fields.String()
    carrier = fields.Boolean(metadata={"description": "Whether a cable is in; false while the port is down."})
    speed_bps = fields.Integer(allow_none=True)


class SetupLan(Answer):
    interface = fields.String()
    address = fields.String()


class SetupSecond(Answer):
    """A network beside the LAN, in a zone of its own."""

    zone = fields.String()
    label = fields.String()
    about = fields.String()
    address = fields.String(metadata={"description": "What it has unless another is given."})
    vlan_id = fields.Integer(metadata={"description": "The tag that it has unless it has ports of its own."})
    unknown_ = one_of(
        "allow",
        "drop",
        data_key="unknown",
        attribute="unknown",
        metadata={"description": "Of addresses that are in no queue."},
    )
    from_lan = fields.Boolean(metadata={"description": "Whether the LAN reaches its hosts."})


class SetupPreset(Answer):
    """What is made at once: WAN, LAN, addresses, names and firewall, as ordinary objects."""

    id = fields.String()
    name = fields.String()
    about = fields.String()
    lan = fields.String(metadata={"description": "What its LAN is for."})
    ping_from_wan = fields.Boolean()
    second = fields.Nested(SetupSecond, allow_none=True)


class Setup(Answer):
    """Once there is an account: `needed` is false and nothing else is told."""

    needed = fields.Boolean()
    reason = fields.String(allow_none=True, metadata={"description": "What stands in the way of setting up."})
    lan = fields.Nested(SetupLan, allow_none=True)
    ports = fields.List(fields.Nested(SetupPort))
    presets = fields.List(
        fields.Nested(SetupPreset), metadata={"description": "None where the router is configured already."}
    )


class PortChoice(Input):
    interface = Text(min_length=1, max_length=15, required=True)
    addresses = fields.List(
        Text(min_length=1, max_length=64),
        required=True,
        validate=validate.Length(max=MAX_ADDRESSES),
        metadata={"description": "With prefix length, such as 192.168.88.1/24."},
    )


class WanChoice(PortChoice):
    addresses = fields.List(
        Text(min_length=1, max_length=64), load_default=list, validate=validate.Length(max=MAX_ADDRESSES)
    )
    addressing = one_of(
        "static",
        "dhcp",
        load_default="static",
        metadata={"description": "dhcp: address and way to the internet from the provider."},
    )
    gateways = fields.List(
        Text(min_length=1, max_length=64),
        load_default=list,
        validate=validate.Length(max=2),
        metadata={"description": "The way to the internet, one of each family."},
    )


def _addresses() -> fields.List[Any]:
    return fields.List(
        Text(min_length=1, max_length=64),
        required=True,
        validate=validate.Length(max=MAX_ADDRESSES),
        metadata={
            "description": "The router's own, with prefix length. A /64 of IPv6 is announced to hosts."
        },
    )


def _ports() -> fields.List[Any]:
    return fields.List(
        Text(min_length=1, max_length=15),
        required=True,
        validate=validate.Length(max=MAX_PORTS),
        metadata={"description": "Several become a bridge."},
    )


class LanNetwork(Input):
    ports = _ports()
    addresses = _addresses()


class SecondNetwork(LanNetwork):
    vlan_id = Whole(
        MIN_VLAN_ID,
        MAX_VLAN_ID,
        load_default=None,
        allow_none=True,
        metadata={"description": "In place of ports: what has this tag on the LAN's ports."},
    )


class PresetChoice(Input):
    id = one_of(*BY_ID, required=True)
    lan = fields.Nested(LanNetwork, required=True)
    second = fields.Nested(
        SecondNetwork,
        load_default=None,
        allow_none=True,
        metadata={"description": "Of a preset that has one: branch and isp."},
    )
    unknown_ = one_of(
        "allow",
        "drop",
        data_key="unknown",
        attribute="unknown",
        load_default=None,
        allow_none=True,
        metadata={"description": "Of addresses behind `second` that are in no queue; null: as the preset."},
    )


class SetupPlanInput(Input):
    preset = fields.Nested(PresetChoice, required=True)
    wan = fields.Nested(WanChoice, load_default=None, allow_none=True)


class SetupPlan(Answer):
    """What a preset would make, as in a candidate's diff."""

    changes = fields.List(fields.Nested(Change))
    findings = fields.List(fields.Nested(Finding))


class SetupInput(Input):
    password = Text(
        min_length=1, max_length=1024, required=True, metadata={"description": "Of the account `admin`."}
    )
    preset = fields.Nested(
        PresetChoice,
        load_default=None,
        allow_none=True,
        metadata={
            "description": "Makes LAN, WAN, addresses, names and firewall; null: `lan` and `wan` alone."
        },
    )
    lan = fields.Nested(
        PortChoice,
        load_default=None,
        allow_none=True,
        metadata={"description": "null: as it is. Without meaning beside a preset."},
    )
    wan = fields.Nested(
        WanChoice, load_default=None, allow_none=True, metadata={"description": "null: none yet."}
    )
    time_zone = Text(
        min_length=1,
        max_length=100,
        load_default=None,
        allow_none=True,
        metadata={"description": "Such as Europe/Berlin; null: UTC."},
    )


class SetupDone(Answer):
    username = fields.String()
    revision = fields.Integer()


class FactoryResetInput(Input):
    mode = one_of(
        "keep",
        "wipe",
        required=True,
        metadata={
            "description": "keep: logs stay, configuration and accounts are put aside on the data "
            "partition; wipe: everything goes."
        },
    )


class PoweringOff(Answer):
    powering_off = fields.Boolean()
