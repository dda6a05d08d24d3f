# SPDX-License-Identifier: Apache-2.0
"""Interfaces, routes and the firewall: addresses a network can have, gateways it can reach."""

from __future__ import annotations

from collections.abc import Iterator

from weir.kinds.static_route import StaticRoute
from weir.model.address import split_address
from weir.model.claims import pack
from weir.model.document import Change, interface_targets
from weir.model.interface import Interface
from weir.model.limits import MIN_IPV6_MTU_BYTES
from weir.model.objects import Queue
from weir.model.prefix import NO_HOST, Prefix, parse_prefix
from weir.model.problem import Finding
from weir.model.rule import LINK_LOCAL, Rule, View, all_after, caused_by, error, warning
from weir.model.vrf import vrf_of


def interface_addresses(_view: View, interface: Interface) -> Iterator[Finding]:
    for text in interface.addresses:
        host_text, network = split_address(text)
        host = parse_prefix(host_text)
        for prefix, why in NO_HOST.items():
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


@caused_by("interface", "queue")
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
    for route in view.document.every(StaticRoute):
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
)
