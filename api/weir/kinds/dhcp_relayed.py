# SPDX-License-Identifier: Apache-2.0
"""What a DHCP server says of a network elsewhere, whose relay agents ask it (docs/adr/0249)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network
from typing import TYPE_CHECKING, Annotated

from weir.fields import Host, Many, Prefix
from weir.kinds.admitted import networks
from weir.model.address import is_of_no_host
from weir.model.interface import Interface
from weir.model.problem import Finding
from weir.model.rule import View, error

if TYPE_CHECKING:
    from weir.kinds.dhcp_server import DhcpServer

MAX_RELAYS = 64


@dataclass(frozen=True, slots=True)
class Relayed:
    """A network elsewhere, and the relay agents that ask for its hosts."""

    network: Annotated[
        str,
        Prefix(
            help="The IPv4 network that the clients are in. It is none of this router's own, and has a route "
            "through `interface`.",
            example="10.70.0.0/24",
        ),
    ]
    relays: Annotated[
        tuple[str, ...],
        Many(
            Host(),
            MAX_RELAYS,
            option="relay",
            help="The addresses by which relay agents name themselves (giaddr), which is usually theirs on "
            "the clients' link. No others are answered, and no client gets one of them.",
            example="10.70.0.1",
        ),
    ]
    sources: Annotated[
        tuple[str, ...],
        networks(
            "Networks from which relay agents send, beside `relays` and `network`. From elsewhere nothing "
            "reaches the server."
        ),
    ] = ()


def address_of(interface: Interface | None) -> str | None:
    """The first static IPv4 address of an interface, without its length: servers know the network of a
    relay's clients by it, and relay agents ask a server at it."""
    found = [] if interface is None else [text for text in interface.addresses if ":" not in text]
    return found[0].partition("/")[0] if found else None


def own_network(relayed: Relayed) -> IPv4Network | None:
    """None for one of IPv6."""
    return None if ":" in relayed.network else IPv4Network(relayed.network)


def relays_can_ask(view: View, server: DhcpServer) -> Iterator[Finding]:
    """Relay agents elsewhere ask for a network elsewhere, by an interface where nobody else takes port 67."""
    relayed = server.relayed
    if relayed is None or server.disabled:
        return
    network = own_network(relayed)
    if network is None:
        text = f"{relayed.network} is of IPv6, which DHCP for IPv4 cannot serve"
        yield error("not-ipv4", server, "relayed.network", text)
    else:
        yield from _is_elsewhere(view, server, network)
    yield from _relays(view, server, relayed)
    for number, text in enumerate(relayed.sources):
        if ":" in text:
            words = f"{text} is of IPv6, by which no relay agent of DHCP for IPv4 sends"
            yield error("not-ipv4", server, f"relayed.sources[{number}]", words)
    for other in _others(view, server):
        if other.relayed is None and other.interface == server.interface:
            words = f"DHCP server {other.id} answers the hosts on {other.interface} itself and takes its "
            words += "addresses: relay agents have to ask on another interface"
            yield error("relays-and-hosts", server, "interface", words)


def _is_elsewhere(view: View, server: DhcpServer, network: IPv4Network) -> Iterator[Finding]:
    for interface in view.document.interfaces():
        for text in () if interface.disabled else interface.addresses:
            if ":" not in text and IPv4Network(text, strict=False).overlaps(network):
                words = (
                    f"{network} overlaps with {IPv4Network(text, strict=False)}, which is on {interface.id}"
                )
                yield error("network-here", server, "relayed.network", words)
    for other in _others(view, server):
        theirs = None if other.relayed is None else own_network(other.relayed)
        if theirs is not None and other.id < server.id and theirs.overlaps(network):
            words = f"{network} overlaps with {theirs}, which DHCP server {other.id} serves"
            yield error("networks-overlap", server, "relayed.network", words)


def _relays(view: View, server: DhcpServer, relayed: Relayed) -> Iterator[Finding]:
    """One relay agent's address stands for one network."""
    if not relayed.relays:
        yield error("no-relay", server, "relayed.relays", "no relay agent is named that may ask")
    taken = {
        relay: other
        for other in _others(view, server)
        if other.relayed is not None and other.id < server.id
        for relay in other.relayed.relays
    }
    for relay in relayed.relays:
        if ":" in relay:
            text = f"{relay} is an IPv6 address, which no relay agent of DHCP for IPv4 has"
            yield error("not-ipv4", server, "relayed.relays", text)
            continue
        if is_of_no_host(IPv4Address(relay)):
            yield error("no-relay", server, "relayed.relays", f"{relay} is the address of no host")
        elif relay in view.own_addresses():
            text = f"{relay} is this router's own, and a DHCP relay of this router asks servers elsewhere"
            yield error("own-address", server, "relayed.relays", text)
        elif relay in taken:
            text = f"{relay} asks for the clients of DHCP server {taken[relay].id} already"
            yield error("relay-twice", server, "relayed.relays", text)


def _others(view: View, server: DhcpServer) -> Iterator[DhcpServer]:
    """The other enabled servers."""
    for item in view.document.every(type(server)):
        if item.id != server.id and not item.disabled:
            yield item
