# SPDX-License-Identifier: Apache-2.0
"""Interfaces. The class is in `weir.model.objects`: documents and the rules of others know it."""

from __future__ import annotations

from weir.fields import INTERFACE_NAMES, Case, OneOf, PublicKey
from weir.kinds.declaration import Declaration
from weir.model.objects import Interface

KIND = Declaration(
    Interface,
    singular="interface",
    plural="interfaces",
    short="interface",
    about="What the router has, and what is configured of it.",
    ids=INTERFACE_NAMES,
    argument="name",
    area="Network",
    adds=("configured", "state"),
    state={"public_key": PublicKey(help="Of a WireGuard tunnel: what its peers have to know of it.")},
    columns=("type", "role", "vrf", "addresses", "description"),
    one_of=OneOf(
        "type",
        Case("ethernet", "A device that the router finds: an Ethernet port, or what another program made."),
        Case("vlan", "Frames of another interface with a tag.", "vlan"),
        Case("vrf", "A routing table of its own, for the interfaces in it.", "vrf_table"),
        Case("wireguard", "An encrypted tunnel to its peers.", "wireguard"),
        Case("loopback", "Leads nowhere: for addresses that do not depend on a port.", "loopback"),
    ),
)
