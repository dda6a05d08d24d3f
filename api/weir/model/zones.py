# SPDX-License-Identifier: Apache-2.0
"""The zones that exist without being configured."""

from __future__ import annotations

LAN, WAN, OPEN, NO_ZONE = "lan", "wan", "open", "none"
INSIDE = (LAN, OPEN)
"""They reach the router and each other, and the WAN, unless a policy says otherwise."""
BUILT_IN = (LAN, WAN, OPEN)
RESERVED = frozenset((*BUILT_IN, NO_ZONE, "router"))
"""No configured zone has such an id."""
