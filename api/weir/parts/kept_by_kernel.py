# SPDX-License-Identifier: Apache-2.0
"""Which static routes the kernel keeps itself, without FRR (docs/adr/0260): those of one way, by a gateway in
a network of the router's own, that no protocol announces.

FRR's static routes are one configuration, which it compares as a whole for each change. What it is needed
for stays with it: gateways that other routes lead to, leases, several ways at once, VRFs, announcing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from weir.kinds.bgp import Bgp
from weir.kinds.ospf import Ospf
from weir.kinds.static_route import StaticRoute
from weir.model.address import split_address
from weir.model.document import Change, Document
from weir.model.interface import Interface
from weir.model.prefix import WIDTH, parse_prefix
from weir.model.vrf import is_vrf

LAST_DISTANCE = 254
"""FRR uses no route of distance 255."""


class Network(NamedTuple):
    """The first bits of its addresses, so many, as a number."""

    family: int
    length: int
    bits: int


class Gateways:
    """The ports behind which gateways are, by the networks of the router's own addresses."""

    def __init__(self, document: Document) -> None:
        self._ports: dict[Network, str | None] = {}
        for interface in document.interfaces():
            for network in _networks_of(interface):
                shared = network in self._ports and self._ports[network] != interface.id
                self._ports[network] = None if shared else interface.id
        self._lengths = {
            family: sorted({one.length for one in self._ports if one.family == family}, reverse=True)
            for family in WIDTH
        }

    def port_of(self, route: StaticRoute) -> str | None:
        """None: it cannot be told, or the gateway is in no network, or in one of several ports."""
        if route.gateway is None:
            return None
        address = parse_prefix(route.gateway)
        for length in self._lengths[address.family]:
            network = Network(address.family, length, address.value >> WIDTH[address.family] - length)
            if network in self._ports:
                port = self._ports[network]
                return port if route.interface in (None, port) else None
        return None


def ports_of(routes: Iterable[StaticRoute], document: Document) -> Mapping[str, str]:
    """The port of each of these routes that the kernel keeps, by the route's id. Of one destination they are
    all of the routes that there are."""
    if any(map(_announces, document.every(Bgp))) or any(map(_announces, document.every(Ospf))):
        return {}
    gateways = Gateways(document)
    enabled = [route for route in routes if not route.disabled]
    ways = Counter((route.destination, route.vrf) for route in enabled)
    alone = (route for route in enabled if ways[route.destination, route.vrf] == 1)
    found = ((route.id, _port_of(route, gateways)) for route in alone)
    return {name: port for name, port in found if port is not None}


def decides(change: Change) -> bool:
    """Whether a change of another object may make routes the kernel's, or FRR's."""
    return _facts(change.old) != _facts(change.new)


def _port_of(route: StaticRoute, gateways: Gateways) -> str | None:
    is_plain = route.vrf is None and route.distance <= LAST_DISTANCE and not route.destination.endswith("/0")
    return gateways.port_of(route) if is_plain else None


def _facts(item: object) -> tuple[object, ...]:
    if isinstance(item, Interface):
        return _networks_of(item)
    return ("announces",) if isinstance(item, Bgp | Ospf) and _announces(item) else ()


def _announces(protocol: Bgp | Ospf) -> bool:
    """Routes of no VRF; OSPF has none."""
    if protocol.disabled or (isinstance(protocol, Bgp) and protocol.vrf is not None):
        return False
    return protocol.redistribute_static or protocol.redistribute_kernel


def _networks_of(interface: Interface) -> tuple[Network, ...]:
    if interface.disabled or interface.vrf is not None or is_vrf(interface):
        return ()
    prefixes = [split_address(text)[1] for text in interface.addresses]
    return tuple(Network(p.family, p.length, p.value >> WIDTH[p.family] - p.length) for p in prefixes)
