# SPDX-License-Identifier: Apache-2.0
"""Leases as JSON."""

from __future__ import annotations

from marshmallow import fields

from weir.http.schemas.base import Answer, Text, one_of
from weir.http.schemas.paging import Page
from weir.model.limits import MAX_SEARCH_CHARS


class LeasesQuery(Page):
    q = Text(max_length=MAX_SEARCH_CHARS, metadata={"description": "Part of address, MAC or host name."})


class GivenLease(Answer):
    """An address or prefix that a DHCP server of this router gave, and that has not ended."""

    address = fields.String(
        metadata={
            "description": "The address; a prefix with its length where a router was delegated one by DHCPv6."
        }
    )
    mac = fields.String(allow_none=True)
    hostname = fields.String(
        allow_none=True,
        metadata={
            "description": "What the client says it is called; only letters, digits, `.`, `-` and `_` of it."
        },
    )
    client_id = fields.String(
        allow_none=True, metadata={"description": "As bytes in hexadecimal; of DHCPv6 the client's DUID."}
    )
    expires_at = fields.String(metadata={"description": "When it ends unless it is renewed."})
    server = fields.String(
        metadata={
            "description": "The DHCP server that gave it: a `dhcpv6-server` where the address is one of IPv6."
        }
    )
    interface = fields.String(
        allow_none=True, metadata={"description": "Where the client is; null: behind relay agents."}
    )
    reservation = fields.String(
        allow_none=True, metadata={"description": "The reservation of this address; null: there is none."}
    )
    network = fields.String(
        allow_none=True, metadata={"description": "Of which the address is; null: it is a prefix."}
    )
    gateway = fields.String(
        allow_none=True,
        metadata={
            "description": "Of a delegated prefix the link-local address that it is routed to; null: it is "
            "an address, or its router has not been heard yet."
        },
    )
    origin = fields.String(
        allow_none=True,
        metadata={
            "description": "The prefix that a provider delegated, of which it is a part, and by which WAN: "
            "`2001:db8:f000::/56 of wan0`; null: it is of a static network or pool."
        },
    )


class LeasePage(Answer):
    items = fields.List(fields.Nested(GivenLease))
    next_cursor = fields.String(allow_none=True)
    total = fields.Integer()


class LeaseChange(Answer):
    what = one_of("came", "went")
    address = fields.String()
    mac = fields.String(allow_none=True)
    hostname = fields.String(allow_none=True)
    server = fields.String()
    interface = fields.String(allow_none=True)


class LeaseChanges(Answer):
    """Leases that came and went since the last event; of very many some may be missing."""

    items = fields.List(fields.Nested(LeaseChange))
