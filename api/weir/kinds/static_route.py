# SPDX-License-Identifier: Apache-2.0
"""Static routes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar

from weir.fields import INTERFACE_NAMES, OBJECT_IDS, Comment, Flag, Host, Prefix, Ref, Text, When, Whole
from weir.kinds.declaration import Declaration
from weir.kinds.routing_fields import vrf_reference
from weir.model.interface import Interface
from weir.model.objects import ConfigObject, Kind
from weir.model.prefix import NO_HOST, parse_prefix
from weir.model.problem import Finding
from weir.model.rule import LINK_LOCAL, Rule, View, all_after, error, warning
from weir.model.vrf import is_vrf, vrf_of

_LEADS_ON = When("blackhole", (False,))


@dataclass(frozen=True, slots=True)
class StaticRoute(ConfigObject):
    """Exactly one of `gateway` (with or without `interface`), `interface` alone, or `blackhole`."""

    kind: ClassVar[Kind] = "static-route"
    id: str
    destination: Annotated[
        str, Prefix(help="The network that it leads to; 0.0.0.0/0 is everything else.", example="0.0.0.0/0")
    ]
    gateway: Annotated[
        str | None,
        Host(
            help="The next router, of the destination's family. A link-local one needs an interface.",
            example="192.0.2.1",
            option="via",
            when=_LEADS_ON,
        ),
    ] = None
    interface: Annotated[
        str | None,
        Ref(
            "interface",
            INTERFACE_NAMES,
            help="Packets leave here; without a gateway the destination is directly connected.",
            when=_LEADS_ON,
            offered=When("vrf_table", unless=True),
        ),
    ] = None
    blackhole: Annotated[
        bool, Flag(label="Drop packets", help="Packets to the destination are dropped without an answer.")
    ] = False
    distance: Annotated[
        int, Whole(1, 255, help="Of several routes to a destination the one with the smallest wins.")
    ] = 1
    vrf: Annotated[
        str | None,
        vrf_reference("The VRF whose route it is; its gateway and interface are in the same one."),
    ] = None
    comment: Comment = ""
    disabled: Annotated[bool, Flag(help="The route is kept and has no effect.")] = False

    @property
    def name(self) -> str:
        return self.destination


def one_way(_view: View, route: StaticRoute) -> Iterator[Finding]:
    ways = (route.gateway is not None or route.interface is not None) + route.blackhole
    if ways != 1:
        yield error(
            "route-without-way" if ways == 0 else "route-with-two-ways",
            route,
            "gateway",
            f"route {route.destination} needs a gateway, an interface or blackhole, and not "
            + ("none of them" if ways == 0 else "blackhole together with another"),
        )


def real_destination(_view: View, route: StaticRoute) -> Iterator[Finding]:
    destination = parse_prefix(route.destination)
    if (
        not route.blackhole
        and destination.length
        and any(p.covers(destination) for p in NO_HOST if p.length < 128)
    ):
        text = f"no route can lead to {route.destination} (see RFC 6890)"
        yield error("bad-destination", route, "destination", text)


def gateway_fits(_view: View, route: StaticRoute) -> Iterator[Finding]:
    """The gateway is of the destination's family, and a link-local one says where it is."""
    if route.gateway is None:
        return
    destination, gateway = parse_prefix(route.destination), parse_prefix(route.gateway)
    if gateway.family != destination.family:
        yield error(
            "family-mismatch",
            route,
            "gateway",
            f"route {route.destination} is IPv{destination.family}, "
            f"its gateway {route.gateway} IPv{gateway.family}",
        )
    elif LINK_LOCAL.covers(gateway) and route.interface is None:
        yield error(
            "link-local-gateway",
            route,
            "interface",
            f"the gateway {route.gateway} is link-local: route {route.destination} must name an interface",
        )


def same_vrf(view: View, route: StaticRoute) -> Iterator[Finding]:
    """A route leads through an interface of its own VRF."""
    interface = view.document.interface(route.interface or "")
    if route.disabled or interface is None or _is_in_place(interface, route) or not _vrf_is_one(view, route):
        return
    what, advice = _place(interface.vrf), "put both into one VRF, or into none"
    if is_vrf(interface):
        what, advice = "a VRF", "name an interface that is in it"
    text = (
        f"route {route.destination} is {_place(route.vrf)} and cannot lead through {interface.id}, "
        f"which is {what}: {advice}"
    )
    yield error("interface-in-other-vrf", route, "interface", text)


def reachable(view: View, route: StaticRoute) -> Iterator[Finding]:
    """The gateway is another machine, in a network that the router is connected to."""
    if route.disabled or route.gateway is None or not _vrf_is_one(view, route):
        return
    if route.interface is not None:
        interface = view.document.interface(route.interface)
        if interface is None or not _is_in_place(interface, route):
            return  # said already
    own = [
        name for name in view.own_addresses().get(route.gateway, ()) if _vrf_named(view, name) == route.vrf
    ]
    if own:
        what = f"the gateway {route.gateway} of route {route.destination}"
        text = f"{what} is this router's own address on {own[0]}"
        yield error("gateway-is-own", route, "gateway", text)
    elif not _is_connected(view, route, route.gateway):
        yield _unreachable(view, route, route.gateway)


def _is_connected(view: View, route: StaticRoute, gateway_text: str) -> bool:
    """Also when it cannot be told before: a link-local gateway, or a network that DHCP will bring."""
    gateway = parse_prefix(gateway_text)
    through = {name for name in _around(view, gateway_text) if _vrf_named(view, name) == route.vrf}
    if LINK_LOCAL.covers(gateway) or route.interface in through or (through and route.interface is None):
        return True
    leased = {
        item.id
        for item in view.document.interfaces()
        if item.addressing == "dhcp" and not item.disabled and item.vrf == route.vrf
    }
    return gateway.family == 4 and bool(leased) and (route.interface is None or route.interface in leased)


def _unreachable(view: View, route: StaticRoute, gateway_text: str) -> Finding:
    """A network of another VRF may have the gateway; that one is named."""
    elsewhere = [name for name in _around(view, gateway_text) if _vrf_named(view, name) != route.vrf]
    on = f" on {route.interface}" if route.interface else f" of VRF {route.vrf}" if route.vrf else ""
    text = (
        f"the gateway {gateway_text} of route {route.destination} is in no connected network{on}, "
        "so the route stays inactive"
    )
    if elsewhere:
        name = min(elsewhere)
        text += f"; it is in one of {name}, which is {_place(_vrf_named(view, name))}"
    return warning("gateway-unreachable", route, "gateway", text)


def _around(view: View, gateway_text: str) -> set[str]:
    """The interfaces that have the gateway in one of their networks."""
    networks, gateway = view.networks(), parse_prefix(gateway_text)
    domains = {item.domain for item in view.document.interfaces()}
    holding = (packed for domain in domains for packed in networks.of_address(gateway, domain))
    return {name for packed in holding for name in networks.get(packed)}


def _vrf_named(view: View, name: str) -> str | None:
    interface = view.document.interface(name)
    return None if interface is None else vrf_of(interface)


def _vrf_is_one(view: View, route: StaticRoute) -> bool:
    vrf = None if route.vrf is None else view.document.interface(route.vrf)
    return route.vrf is None or (vrf is not None and is_vrf(vrf))


def _is_in_place(interface: Interface, route: StaticRoute) -> bool:
    return interface.vrf == route.vrf and not is_vrf(interface)


def _place(vrf: str | None) -> str:
    return f"in VRF {vrf}" if vrf else "in no VRF"


_OWN = all_after("static-route")
_OWN_AND_INTERFACES = all_after("static-route", "interface")

KIND = Declaration(
    StaticRoute,
    singular="static route",
    plural="static routes",
    short="route",
    about="Static routes. The kernel keeps those that need nothing of FRR, which takes the others.",
    columns=("vrf", "destination", "gateway", "interface", "blackhole", "distance", "in_use", "comment"),
    state={
        "in_use": Flag(help="Whether the kernel forwards by it."),
        "next_hop_reachable": Flag(help="Whether its next hop is found. If not, the route waits."),
        "leaves_by": Text(200, label="Leaves by", help="The interfaces that its packets leave by."),
        "kept": Flag(help="Whether Weir keeps it in place of FRR, while FRR is away or starts."),
    },
    named_by="destination",
    area="Routing",
    purpose="The router knows the networks of its own addresses. A route to 0.0.0.0/0 sends everything "
    "else to your provider.",
    ids=replace(OBJECT_IDS, assigned="r"),
    rules=(
        Rule("one-way", "static-route", one_way, _OWN, True),
        Rule("real-destination", "static-route", real_destination, _OWN, True),
        Rule("gateway-fits", "static-route", gateway_fits, _OWN, True),
        Rule("same-vrf", "static-route", same_vrf, _OWN_AND_INTERFACES, True),
        Rule("reachable", "static-route", reachable, _OWN_AND_INTERFACES, True),
    ),
)
