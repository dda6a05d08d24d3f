# SPDX-License-Identifier: Apache-2.0
"""What makes several interfaces one link: bridges and bonds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from weir.fields import INTERFACE_NAMES, Choice, Flag, Many, Ref, Rows, Vlans, When, Whole
from weir.model.frames import vlan_ids
from weir.model.limits import (
    MAX_AGEING_S,
    MAX_BOND_MEMBERS,
    MAX_LINK_CHECK_MS,
    MAX_MEMBERS,
    MAX_PORT_COST,
    MAX_PORT_PRIORITY,
    MAX_VLAN_ID,
    MAX_VLAN_RANGES,
    MIN_LINK_CHECK_MS,
)

_STP = When("stp", ("stp",))
_FILTERS = When("vlan_filtering", (True,))
_LACP = When("mode", ("802.3ad",))


def _port(help: str, *types: str, when: When | None = None) -> Ref:
    """A port of the router; a form offers those of these types that are configured, and all others."""
    return Ref(
        "interface",
        INTERFACE_NAMES,
        own_rules=True,
        unconfigured=True,
        role="port",
        offered=When("type", types),
        help=help,
        when=when,
    )


@dataclass(frozen=True, slots=True)
class BridgePort:
    """A member of a bridge. VLANs count where the bridge filters them."""

    interface: Annotated[
        str,
        _port(
            "A port, VLAN, VXLAN or bond; a port need not be configured.", "ethernet", "vlan", "vxlan", "bond"
        ),
    ]
    pvid: Annotated[
        int,
        Whole(
            0,
            MAX_VLAN_ID,
            label="VLAN",
            help="The VLAN of frames without a tag, which leave without one. 0: such frames are dropped.",
        ),
    ] = 1
    tagged: Annotated[
        tuple[str, ...],
        Many(
            Vlans(),
            MAX_VLAN_RANGES,
            help="VLANs whose frames come and leave with their tag.",
            example="20-29",
        ),
    ] = ()
    isolated: Annotated[
        bool, Flag(help="It reaches no other isolated port, but the router and all other ports.")
    ] = False
    trusted: Annotated[
        bool,
        Flag(
            importance="folded",
            help="Where the bridge snoops on DHCP: DHCP servers may be behind it.",
        ),
    ] = False
    untagged: Annotated[
        tuple[str, ...],
        Many(
            Vlans(),
            MAX_VLAN_RANGES,
            importance="folded",
            help="Further VLANs whose frames leave without a tag.",
        ),
    ] = ()
    learning: Annotated[
        bool,
        Flag(
            importance="folded",
            help="The addresses of senders are learnt. Without it frames for them go to all ports.",
        ),
    ] = True
    hairpin: Annotated[
        bool, Flag(importance="folded", help="A frame may leave by the port that it came in by.")
    ] = False
    bpdu_guard: Annotated[
        bool,
        Flag(
            label="BPDU guard",
            importance="folded",
            help="The port is closed when somebody sends spanning tree messages there, until it goes down.",
        ),
    ] = False
    priority: Annotated[
        int,
        Whole(
            0, MAX_PORT_PRIORITY, importance="folded", help="Of two equal ways by STP the lower one forwards."
        ),
    ] = 32
    cost: Annotated[
        int | None,
        Whole(
            1,
            MAX_PORT_COST,
            importance="folded",
            help="What STP adds up along a way. null: by the port's speed when it joins.",
        ),
    ] = None


@dataclass(frozen=True, slots=True)
class Bridge:
    """A switch of several ports. The router itself is behind it as behind one more port."""

    ports: Annotated[
        tuple[BridgePort, ...],
        Rows(BridgePort, MAX_MEMBERS, by="interface", option="port", help="Its members."),
    ] = ()
    vlan_filtering: Annotated[
        bool,
        Flag(
            label="VLAN filtering",
            help="Frames pass in the VLANs of both ports only. Without it, tags are not looked at.",
        ),
    ] = False
    pvid: Annotated[
        int,
        Whole(
            0,
            MAX_VLAN_ID,
            label="The router's VLAN",
            when=_FILTERS,
            help="The VLAN of the bridge's own addresses. 0: the router is in none without a tag.",
        ),
    ] = 1
    tagged: Annotated[
        tuple[str, ...],
        Many(
            Vlans(),
            MAX_VLAN_RANGES,
            when=_FILTERS,
            label="The router's tagged VLANs",
            help="VLANs that reach the router with their tag: those of the VLAN interfaces on the bridge.",
            example="20-29",
        ),
    ] = ()
    igmp_snooping: Annotated[
        bool,
        Flag(
            label="IGMP snooping",
            importance="folded",
            help="Multicast goes to the ports that asked for it. It needs a querier in the network.",
        ),
    ] = False
    dhcp_snooping: Annotated[
        bool,
        Flag(
            label="DHCP snooping",
            importance="folded",
            help="DHCP servers answer by trusted ports only. The router's own server needs none.",
        ),
    ] = False
    ageing_s: Annotated[
        int,
        Whole(
            0,
            MAX_AGEING_S,
            importance="folded",
            label="Ageing",
            help="How long a learnt address that sends nothing is kept.",
        ),
    ] = 300
    stp: Annotated[
        Literal["none", "stp"],
        Choice(
            "none",
            "stp",
            label="Spanning tree",
            importance="folded",
            help="`stp`: the kernel's IEEE 802.1D, which opens a port after twice the forward delay. RSTP is "
            "not there yet.",
        ),
    ] = "none"
    priority: Annotated[
        int,
        Whole(0, 65_535, when=_STP, importance="folded", help="The bridge with the lowest one is the root."),
    ] = 32_768
    forward_delay_s: Annotated[
        int, Whole(2, 30, when=_STP, importance="folded", help="How long a port listens, and then learns.")
    ] = 15
    hello_s: Annotated[
        int,
        Whole(1, 10, when=_STP, importance="folded", label="Hello", help="Between two messages of the root."),
    ] = 2
    max_age_s: Annotated[
        int, Whole(6, 40, when=_STP, importance="folded", help="How long a message of the root holds.")
    ] = 20

    def own_vlans(self) -> frozenset[int]:
        """The VLANs that reach the router."""
        return vlan_ids(self.tagged) | ({self.pvid} if self.pvid else set())


@dataclass(frozen=True, slots=True)
class BondMember:
    """One of the ports that are one link."""

    interface: Annotated[
        str,
        _port("A port of the router; it need not be configured.", "ethernet"),
    ]


@dataclass(frozen=True, slots=True)
class Bond:
    """Several ports that are one link: what one of them cannot carry any more the others do."""

    members: Annotated[
        tuple[BondMember, ...],
        Rows(
            BondMember,
            MAX_BOND_MEMBERS,
            by="interface",
            option="member",
            help="The ports that are one link (RouterOS: `slaves`).",
        ),
    ] = ()
    mode: Annotated[
        Literal["802.3ad", "active-backup", "balance-xor"],
        Choice(
            "802.3ad",
            "active-backup",
            "balance-xor",
            help="`802.3ad`: all ports carry, as LACP agrees with the other end. `active-backup`: one carries"
            " and the others wait. `balance-xor`: all carry, to a static group at the other end. Another "
            "mode makes the bond again.",
        ),
    ] = "802.3ad"
    hash_policy: Annotated[
        Literal["layer2", "layer2+3", "layer3+4"],
        Choice(
            "layer2",
            "layer2+3",
            "layer3+4",
            when=When("mode", ("802.3ad", "balance-xor")),
            help="What decides which port a packet leaves by (RouterOS: `transmit-hash-policy`): hardware "
            "addresses; those and IP addresses; or IP addresses and ports.",
        ),
    ] = "layer2+3"
    lacp_rate: Annotated[
        Literal["slow", "fast"],
        Choice(
            "slow",
            "fast",
            when=_LACP,
            label="LACP rate",
            help="How often the other end says that it is there: every 30 s or every second. It is given up "
            "after three that did not come. Another rate makes the bond again.",
        ),
    ] = "slow"
    min_links: Annotated[
        int,
        Whole(
            1,
            MAX_BOND_MEMBERS,
            when=_LACP,
            label="Least links",
            help="With fewer ports that carry, the bond itself is down, so that another way is taken.",
        ),
    ] = 1
    primary: Annotated[
        str | None,
        _port(
            "The member that carries whenever it can. null: the one that carries goes on.",
            "ethernet",
            when=When("mode", ("active-backup",)),
        ),
    ] = None
    miimon_ms: Annotated[
        int,
        Whole(
            MIN_LINK_CHECK_MS,
            MAX_LINK_CHECK_MS,
            importance="folded",
            label="Link check",
            help="How often each port's link is looked at (RouterOS: `mii-interval`).",
        ),
    ] = 100
