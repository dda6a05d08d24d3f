# SPDX-License-Identifier: Apache-2.0
"""Queue types and interfaces as JSON."""

from __future__ import annotations

from marshmallow import fields, validate

from weir.http.schemas.base import Answer, Flag, Input, Text, Whole, identifier, one_of, patch_of
from weir.http.schemas.problem import Finding
from weir.http.schemas.queue import Enforcement, queue_type_name
from weir.model.limits import (
    MAX_ADDRESSES,
    MAX_COMMENT_CHARS,
    MAX_DOMAIN,
    MAX_MTU_BYTES,
    MAX_NAME_CHARS,
    MAX_OVERHEAD_BYTES,
    MAX_QUEUE_TYPE_OPTIONS,
    MAX_VLAN_ID,
    MAX_VRF_TABLE,
    MIN_MTU_BYTES,
    MIN_OVERHEAD_BYTES,
    MIN_VLAN_ID,
    QUEUE_TYPE_KINDS,
)

ROLES = ("lan", "wan", "none")
SHAPERS = ("auto", "edt", "police", "htb")
FAST_PATHS = ("auto", "off")
UNKNOWN = ("allow", "queue", "drop")
REVERSE_PATHS = ("off", "loose", "strict")
ADDRESSING_MODES = ("static", "dhcp")
VLAN_PROTOCOLS = ("802.1Q", "802.1ad")


class QueueTypeInput(Input):
    """How the packets of a queue wait. Option names are RouterOS's (`pcq-rate`, `fq-codel-limit`)."""

    type = one_of(*QUEUE_TYPE_KINDS, required=True)
    options = fields.Dict(
        keys=identifier(),
        values=Text(max_length=MAX_NAME_CHARS),
        load_default=dict,
        allow_none=True,
        validate=validate.Length(max=MAX_QUEUE_TYPE_OPTIONS),
    )
    comment = Text(max_length=MAX_COMMENT_CHARS, lines=True, load_default="")


class QueueTypeCreateInput(QueueTypeInput):
    id = queue_type_name(required=True, metadata={"description": "The name that queues refer to."})


QueueTypePatch = patch_of(QueueTypeInput)


class QueueType(Answer):
    id = fields.String()
    type = fields.String()
    options = fields.Dict(keys=fields.String(), values=fields.String())
    comment = fields.String()
    etag = fields.String()
    enforcement = fields.List(fields.Nested(Enforcement))
    used_by = fields.Integer(
        metadata={"description": "Queues that name this type; default-small is not counted."}
    )
    warnings = fields.List(fields.Nested(Finding))


class QueueTypePage(Answer):
    items = fields.List(fields.Nested(QueueType))
    next_cursor = fields.String(allow_none=True)
    total = fields.Integer()


class VlanInput(Input):
    """Frames of `parent` with this tag. A VLAN whose parent is a VLAN has two tags (QinQ)."""

    parent = Text(min_length=1, max_length=15, required=True)
    id = Whole(MIN_VLAN_ID, MAX_VLAN_ID, required=True)
    protocol = one_of(*VLAN_PROTOCOLS, load_default="802.1Q")


class Vlan(Answer):
    parent = fields.String()
    id = fields.Integer()
    protocol = fields.String()


class InterfaceInput(Input):
    role = one_of(*ROLES, load_default="none")
    addresses = fields.List(
        Text(min_length=1, max_length=64),
        load_default=list,
        allow_none=True,
        validate=validate.Length(max=MAX_ADDRESSES),
    )
    addressing = one_of(
        *ADDRESSING_MODES,
        load_default="static",
        metadata={"description": "dhcp: an IPv4 address and routes by DHCP, beside the addresses."},
    )
    mtu = Whole(MIN_MTU_BYTES, MAX_MTU_BYTES, load_default=None, allow_none=True)
    description = Text(max_length=MAX_COMMENT_CHARS, lines=True, load_default="")
    overhead_bytes = Whole(MIN_OVERHEAD_BYTES, MAX_OVERHEAD_BYTES, load_default=0)
    shaper = one_of(*SHAPERS, load_default="auto")
    fast_path = one_of(*FAST_PATHS, load_default="auto")
    unknown = one_of(  # type: ignore[assignment]  # marshmallow takes fields out of the class
        *UNKNOWN,
        load_default="allow",
        metadata={
            "description": "Forwarded packets of addresses behind it that are in no queue. allow: unlimited, "
            "but for a queue with the interface as target; queue: to that one, dropped without it; drop."
        },
    )
    reverse_path = one_of(
        *REVERSE_PATHS,
        load_default="off",
        metadata={
            "description": "Sources that it forwards: off: any; loose: those that there is a way to; "
            "strict: those whose way back is this interface (BCP 38)."
        },
    )
    domain = Whole(
        0,
        MAX_DOMAIN,
        load_default=0,
        metadata={"description": "Targets like 10.0.0.0/24@2 hold behind interfaces of domain 2 only."},
    )
    vlan = fields.Nested(
        VlanInput,
        load_default=None,
        allow_none=True,
        metadata={"description": "The router makes the interface: a VLAN. null: it is there, or not."},
    )
    vrf = Text(
        min_length=1,
        max_length=15,
        load_default=None,
        allow_none=True,
        metadata={"description": "The VRF that it is in: an interface that has a vrf_table."},
    )
    vrf_table = Whole(
        0,
        MAX_VRF_TABLE,
        load_default=None,
        allow_none=True,
        metadata={
            "description": "The router makes the interface: a VRF with this routing table; 0: one that goes "
            "by the VRF's name. null: it is none."
        },
    )
    disabled = Flag(load_default=False)


InterfacePatch = patch_of(InterfaceInput)


class Lease(Answer):
    """What a DHCP server gave. The router itself asks none of the DNS servers yet."""

    address = fields.String()
    server = fields.String()
    gateway = fields.String(allow_none=True)
    dns = fields.List(fields.String())
    expires_at = fields.String(metadata={"description": "It is prolonged at half of its time."})


class InterfaceState(Answer):
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


class Interface(Answer):
    """`configured` is false for an interface that the kernel has and the configuration does not name."""

    id = fields.String()
    configured = fields.Boolean()
    role = fields.String()
    addresses = fields.List(fields.String())
    addressing = fields.String()
    mtu = fields.Integer(allow_none=True)
    description = fields.String()
    overhead_bytes = fields.Integer()
    shaper = fields.String()
    fast_path = fields.String()
    unknown = fields.String()  # type: ignore[assignment]
    reverse_path = fields.String()
    domain = fields.Integer()
    vlan = fields.Nested(Vlan, allow_none=True)
    vrf = fields.String(allow_none=True)
    vrf_table = fields.Integer(allow_none=True)
    disabled = fields.Boolean()
    etag = fields.String(allow_none=True)
    state = fields.Nested(InterfaceState, allow_none=True)
    warnings = fields.List(fields.Nested(Finding))


class InterfacePage(Answer):
    items = fields.List(fields.Nested(Interface))
    next_cursor = fields.String(allow_none=True)
    total = fields.Integer()
