# SPDX-License-Identifier: Apache-2.0
"""Hosts beside the router as JSON."""

from __future__ import annotations

from marshmallow import fields

from weir.http.schemas.base import Answer, Text, one_of
from weir.http.schemas.paging import Page
from weir.model.limits import MAX_SEARCH_CHARS

STATES = ("reachable", "stale", "asking", "failed", "permanent")


class HostsQuery(Page):
    q = Text(
        max_length=MAX_SEARCH_CHARS,
        metadata={"description": "Part of interface, MAC, address or name; or a whole address or prefix."},
    )


class HostQueue(Answer):
    """The queue that limits an address."""

    id = fields.String()
    name = fields.String()


class HostAddress(Answer):
    address = fields.String()
    name = fields.String(
        allow_none=True,
        metadata={"description": "What the host is called, by its DHCP lease here; null without one."},
    )
    state = one_of(
        *STATES,
        metadata={
            "description": "Of ARP or neighbour discovery: `stale` has not been in use lately, `asking` is "
            "being looked for, `failed` does not answer."
        },
    )
    confirmed_s = fields.Float(
        allow_none=True, metadata={"description": "Seconds since it last answered; null: it never did."}
    )
    queue = fields.Nested(
        HostQueue, allow_none=True, metadata={"description": "Null: no queue limits this address."}
    )


class Host(Answer):
    """A station beside the router, with all its addresses."""

    id = fields.String()
    interface = fields.String()
    mac = fields.String(allow_none=True, metadata={"description": "Null: nobody answered for the address."})
    confirmed_s = fields.Float(
        allow_none=True, metadata={"description": "Seconds since any of its addresses answered."}
    )
    addresses = fields.List(fields.Nested(HostAddress))


class HostPage(Answer):
    items = fields.List(fields.Nested(Host))
    next_cursor = fields.String(allow_none=True)
    total = fields.Integer()
    left_out = fields.Integer(
        metadata={"description": "Addresses that the router knows and that are more than one answer lists."}
    )
