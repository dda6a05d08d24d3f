# SPDX-License-Identifier: Apache-2.0
"""A packet's way through the router, as JSON."""

from __future__ import annotations

from marshmallow import fields

from weir.http.schemas.base import Answer, Flag, Input, QueryFlag, QueryInteger, Text, Whole, one_of
from weir.http.schemas.decision import PacketQuery


class PathQuery(PacketQuery):
    source_port = QueryInteger(
        0,
        65_535,
        load_default=0,
        metadata={"description": "Chooses among equally good routes, and rules may ask for it."},
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


class ProofInput(Input):
    """A packet that begins a connection: a frame of that kind is sent."""

    source = Text(required=True, max_length=64, metadata={"description": "The sender's address."})
    destination = Text(
        required=True, max_length=64, metadata={"description": "The address that it is sent to."}
    )
    protocol = one_of(
        *("tcp", "udp", "icmp"), load_default="tcp", metadata={"description": "`icmp`: an echo request."}
    )
    port = Whole(0, 65_535, load_default=0, metadata={"description": "The destination port."})
    source_port = Whole(0, 65_535, load_default=0, metadata={"description": "0: any from 49152 on."})
    in_interface = Text(
        max_length=15,
        load_default=None,
        allow_none=True,
        metadata={"description": "Where it comes in. Without it where the way back to the source leaves."},
    )
    from_router = Flag(load_default=False, metadata={"description": "The router sends it itself."})
    vlan = Whole(
        1,
        4_094,
        load_default=None,
        allow_none=True,
        metadata={"description": "Its tag on `in_interface`."},
    )
    tos = Whole(0, 255, load_default=0, metadata={"description": "The byte of DSCP and ECN."})


class ProvedStep(Answer):
    """One place on the way: what was foretold, and what the frame showed."""

    at = one_of(
        *("ingress", "source", "queue-in", "nat-in", "route", "firewall"),
        *("nat-out", "neighbour", "egress", "queue-out", "fast-path"),
    )
    predicted = fields.Nested(
        PathStep, allow_none=True, metadata={"description": "null: nothing of the kind was foretold."}
    )
    outcome = one_of(
        "same",
        "differs",
        "unknown",
        metadata={"description": "`unknown`: the frame could not show it; the sentence says why."},
    )
    sentence = fields.String(metadata={"description": "What the frame showed."})


class PacketProof(Answer):
    """What was foretold of a packet beside what a frame of that kind did."""

    revision = fields.Integer()
    predicted = fields.Nested(PacketPath)
    fate = one_of(
        *("forwarded", "delivered", "sent", "dropped", "rejected", "unknown"),
        metadata={"description": "Of the frame, had it not been caught."},
    )
    outcome = one_of(
        "same",
        "differs",
        "unknown",
        metadata={"description": "`differs`: the prediction is wrong, which is a fault of Weir's."},
    )
    sentence = fields.String(metadata={"description": "The answer for people."})
    steps = fields.List(fields.Nested(ProvedStep))
    source_port = fields.Integer(metadata={"description": "The frame's; the id of an ICMP echo."})
    took_ms = fields.Float(
        allow_none=True, metadata={"description": "In the agent; null: no frame was sent."}
    )
