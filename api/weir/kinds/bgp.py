# SPDX-License-Identifier: Apache-2.0
"""BGP: who this router is to others, in one VRF or in none, and which routes it tells them of."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from weir.fields import INTERFACE_NAMES, Flag, Host, Many, Prefix, Ref, Text, When, Whole
from weir.kinds.declaration import Declaration
from weir.model.limits import MAX_COMMENT_CHARS
from weir.model.objects import ConfigObject, Kind
from weir.model.problem import Finding
from weir.model.rule import Rule, View, all_after, error, own
from weir.model.vrf import is_vrf

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
    vrf: Annotated[
        str | None,
        Ref(
            "interface",
            INTERFACE_NAMES,
            role="VRF",
            fits=is_vrf,
            unfit="those have a vrf_table",
            offered=When("vrf_table"),
            label="VRF",
            help="The VRF whose routes it exchanges.",
        ),
    ] = None
    router_id: Annotated[
        str | None,
        Host(
            label="Router ID",
            help="An IPv4 address that identifies this router to the others. Without one, FRR uses the "
            "highest of the router's addresses.",
            example="192.0.2.1",
        ),
    ] = None
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
    redistribute_static: Annotated[
        bool, Flag(label="Announce static routes", help="Announce the static routes of this configuration.")
    ] = False
    redistribute_kernel: Annotated[
        bool,
        Flag(
            label="Announce kernel routes",
            help="Announce routes that other programs added to the kernel.",
            importance="folded",
        ),
    ] = False
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
    comment: Annotated[str, Text(MAX_COMMENT_CHARS, lines=True, help="A note for people.")] = ""
    disabled: Annotated[bool, Flag(help="Ends all of its sessions; the configuration is kept.")] = False

    @property
    def name(self) -> str:
        return f"AS {self.asn}" + (f" in {self.vrf}" if self.vrf else "")


def router_id_is_ipv4(_view: View, item: Any) -> Iterator[Finding]:
    """Of a routing protocol."""
    if item.router_id is not None and (":" in item.router_id or item.router_id == "0.0.0.0"):
        yield error(
            "bad-router-id", item, "router_id", f"a router id is an IPv4 address, not {item.router_id}"
        )


def one_per_vrf(view: View, bgp: Bgp) -> Iterator[Finding]:
    if bgp.disabled:
        return
    others = sorted(
        b.id for b in view.document.every(Bgp) if b.vrf == bgp.vrf and not b.disabled and b.id < bgp.id
    )
    if others:
        where = f"in VRF {bgp.vrf}" if bgp.vrf else "without a VRF"
        yield error("bgp-twice", bgp, "vrf", f"{others[0]} is the BGP {where} already: each VRF can have one")


_OWN = own("bgp")
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
        Rule("router-id", "bgp", router_id_is_ipv4, _OWN, True),
        Rule("one-per-vrf", "bgp", one_per_vrf, all_after("bgp"), True),
    ),
)
