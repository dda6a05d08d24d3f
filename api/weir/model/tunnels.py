# SPDX-License-Identifier: Apache-2.0
"""Tunnels without encryption, which carry their packets in others: VXLAN (RFC 7348) and GRE (RFC 2784)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from weir.fields import Flag, Host, Many, Whole
from weir.model.limits import MAX_GRE_KEY, MAX_VNI, MAX_VXLAN_REMOTES

IP_BYTES = {4: 20, 6: 40}
"""Of the header of a packet that carries another one, by its family."""
_VXLAN_BYTES = 8 + 8 + 14
"""UDP, VXLAN, and the Ethernet header of the frame that is carried (RFC 7348, 5)."""
_GRE_BYTES, _KEY_BYTES = 4, 4
"""RFC 2784, 2 and RFC 2890, 2."""
NOT_OURS = frozenset(
    ("gre0", "gretap0", "erspan0", "ip6gre0", "ip6tnl0", "tunl0", "sit0", "ip_vti0", "ip6_vti0")
)
"""What the kernel makes itself for each kind of tunnel, to take what is of no other one."""


def family_of(address: str) -> int:
    """4 or 6."""
    return 6 if ":" in address else 4


@dataclass(frozen=True, slots=True)
class Vxlan:
    """Ethernet frames in UDP packets: networks in several places are one, often as ports of bridges."""

    vni: Annotated[
        int, Whole(1, MAX_VNI, label="VNI", help="The number of the network, the same at every end.")
    ]
    remotes: Annotated[
        tuple[str, ...],
        Many(
            Host(),
            MAX_VXLAN_REMOTES,
            help="The other ends, all IPv4 or all IPv6. Broadcasts, multicast and frames to an address that "
            "was not learnt go to each of them; frames are taken from these alone.",
            example="198.51.100.7",
        ),
    ] = ()
    local: Annotated[
        str | None,
        Host(
            help="The router's address that frames are sent from. null: the one that leads to the remote, "
            "IPv4 only."
        ),
    ] = None
    port: Annotated[
        int,
        Whole(
            1,
            65_535,
            importance="folded",
            label="UDP port",
            help="Of both ends; some older devices have 8472.",
        ),
    ] = 4789
    learning: Annotated[
        bool,
        Flag(
            importance="folded",
            help="Which address is behind which remote is learnt from the frames that come. Without it every "
            "frame goes to every remote.",
        ),
    ] = True

    @property
    def family(self) -> int:
        """4 or 6: of the packets that carry its frames."""
        return family_of(self.local or next(iter(self.remotes), ""))

    @property
    def overhead_bytes(self) -> int:
        """By which its MTU is smaller than that of what carries it."""
        return IP_BYTES[self.family] + _VXLAN_BYTES


@dataclass(frozen=True, slots=True)
class Gre:
    """IP packets in packets of GRE, to one other router. Over IPv4 or IPv6, as `remote` is."""

    remote: Annotated[str, Host(help="The address of the other end.", example="198.51.100.7")]
    local: Annotated[
        str | None,
        Host(
            help="The router's address that packets are sent from, of the remote's family. null: the one "
            "that leads to the remote, IPv4 only."
        ),
    ] = None
    key: Annotated[
        int | None,
        Whole(
            0,
            MAX_GRE_KEY,
            help="The key tells tunnels between the same two addresses apart; both ends have it. It is no "
            "secret.",
        ),
    ] = None
    ttl: Annotated[
        int,
        Whole(
            1,
            255,
            importance="folded",
            label="TTL",
            help="Of the packets that carry others: how many routers they pass.",
        ),
    ] = 64

    @property
    def family(self) -> int:
        """4 or 6: of the packets that carry others."""
        return family_of(self.remote)

    @property
    def overhead_bytes(self) -> int:
        """By which its MTU is smaller than that of what carries it."""
        return IP_BYTES[self.family] + _GRE_BYTES + (0 if self.key is None else _KEY_BYTES)
