# SPDX-License-Identifier: Apache-2.0
"""What makes several interfaces one link: bridges."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from weir.fields import INTERFACE_NAMES, Choice, Flag, Mac, Many, Ref, Rows, Vlans, When, Whole
from weir.model.frames import vlan_ids
from weir.model.limits import (
    MAX_AGEING_S,
    MAX_MEMBERS,
    MAX_PORT_COST,
    MAX_PORT_PRIORITY,
    MAX_VLAN_ID,
    MAX_VLAN_RANGES,
)

_STP = When("stp", ("stp",))
_FILTERS = When("vlan_filtering", (True,))


@dataclass(frozen=True, slots=True)
class BridgePort:
    """A member of a bridge. VLANs count where the bridge filters them."""

    interface: Annotated[
        str,
        Ref(
            "interface",
            INTERFACE_NAMES,
            own_rules=True,
            unconfigured=True,
            role="port",
            offered=When("type", ("ethernet", "vlan")),
            help="A port, VLAN or bond; it need not be configured.",
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
            help="Frames pass in the VLANs of both ports only. Without it tags are nobody's business.",
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
    mac: Annotated[
        str | None,
        Mac(
            label="MAC address",
            help="null: that of the first port that joins it, kept while others come and go.",
            example="02:00:5e:10:00:01",
        ),
    ] = None
    igmp_snooping: Annotated[
        bool,
        Flag(
            label="IGMP snooping",
            importance="folded",
            help="Multicast goes to the ports that asked for it. It needs a querier in the network.",
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
