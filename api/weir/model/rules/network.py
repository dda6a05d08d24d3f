# SPDX-License-Identifier: Apache-2.0
"""Interfaces, routes and the firewall: addresses a network can have, gateways it can reach."""

from __future__ import annotations

from collections.abc import Iterator

from weir.model.address import split_address
from weir.model.claims import pack
from weir.model.document import Change, interface_targets
from weir.model.limits import MIN_IPV6_MTU_BYTES
from weir.model.objects import Firewall, Interface, Queue, StaticRoute
from weir.model.prefix import Prefix, parse_prefix
from weir.model.problem import Finding
from weir.model.rules.base import LINK_LOCAL, Rule, View, all_after, error, finding, warning
from weir.model.rules.vrfs import unknown_vrf
from weir.model.vrf import vrf_of

_NO_HOST = {
    parse_prefix("0.0.0.0/8"): "belongs to no network",
    parse_prefix("127.0.0.0/8"): "is a loopback address",
    parse_prefix("224.0.0.0/4"): "is a multicast address",
    parse_prefix("240.0.0.0/4"): "is reserved",
    parse_prefix("::/128"): "belongs to no host",
    parse_prefix("::1/128"): "is the loopback address",
    parse_prefix("ff00::/8"): "is a multicast address",
}


def interface_addresses(_view: View, interface: Interface) -> Iterator[Finding]:
    for text in interface.addresses:
        host_text, network = split_address(text)
        host = parse_prefix(host_text)
        for prefix, why in _NO_HOST.items():
            if prefix.covers(host):
                yield _bad_address(interface, text, why)
        if host.family == 4 and network.length < 31:
            last = network.value | (1 << (32 - network.length)) - 1
            if host.value == network.value:
                yield _bad_address(interface, text, f"is the network {network.text} itself, not a host in it")
            elif host.value == last:
                yield _bad_address(interface, text, f"is the broadcast address of {network.text}")
        if host.family == 6 and interface.mtu is not None and interface.mtu < MIN_IPV6_MTU_BYTES:
            yield error(
                "mtu-too-small",
                interface,
                "mtu",
                f"interface {interface.id} has the IPv6 address {text}, which needs an MTU of at least "
                f"{MIN_IPV6_MTU_BYTES}, not {interface.mtu}",
            )


def _bad_address(interface: Interface, text: str, why: str) -> Finding:
    return error("bad-address", interface, "addresses", f"{text} of interface {interface.id} {why}")


def overlapping_networks(view: View, interface: Interface) -> Iterator[Finding]:
    if interface.disabled:
        return
    networks = view.networks()
    for network in dict.fromkeys(split_address(text)[1] for text in interface.addresses):
        packed = pack(network, interface.domain)
        around = [*networks.covering(packed), *networks.inside(packed)]
        others = {other for found in around for other in networks.get(found)} - {interface.id}
        if others and not LINK_LOCAL.covers(network):
            yield _overlap(view, interface, network, others)


def _overlap(view: View, interface: Interface, network: Prefix, others: set[str]) -> Finding:
    what = f"{network.text} of interface {interface.id} overlaps a network of"
    found = sorted(others)
    beside = [name for name in found if _vrf_named(view, name) == vrf_of(interface)]
    if beside:
        text = f"{what} {beside[0]}: the router cannot tell where its hosts are"
        return warning("overlapping-networks", interface, "addresses", text)
    text = (
        f"{what} {found[0]} in another VRF, and both are in domain {interface.domain}: "
        "a queue cannot tell whose addresses it has; give one of them another domain"
    )
    return warning("overlapping-in-domain", interface, "domain", text)


def _vrf_named(view: View, name: str) -> str | None:
    interface = view.document.interface(name)
    return None if interface is None else vrf_of(interface)


def route_form(_view: View, route: StaticRoute) -> Iterator[Finding]:
    ways = (route.gateway is not None or route.interface is not None) + route.blackhole
    if ways != 1:
        yield error(
            "route-without-way" if ways == 0 else "route-with-two-ways",
            route,
            "gateway",
            f"route {route.destination} needs a gateway, an interface or blackhole, and not "
            + ("none of them" if ways == 0 else "blackhole together with another"),
        )
    destination = parse_prefix(route.destination)
    if (
        not route.blackhole
        and destination.length
        and any(p.covers(destination) for p in _NO_HOST if p.length < 128)
    ):
        yield error(
            "bad-destination",
            route,
            "destination",
            f"no route can lead to {route.destination} (see RFC 6890)",
        )
    if route.gateway is not None:
        gateway = parse_prefix(route.gateway)
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
                f"the gateway {route.gateway} is link-local: "
                f"route {route.destination} must name an interface",
            )


def route_reachable(view: View, route: StaticRoute) -> Iterator[Finding]:
    if route.disabled:
        return
    interface = None if route.interface is None else view.document.interface(route.interface)
    if route.interface is not None and interface is None:
        yield error(
            "unknown-interface",
            route,
            "interface",
            f"route {route.destination} names the interface {route.interface!r}, which is not configured",
        )
        return
    if interface is not None and interface.disabled:
        yield warning(
            "interface-disabled",
            route,
            "interface",
            f"route {route.destination} is dead while its interface {interface.id} is disabled",
        )
    wrong = list(_wrong_vrf(view, route, interface))
    yield from wrong
    if route.gateway is not None and not wrong:
        yield from _gateway(view, route, parse_prefix(route.gateway))


def _wrong_vrf(view: View, route: StaticRoute, interface: Interface | None) -> Iterator[Finding]:
    unknown = list(unknown_vrf(view, route, f"route {route.destination}"))
    yield from unknown
    if unknown or interface is None or (interface.vrf == route.vrf and interface.vrf_table is None):
        return
    what, advice = _place(interface.vrf), "put both into one VRF, or into none"
    if interface.vrf_table is not None:
        what, advice = "a VRF", "name an interface that is in it"
    text = (
        f"route {route.destination} is {_place(route.vrf)} and cannot lead through {interface.id}, "
        f"which is {what}: {advice}"
    )
    yield error("interface-in-other-vrf", route, "interface", text)


def _place(vrf: str | None) -> str:
    return f"in VRF {vrf}" if vrf else "in no VRF"


def _gateway(view: View, route: StaticRoute, gateway: Prefix) -> Iterator[Finding]:
    def in_vrf(name: str) -> bool:
        return _vrf_named(view, name) == route.vrf

    own = next((name for name in view.own_addresses().get(route.gateway or "", ()) if in_vrf(name)), None)
    if own is not None:
        yield error(
            "gateway-is-own",
            route,
            "gateway",
            f"the gateway {route.gateway} of route {route.destination} is this router's own address on {own}",
        )
        return
    networks = view.networks()
    domains = {item.domain for item in view.document.interfaces()}
    holding = (packed for domain in domains for packed in networks.of_address(gateway, domain))
    around = {name for packed in holding for name in networks.get(packed)}
    through = set(filter(in_vrf, around))
    if LINK_LOCAL.covers(gateway) or route.interface in through or (through and route.interface is None):
        return
    leased = {
        item.id
        for item in view.document.interfaces()
        if item.addressing == "dhcp" and not item.disabled and item.vrf == route.vrf
    }
    if gateway.family == 4 and leased and (route.interface is None or route.interface in leased):
        return  # which network that will be is not known before
    yield _unreachable(view, route, min(around - through, default=None))


def _unreachable(view: View, route: StaticRoute, elsewhere: str | None) -> Finding:
    """`elsewhere`: an interface in another VRF whose network the gateway is in."""
    on = f" on {route.interface}" if route.interface else f" of VRF {route.vrf}" if route.vrf else ""
    text = (
        f"the gateway {route.gateway} of route {route.destination} is in no connected network{on}, "
        "so the route stays inactive"
    )
    if elsewhere is not None:
        text += f"; it is in one of {elsewhere}, which is {_place(_vrf_named(view, elsewhere))}"
    return warning("gateway-unreachable", route, "gateway", text)


def firewall_sense(view: View, firewall: Firewall) -> Iterator[Finding]:
    if not firewall.drop_new_from_wan:
        yield warning(
            "open-to-wan",
            firewall,
            "drop_new_from_wan",
            "anyone outside can reach the router and the networks behind it",
        )
    if not any(item.role == "wan" and not item.disabled for item in view.document.interfaces()):
        yield finding(
            "notice",
            "no-wan",
            firewall,
            None,
            "no enabled interface has the role wan, so the firewall has nothing to do",
        )


def unknown_traffic(view: View, interface: Interface) -> Iterator[Finding]:
    """Whether `unknown` says what is meant."""
    if interface.disabled or interface.unknown == "allow":
        return
    if interface.role == "wan":
        yield error(
            "unknown-on-wan",
            interface,
            "unknown",
            f"behind {interface.id}, a WAN, everybody is unknown: set `unknown` where your customers are",
        )
    ids = sorted(view.document.queue_ids_by_interface.of(interface.id))
    queues = [q for q in map(view.document.queue, ids) if q is not None and not q.disabled]
    if interface.unknown == "queue" and not queues:
        yield warning(
            "no-queue-for-unknown",
            interface,
            "unknown",
            f"no enabled queue has {interface.id} as target, so what is in no queue is dropped there",
        )
    if interface.unknown == "drop" and queues:
        yield warning(
            "unknown-dropped",
            interface,
            "unknown",
            f"{interface.id} drops what is in no queue, so queue {queues[0].name!r}, which has it as target, "
            "takes nothing there",
        )


def _with_their_queues(_view: View, change: Change) -> Iterator[str]:
    if change.kind == "interface":
        yield change.id
    for item in (change.old, change.new):
        if isinstance(item, Queue):
            yield from interface_targets(item)


def strict_and_equal_routes(view: View, interface: Interface) -> Iterator[Finding]:
    """The kernel is asked for one way back; of several equal ones it may name another than the packet's."""
    if interface.disabled or interface.reverse_path != "strict":
        return
    seen: set[tuple[str, int, str | None]] = set()
    for route in view.document.static_routes():
        key = (route.destination, route.distance, route.vrf)
        if not route.disabled and key in seen:
            yield warning(
                "strict-and-equal-routes",
                interface,
                "reverse_path",
                f"several routes to {route.destination} are equal: the way back may be another one than the "
                f"packet's, which {interface.id} drops then; `loose` does not",
            )
            return
        if not route.disabled:
            seen.add(key)


RULES = (
    Rule("unknown-traffic", "interface", unknown_traffic, _with_their_queues, True),
    Rule(
        "strict-and-equal-routes",
        "interface",
        strict_and_equal_routes,
        all_after("interface", "static-route"),
        False,
    ),
    Rule("interface-addresses", "interface", interface_addresses, all_after("interface"), True),
    Rule(
        "overlapping-networks",
        "interface",
        overlapping_networks,
        all_after("interface", "interface"),
        False,
    ),
    Rule("route-form", "static-route", route_form, all_after("static-route"), True),
    Rule("route-reachable", "static-route", route_reachable, all_after("static-route", "interface"), True),
    Rule("firewall-sense", "firewall", firewall_sense, all_after("firewall", "interface"), False),
)
