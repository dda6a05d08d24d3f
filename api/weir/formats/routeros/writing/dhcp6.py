# SPDX-License-Identifier: Apache-2.0
"""DHCPv6: servers, the pools that they give addresses and prefixes of, and bindings of one client."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import IPv6Address, summarize_address_range

from weir.formats.routeros.writing.script import (
    Property,
    UnsaidError,
    command,
    common,
    not_written,
    section,
    time_text,
)
from weir.kinds.dhcp6_reservation import Dhcpv6Reservation
from weir.kinds.dhcp6_server import Dhcpv6Server, end_of, length_of, network_of
from weir.model.delegation import LAN_BITS
from weir.model.document import Document

_ADDRESS_BITS = 128


def dhcp6(document: Document) -> Iterator[str]:
    """Pools before the servers that name them, and bindings behind both."""
    pools: list[str] = []
    servers: list[str] = []
    unsaid: list[str] = []
    for item in sorted(document.every(Dhcpv6Server), key=lambda item: item.id):
        try:
            made = _pools(document, item)
        except UnsaidError as problem:
            unsaid.append(not_written(f"dhcpv6-server {item.id}", str(problem)))
            continue
        pools += [command(said) for said in made.values()]
        servers.append(_server(item, made))
        unsaid += _left_off(item)
    yield from section("/ipv6 pool", pools)
    yield from section("/ipv6 dhcp-server", servers)
    bindings = sorted(document.every(Dhcpv6Reservation), key=lambda item: item.id)
    lines = (line for item in bindings for line in _bindings(document, item))
    yield from section("/ipv6 dhcp-server binding", lines)
    yield from (f"{line}\n" for line in unsaid)


def _pools(document: Document, item: Dhcpv6Server) -> dict[str, list[Property]]:
    """By the property of the server that names it. Raises `UnsaidError`."""
    found: dict[str, list[Property]] = {}
    if item.gives_addresses:
        name = f"{item.id}-addresses"
        length = ("prefix-length", str(_ADDRESS_BITS))
        found["address-pool"] = [("name", name), ("prefix", _addresses(document, item)), length]
    if item.prefix_pools:
        first = item.prefix_pools[0]
        said = [("prefix", first.prefix), ("prefix-length", str(first.length))]
        found["prefix-pool"] = [("name", f"{item.id}-prefixes"), *said]
    return found


def _addresses(document: Document, item: Dhcpv6Server) -> str:
    """The network that the server's addresses are."""
    interface = document.interface(item.interface)
    network = network_of(interface) if interface is not None else None
    if interface is None or network is None or length_of(interface) != LAN_BITS:
        raise UnsaidError(f"the network of {item.interface} is no static /{LAN_BITS}")
    first, last = (IPv6Address(network.value | end_of(text)) for text in (item.first, item.last))
    try:
        (found,) = summarize_address_range(first, last)
    except ValueError:
        text = f"{item.first} to {item.last} are no network, and a pool of RouterOS is one"
        raise UnsaidError(text) from None
    return str(found)


def _server(item: Dhcpv6Server, pools: dict[str, list[Property]]) -> str:
    said = [("name", item.id), ("interface", item.interface)]
    said += [(key, dict(pool)["name"]) for key, pool in pools.items()]
    said.append(("lease-time", time_text(item.valid_s * 1000)))
    return command([*said, *common(disabled=item.disabled, comment=item.comment)])


def _left_off(item: Dhcpv6Server) -> Iterator[str]:
    if item.dns_servers or item.domain:
        text = "RouterOS tells the servers of its own name service"
        yield not_written(f"DNS servers and domain of dhcpv6-server {item.id}", text)
    if item.delegated_pools:
        text = "what a provider gives has no pool of that length in the file"
        yield not_written(f"the delegated pools of dhcpv6-server {item.id}", text)
    if item.prefix_pools[1:]:
        text = "a server of RouterOS delegates of one pool"
        yield not_written(f"all but the first pool of dhcpv6-server {item.id}", text)


def _bindings(document: Document, item: Dhcpv6Reservation) -> Iterator[str]:
    """One for the address and one for the prefix."""
    try:
        made = [*_given(document, item)]
    except UnsaidError as problem:
        yield not_written(f"dhcpv6-reservation {item.id}", str(problem))
        return
    for address in made:
        said = [("server", item.server), ("address", address), ("duid", _duid(item))]
        yield command([*said, *common(disabled=item.disabled, comment=item.comment)])
    if item.hostname is not None:
        yield not_written(f"the name of dhcpv6-reservation {item.id}", "bindings of RouterOS have none")


def _duid(item: Dhcpv6Reservation) -> str:
    identifier = item.identifier
    if identifier is None or identifier[0] != "duid":
        raise UnsaidError("RouterOS knows a client by its DUID alone")
    return "0x" + identifier[1].replace(":", "")


def _given(document: Document, item: Dhcpv6Reservation) -> Iterator[str]:
    _duid(item)
    if item.block:
        raise UnsaidError("RouterOS blocks no client of DHCPv6")
    server = document.get("dhcpv6-server", item.server)
    interface = document.interface(server.interface) if isinstance(server, Dhcpv6Server) else None
    if item.address is not None:
        network = network_of(interface) if interface is not None else None
        if interface is None or network is None or length_of(interface) != LAN_BITS:
            raise UnsaidError(f"the network of its server is no static /{LAN_BITS}")
        yield f"{IPv6Address(network.value | end_of(item.address))}/{_ADDRESS_BITS}"
    if item.prefix is not None:
        yield item.prefix
