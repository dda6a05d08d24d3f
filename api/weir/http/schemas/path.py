# SPDX-License-Identifier: Apache-2.0
"""A packet's way through the router, as JSON."""

from __future__ import annotations

from marshmallow import fields

from weir.http.schemas.base import Answer, QueryFlag, QueryInteger, Text, one_of
from weir.http.schemas.decision import PacketQuery


class PathQuery(PacketQuery):
    source_port = QueryInteger(
        0, 65_535, load_default=0, metadata={"description": "Chooses among equally good routes."}
    )
    in_interface = Text(
        max_length=15,
        metadata={"description": "Where it comes in. Without it where the way back to the source leaves."},
    )
    from_router = QueryFlag(load_default=False, metadata={"description": "The router sends it itself."})
    vlan = QueryInteger(1, 4_094, metadata={"description": "Its tag on `in_interface`."})
    tos = QueryInteger(0, 255, load_default=0, metadata={"description": "The byte of DSCP and ECN."})
    candidate = QueryFlag(
        load_default=False, metadata={"description": "With what is pending of yours, where that can be told."}
    )


class PathStep(Answer):
    """One place on the way, in the order in which the packet meets them. Behind a drop nothing is told."""

    at = one_of(
        *("ingress", "source", "queue-in", "nat-in", "route", "firewall"),
        *("nat-out", "neighbour", "egress", "queue-out", "fast-path"),
    )
    state = one_of("passes", "changes", "waits", "drops", "unknown")
    sentence = fields.String()
    kind = fields.String(allow_none=True, metadata={"description": "Of the object that decided here."})
    id = fields.String(allow_none=True)
    details = fields.List(fields.String(), metadata={"description": "Why it is so."})
    not_known = fields.List(
        fields.String(), metadata={"description": "What of it could not be looked at, and why."}
    )


class PathEnd(Answer):
    """How the packet leaves, behind NAT."""

    interface = fields.String()
    next_hop = fields.String(allow_none=True)
    source = fields.String(metadata={"description": '"": one of several, or not known.'})
    destination = fields.String()
    port = fields.Integer()
    queues = fields.List(
        fields.String(), metadata={"description": "The ids of those that it is charged to where it leaves."}
    )


class PacketPath(Answer):
    """What the router would do with one packet. Nothing is sent."""

    revision = fields.Integer()
    candidate = fields.Boolean()
    fate = one_of(
        *("forwarded", "delivered", "sent", "dropped", "rejected", "unknown"),
        metadata={
            "description": "`delivered`: to the router itself; `sent`: by it. `unknown`: a step is not known."
        },
    )
    sentence = fields.String(metadata={"description": "The answer for people."})
    steps = fields.List(fields.Nested(PathStep))
    leaves = fields.Nested(PathEnd, allow_none=True, metadata={"description": "null: it does not leave."})
