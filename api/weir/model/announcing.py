# SPDX-License-Identifier: Apache-2.0
"""What an interface announces to the hosts behind it (router advertisements, RFC 4861)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from weir.fields import Flag, Whole
from weir.model.limits import MAX_ROUTER_LIFETIME_S, MAX_SECONDS_32


@dataclass(frozen=True, slots=True)
class Announcement:
    """That the router is there, and the prefixes of which hosts make addresses of their own (SLAAC)."""

    dns: Annotated[
        bool,
        Flag(
            label="DNS server",
            help="Names this router as DNS server (RFC 8106) where the name service answers hosts here.",
        ),
    ] = True
    managed: Annotated[
        bool,
        Flag(
            importance="folded",
            help="Hosts are told to ask a DHCPv6 server for addresses as well; also without this where a "
            "server of this router gives them.",
        ),
    ] = False
    other: Annotated[
        bool,
        Flag(
            importance="folded",
            label="Other settings",
            help="Hosts are told to ask a DHCPv6 server for everything but addresses; also without this "
            "where this router has one.",
        ),
    ] = False
    router_lifetime_s: Annotated[
        int,
        Whole(
            0,
            MAX_ROUTER_LIFETIME_S,
            importance="folded",
            help="For so long hosts keep their default route after the last announcement; at least 30, or 0: "
            "they take none by this router.",
        ),
    ] = 1800
    preferred_s: Annotated[
        int,
        Whole(
            0,
            MAX_SECONDS_32,
            importance="folded",
            label="Preferred for",
            help="For so long hosts begin connections with an address of their own after the last "
            "announcement. 0: with none, they give up what they have.",
        ),
    ] = 14_400
    valid_s: Annotated[
        int,
        Whole(
            0,
            MAX_SECONDS_32,
            importance="folded",
            label="Valid for",
            help="For so long they keep the address; at least as long as it is preferred.",
        ),
    ] = 86_400
