# SPDX-License-Identifier: Apache-2.0
"""Interfaces. The class is in `weir.model.interface`: documents and the rules of others know it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

from weir.fields import (
    INTERFACE_NAMES,
    Case,
    Choice,
    Flag,
    Moment,
    OneOf,
    PublicKey,
    Rows,
    Text,
    When,
    Whole,
)
from weir.kinds.announcing import announcing_sense, learning_sense
from weir.kinds.declaration import Declaration
from weir.kinds.delegation import RULES as DELEGATION_RULES
from weir.kinds.hardware import RULES as HARDWARE_RULES
from weir.model.delegation import MAX_SUBNET_ID
from weir.model.interface import Interface
from weir.model.limits import (
    MAX_ADDRESSES,
    MAX_AGEING_S,
    MAX_BOND_MEMBERS,
    MAX_MEMBERS,
    MAX_SECONDS_32,
    MAX_VLAN_ID,
)
from weir.model.problem import Finding
from weir.model.reader import Reader
from weir.model.rule import Rule, View, notice, own, warning
from weir.model.zones import OPEN

MAX_STATIONS = 256
"""Addresses behind one bridge that its state names; the count says how many there are."""


@dataclass(frozen=True, slots=True)
class PortState:
    """One port of a bridge."""

    interface: Annotated[str, Text(15)]
    state: Annotated[
        str | None, Text(20, help="`disabled` is a port without a carrier, or one that its guard closed.")
    ] = None


@dataclass(frozen=True, slots=True)
class Station:
    """An address that was seen behind a port."""

    mac: Annotated[str, Text(17)]
    port: Annotated[str | None, Text(15)] = None
    vlan: Annotated[int | None, Whole(1, MAX_VLAN_ID)] = None
    age_s: Annotated[int | None, Whole(0, MAX_AGEING_S)] = None


@dataclass(frozen=True, slots=True)
class MemberState:
    """One member of a bond."""

    interface: Annotated[str, Text(15)]
    state: Annotated[
        str | None, Text(20, help="`active` carries packets, `backup` waits, until the link or LACP is up.")
    ] = None
    link: Annotated[str | None, Text(20)] = None
    lacp: Annotated[
        str | None,
        Text(20, label="LACP", help="`no partner`: the other end says nothing. `in sync`: it agreed."),
    ] = None
    aggregator: Annotated[
        int | None, Whole(0, 65_535, help="Members that go to the same other end have the same one.")
    ] = None
    failures: Annotated[int | None, Whole(0, 2**32 - 1, help="How often its link went down.")] = None


_BRIDGE = When("type", ("bridge",))
_BOND = When("type", ("bond",))


def with_zone(reader: Reader) -> None:
    """Earlier releases did not store the role `none`, by which everything passed but what came from a WAN."""
    data = reader.data
    bridge = data.get("bridge")
    if isinstance(bridge, dict) and "mac" in bridge:  # which was the bridge's alone
        data = {**data, "mac": bridge["mac"], "bridge": {k: v for k, v in bridge.items() if k != "mac"}}
        reader.data = data
    if "role" not in data and data.get("vrf_table") is None and data.get("loopback") is None:
        reader.data = {**data, "role": OPEN}


def zone_sense(_view: View, interface: Interface) -> Iterator[Finding]:
    if interface.disabled or interface.role != OPEN:
        return
    text = (
        f"{interface.id} is in the zone open: hosts behind it reach the router's login page, its services "
        "and the networks of the LANs. Choose lan, a zone of your own, or none"
    )
    yield notice("open-zone", interface, "role", text)


def snooping_sense(_view: View, interface: Interface) -> Iterator[Finding]:
    bridge = interface.bridge
    asks = interface.addressing == "dhcp" or interface.dhcpv6 is not None
    if bridge is None or not bridge.dhcp_snooping or not asks or any(port.trusted for port in bridge.ports):
        return
    text = f"{interface.id} asks for an address by DHCP, and no port of it is trusted: no answer comes"
    yield warning("no-trusted-port", interface, "bridge.dhcp_snooping", text)


@dataclass(frozen=True, slots=True)
class AnnouncedPrefix:
    """A prefix that hosts are told of."""

    prefix: Annotated[str, Text(50)]
    preferred_s: Annotated[int, Whole(0, MAX_SECONDS_32, help="0: hosts give it up.")] = 0
    valid_s: Annotated[int, Whole(0, MAX_SECONDS_32)] = 0
    autonomous: Annotated[bool, Flag(help="Whether hosts make addresses of it.")] = True


@dataclass(frozen=True, slots=True)
class LearntAddressState:
    """An IPv6 address by what a router announced. A lifetime is from now; 4,294,967,295 stands for ever."""

    address: Annotated[str, Text(50)]
    preferred_s: Annotated[int, Whole(0, 2**32 - 1)] = 0
    valid_s: Annotated[int, Whole(0, 2**32 - 1)] = 0


_LEARNS = When("ipv6_addressing", ("auto",))
_ASKS, _TAKES = When("dhcpv6"), When("delegated")
_DIALS = When("type", ("pppoe",))

KIND = Declaration(
    Interface,
    singular="interface",
    plural="interfaces",
    short="interface",
    about="What the router has, and what is configured of it.",
    ids=INTERFACE_NAMES,
    argument="name",
    area="Network",
    purpose="The router lists what it has. VLANs, bridges, bonds and tunnels are made here.",
    adds=("configured", "state"),
    state={
        "public_key": PublicKey(
            when=When("type", ("wireguard",)),
            help="Of a WireGuard tunnel: what its peers have to know of it.",
        ),
        "ports": Rows(
            PortState, MAX_MEMBERS, by="interface", when=_BRIDGE, help="Of a bridge: what STP does with each."
        ),
        "root": Text(23, when=_BRIDGE, help="Of a bridge with STP: priority and address of the root."),
        "station_count": Whole(
            0, 2**31, when=_BRIDGE, label="Stations", help="Addresses learnt behind a bridge's ports."
        ),
        "stations": Rows(
            Station,
            MAX_STATIONS,
            by="mac",
            when=_BRIDGE,
            label="Learnt addresses",
            help=f"The first {MAX_STATIONS} of them.",
        ),
        "members": Rows(
            MemberState,
            MAX_BOND_MEMBERS,
            by="interface",
            when=_BOND,
            help="Of a bond: what each member does.",
        ),
        "active_count": Whole(
            0, MAX_BOND_MEMBERS, when=_BOND, label="Active", help="Members of a bond that carry packets."
        ),
        "active_member": Text(
            15, when=_BOND, help="Of a bond with `active-backup`: the member that carries the packets."
        ),
        "learnt_addresses": Rows(
            LearntAddressState,
            MAX_ADDRESSES,
            by="address",
            when=_LEARNS,
            label="Learnt IPv6 addresses",
            help="By what a router announced.",
        ),
        "learnt_gateway": Text(
            50, when=_LEARNS, label="Learnt IPv6 gateway", help="The router that announced itself."
        ),
        "gateway_lifetime_s": Whole(
            0, 2**31, when=_LEARNS, help="For so long the gateway holds, unless it is announced again."
        ),
        "delegated_prefix": Text(
            50, when=_ASKS, label="Delegated prefix", help="Of a WAN: what the provider gave by DHCPv6."
        ),
        "dhcpv6_address": Text(50, when=_ASKS, label="DHCPv6 address", help="Given beside the prefix."),
        "dhcpv6_preferred_s": Whole(
            0, MAX_SECONDS_32, when=_ASKS, label="Preferred for", help="Of the prefix, from now."
        ),
        "dhcpv6_valid_s": Whole(
            0,
            MAX_SECONDS_32,
            when=_ASKS,
            label="Valid for",
            help="Of the prefix, from now; the provider is asked for more time before.",
        ),
        "dhcpv6_failure": Text(
            400, when=_ASKS, label="Last failure", help="Why there is no prefix, or no more time for it."
        ),
        "delegated_network": Text(
            50, when=_TAKES, label="Delegated network", help="The part of a WAN's prefix that it has now."
        ),
        "delegated_subnet": Whole(0, MAX_SUBNET_ID, when=_TAKES, label="Subnet", help="Which part that is."),
        "delegated_failure": Text(
            400, when=_TAKES, label="No network", help="Why it has no part of the prefix."
        ),
        "announced": Rows(
            AnnouncedPrefix,
            MAX_ADDRESSES,
            by="prefix",
            when=When("ra"),
            label="Announced prefixes",
            help="What radvd was given and has read, also prefixes that hosts are to give up.",
        ),
        "session": Choice(
            "up",
            "dialling",
            "waiting",
            when=_DIALS,
            help="Of PPPoE: `waiting` until the next try, or for the interface that leads to the provider.",
        ),
        "session_since": Moment(when=_DIALS, help="Since when the session is up."),
        "session_address": Text(15, when=_DIALS, help="The address that the provider gave."),
        "session_gateway": Text(15, when=_DIALS, help="The provider's end of the session."),
        "session_dns": Text(
            80, when=_DIALS, label="Session DNS", help="The DNS servers that the provider named."
        ),
        "session_ipv6_peer": Text(
            45,
            when=_DIALS,
            label="Session IPv6 peer",
            help="The provider's link-local address; null: no IPv6 was agreed on.",
        ),
        "concentrator": Text(17, when=_DIALS, help="The MAC address of the access concentrator."),
        "session_number": Whole(0, 65_535, when=_DIALS, help="By which the concentrator knows the session."),
        "session_failures": Whole(
            0, 2**31, when=_DIALS, help="Tries that failed since the session was up last."
        ),
        "session_failure": Text(
            400, when=_DIALS, label="Last failure", help="Why the last try failed, or the session ended."
        ),
        "session_next_try": Moment(when=_DIALS, label="Next try", help="When it is dialled again."),
        "partner": Text(17, when=_BOND, help="Of a bond with LACP: the hardware address of the other end."),
    },
    columns=("type", "role", "vrf", "addresses", "description"),
    earlier=with_zone,
    always=("role",),
    rules=(
        Rule("zone-sense", "interface", zone_sense, own("interface"), False),
        Rule("snooping-sense", "interface", snooping_sense, own("interface"), False),
        Rule("announcing-sense", "interface", announcing_sense, own("interface"), True),
        Rule("learning-sense", "interface", learning_sense, own("interface"), True),
        *DELEGATION_RULES,
        *HARDWARE_RULES,
    ),
    one_of=OneOf(
        "type",
        Case("ethernet", "A device that the router finds: an Ethernet port, or what another program made."),
        Case("vlan", "Frames of another interface with a tag.", "vlan"),
        Case("vrf", "A routing table of its own, for the interfaces in it.", "vrf_table"),
        Case("wireguard", "An encrypted tunnel to its peers.", "wireguard"),
        Case("vxlan", "A network of several places, whose frames go in UDP packets.", "vxlan"),
        Case("gre", "A tunnel to one other router, without encryption.", "gre"),
        Case("pppoe", "A session with the provider of a DSL or fibre line.", "pppoe"),
        Case("bridge", "A switch of several ports, with the router behind it.", "bridge"),
        Case("bond", "Several ports that are one link.", "bond"),
        Case("loopback", "An interface without a port, for addresses that do not depend on one.", "loopback"),
    ),
)
