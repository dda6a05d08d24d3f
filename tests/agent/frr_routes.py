# SPDX-License-Identifier: Apache-2.0
"""Static routes that FRR keeps (docs/adr/0260)."""

from __future__ import annotations

from weir.kinds.static_route import StaticRoute


def by_frr(name: str, destination: str, gateway: str = "10.64.0.2") -> tuple[StaticRoute, StaticRoute]:
    """Another one waits behind the first, so they are not the kernel's."""
    spare = StaticRoute(f"{name}-spare", destination, gateway="10.64.0.9", distance=200)
    return StaticRoute(name, destination, gateway=gateway), spare
