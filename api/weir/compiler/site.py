# SPDX-License-Identifier: Apache-2.0
"""Everything but the queues: interfaces, routes, firewall, tuning. Few objects: compiled whole."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from weir.compiler.types import NO_SLOT, FirewallRule, NetworkSpec, PortSpec, RouteSpec
from weir.kinds.firewall import Firewall
from weir.kinds.static_route import StaticRoute
from weir.kinds.tuning import Tuning
from weir.model.document import Document
from weir.model.objects import Interface
from weir.model.tree import vlan_parents
from weir.model.vrf import table_of

_ESTABLISHED = ("established", "related")
_NEIGHBOUR_DISCOVERY = (
    "nd-router-solicit",
    "nd-router-advert",
    "nd-neighbor-solicit",
    "nd-neighbor-advert",
)


@dataclass(frozen=True, slots=True)
class Site:
    network: Mapping[str, NetworkSpec]
    routes: Mapping[str, RouteSpec]
    firewall: tuple[FirewallRule, ...]
    tuning: Mapping[str, str]


def site_of(document: Document) -> Site:
    interfaces = sorted(document.interfaces(), key=lambda item: item.id)
    routes = sorted(document.every(StaticRoute), key=lambda item: item.id)
    wan = tuple(item.id for item in interfaces if item.role == "wan" and not item.disabled)
    return Site(
        network={item.id: _network(item, document) for item in interfaces},
        routes={item.id: _route(item) for item in routes if not item.disabled},
        firewall=tuple(_rules(document.single(Firewall), wan, interfaces)) if wan else (),
        tuning=dict(document.single(Tuning).overrides),
    )


def ports_of(document: Document, interface_slots: Mapping[str, int]) -> dict[str, PortSpec]:
    """One port per enabled interface, whatever its role: nothing may pass unshaped in silence.

    A VRF is none: what is routed in it passes through the interfaces that are in it.
    """
    return {
        item.id: PortSpec(
            ifname=item.id,
            role=item.role,
            shaper=item.shaper,
            overhead_bytes=item.overhead_bytes,
            interface_slot=NO_SLOT if item.unknown == "drop" else interface_slots.get(item.id, NO_SLOT),
            domain=item.domain,
            fast_path=item.fast_path,
            known_only=item.unknown != "allow",
            reverse_path=item.reverse_path,
        )
        for item in sorted(document.interfaces(), key=lambda item: item.id)
        if not item.disabled and item.vrf_table is None
    }


def _network(item: Interface, document: Document) -> NetworkSpec:
    return NetworkSpec(
        ifname=item.id,
        up=not any(below.disabled for below in (item, *vlan_parents(document, item))),
        addresses=() if item.disabled else item.addresses,
        mtu=item.mtu,
        description=item.description,
        vlan=item.vlan,
        dhcp=item.addressing == "dhcp" and not item.disabled,
        vrf=item.vrf,
        vrf_table=table_of(item) or 0,
    )


def _route(item: StaticRoute) -> RouteSpec:
    return RouteSpec(
        item.id, item.destination, item.gateway, item.interface, item.blackhole, item.distance, item.vrf
    )


def _rules(policy: Firewall, wan: tuple[str, ...], interfaces: list[Interface]) -> Iterator[FirewallRule]:
    """The policy; and where it has connections tracked, how many each source may have of them."""
    policed = tuple(_in_vrfs(_firewall(policy, wan), interfaces))
    yield from policed
    if policed:
        vrfs = tuple(item.id for item in interfaces if item.vrf_table is not None)
        yield FirewallRule(
            "sources",
            "bound",
            "connections of each source",
            outside=(*wan, *vrfs),
            connections=policy.connections_per_source,
        )


def _in_vrfs(rules: Iterator[FirewallRule], interfaces: list[Interface]) -> Iterator[FirewallRule]:
    """The rules as they have to be where there are VRFs.

    Connections of each VRF have a conntrack zone of their own, as their addresses may be those of others.
    A rule on packets from some interfaces holds for them by both names, whether they are in a VRF or not:
    rules change before interfaces do, and none may be without them meanwhile.
    """
    asked = list(rules)
    vrfs = {item.id: table for item in interfaces if (table := table_of(item)) is not None}
    for vrf, table in vrfs.items():
        members = tuple(item.id for item in interfaces if item.vrf == vrf)
        if members and asked:
            what = f"connections of VRF {vrf}"
            yield FirewallRule("entry", "zone", what, in_interfaces=members, zone=table)
            yield FirewallRule("output", "zone", what, out_interfaces=members, zone=table)
    for rule in asked:
        yield rule
        if vrfs and rule.in_interfaces:
            yield replace(rule, in_interfaces=(), in_members=rule.in_interfaces)


def _firewall(policy: Firewall, wan: tuple[str, ...]) -> Iterator[FirewallRule]:
    """The policy as rules. What is not from a WAN interface passes; without a WAN there are no rules."""
    if policy.drop_new_from_wan:
        yield FirewallRule("input", "accept", "answers to what the router asked", wan, ct_states=_ESTABLISHED)
        yield FirewallRule(
            "input",
            "accept",
            "IPv6 neighbour discovery, without which a WAN has no IPv6",
            wan,
            family=6,
            protocol="icmpv6",
            icmp_types=_NEIGHBOUR_DISCOVERY,
        )
        if policy.allow_ping_from_wan:
            yield FirewallRule(
                "input", "accept", "ping", wan, family=4, protocol="icmp", icmp_types=("echo-request",)
            )
            yield FirewallRule(
                "input", "accept", "ping", wan, family=6, protocol="icmpv6", icmp_types=("echo-request",)
            )
        if policy.allowed_wan_tcp_ports:
            ports = tuple(sorted(policy.allowed_wan_tcp_ports))
            yield FirewallRule("input", "accept", "allowed services", wan, protocol="tcp", tcp_ports=ports)
        yield FirewallRule("input", "drop", "everything else from a WAN to the router", wan)
        yield FirewallRule(
            "forward", "accept", "answers to what was asked inside", wan, ct_states=_ESTABLISHED
        )
        yield FirewallRule("forward", "drop", "everything else from a WAN through the router", wan)
    if policy.masquerade:
        yield FirewallRule(
            "postrouting", "masquerade", "IPv4 leaves with the WAN's address", out_interfaces=wan, family=4
        )
