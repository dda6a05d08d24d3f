# SPDX-License-Identifier: Apache-2.0
"""Prefix delegation (RFC 8415, RFC 7084): a WAN is given a prefix, of which each LAN takes a /64."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from weir.fields import INTERFACE_NAMES, Flag, Ref, When, Whole

LAN_BITS = 64
"""Of each LAN's part: hosts make addresses of a prefix of this length alone (RFC 4291, 2.5.1)."""
WIDEST_BITS = 32
"""No provider gives one customer more than this."""
MAX_SUBNET_ID = (1 << LAN_BITS - WIDEST_BITS) - 1


@dataclass(frozen=True, slots=True)
class Dhcpv6:
    """What a WAN asks its provider for by DHCPv6: a prefix for the networks inside."""

    pd_hint: Annotated[
        int,
        Whole(
            WIDEST_BITS,
            LAN_BITS,
            label="Prefix length",
            help="The length of the prefix that is asked for; the provider decides. A /56 is enough for 256 "
            "networks, a /64 for one.",
        ),
    ] = 56
    address: Annotated[
        bool,
        Flag(
            label="Address, too",
            help="Whether it asks for an address of its own as well (IA_NA), where routers there announce no "
            "prefix.",
        ),
    ] = False


@dataclass(frozen=True, slots=True)
class Delegated:
    """A /64 of the prefix that a WAN was given. The router has the first address of it."""

    uplink: Annotated[
        str,
        Ref(
            "interface",
            INTERFACE_NAMES,
            own_rules=True,
            offered=When("dhcpv6"),
            help="The WAN that asks for the prefix.",
        ),
    ]
    subnet_id: Annotated[
        int | None,
        Whole(
            0,
            MAX_SUBNET_ID,
            label="Subnet",
            help="Which /64 of the prefix: 0 is the first. null: the first that is free, and the same from "
            "then on.",
        ),
    ] = None


def room(bits: int) -> int:
    """How many networks of hosts are in a prefix of this length."""
    return 1 << LAN_BITS - bits if bits <= LAN_BITS else 0
