# SPDX-License-Identifier: Apache-2.0
"""What a packet takes on the wire beside its IP length: the `overhead_bytes` that an interface starts with.

A limit that counts IP packets alone is exceeded by small ones: 40-byte packets under a limit of 1 Mbit/s are
1.84 Mbit/s on the wire.
"""

from __future__ import annotations

FRAME_BYTES = 18
"""Ethernet: addresses and type (14), checksum (4); IEEE 802.3, 3.1."""
_TAG_BYTES = 4
_PPPOE_BYTES = 8
"""RFC 2516, 4 and 7: six of PPPoE, two of PPP."""
_ETHERNET = frozenset(("physical", "veth", "bridge", "bond", "macvlan"))


def usual_overhead_bytes(kind: str) -> int:
    """Of an interface of this kind, as the kernel calls it ("physical" where it names none).

    0 for those without Ethernet frames of their own: what a tunnel's packets take depends on their way.
    """
    if kind == "vlan":
        return FRAME_BYTES + _TAG_BYTES
    if kind == "ppp":
        return FRAME_BYTES + _PPPOE_BYTES
    return FRAME_BYTES if kind in _ETHERNET else 0
