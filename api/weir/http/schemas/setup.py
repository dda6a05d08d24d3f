# SPDX-License-Identifier: Apache-2.0
"""First setup, time zone and factory reset as JSON."""

from __future__ import annotations

from marshmallow import fields, validate

from weir.http.schemas.base import Answer, Input, Text, one_of

MAX_ADDRESSES = 8


class SetupPort(Answer):
    id = fields.String()
    mac = fields.String()
    carrier = fields.Boolean(metadata={"description": "Whether a cable is in; false while the port is down."})
    speed_bps = fields.Integer(allow_none=True)


class SetupLan(Answer):
    interface = fields.String()
    address = fields.String()


class Setup(Answer):
    """Once there is an account: `needed` is false and nothing else is told."""

    needed = fields.Boolean()
    reason = fields.String(allow_none=True, metadata={"description": "What stands in the way of setting up."})
    lan = fields.Nested(SetupLan, allow_none=True)
    ports = fields.List(fields.Nested(SetupPort))


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


class SetupInput(Input):
    password = Text(
        min_length=1, max_length=1024, required=True, metadata={"description": "Of the account `admin`."}
    )
    lan = fields.Nested(
        PortChoice, load_default=None, allow_none=True, metadata={"description": "null: as it is."}
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


class TimeZone(Answer):
    name = fields.String(metadata={"description": "Of the tz database, such as Europe/Berlin."})


class TimeZoneInput(Input):
    name = Text(min_length=1, max_length=100, required=True)


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
