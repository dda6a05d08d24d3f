# SPDX-License-Identifier: Apache-2.0
"""A session with a provider's access concentrator (RFC 2516), which is an interface of the router."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from weir.fields import INTERFACE_NAMES, Flag, Ref, Secret, Text, When, Whole
from weir.model.limits import USUAL_MTU_BYTES

HEADER_BYTES = 8
"""Of PPPoE and PPP, in each frame (RFC 2516, 7)."""
USUAL_PPPOE_MTU_BYTES = USUAL_MTU_BYTES - HEADER_BYTES
PPPOE_DISTANCE = 210
"""As the first lease of DHCP: a static route wins."""
MAX_LOGIN_CHARS = 200
"""pppd 2.4 takes 255 bytes of a name and of a password."""


def mtu_below(parent_bytes: int) -> int:
    """The largest MTU in bytes of a session whose frames are those of an interface with this MTU."""
    return min(parent_bytes - HEADER_BYTES, USUAL_MTU_BYTES)


@dataclass(frozen=True, slots=True)
class Pppoe:
    """What the provider asks for. Its MTU is the interface's: above 1,492 by RFC 4638."""

    parent: Annotated[
        str,
        Ref(
            "interface",
            INTERFACE_NAMES,
            own_rules=True,
            offered=When("type", ("vrf", "loopback", "wireguard", "gre", "pppoe"), unless=True),
            help="The interface that leads to the provider, which may be a VLAN; it needs no address and no "
            "zone.",
        ),
    ]
    username: Annotated[str, Text(MAX_LOGIN_CHARS, help="As the provider gave it, often with an @.")] = ""
    password: Annotated[str | None, Secret(1, MAX_LOGIN_CHARS, help="As the provider gave it.")] = None
    service_name: Annotated[
        str,
        Text(MAX_LOGIN_CHARS, help="Only concentrators that offer this service. Empty: any service."),
    ] = ""
    ac_name: Annotated[
        str,
        Text(
            MAX_LOGIN_CHARS,
            label="Access concentrator",
            help="Only the concentrator of this name. Empty: the first that answers.",
        ),
    ] = ""
    default_route: Annotated[
        bool, Flag(help="Whether the session has the IPv4 default route while it is up.")
    ] = True
    distance: Annotated[
        int,
        Whole(
            1, 254, when=When("default_route"), help="Of that route; a static route with a smaller one wins."
        ),
    ] = PPPOE_DISTANCE
    keepalive_s: Annotated[
        int,
        Whole(
            1,
            300,
            label="Keep-alive",
            help="Seconds between questions to the concentrator (LCP echo). After three without an answer "
            "the session is given up and dialled again.",
        ),
    ] = 20
