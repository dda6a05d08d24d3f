# SPDX-License-Identifier: Apache-2.0
"""OSPF version 2 (RFC 2328): who this router is to others, and which other routes it announces."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, ClassVar

from weir.fields import Comment, Flag, Ref
from weir.kinds.declaration import Declaration
from weir.kinds.route_map_entry import RouteMapEntry
from weir.kinds.routing_fields import AnnounceKernel, AnnounceStatic, RouterId, router_id_is_ipv4
from weir.model.objects import ConfigObject, Kind
from weir.model.problem import Finding
from weir.model.rule import Rule, View, all_after, error
from weir.model.unique import one_for_each


@dataclass(frozen=True, slots=True)
class Ospf(ConfigObject):
    """One for the interfaces that are in no VRF. Those that take part are objects of their own."""

    kind: ClassVar[Kind] = "ospf"
    id: str
    router_id: RouterId = None
    redistribute_connected: Annotated[
        bool,
        Flag(
            label="Announce connected networks",
            help="Announce the networks of interfaces that do not take part.",
        ),
    ] = False
    redistribute_static: AnnounceStatic = False
    redistribute_kernel: AnnounceKernel = False
    redistribute_bgp: Annotated[
        bool, Flag(label="Announce BGP routes", help="Announce routes learned by BGP.")
    ] = False
    redistribute_route_map: Annotated[
        str | None,
        Ref(
            "route-map",
            label="Redistribution policy",
            help="Decides which of these routes are announced, by network or tag.",
        ),
    ] = None
    default_originate: Annotated[
        bool, Flag(label="Announce a default route", help="Announced while this router has a default route.")
    ] = False
    comment: Comment = ""
    disabled: Annotated[bool, Flag(help="All adjacencies end; the configuration is kept.")] = False


def map_is_possible(view: View, ospf: Ospf) -> Iterator[Finding]:
    """ospfd ignores a condition that it does not know, and would announce everything."""
    name = ospf.redistribute_route_map
    maps = view.worked_out("maps by protocol", lambda: _maps_by_protocol(view))
    if name in maps and not ospf.disabled:
        text = f"the entry {maps[name]!r} of {name} matches by protocol, and OSPF cannot: "
        text += "match networks or tags"
        yield error("match-not-possible", ospf, "redistribute_route_map", text)


def _maps_by_protocol(view: View) -> dict[str | None, str]:
    entries = view.document.every(RouteMapEntry)
    return {e.route_map: e.id for e in entries if e.match_protocol is not None and not e.disabled}


KIND = Declaration(
    Ospf,
    singular="OSPF instance",
    plural="OSPF instances",
    short="ospf",
    about="OSPF version 2, by FRR.",
    columns=("router_id", "redistribute_connected", "redistribute_static", "comment"),
    area="Routing",
    purpose="OSPF finds the best paths between your own routers. Add an instance, then the interfaces that "
    "take part.",
    page="ospf",
    rules=(
        router_id_is_ipv4("ospf"),
        Rule("map-is-possible", "ospf", map_is_possible, all_after("ospf", "ospf", "route-map-entry"), True),
        one_for_each(
            Ospf,
            "only-one",
            key=lambda ospf: None if ospf.disabled else "enabled",
            code="ospf-twice",
            field="id",
            says=lambda _, first: f"there can be one OSPF instance, and {first.id} is it",
        ),
    ),
)
