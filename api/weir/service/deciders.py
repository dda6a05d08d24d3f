# SPDX-License-Identifier: Apache-2.0
"""What a configuration says of a packet's ways, and what is told of the rule that decides about it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from weir.kinds.sender_macs import lacks_macs
from weir.kinds.static_route import StaticRoute
from weir.model.address import split_address
from weir.model.document import Document
from weir.model.prefix import parse_prefix
from weir.parts.firewall import rule_text
from weir.parts.rule import PacketRule


@dataclass(frozen=True, slots=True)
class Decider:
    """`kind` and `id` of the object that decides; None: no rule does, and the packet passes."""

    kind: str | None
    id: str | None
    text: str


def now_local() -> datetime:
    """The router's local time, to the minute, also where its time zone was changed since this process
    started."""
    time.tzset()
    return datetime.now().replace(second=0, microsecond=0)


def names_in_rules(document: Document, interface: str | None) -> frozenset[str]:
    """What rules may call an interface: by its own name, and by its VRF's."""
    item = None if interface is None else document.interface(interface)
    return frozenset() if item is None else frozenset(filter(None, (item.id, item.vrf)))


def mac_in_rules(document: Document, interface: str | None, told: str | None) -> str | None:
    """The hardware address that rules see of who sent a packet. "": none, as it comes by no interface, or by
    one without Ethernet headers. None: it is not known."""
    is_seen = interface is not None and not lacks_macs(document.interface(interface))
    return told if is_seen else ""


def configured_way(document: Document, address: str) -> str | None:
    """The interface that an address is behind, by the networks and static routes that are configured; without
    any the one WAN that asks DHCP. None: the configuration does not say."""
    best = max(_ways(document, address), default=None)
    if best is not None:
        return best[2]
    default = [
        item.id
        for item in document.interfaces()
        if item.role == "wan" and item.addressing == "dhcp" and not item.disabled and item.vrf is None
    ]
    return default[0] if len(default) == 1 and parse_prefix(address).family == 4 else None


def _ways(document: Document, address: str) -> Iterator[tuple[int, int, str]]:
    """Length of the network (the longest is taken), distance (negative) and interface."""
    host = parse_prefix(address)
    connected = [
        (split_address(text)[1], item.id)
        for item in document.interfaces()
        if not item.disabled and item.vrf is None and item.vrf_table is None
        for text in item.addresses
    ]
    for network, name in connected:
        if network.covers(host):
            yield network.length, 0, name
    for route in document.every(StaticRoute):
        network = parse_prefix(route.destination)
        if route.disabled or route.vrf is not None or not network.covers(host):
            continue
        if route.interface is not None:
            yield network.length, -route.distance, route.interface
        elif route.gateway is not None:
            gateway = parse_prefix(route.gateway)
            for beside, name in connected:
                if beside.covers(gateway):
                    yield network.length, -route.distance, name


def decider(rule: PacketRule | None, chain: str) -> Decider:
    if rule is None:
        return Decider(None, None, f"no rule of {chain} decides, and it passes")
    if rule.nat:
        return Decider("nat-rule", rule.nat, rule_text(rule))
    if rule.is_configured:
        return Decider("firewall-rule", rule.comment, rule_text(rule))
    kind, _, name = rule.made_by.partition("/")
    if name:
        return Decider(kind, name, rule_text(rule))
    return Decider("firewall", "firewall", rule_text(rule))
