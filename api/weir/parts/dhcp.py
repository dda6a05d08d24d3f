# SPDX-License-Identifier: Apache-2.0
"""What the DHCP server is asked for: one entry for each server, and one for each reservation. Servers for
networks behind relay agents are a part of their own, as a process of its own does them (docs/adr/0249).

A change of one of 10,000 reservations looks at that one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address
from typing import Any, ClassVar

from weir.kinds.dhcp_reservation import DhcpReservation
from weir.kinds.dhcp_server import DhcpServer, gateway_of, is_in_force, names_told, network_of, spans_of
from weir.kinds.dns import Dns
from weir.model.address_range import Span, span_text
from weir.model.dhcp_options import code_of, value_bytes
from weir.model.document import Change, Document
from weir.model.objects import ConfigObject
from weir.parts.delta import Delta
from weir.parts.part import EntriesPart
from weir.parts.rule import PacketRule


@dataclass(frozen=True, slots=True)
class OptionSpec:
    """`data` as it is sent, in hexadecimal digits."""

    code: int
    data: str
    always: bool


@dataclass(frozen=True, slots=True)
class ServerSpec:
    """`router` is the router's own address; `spans` are what clients get. `relays` are the relay agents that
    ask at that address, from `sources`; none for a server of the hosts on the interface."""

    id: str
    ifname: str
    network: str
    router: str
    spans: tuple[Span, ...]
    lease_s: int
    gateway: str
    dns_servers: tuple[str, ...]
    domain: str | None
    ntp_servers: tuple[str, ...]
    options: tuple[OptionSpec, ...]
    relays: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return f"server {self.id}"

    @property
    def where(self) -> str:
        """Its clients are there."""
        return f"in {self.network}" if self.relays else f"on {self.ifname}"

    @property
    def link(self) -> str | None:
        """The interface that its clients are on; None behind relay agents."""
        return None if self.relays else self.ifname

    @property
    def address_count(self) -> int:
        return sum(last - first + 1 for first, last in self.spans)


@dataclass(frozen=True, slots=True)
class ReservationSpec:
    """`by` is what tells the host (`hw-address`, `client-id`, `circuit-id`), `value` its bytes as hexadecimal
    digits. Who is to `block` is not answered, and the address is kept."""

    id: str
    server: str
    by: str
    value: str
    address: str
    hostname: str | None
    block: bool = False

    @property
    def name(self) -> str:
        return f"reservation {self.id}"


Spec = ServerSpec | ReservationSpec
Wanted = Mapping[str, Spec]


class DhcpPart(EntriesPart[Spec]):
    name, what = "dhcp", "DHCP"
    made_of = frozenset(("dhcp-server", "dhcp-reservation", "interface", "dns"))
    after = ("network", "bridges")  # the addresses are there
    is_relayed: ClassVar[bool] = False
    """Whether its servers are those for networks behind relay agents; else all others."""

    def key(self, entry: Spec) -> str:
        return entry.name

    def wanted(self, document: Document) -> Wanted:
        servers = self.servers(document)
        return {**servers, **_reservations(document, servers)}

    def moved(
        self, before: Wanted, document: Document, changes: Sequence[Change]
    ) -> tuple[Wanted, Delta[Spec]]:
        """A server that comes or goes has all reservations looked at; else those that change."""
        if self.made_of.isdisjoint(change.kind for change in changes):
            return before, Delta()
        servers = self.servers(document)
        held = {name for name, spec in before.items() if isinstance(spec, ServerSpec)}
        if held != servers.keys():
            after = {**servers, **_reservations(document, servers)}
            return after, self.delta(before, after)
        delta: Delta[Spec] = Delta()
        for name, new in servers.items():
            _note(delta, before.get(name), new)
        for name in dict.fromkeys(change.id for change in changes if change.kind == "dhcp-reservation"):
            item = document.get("dhcp-reservation", name)
            spec = _reservation(item, servers) if isinstance(item, DhcpReservation) else None
            _note(delta, before.get(f"reservation {name}"), spec)
        return self.applied(before, delta), delta

    def told(self, wanted: Wanted, item: ConfigObject) -> Iterator[str]:
        word = "server" if isinstance(item, DhcpServer) else "reservation"
        found = wanted.get(f"{word} {item.id}")
        if found is not None and item.kind.startswith("dhcp-"):
            yield self.text(None, found)

    def text(self, old: Spec | None, new: Spec) -> str:
        if isinstance(new, ReservationSpec):
            host = f"the host with {new.by} {new.value}"
            if new.block:
                return f"no answer of DHCP server {new.server} for {host}, and {new.address} for nobody"
            return f"{new.address} for {host}, by DHCP server {new.server}"
        ranges = ", ".join(map(span_text, new.spans))
        said = f"server {new.id} on {new.ifname}: {ranges} of {new.network}, gateway {new.gateway}"
        return f"{said}, for {', '.join(new.relays)}" if new.relays else said

    def servers(self, document: Document) -> dict[str, Spec]:
        """Those in force, by name of their entry."""
        every = document.every(DhcpServer)
        items = [item for item in every if (item.relayed is not None) == self.is_relayed]
        return _servers(document, sorted(items, key=lambda item: item.id))


class RelayedDhcpPart(DhcpPart):
    name, what = "dhcp-relayed", "DHCP behind relays"
    is_relayed = True


def _note(delta: Delta[Spec], old: Spec | None, new: Spec | None) -> None:
    if new is None and old is not None:
        delta.removed.append(old)
    elif new is not None and new != old:
        delta.set.append((old, new))


def _servers(document: Document, items: Sequence[DhcpServer]) -> dict[str, Spec]:
    if not items:
        return {}
    own = tuple(
        int(IPv4Address(text.partition("/")[0]))
        for interface in document.interfaces()
        for text in interface.addresses
        if ":" not in text
    )
    found = (_server(item, document, own) for item in items)
    return {spec.name: spec for spec in found if spec is not None}


def _server(item: DhcpServer, document: Document, own: tuple[int, ...]) -> ServerSpec | None:
    interface = document.interface(item.interface)
    served = network_of(item, interface)
    gateway = None if served is None else gateway_of(item, served)
    if served is None or gateway is None or not is_in_force(item, interface):
        return None
    dns_servers, domain = names_told(item, served, document.single(Dns), interface)
    return ServerSpec(
        item.id,
        item.interface,
        str(served.network),
        str(IPv4Address(served.router)),
        tuple(spans_of(item, served, own)),
        item.lease_s,
        gateway,
        dns_servers,
        domain,
        item.ntp_servers,
        tuple(
            OptionSpec(code_of(one.option), value_bytes(one.type, one.value).hex(), one.always)
            for one in item.options
        ),
        () if item.relayed is None else item.relayed.relays,
        () if item.relayed is None else item.relayed.sources,
    )


def _reservations(document: Document, servers: Mapping[str, Any]) -> dict[str, Spec]:
    items = sorted(document.every(DhcpReservation), key=lambda item: item.id) if servers else ()
    found = (_reservation(item, servers) for item in items)
    return {spec.name: spec for spec in found if spec is not None}


def _reservation(item: DhcpReservation, servers: Mapping[str, Any]) -> ReservationSpec | None:
    identifier = item.identifier
    if item.disabled or identifier is None or f"server {item.server}" not in servers:
        return None
    return ReservationSpec(item.id, item.server, *identifier, item.address, item.hostname, item.block)


def questions_of_relays(document: Document) -> Iterator[PacketRule]:
    """What comes to servers for networks behind relay agents, by any interface as yet: a host there renews
    its lease itself."""
    for spec in DHCP_RELAYED.servers(document).values():
        if isinstance(spec, ServerSpec):
            yield PacketRule(
                "input",
                "accept",
                f"relay agents and clients of DHCP server {spec.id}",
                family=4,
                protocol="udp",
                sources=tuple(dict.fromkeys((spec.network, *spec.relays, *spec.sources))),
                destinations=(spec.router,),
                ports=("67",),
                made_by=f"dhcp-server/{spec.id}",
            )


DHCP, DHCP_RELAYED = DhcpPart(), RelayedDhcpPart()
