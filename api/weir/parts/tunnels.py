# SPDX-License-Identifier: Apache-2.0
"""VXLAN and GRE tunnels: what the kernel is told of their ends, and who is let in to the router for them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from weir.model.interface import Interface
from weir.parts.rule import Family, PacketRule

VXLAN = "vxlan"
GRE: dict[int, str] = {4: "gre", 6: "ip6gre"}
"""By the family of what carries it: the kernel's name of the kind."""
TUNNELS = frozenset((VXLAN, *GRE.values()))
WITHOUT_GATEWAY = frozenset(("wireguard", *GRE.values()))
"""Kinds with one other end, or whose peers say what is behind them: a route by them names no gateway."""


@dataclass(frozen=True, slots=True)
class Ends:
    """What the kernel changes while packets pass. `local` "": the address that leads to the remote. `key` and
    `ttl` are GRE's, None where it has none; `learning` is VXLAN's."""

    local: str = ""
    remotes: tuple[str, ...] = ()
    key: int | None = None
    ttl: int | None = None
    learning: bool = False

    @property
    def text(self) -> str:
        key = "" if self.key is None else f", key {self.key}"
        ttl = "" if self.ttl is None else f", TTL {self.ttl}"
        learns = ", learning" if self.learning else ""
        return f"from {self.local or 'any'} to {' '.join(self.remotes) or 'nowhere'}{key}{ttl}{learns}"


def kind_of(item: Interface) -> str:
    """The kernel's name of its kind; "" where it is no tunnel of these."""
    if item.vxlan is not None:
        return VXLAN
    return "" if item.gre is None else GRE[item.gre.family]


def ends_of(item: Interface) -> Ends | None:
    if item.vxlan is not None:
        vxlan = item.vxlan
        return Ends(vxlan.local or "", tuple(sorted(vxlan.remotes)), learning=vxlan.learning)
    if item.gre is not None:
        return Ends(item.gre.local or "", (item.gre.remote,), item.gre.key, item.gre.ttl)
    return None


def tunnel_made_with(item: Interface) -> tuple[tuple[str, int], ...]:
    """What the kernel never changes."""
    vxlan = item.vxlan
    return () if vxlan is None else (("vni", vxlan.vni), ("port", vxlan.port), ("family", vxlan.family))


def let_in(interfaces: Iterable[Interface]) -> Iterator[PacketRule]:
    """What the router takes for its enabled tunnels, from their remotes alone; by any interface as yet."""
    for item in interfaces:
        ends = ends_of(item)
        if ends is None or item.disabled or not ends.remotes:
            continue
        family: Family = 6 if ":" in ends.remotes[0] else 4
        what = "GRE" if item.vxlan is None else "VXLAN"
        yield PacketRule(
            "input",
            "accept",
            f"{what} of {item.id}",
            family=family,
            protocol="gre" if item.vxlan is None else "udp",
            sources=ends.remotes,
            ports=() if item.vxlan is None else (str(item.vxlan.port),),
            made_by=f"interface/{item.id}",
        )
