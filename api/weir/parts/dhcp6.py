# SPDX-License-Identifier: Apache-2.0
"""What the DHCP server for IPv6 is asked for: one entry for each server, with its reservations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from ipaddress import IPv6Address, IPv6Network
from typing import NamedTuple

from weir.kinds.dhcp6_pools import DelegatedPool, number_of_prefixes
from weir.kinds.dhcp6_reservation import Dhcpv6Reservation
from weir.kinds.dhcp6_server import Dhcpv6Server, dns_of, end_of, network_of, serves, spans_of
from weir.kinds.dns import Dns
from weir.model.address_range import Span
from weir.model.document import Document
from weir.model.objects import ConfigObject
from weir.model.prefix import Prefix, parse_prefix
from weir.model.rule import LINK_LOCAL
from weir.parts.part import EntriesPart
from weir.parts.rule import PacketRule

SERVER_PORT = 547
GROUP = "ff02::1:2/128"
"""Whom clients ask: all servers and relay agents of the link (RFC 8415, 7.1)."""


class Reserved(NamedTuple):
    """`by` is what tells the host (`duid`, `hw-address`), `value` its bytes in hexadecimal with colons; `end`
    is what of its address is behind the network, `prefix` what a router is delegated; None of what it is not
    given. Who is to `block` is not answered, and both are kept."""

    id: str
    by: str
    value: str
    end: int | None
    prefix: str | None
    hostname: str | None
    block: bool = False


class Origin(NamedTuple):
    """Whose part something is: of the prefix that a provider delegated to a WAN."""

    uplink: str
    prefix: str

    @property
    def text(self) -> str:
        return f"{self.prefix} of {self.uplink}"


class Pool(NamedTuple):
    """What routers behind are given prefixes of `length` bits of, and for how long at most; `origin` None: it
    is a static one."""

    prefix: str
    length: int
    preferred_s: int
    valid_s: int
    origin: Origin | None = None

    @property
    def capacity(self) -> int:
        """How many routers can have one."""
        return number_of_prefixes(self.prefix, self.length)

    def covers(self, prefix: Prefix) -> bool:
        return parse_prefix(self.prefix).covers(prefix)


@dataclass(frozen=True, slots=True)
class Server6Spec:
    """`network` None: it is part of a delegated prefix, which the agent knows, or does not know yet. `spans`
    are what of an address is behind the network; none of a server that gives no addresses."""

    id: str
    ifname: str
    network: str | None
    spans: tuple[Span, ...]
    preferred_s: int
    valid_s: int
    dns_servers: tuple[str, ...]
    domain: str | None
    reserved: tuple[Reserved, ...] = ()
    prefix_pools: tuple[Pool, ...] = ()
    """Those of delegated prefixes are put in by the agent, as long as they are there."""
    delegated_pools: tuple[DelegatedPool, ...] = ()
    pool_failures: tuple[tuple[int, str], ...] = ()
    """Length of the prefixes of a delegated pool, and why nothing of it is given."""
    origin: Origin | None = None
    """Of the network; None: it is a static one, or there is none."""
    failure: str = ""
    """Why it gives nothing of a delegated prefix; "" = it does."""

    @property
    def link(self) -> str:
        """The interface that its clients are on."""
        return self.ifname

    @property
    def address_count(self) -> int:
        return sum(last - first + 1 for first, last in self.spans)

    def pools(self) -> list[str]:
        """The addresses that clients get, of its network."""
        return [f"{self.address_of(first)}-{self.address_of(last)}" for first, last in self.spans]

    @property
    def delegates(self) -> bool:
        return bool(self.prefix_pools) or any(one.prefix for one in self.reserved)

    def delegated(self, *, is_whole: bool = True) -> Iterator[str]:
        """Of what routers behind it are given a part, or the whole; with `is_whole` False without what a
        provider delegated."""
        yield from (pool.prefix for pool in self.prefix_pools if is_whole or pool.origin is None)
        yield from (one.prefix for one in self.reserved if one.prefix is not None)

    @property
    def prefixes(self) -> tuple[object, ...]:
        """Which prefixes it gives, whatever else it says."""
        return (
            *((pool.prefix, pool.length) for pool in self.prefix_pools),
            *(one.prefix for one in self.reserved if one.prefix is not None),
        )

    def gave(self, prefix: str) -> bool:
        """Whether it delegates a prefix, by what is configured now."""
        asked = parse_prefix(prefix)
        return any(pool.length == asked.length and pool.covers(asked) for pool in self.prefix_pools) or any(
            one.prefix == prefix for one in self.reserved
        )

    def origin_of(self, prefix: str) -> Origin | None:
        """Of a prefix that it gave: whose part it is."""
        asked = parse_prefix(prefix)
        return next((pool.origin for pool in self.prefix_pools if pool.covers(asked)), None)

    def address_of(self, end: int) -> str:
        """The whole address; its end alone while there is no network."""
        start = 0 if self.network is None else int(IPv6Network(self.network).network_address)
        return str(IPv6Address(start + end))


Wanted = Mapping[str, Server6Spec]


class Dhcp6Part(EntriesPart[Server6Spec]):
    name, what = "dhcp6", "DHCPv6"
    made_of = frozenset(("dhcpv6-server", "dhcpv6-reservation", "interface", "dns"))
    after = ("network", "bridges")  # the addresses are there

    def key(self, entry: Server6Spec) -> str:
        return entry.id

    def wanted(self, document: Document) -> Wanted:
        items = sorted(document.every(Dhcpv6Server), key=lambda item: item.id)
        reserved = _reserved(document) if items else {}
        found = (_server(item, document, tuple(reserved.get(item.id, ()))) for item in items)
        return {spec.id: spec for spec in found if spec is not None}

    def told(self, wanted: Wanted, item: ConfigObject) -> Iterator[str]:
        if item.kind == "dhcpv6-server" and item.id in wanted:
            yield self.text(None, wanted[item.id])
        if isinstance(item, Dhcpv6Reservation):
            for one in wanted[item.server].reserved if item.server in wanted else ():
                if one.id == item.id:
                    given = ([] if one.end is None else [str(IPv6Address(one.end))]) + [one.prefix or ""]
                    what = " and ".join(filter(None, given))
                    host = f"the host with {one.by} {one.value}"
                    kept = f", and {what} for nobody" if what else ""
                    blocked = f"no answer of {item.server} for {host}{kept}"
                    yield blocked if one.block else f"{what} for {host}, by {item.server}"

    def text(self, old: Server6Spec | None, new: Server6Spec) -> str:
        where = f"server {new.id} on {new.ifname}"
        pools = "".join(f"; prefixes of {pool.length} bits of {pool.prefix}" for pool in new.prefix_pools)
        pools += "".join(
            f"; prefixes of {pool.length} bits of {pool.uplink}'s prefix" for pool in new.delegated_pools
        )
        if not new.spans:
            return f"{where}: settings, no addresses{pools}"
        ends = ", ".join(f"{IPv6Address(first)}-{IPv6Address(last)}" for first, last in new.spans)
        return f"{where}: {ends} of {new.network or 'a delegated prefix'}{pools}"


def _reserved(document: Document) -> dict[str, list[Reserved]]:
    """By server."""
    found: dict[str, list[Reserved]] = {}
    for item in sorted(document.every(Dhcpv6Reservation), key=lambda item: item.id):
        if not item.disabled and item.identifier is not None:
            found.setdefault(item.server, []).append(
                Reserved(
                    item.id,
                    *item.identifier,
                    None if item.address is None else end_of(item.address),
                    item.prefix,
                    item.hostname,
                    item.block,
                )
            )
    return found


def _server(item: Dhcpv6Server, document: Document, reserved: tuple[Reserved, ...]) -> Server6Spec | None:
    interface = document.interface(item.interface)
    if interface is None or not serves(item, interface):
        return None
    network = network_of(interface)
    dns_servers, domain = dns_of(item, document.single(Dns), interface)
    return Server6Spec(
        item.id,
        item.interface,
        None if network is None else network.text,
        spans_of(item, interface),
        item.preferred_s,
        item.valid_s,
        dns_servers,
        domain,
        _given(item, reserved),
        tuple(Pool(one.prefix, one.length, item.preferred_s, item.valid_s) for one in item.prefix_pools),
        item.delegated_pools,
    )


def _given(item: Dhcpv6Server, reserved: tuple[Reserved, ...]) -> tuple[Reserved, ...]:
    """Of a server that gives no addresses the prefixes alone, and who is blocked."""
    if item.gives_addresses:
        return reserved
    return tuple(one._replace(end=None) for one in reserved if one.prefix is not None or one.block)


def questions_of_clients(document: Document) -> Iterator[PacketRule]:
    """What hosts on a link ask, from link-local address."""
    for spec in DHCP6.wanted(document).values():
        yield PacketRule(
            "input",
            "accept",
            f"clients of DHCPv6 server {spec.id}",
            (spec.ifname,),
            family=6,
            protocol="udp",
            sources=(LINK_LOCAL.text,),
            destinations=(GROUP, LINK_LOCAL.text),
            ports=(str(SERVER_PORT),),
            made_by=f"dhcpv6-server/{spec.id}",
        )


DHCP6 = Dhcp6Part()
