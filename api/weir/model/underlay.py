# SPDX-License-Identifier: Apache-2.0
"""What carries the packets of a VXLAN or GRE tunnel, and how much of it is left for what is inside."""

from __future__ import annotations

from weir.model.document import Document
from weir.model.interface import Interface, members_of
from weir.model.limits import USUAL_MTU_BYTES
from weir.model.tree import vlan_parents

WIREGUARD_MTU_BYTES = 1420
"""WireGuard adds up to 80 bytes to a packet."""
_MAX_LEVELS = 8
"""Far more tunnels within tunnels than a valid document has."""


def carrier_of(document: Document, item: Interface) -> Interface | None:
    """The interface that has the local address of a tunnel; None where that is not said, or nowhere."""
    local = None if item.tunnel is None else item.tunnel.local
    if local is None:
        return None
    return next(
        (
            other
            for other in document.interfaces()
            if any(text.partition("/")[0] == local for text in other.addresses)
        ),
        None,
    )


def room_bytes(document: Document, item: Interface, level: int = 0) -> int:
    """The largest MTU of a tunnel whose packets fit into those of what carries it; 1,500 where that is not
    known."""
    assert item.tunnel is not None
    carrier = carrier_of(document, item)
    outer = USUAL_MTU_BYTES if carrier is None else mtu_beneath(document, carrier, level + 1)
    return outer - item.tunnel.overhead_bytes


def mtu_beneath(document: Document, carrier: Interface, level: int = 0) -> int:
    """The MTU in bytes of what carries a tunnel: as configured, else what it has by itself."""
    for each in (carrier, *vlan_parents(document, carrier)):
        if each.mtu is not None:
            return each.mtu
        if each.tunnel is not None and level < _MAX_LEVELS:
            return room_bytes(document, each, level)
        if each.wireguard is not None:
            return WIREGUARD_MTU_BYTES
        if each.bridge is not None:
            return bridge_mtu(document, each, level)
    return USUAL_MTU_BYTES


def bridge_mtu(document: Document, item: Interface, level: int = 0) -> int:
    """The MTU in bytes that a bridge has by itself: what fits into each VXLAN among its ports."""
    found = [USUAL_MTU_BYTES]
    for member in map(document.interface, members_of(item)):
        if member is not None and member.vxlan is not None and level < _MAX_LEVELS:
            found.append(member.mtu or room_bytes(document, member, level))
    return min(found)
