# SPDX-License-Identifier: Apache-2.0
"""Which rule decides about a packet, as JSON."""

from __future__ import annotations

from marshmallow import fields

from weir.http.schemas.base import Answer, QueryInteger, Text, one_of
from weir.http.schemas.paging import Query
from weir.kinds.firewall_rule import ICMP_TYPES, STATES

PROTOCOLS = ("tcp", "udp", "sctp", "icmp", "gre", "esp", "ah", "ospf", "vrrp", "igmp")


class PacketQuery(Query):
    """What a packet is."""

    source = Text(required=True, max_length=64, metadata={"description": "The sender's address."})
    destination = Text(
        required=True, max_length=64, metadata={"description": "The address that it is sent to."}
    )
    protocol = one_of(*PROTOCOLS, load_default="tcp")
    port = QueryInteger(0, 65_535, load_default=0, metadata={"description": "The destination port."})
    icmp_type = one_of(*ICMP_TYPES, load_default="echo-request")
    state = one_of(*STATES, load_default="new", metadata={"description": "Of the connection."})


class DecisionQuery(PacketQuery):
    in_interface = Text(
        max_length=15, metadata={"description": "Where it arrives. Found out by the configuration otherwise."}
    )
    out_interface = Text(
        max_length=15, metadata={"description": "Where it leaves. Found out by the configuration otherwise."}
    )
    source_port = QueryInteger(
        1, 65_535, metadata={"description": "Rules that look at it are asked with it."}
    )
    source_mac = Text(
        max_length=17,
        metadata={
            "description": "The sender's hardware address. Rules that look at it are asked with it.",
            "example": "02:00:5e:10:00:07",
        },
    )
    dscp = QueryInteger(0, 63, metadata={"description": "Rules that look at it are asked with it."})
    at = Text(
        max_length=16,
        metadata={
            "description": "A local time of the router's, by which rules with hours are in force or not. Now "
            "otherwise.",
            "example": "2026-11-28T20:30",
        },
    )


class Decider(Answer):
    """A configured rule, or a fixed one of the policy (kind `firewall`)."""

    kind = fields.String(allow_none=True, metadata={"description": "null: no rule decides."})
    id = fields.String(allow_none=True)
    text = fields.String()


class Decision(Answer):
    """What the running configuration does with a packet. Limits and `reverse_path` are not in it."""

    revision = fields.Integer()
    chain = one_of("raw/prerouting", "input", "forward", "output")
    verdict = one_of("accept", "drop", "reject")
    decided_by = fields.Nested(Decider)
    in_interface = fields.String(allow_none=True, metadata={"description": "null: the router sends it."})
    out_interface = fields.String(
        allow_none=True,
        metadata={"description": "null: it is for the router, or is dropped before a route is looked up."},
    )
    source = fields.String(
        metadata={"description": 'As the destination sees it; "": an address of the interface it leaves by.'}
    )
    destination = fields.String(metadata={"description": "Behind NAT."})
    port = fields.Integer(metadata={"description": "Behind NAT."})
    translations = fields.List(
        fields.Nested(Decider), metadata={"description": "The NAT rules that it meets, in order."}
    )
    unsure = fields.List(
        fields.String(), metadata={"description": "What only the kernel knows, and what is assumed of it."}
    )
    at = fields.String(
        metadata={"description": "The router's local time that this is about, such as 2026-11-28T20:30."}
    )
    resting = fields.List(
        fields.Nested(Decider), metadata={"description": "Rules that would match, but not at this time."}
    )


class RulesetQuery(Query):
    chain = Text(max_length=64, metadata={"description": "This chain only, such as `forward`."})


class RulesetRule(Decider):
    chain = fields.String()
    packets = fields.Integer(
        allow_none=True,
        metadata={"description": "That matched since the rule is there. null: it is not counted."},
    )
    bytes = fields.Integer(allow_none=True)


class Ruleset(Answer):
    """Rules by chain, in the order in which packets meet them, with what made each."""

    revision = fields.Integer()
    items = fields.List(fields.Nested(RulesetRule))
    total = fields.Integer(metadata={"description": "An answer lists 5,000 at most; ask for one chain then."})
    uncounted = fields.String(
        allow_none=True, metadata={"description": "Why the counters are not known; null: they are."}
    )
