# SPDX-License-Identifier: Apache-2.0
"""Queue types and interfaces as JSON."""

from __future__ import annotations

from marshmallow import fields

from weir.http.schemas.base import Answer, one_of
from weir.http.schemas.kinds import group_answer, schemas_of
from weir.http.schemas.queue import Enforcement
from weir.model.interface import Vlan as ConfiguredVlan

Vlan = group_answer(ConfiguredVlan, "Vlan")


class Lease(Answer):
    """What a DHCP server gave. The router itself asks none of the DNS servers yet."""

    address = fields.String()
    server = fields.String()
    gateway = fields.String(allow_none=True)
    dns = fields.List(fields.String())
    expires_at = fields.String(metadata={"description": "It is prolonged at half of its time."})


class InterfaceInKernel(Answer):
    """What the kernel says of an interface now."""

    index = fields.Integer()
    kind = fields.String()
    vlan = fields.Nested(Vlan, allow_none=True, metadata={"description": "Of a VLAN: as the kernel has it."})
    vrf = fields.String(allow_none=True, metadata={"description": "The VRF that the kernel has it in."})
    vrf_table = fields.Integer(allow_none=True, metadata={"description": "Of a VRF: its routing table."})
    mac = fields.String(allow_none=True)
    mtu = fields.Integer()
    up = fields.Boolean()
    speed_bps = fields.Integer(allow_none=True)
    addresses = fields.List(fields.String())
    lease = fields.Nested(
        Lease, allow_none=True, metadata={"description": "null: no DHCP, or no server has answered yet."}
    )
    qdisc = fields.String(allow_none=True)
    shaper = fields.String(allow_none=True, metadata={"description": "The method in force, or null."})
    shaper_reason = fields.String(allow_none=True)
    hook = fields.String(
        allow_none=True, metadata={"description": "How the stack's programs are attached: tcx or clsact."}
    )
    fast_path = one_of(
        "off",
        "on",
        "established",
        allow_none=True,
        metadata={"description": "Packets that XDP forwards: none, all that conform, or of connections."},
    )
    fast_path_reason = fields.String(allow_none=True)


QUEUE_TYPE = schemas_of(
    "queue-type",
    adds={
        "enforcement": fields.List(fields.Nested(Enforcement)),
        "used_by": fields.Integer(
            metadata={"description": "Queues that name this type; default-small is not counted."}
        ),
    },
)
INTERFACE = schemas_of(
    "interface",
    adds={
        "configured": fields.Boolean(
            metadata={"description": "False where the kernel has it and the configuration does not name it."}
        ),
        "etag": fields.String(allow_none=True),
        "state": fields.Nested(InterfaceInKernel, allow_none=True),
    },
    creates=False,
)
