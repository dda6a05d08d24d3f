# SPDX-License-Identifier: Apache-2.0
"""Network interfaces, and what one of them may be made as; links of several are in `weir.model.links`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from weir.fields import (
    INTERFACE_NAMES,
    Address,
    Choice,
    Flag,
    Group,
    Mac,
    Many,
    Ref,
    Rows,
    Secret,
    Text,
    When,
    Whole,
)
from weir.model.announcing import Announcement
from weir.model.arp import GUARDED, MODES, ArpMode, KnownHost
from weir.model.delegation import Delegated, Dhcpv6
from weir.model.endpoint import parse_key
from weir.model.limits import (
    MAX_ADDRESSES,
    MAX_COMMENT_CHARS,
    MAX_DOMAIN,
    MAX_KNOWN_HOSTS,
    MAX_MTU_BYTES,
    MAX_OVERHEAD_BYTES,
    MAX_VLAN_ID,
    MAX_VRF_TABLE,
    MIN_MTU_BYTES,
    MIN_OVERHEAD_BYTES,
    MIN_VLAN_ID,
)
from weir.model.links import Bond, Bridge
from weir.model.objects import ConfigObject, Kind
from weir.model.pppoe import Pppoe
from weir.model.tunnels import Gre, Vxlan
from weir.model.zones import BUILT_IN, NO_ZONE


@dataclass(frozen=True, slots=True)
class Vlan:
    """Frames of `parent` with this tag. A VLAN whose parent is a VLAN has two tags (QinQ)."""

    parent: Annotated[
        str,
        Ref(
            "interface",
            INTERFACE_NAMES,
            own_rules=True,
            offered=When("type", ("vrf", "loopback", "wireguard", "gre", "pppoe"), unless=True),
            help="The interface whose frames have the tag.",
        ),
    ]
    id: Annotated[int, Whole(MIN_VLAN_ID, MAX_VLAN_ID, help="The tag.")]
    protocol: Annotated[
        Literal["802.1Q", "802.1ad"],
        Choice("802.1Q", "802.1ad", help="What marks the tag; the outer one of two usually has 802.1ad."),
    ] = "802.1Q"

    @property
    def text(self) -> str:
        return f"VLAN {self.id} ({self.protocol}) of {self.parent}"


@dataclass(frozen=True, slots=True)
class Wireguard:
    """An encrypted tunnel. Whom it leads to is said by its peers (`wireguard-peer`)."""

    private_key: Annotated[
        str | None,
        Secret(
            44,
            44,
            check=parse_key,
            made="x25519",
            help="The router makes it where you give none, and never shows it. Peers need its "
            "public half, which the interface's state has.",
        ),
    ] = None
    listen_port: Annotated[
        int, Whole(1, 65_535, help="The UDP port on which peers reach the router; open on every WAN.")
    ] = 51_820


@dataclass(frozen=True, slots=True)
class Loopback:
    """An interface that leads nowhere: for addresses that do not depend on a port."""


HAS_HOSTS = ("ethernet", "vlan", "bridge", "bond", "vxlan")
"""Types behind which hosts hear each other."""
HAS_ROUTERS = (*HAS_HOSTS, "pppoe")
"""Types beyond which a router may announce itself, and give prefixes."""
_PASSES = When("type", ("vrf", "loopback"), unless=True)
"""Packets come in by it and leave by it."""


@dataclass(frozen=True, slots=True)
class Interface(ConfigObject):
    """A network interface; the id is the kernel's name.

    One with a `vlan`, a `vrf_table`, `wireguard`, `vxlan`, `gre`, `pppoe`, `bridge`, `bond` or `loopback` is
    made by the router, any other is there or not; a `pppoe` is there while its session is. Where `vrf_table`
    is 0, `weir.model.vrf` chooses the table.
    """

    kind: ClassVar[Kind] = "interface"
    id: str
    role: Annotated[
        str,
        Ref(
            "zone",
            also=(*BUILT_IN, NO_ZONE),
            when=_PASSES,
            label="Zone",
            help="Decides what passes. `wan` is outside: firewall and masquerading apply there. `lan` "
            "reaches the router, the WAN and other LANs. A zone of your own reaches what it and zone "
            "policies say. `none`: nothing passes and nothing is reached. `open` has what interfaces "
            "without a role had in earlier releases. Every enabled interface is shaped, whatever its zone.",
        ),
    ] = "none"
    addresses: Annotated[
        tuple[str, ...],
        Many(
            Address(),
            MAX_ADDRESSES,
            option="address",
            when=When("type", ("pppoe",), unless=True),
            help="With host bits and prefix length, such as 192.0.2.1/24.",
        ),
    ] = ()
    addressing: Annotated[
        Literal["static", "dhcp"],
        Choice(
            "static",
            "dhcp",
            when=When("type", HAS_HOSTS),
            help="`dhcp`: an IPv4 address and routes by DHCP, beside the addresses.",
        ),
    ] = "static"
    ipv6_addressing: Annotated[
        Literal["static", "auto"],
        Choice(
            "static",
            "auto",
            label="IPv6 addressing",
            when=When("type", HAS_ROUTERS),
            help="`auto`: IPv6 addresses and a default route as a router there announces them (SLAAC), "
            "beside the addresses. A static route to ::/0 wins.",
        ),
    ] = "static"
    dhcpv6: Annotated[
        Dhcpv6 | None,
        Group(
            Dhcpv6,
            label="DHCPv6",
            when=When("type", HAS_ROUTERS),
            help="Of a WAN: asks the provider for a prefix for the networks inside (prefix delegation), from "
            "link-local address to link-local address. null: nothing is asked for.",
        ),
    ] = None
    delegated: Annotated[
        Delegated | None,
        Group(
            Delegated,
            label="Delegated prefix",
            when=When("type", HAS_HOSTS),
            help="An IPv6 network of the prefix that a WAN was given, beside the addresses. Hosts learn it "
            "by router advertisements.",
        ),
    ] = None
    ra: Annotated[
        Announcement | None,
        Group(
            Announcement,
            label="Router advertisements",
            importance="folded",
            when=When("type", HAS_HOSTS),
            help="Hosts behind it make IPv6 addresses of the prefixes of its static addresses and of its "
            "delegated one, and take the router as their default gateway. null: nothing is announced.",
        ),
    ] = None
    mtu: Annotated[
        int | None,
        Whole(
            MIN_MTU_BYTES,
            MAX_MTU_BYTES,
            help="Bytes, at least 1,280 with IPv6. null leaves it as it is; a VLAN then has its parent's, "
            "a WireGuard tunnel 1,420, a VXLAN or GRE what fits into packets of its local interface, a PPPoE "
            "session at most 1,492, a bridge or bond 1,500, or what fits into a VXLAN that is a port of it.",
        ),
    ] = None
    mac: Annotated[
        str | None,
        Mac(
            label="MAC address",
            importance="folded",
            when=When("type", HAS_HOSTS),
            help="An address of its own, such as one that a provider knows. null: a port has that of its "
            "hardware, a VLAN its parent's, a bridge that of the first port that joins it, kept while others "
            "come and go; a bond or VXLAN keeps the one that it has.",
            example="02:00:5e:10:00:01",
        ),
    ] = None
    arp: Annotated[
        ArpMode,
        Choice(
            *MODES,
            label="ARP",
            importance="folded",
            when=When("type", HAS_HOSTS),
            help="`proxy`: the router answers for addresses that it reaches elsewhere, too (RFC 1027). "
            "`local-proxy`: it answers for hosts behind the same interface, which do not hear each other "
            "(RFC 3069). `reply-only`: it knows no IPv4 hosts but those with a lease or reservation of a "
            "DHCP server there, and the known hosts: others get no answer, and no packets.",
        ),
    ] = "on"
    known_hosts: Annotated[
        tuple[KnownHost, ...],
        Rows(
            KnownHost,
            MAX_KNOWN_HOSTS,
            by="address",
            option="known-host",
            importance="folded",
            when=When("arp", (GUARDED,)),
            help="Hosts that the router knows beside those of its DHCP servers.",
        ),
    ] = ()
    description: Annotated[str, Text(MAX_COMMENT_CHARS, lines=True, help="For people.")] = ""
    overhead_bytes: Annotated[
        int,
        Whole(
            MIN_OVERHEAD_BYTES,
            MAX_OVERHEAD_BYTES,
            importance="folded",
            when=_PASSES,
            help="Added to each packet's IP length when it is charged, as CAKE's `overhead`: 18 for "
            "Ethernet with FCS (22 with a VLAN tag), 38 with preamble and gap.",
        ),
    ] = 0
    shaper: Annotated[
        Literal["auto", "edt", "police", "htb"],
        Choice(
            "auto",
            "edt",
            "police",
            "htb",
            importance="folded",
            when=_PASSES,
            help="How limits are kept; `auto` takes the best that the kernel can do, and `system` says "
            "which and why.",
        ),
    ] = "auto"
    fast_path: Annotated[
        Literal["auto", "off"],
        Choice(
            "auto",
            "off",
            importance="folded",
            when=When("type", ("ethernet", "vlan")),
            help="Whether packets that conform are forwarded in XDP. `auto` where the device and the "
            "kernel can and nobody else has to see them; `state` says whether they are and why.",
        ),
    ] = "auto"
    unknown: Annotated[
        Literal["allow", "queue", "drop"],
        Choice(
            "allow",
            "queue",
            "drop",
            importance="folded",
            when=_PASSES,
            help="Forwarded packets of addresses behind it that are in no queue. `allow`: unlimited, but "
            "for a queue that has the interface as target. `queue`: to that queue, and dropped while "
            "that queue is not active. `drop`: dropped.",
        ),
    ] = "allow"
    reverse_path: Annotated[
        Literal["off", "loose", "strict"],
        Choice(
            "off",
            "loose",
            "strict",
            importance="folded",
            when=_PASSES,
            help="Which sources it forwards. `loose`: those that there is a way to; `strict`: those whose "
            "way back is this interface (BCP 38). The first setup chooses `strict` for LAN and "
            "`loose` for WAN.",
        ),
    ] = "off"
    mss_clamp: Annotated[
        Literal["auto", "off"],
        Choice(
            "auto",
            "off",
            label="MSS clamp",
            importance="folded",
            when=_PASSES,
            help="`auto`: where the MTU that is configured, or that it is made with, is below 1,500 bytes, "
            "TCP connections that pass it are told to send segments that fit, as many networks lose the "
            "message that a packet is too big (RFC 2923). Their first packets then go by the network stack. "
            "`off`: they are left as they are.",
        ),
    ] = "auto"
    domain: Annotated[
        int,
        Whole(
            0,
            MAX_DOMAIN,
            importance="folded",
            when=_PASSES,
            help="Whose addresses are behind it: a target `10.0.0.0/24@2` holds where the domain is 2, one"
            " without `@` where it is 0.",
        ),
    ] = 0
    vlan: Annotated[
        Vlan | None,
        Group(Vlan, help="Frames of the interface `parent` with the tag `id`."),
    ] = None
    vrf: Annotated[
        str | None,
        Ref(
            "interface",
            INTERFACE_NAMES,
            role="VRF",
            own_rules=True,
            offered=When("vrf_table"),
            when=When("type", ("vrf", "pppoe"), unless=True),
            help="The VRF that it is in: routes and addresses of its own.",
        ),
    ] = None
    vrf_table: Annotated[
        int | None,
        Whole(
            0,
            MAX_VRF_TABLE,
            help="A VRF with this routing table, which no other has; 0: a table that goes by the VRF's name.",
        ),
    ] = None
    wireguard: Annotated[
        Wireguard | None, Group(Wireguard, label="WireGuard", help="An encrypted tunnel.")
    ] = None
    vxlan: Annotated[
        Vxlan | None, Group(Vxlan, label="VXLAN", help="A network of several places, in UDP packets.")
    ] = None
    gre: Annotated[
        Gre | None, Group(Gre, label="GRE", help="A tunnel to one other router, without encryption.")
    ] = None
    pppoe: Annotated[
        Pppoe | None,
        Group(Pppoe, label="PPPoE", help="A session with the provider, which gives the address."),
    ] = None
    bridge: Annotated[
        Bridge | None,
        Group(Bridge, help="A switch of several ports."),
    ] = None
    bond: Annotated[Bond | None, Group(Bond, help="Several ports that are one link.")] = None
    loopback: Annotated[
        Loopback | None,
        Group(Loopback, help="An interface that leads nowhere, whose addresses are up with the router."),
    ] = None
    disabled: Annotated[bool, Flag(help="Down, without addresses, not shaped.")] = False

    @property
    def is_port(self) -> bool:
        """Whether packets come and go by it, so that it can shape: not by a VRF, nor by a loopback."""
        return self.vrf_table is None and self.loopback is None

    @property
    def is_point_to_point(self) -> bool:
        """Whether a route by it needs no gateway."""
        return self.wireguard is not None or self.pppoe is not None or self.gre is not None

    @property
    def tunnel(self) -> Vxlan | Gre | None:
        """A tunnel whose ends are its own: they come with the device."""
        return self.vxlan or self.gre

    @property
    def udp_port(self) -> int | None:
        """Where the router takes packets of the tunnel that it is; None where it is none, or has no ports."""
        if self.wireguard is not None:
            return self.wireguard.listen_port
        return None if self.vxlan is None else self.vxlan.port


def members_of(interface: Interface) -> tuple[str, ...]:
    """The names of what belongs to it."""
    if interface.bridge is not None:
        return tuple(port.interface for port in interface.bridge.ports)
    return () if interface.bond is None else tuple(member.interface for member in interface.bond.members)
