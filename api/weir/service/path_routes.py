# SPDX-License-Identifier: Apache-2.0
"""The step of the route: what the kernel's answer means, and the object that made it."""

from __future__ import annotations

from typing import Any

from weir.kinds.bgp_neighbor import BgpNeighbor
from weir.kinds.static_route import StaticRoute
from weir.kinds.uplink import EVERYTHING, Uplink
from weir.model.address import split_address
from weir.model.document import Document
from weir.model.prefix import parse_prefix
from weir.model.vrf import table_of
from weir.service.path_answers import Step

Json = dict[str, Any]
Made = tuple[str | None, str | None, str]
"""Kind and id of the object that made a route, and what is said of it."""

_KERNEL, _RA, _DHCP, _OURS, _BGP, _ISIS, _OSPF, _ZSTATIC = 2, 9, 16, 87, 186, 187, 188, 196
"""Of linux/rtnetlink.h; 196 is FRR's for static routes."""
_STATIC = (3, 4, 11, _ZSTATIC)
_TABLES = {254: "main", 255: "local", 253: "default"}
_REFUSALS = {
    "unreachable": "no route leads to {to}: the kernel tells the sender so (ICMP unreachable)",
    "blackhole": "a route drops what goes to {to}",
    "prohibit": "a route forbids {to}: the kernel tells the sender so",
    "source": "the kernel takes no packet from {source} here: it is an address of its own or one no host has",
    "reverse-path": "the kernel's own check (rp_filter) drops it: the way back to {source} is another one",
    "multicast": "no program of the router has joined {to} at {came}, and the router forwards no multicast",
    "loopback": "the kernel takes nothing for {to} that comes from outside",
    "forwarding": "the kernel forwards nothing that comes in by {came}",
}


def refused(document: Document, reason: str, source: str, to: str, came: str) -> Step:
    """The step of a packet that has no route."""
    text = _REFUSALS.get(reason, "the kernel has no route: {to}").format(to=to, source=source, came=came)
    kind = name = None
    if reason == "blackhole":
        covering = [
            item
            for item in document.every(StaticRoute)
            if item.blackhole
            and not item.disabled
            and parse_prefix(item.destination).covers(parse_prefix(to))
        ]
        if covering:
            best = max(covering, key=lambda item: parse_prefix(item.destination).length)
            kind, name, text = "static-route", best.id, f"static route {best.destination} drops it"
    return Step("route", "drops", _sentence(text), kind, name)


def taken(document: Document, route: Json, interface: str) -> Step:
    """The step of a packet that is forwarded."""
    kind, name, made = _made_by(document, route, interface)
    table = _table(document, route["table"])
    via = f" via {route['gateway']}" if route["gateway"] else ""
    details = [f"{route['prefix']} is the longest match of the routing table {table}"]
    if route["ways"] > 1:
        details.append(f"one of {route['ways']} equally good ways, by a hash of the packet's addresses")
    if _is_of_uplink(route["table"]):
        details.append("a new connection; uplinks share them by a hash of source and destination address")
    else:
        details += _behind(document, route, kind, name)
    text = f"{route['prefix']}{via} leaves by {interface}: {made}."
    return Step("route", "passes", text, kind, name, tuple(details))


def local(document: Document, destination: str, kind: str, addresses: bool) -> Step:
    """The step of a packet that the router takes itself. `addresses`: the destination is one of its own."""
    owner = next(
        (
            item.id
            for item in document.interfaces()
            for text in item.addresses
            if split_address(text)[0] == destination
        ),
        None,
    )
    if kind in ("broadcast", "multicast"):
        text = f"{destination} is a {kind} address: the router takes it itself, if a program listens."
    elif addresses:
        text = f"{destination} is an address of the router's own: the packet is for the router."
    else:
        text = "The packet is for the router."
    return Step("route", "passes", text, "interface" if owner else None, owner)


def _made_by(document: Document, route: Json, interface: str) -> Made:
    protocol, prefix, gateway = route["protocol"], route["prefix"], route["gateway"]
    if _is_of_uplink(route["table"]):
        found = next((item.id for item in document.every(Uplink) if item.interface == interface), None)
        return ("uplink" if found else None), found, f"uplink {found or interface}, which shares connections"
    if protocol == _KERNEL:
        return "interface", interface, f"a network on {interface} itself"
    if protocol == _RA:
        return "interface", interface, f"learnt on {interface} by router advertisements"
    if protocol == _BGP:
        peer = next((item.id for item in document.every(BgpNeighbor) if item.address == gateway), None)
        said = f" from neighbor {peer}" if peer else ""
        return ("bgp-neighbor" if peer else None), peer, f"learnt by BGP{said}"
    if protocol == _OSPF:
        return "ospf-interface", interface, f"learnt by OSPF on {interface}"
    if protocol in (*_STATIC, _OURS, _DHCP):
        return _static(document, prefix, gateway, interface, protocol)
    return None, None, f"made by somebody else (protocol {protocol} of the kernel)"


def _static(document: Document, prefix: str, gateway: str | None, interface: str, protocol: int) -> Made:
    for item in document.every(StaticRoute):
        leads = item.gateway == gateway if item.gateway is not None else item.interface == interface
        if not item.disabled and leads and item.destination == prefix:
            return "static-route", item.id, f"static route {item.id}"
    for uplink in document.every(Uplink):
        if not uplink.disabled and uplink.interface == interface and prefix == EVERYTHING:
            return "uplink", uplink.id, f"uplink {uplink.id}, the one in use"
    found = document.interface(interface)
    if found is not None and found.addressing == "dhcp":
        return "interface", interface, f"of the DHCP lease of {interface}"
    if found is not None and found.pppoe is not None:
        return "interface", interface, f"of the PPPoE session {interface}"
    if found is not None and found.wireguard is not None:
        return "interface", interface, f"of a WireGuard peer of {interface}"
    return None, None, f"made by no configured object (protocol {protocol} of the kernel)"


def _behind(document: Document, route: Json, kind: str | None, name: str | None) -> list[str]:
    """Static routes to the same network that wait behind the one in use."""
    waiting = [
        f"{item.id} (distance {item.distance})"
        for item in document.every(StaticRoute)
        if item.destination == route["prefix"]
        and not item.disabled
        and (kind, name) != ("static-route", item.id)
    ]
    return [f"not in use: static route {', '.join(waiting)}"] if waiting else []


def _is_of_uplink(table: int) -> bool:
    """Of one uplink's connections (weir/adapters/uplink_routes.py)."""
    return table >> 24 == _OURS


def _table(document: Document, number: int) -> str:
    if number in _TABLES:
        return _TABLES[number]
    if _is_of_uplink(number):
        return "of connections that keep this uplink"
    vrf = next((item.id for item in document.interfaces() if table_of(item) == number), None)
    return f"of VRF {vrf}" if vrf else str(number)


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."
