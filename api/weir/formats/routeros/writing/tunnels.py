# SPDX-License-Identifier: Apache-2.0
"""Tunnels of GRE and VXLAN, as commands of their menus."""

from __future__ import annotations

from collections.abc import Iterator

from weir.formats.routeros.writing.script import Property, command
from weir.model.interface import Interface
from weir.model.tunnels import Gre

_USUAL_TTL = Gre("192.0.2.1").ttl


def why_not_gre(tunnel: Gre) -> str:
    """Why RouterOS cannot have it; "" if it can."""
    if tunnel.key is not None:
        return "RouterOS has no keys of GRE, and its other end takes no packets without"
    return "" if tunnel.ttl == _USUAL_TTL else "RouterOS sets no TTL of GRE"


def gre(item: Interface, family: int) -> list[Property] | None:
    """Of one over this family; RouterOS has a menu for each."""
    tunnel = item.gre
    if tunnel is None or tunnel.family != family or why_not_gre(tunnel):
        return None
    said = [("remote-address", tunnel.remote)]
    said += [("local-address", tunnel.local)] if tunnel.local is not None else []
    return [*said, *([("clamp-tcp-mss", "no")] if item.mss_clamp == "off" else [])]


def vxlan(item: Interface) -> list[Property] | None:
    tunnel = item.vxlan
    if tunnel is None:
        return None
    said = [("vni", str(tunnel.vni)), ("port", str(tunnel.port))]
    said += [("local-address", tunnel.local)] if tunnel.local is not None else []
    said += [] if tunnel.learning else [("learning", "no")]
    return [*said, *([("vteps-ip-version", "ipv6")] if tunnel.family == 6 else [])]


def vteps(item: Interface) -> Iterator[str]:
    """One for each remote."""
    if item.vxlan is not None:
        for remote in item.vxlan.remotes:
            port = str(item.vxlan.port)
            yield command([("interface", item.id), ("remote-ip", remote), ("port", port)])
