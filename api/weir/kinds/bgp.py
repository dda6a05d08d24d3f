# SPDX-License-Identifier: Apache-2.0
"""BGP: who this router is to others, in one VRF or in none, and which routes it tells them of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from weir.fields import Comment, Flag, Many, Prefix, Ref, Whole
from weir.kinds.declaration import Declaration
from weir.kinds.routing_fields import (
    AnnounceKernel,
    AnnounceStatic,
    RouterId,
    router_id_is_ipv4,
    vrf_reference,
)
from weir.model.objects import ConfigObject, Kind
from weir.model.unique import one_for_each

MAX_ASN = 2**32 - 1
MAX_NETWORKS = 1000
MAX_PATHS = 8
REDISTRIBUTED = ("connected", "static", "kernel", "ospf")


@dataclass(frozen=True, slots=True)
class Bgp(ConfigObject):
    """One for each VRF, and one for what is in none. Its neighbors are objects of their own."""

    kind: ClassVar[Kind] = "bgp"
    id: str
    asn: Annotated[
        int,
        Whole(
            1,
            MAX_ASN,
            label="AS number",
            help="The autonomous system that this router is part of.",
            example="65000",
        ),
    ]
    vrf: Annotated[str | None, vrf_reference("The VRF whose routes it exchanges.")] = None
    router_id: RouterId = None
    networks: Annotated[
        tuple[str, ...],
        Many(
            Prefix(),
            MAX_NETWORKS,
            help="Announced while the router has a route to them.",
            example="198.51.100.0/24",
        ),
    ] = ()
    redistribute_connected: Annotated[
        bool,
        Flag(
            label="Announce connected networks", help="Announce the networks of the router's own addresses."
        ),
    ] = False
    redistribute_static: AnnounceStatic = False
    redistribute_kernel: AnnounceKernel = False
    redistribute_ospf: Annotated[
        bool, Flag(label="Announce OSPF routes", help="Announce routes learned by OSPF.")
    ] = False
    redistribute_route_map: Annotated[
        str | None,
        Ref(
            "route-map",
            label="Redistribution policy",
            help="Decides which of these routes are announced. Its entries can match by protocol.",
        ),
    ] = None
    multipath: Annotated[
        int,
        Whole(
            1, MAX_PATHS, help="How many equally good paths are used at the same time.", importance="folded"
        ),
    ] = 1
    comment: Comment = ""
    disabled: Annotated[bool, Flag(help="All of its sessions end; the configuration is kept.")] = False

    @property
    def name(self) -> str:
        return f"AS {self.asn}" + (f" in {self.vrf}" if self.vrf else "")


def _is_taken(bgp: Bgp, first: Bgp) -> str:
    where = f"in VRF {bgp.vrf}" if bgp.vrf else "without a VRF"
    return f"{first.id} is the BGP {where} already: each VRF can have one"


KIND = Declaration(
    Bgp,
    singular="BGP instance",
    plural="BGP instances",
    short="bgp",
    about="BGP, by FRR: one instance for each VRF, and one without.",
    columns=("asn", "vrf", "router_id", "networks", "comment"),
    area="Routing",
    purpose="BGP exchanges routes with your providers and with your other routers. Start with "
    "your AS number, then "
    "add the neighbors.",
    page="bgp",
    rules=(
        router_id_is_ipv4("bgp"),
        one_for_each(
            Bgp,
            "one-per-vrf",
            key=lambda bgp: None if bgp.disabled else (bgp.vrf,),
            code="bgp-twice",
            field="vrf",
            says=_is_taken,
        ),
    ),
)
