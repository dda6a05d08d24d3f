# SPDX-License-Identifier: Apache-2.0
"""The hosts beside the router: addresses that ARP and neighbour discovery know, each with its queue."""

from __future__ import annotations

import socket
from collections.abc import Callable, Mapping
from ipaddress import ip_address
from typing import Any, Protocol

from weir.adapters.neighbours import FAILED, PERMANENT, REACHABLE, STALE, Neighbour, neighbours
from weir.adapters.netlink import Links
from weir.agent.configuration import Configuration
from weir.compiler.types import NO_SLOT, ClassSpec, PortSpec
from weir.wire.server import Handler, Peer

MAX_HOSTS = 16_384
"""Addresses that one answer lists; the kernel keeps 1,024 of each family unless it was told otherwise."""

_FAMILIES: dict[int, int] = {socket.AF_INET: 4, socket.AF_INET6: 6}
STATES = {REACHABLE: "reachable", STALE: "stale", FAILED: "failed", PERMANENT: "permanent"}
_ASKING = "asking"


class Looks(Protocol):
    """The part of `Datapath` that is asked here."""

    def lookup(self, domain: int, family: int, address: int) -> int: ...


class Hosts:
    """Read from the kernel for each answer; nothing is remembered."""

    def __init__(
        self,
        configuration: Configuration,
        datapath: Looks,
        links: Links,
        names: Callable[[], Mapping[str, str]] = dict,
    ) -> None:
        """`names` gives what hosts are called, by address."""
        self._configuration = configuration
        self._names = names
        self._datapath = datapath
        self._links = links

    def table(self) -> Mapping[str, Handler]:
        return {"hosts": self._hosts}

    def _hosts(self, _params: dict[str, Any], _peer: Peer) -> dict[str, Any]:
        """Every address with its interface, MAC, name, state, the seconds since it was confirmed, and its
        queue: where that depends on the far end (`dst`), the one for all other ends. Raises `Unavailable`."""
        names = {link.index: name for name, link in self._links.links().items()}
        found = [
            neighbour
            for neighbour in neighbours()
            if neighbour.family in _FAMILIES and neighbour.ifindex in names
        ]
        called = self._names()
        with self._configuration.lock:
            shaping = self._configuration.compiled.shaping
            listed = [
                self._host(neighbour, names[neighbour.ifindex], shaping.ports, shaping.classes)
                for neighbour in found[:MAX_HOSTS]
            ]
        for host in listed:
            host["name"] = called.get(host["address"])
        return {"total": len(found), "hosts": listed}

    def _host(
        self, neighbour: Neighbour, name: str, ports: Mapping[str, PortSpec], classes: Mapping[int, ClassSpec]
    ) -> dict[str, Any]:
        address = socket.inet_ntop(neighbour.family, neighbour.address)
        return {
            "interface": name,
            "address": address,
            "mac": neighbour.mac.hex(":") or None,
            "state": STATES.get(neighbour.state, _ASKING),
            "confirmed_s": neighbour.confirmed_s if neighbour.mac else None,
            "queue": queue_at(self._datapath, classes, ports.get(name), address),
        }


def queue_at(
    datapath: Looks, classes: Mapping[int, ClassSpec], port: PortSpec | None, address: str
) -> str | None:
    """The queue of an address behind a port; where that depends on the far end (`dst`), the one for all other
    ends. None: no queue limits it."""
    if port is None:
        return None
    return queue_in(datapath, classes, port.domain, address, port.interface_slot)


def queue_in(
    datapath: Looks,
    classes: Mapping[int, ClassSpec],
    domain: int,
    address: str,
    interface_slot: int = NO_SLOT,
) -> str | None:
    """The queue of an address in a domain, or else the one of its interface. None: no queue limits it."""
    host = ip_address(address)
    slot = datapath.lookup(domain, host.version, int(host)) or interface_slot
    taken = classes.get(slot)
    while taken is not None and not taken.is_queue:
        taken = classes.get(taken.parent_slot)
    return None if taken is None else taken.queue_id
