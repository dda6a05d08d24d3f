# SPDX-License-Identifier: Apache-2.0
"""DHCP servers for IPv4: who gets addresses, and what is said to them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network
from itertools import pairwise
from typing import Annotated, ClassVar, NamedTuple

from weir.fields import (
    INTERFACE_NAMES,
    AddressRange,
    Choice,
    Comment,
    Flag,
    Group,
    Host,
    HostName,
    Label,
    Many,
    Ref,
    Rows,
    Text,
    When,
    Whole,
)
from weir.kinds.declaration import Declaration
from weir.kinds.dhcp_relayed import Relayed, address_of, own_network, relays_can_ask
from weir.kinds.dns import Dns, answers_on
from weir.model.address import is_dns_name
from weir.model.address_range import Span, span_of, span_text, without
from weir.model.dhcp_options import CODES, OWN, VALUE_TYPES, code_of, value_bytes
from weir.model.interface import Interface
from weir.model.objects import ConfigObject, Kind
from weir.model.outside import is_outside
from weir.model.problem import Finding, Invalid
from weir.model.rule import Rule, View, all_after, error, notice, own
from weir.model.unique import one_for_each

MAX_RANGES, MAX_OPTIONS, MAX_SERVERS_NAMED = 64, 64, 8
NO_GATEWAY = IPv4Address("0.0.0.0")
MAX_ADDRESSES = 65_536
"""Of one server: a flood of clients gets no more leases."""


class Network(NamedTuple):
    """The router's own address where it is asked, and the network that it serves: of a server for relays the
    one is not in the other."""

    router: int
    network: IPv4Network

    @property
    def hosts(self) -> Span:
        """The addresses that a host can have."""
        first, last = int(self.network.network_address), int(self.network.broadcast_address)
        return (first + 1, last - 1) if self.network.prefixlen < 31 else (first, last)


@dataclass(frozen=True, slots=True)
class DhcpOption:
    """One more thing that clients are told."""

    option: Annotated[
        str,
        Label(
            help=f"The option's number, or one of {', '.join(CODES)}.",
            example="tftp-server-name",
        ),
    ]
    value: Annotated[str, Text(512, help="In the form that `type` says.", example="192.168.88.5")]
    type: Annotated[
        str,
        Choice(
            *VALUE_TYPES,
            help="`addresses` have blanks between them; numbers have 8, 16 or 32 bits; `hex` is bytes as "
            "they are sent.",
        ),
    ] = "text"
    always: Annotated[bool, Flag(help="Also to clients that do not ask for it.", importance="folded")] = False


@dataclass(frozen=True, slots=True)
class DhcpServer(ConfigObject):
    """Gives addresses to who is behind one interface, or in a network whose relay agents ask."""

    kind: ClassVar[Kind] = "dhcp-server"
    id: str
    interface: Annotated[
        str,
        Ref(
            "interface",
            INTERFACE_NAMES,
            offered=When("role", ("wan",), unless=True),
            help="Where the clients are: it has a static IPv4 address, and is not a WAN. With `relayed` "
            "where the relay agents' messages come in, to its first IPv4 address.",
            example="br-lan",
        ),
    ]
    ranges: Annotated[
        tuple[str, ...],
        Many(
            AddressRange(),
            MAX_RANGES,
            option="range",
            help="The addresses that clients get. Empty: all of the network that are not the router's "
            f"own or a relay agent's. {MAX_ADDRESSES:,} at most; one that is full gives no more.",
            example="192.168.88.100-192.168.88.199",
        ),
    ] = ()
    lease_s: Annotated[
        int,
        Whole(
            60,
            31_536_000,
            label="Lease time",
            help="For so long a client has its address. It asks again after half of that time.",
        ),
    ] = 3600
    gateway: Annotated[
        str | None,
        Host(
            help="Where clients send what is not for their own network. Empty: this router, or the "
            "first of the relay agents that is in the network; 0.0.0.0: they are told of none."
        ),
    ] = None
    dns_servers: Annotated[
        tuple[str, ...],
        Many(
            Host(),
            MAX_SERVERS_NAMED,
            label="DNS servers",
            option="dns",
            help="Whom clients ask for names. Empty: this router, where its name service answers them.",
            example="192.0.2.53",
        ),
    ] = ()
    domain: Annotated[
        str | None,
        HostName(
            help="What clients append to names without a dot. Empty: the name service's local domain, where "
            "this router is their DNS server.",
            example="office.example.net",
        ),
    ] = None
    ntp_servers: Annotated[
        tuple[str, ...],
        Many(
            Host(),
            MAX_SERVERS_NAMED,
            label="NTP servers",
            option="ntp",
            importance="folded",
            help="Whom clients ask for the time.",
        ),
    ] = ()
    options: Annotated[
        tuple[DhcpOption, ...],
        Rows(DhcpOption, MAX_OPTIONS, by="option", importance="folded", help="What else clients are told."),
    ] = ()
    relayed: Annotated[
        Relayed | None,
        Group(
            Relayed,
            label="Behind relays",
            importance="folded",
            help="A network elsewhere, whose relay agents ask. Hosts on the interface get no addresses.",
        ),
    ] = None
    comment: Comment = ""
    disabled: Annotated[bool, Flag(help="It is kept, and gives no addresses.")] = False


def network_of(server: DhcpServer, interface: Interface | None) -> Network | None:
    """The network that is served: of several the one that the first range is in. None without one."""
    if server.relayed is not None:
        asked, network = address_of(interface), own_network(server.relayed)
        return None if asked is None or network is None else Network(int(IPv4Address(asked)), network)
    found = [] if interface is None else [_parsed(text) for text in interface.addresses if ":" not in text]
    if server.ranges:
        first, _ = span_of(server.ranges[0])
        around = [item for item in found if IPv4Address(first) in item.network]
        found = around or found
    return found[0] if found else None


def _parsed(text: str) -> Network:
    host, _, _ = text.partition("/")
    return Network(int(IPv4Address(host)), IPv4Network(text, strict=False))


def spans_of(server: DhcpServer, served: Network, taken: tuple[int, ...]) -> list[Span]:
    """The addresses that clients get, in order; `taken` are the router's own."""
    if server.relayed is not None:
        others = (*server.relayed.relays, server.gateway or "0.0.0.0")
        taken = (*taken, *(int(IPv4Address(text)) for text in others if ":" not in text))
    asked = [span_of(text) for text in server.ranges] or [served.hosts]
    return sorted(part for span in asked for part in without(span, taken))


def gateway_of(server: DhcpServer, served: Network) -> str | None:
    """What clients are told as gateway, 0.0.0.0 for none; None where nobody says it."""
    if server.gateway is not None:
        return server.gateway
    if server.relayed is None:
        return str(IPv4Address(served.router))
    inside = (
        text for text in server.relayed.relays if ":" not in text and IPv4Address(text) in served.network
    )
    return next(inside, None)


def asks_router(server: DhcpServer, dns: Dns, interface: Interface | None) -> bool:
    """Whether clients are told to ask this router for names. It answers those of a network elsewhere only
    where its name service is told to."""
    if server.dns_servers or not answers_on(dns, interface):
        return False
    network = None if server.relayed is None else own_network(server.relayed)
    return server.relayed is None or (
        network is not None
        and any(network.subnet_of(IPv4Network(text)) for text in dns.serve_to if ":" not in text)
    )


def names_told(
    server: DhcpServer, served: Network, dns: Dns, interface: Interface | None
) -> tuple[tuple[str, ...], str | None]:
    """Whom clients are told to ask for names, and what to append to those without a dot."""
    if not asks_router(server, dns, interface):
        return server.dns_servers, server.domain
    return (str(IPv4Address(served.router)),), server.domain or dns.domain


def is_in_force(server: DhcpServer, interface: Interface | None) -> bool:
    return not server.disabled and interface is not None and not interface.disabled


def has_a_link(view: View, server: DhcpServer) -> Iterator[Finding]:
    """Its interface is one that clients can be behind."""
    interface = view.document.interface(server.interface)
    if server.disabled or interface is None:
        return  # a reference to nothing is said already
    name = interface.id
    if server.relayed is not None and not interface.is_port:
        text = f"nothing comes in by {name}: name the interface by which the relay agents' messages come"
        yield error("no-relays-there", server, "interface", text)
    elif is_outside(interface) and server.relayed is None:
        text = f"{name} is a WAN, and a DHCP server there would give addresses to strangers"
        yield error("dhcp-on-wan", server, "interface", text)
    elif server.relayed is None and (not interface.is_port or interface.is_point_to_point):
        text = f"{name} has no Ethernet frames, so nobody can ask for an address there"
        yield error("no-clients-there", server, "interface", text)
    elif interface.vrf is not None:
        text = f"{name} is in the VRF {interface.vrf}, where the DHCP server cannot answer: take it out of it"
        yield error("dhcp-in-vrf", server, "interface", text)
    elif address_of(interface) is None:
        whose = "its clients are to have as gateway" if server.relayed is None else "relay agents are to ask"
        text = f"{name} has no static IPv4 address: give it the one that {whose}"
        yield error("no-address", server, "interface", text)


def fits_its_network(view: View, server: DhcpServer) -> Iterator[Finding]:
    """Ranges are within the network, apart from each other, and not too many; so is the gateway."""
    served = None if server.disabled else network_of(server, view.document.interface(server.interface))
    if served is None:
        return
    network, (first, last) = served.network, served.hosts
    spans = [span_of(text) for text in server.ranges]
    for low, high in spans:
        if low < first or high > last:
            text = (
                f"{span_text((low, high))} is not within {span_text((first, last))}, the addresses of hosts "
            )
            text += f"in {network}" if server.relayed is not None else f"in {network} on {server.interface}"
            yield error("range-outside", server, "ranges", text)
    yield from _overlaps(server, spans)
    count = sum(high - low + 1 for low, high in spans or [served.hosts])
    if count > MAX_ADDRESSES:
        text = f"these are {count:,} addresses, and a server gives {MAX_ADDRESSES:,} at most: name ranges"
        yield error("too-many-addresses", server, "ranges", text)
    elif not spans_of(server, served, (served.router,)):
        yield error("no-addresses", server, "ranges", f"{network} has no address that a client could get")
    if gateway_of(server, served) is None:
        text = f"no relay agent is in {network}: say which gateway clients have, or 0.0.0.0 for none"
        yield error("no-gateway", server, "gateway", text)
    gateway = _v4(server.gateway or "::")
    if gateway is not None and gateway != NO_GATEWAY and gateway not in network:
        text = f"clients in {network} cannot reach the gateway {gateway}"
        yield error("gateway-outside", server, "gateway", text)


def _overlaps(server: DhcpServer, spans: list[Span]) -> Iterator[Finding]:
    ordered = sorted(spans)
    for before, after in pairwise(ordered):
        if after[0] <= before[1]:
            text = f"{span_text(before)} and {span_text(after)} overlap"
            yield error("ranges-overlap", server, "ranges", text)


def _v4(text: str) -> IPv4Address | None:
    return None if ":" in text else IPv4Address(text)


def is_told_in_ipv4(view: View, server: DhcpServer) -> Iterator[Finding]:
    """What clients are told fits into DHCP for IPv4."""
    named = (("dns_servers", server.dns_servers), ("ntp_servers", server.ntp_servers))
    gateway = () if server.gateway is None else (server.gateway,)
    for field, values in (("gateway", gateway), *named):
        for value in values:
            if ":" in value:
                text = f"{value} is an IPv6 address, which DHCP for IPv4 cannot say"
                yield error("not-ipv4", server, field, text)
    if server.domain is not None and not is_dns_name(server.domain):
        yield error("no-name", server, "domain", f"{server.domain} is an address, and no name of a domain")
    dns, interface = view.document.single(Dns), view.document.interface(server.interface)
    if not server.disabled and not server.dns_servers and not asks_router(server, dns, interface):
        text = "no DNS server is named, so clients of this server resolve no names"
        yield notice("no-dns-server", server, "dns_servers", text)


def options_can_be_sent(_view: View, server: DhcpServer) -> Iterator[Finding]:
    seen: dict[int, str] = {}
    for number, item in enumerate(server.options):
        place = f"options[{number}]"
        try:
            code = code_of(item.option)
        except Invalid as problem:
            yield error(problem.code, server, f"{place}.option", problem.message)
            continue
        if code in OWN:
            text = f"option {item.option} is said by {OWN[code]}"
            yield error("own-option", server, f"{place}.option", text)
        elif code in seen:
            text = f"{item.option} is the same option as {seen[code]}"
            yield error("option-twice", server, f"{place}.option", text)
        seen[code] = item.option
        try:
            value_bytes(item.type, item.value)
        except Invalid as problem:
            yield error(
                problem.code, server, f"{place}.value", f"the value of {item.option} {problem.message}"
            )


KIND = Declaration(
    DhcpServer,
    singular="DHCP server",
    plural="DHCP servers",
    short="dhcp-server",
    about="Who gives IPv4 addresses to hosts behind an interface or relays (`/ip dhcp-server` of RouterOS).",
    argument="server_id",
    columns=("interface", "ranges", "serving", "lease_count", "comment"),
    area="Services",
    purpose="A DHCP server gives addresses to the hosts behind an interface. It needs no more than that "
    "interface: the addresses are those of its network, and the gateway is this router. It can also serve "
    "a network elsewhere, whose relay agents ask it.",
    state={
        "serving": Flag(help="Whether it listens on its interface now."),
        "lease_count": Whole(0, 2**31, label="Leases", help="Addresses that clients have now."),
        "address_count": Whole(0, 2**31, label="Addresses", help="Addresses that clients can get."),
    },
    rules=(
        Rule("has-a-link", "dhcp-server", has_a_link, all_after("dhcp-server", "interface"), True),
        Rule(
            "fits-its-network", "dhcp-server", fits_its_network, all_after("dhcp-server", "interface"), True
        ),
        Rule(
            "told-in-ipv4", "dhcp-server", is_told_in_ipv4, all_after("dhcp-server", "interface", "dns"), True
        ),
        Rule(
            "relays-can-ask",
            "dhcp-server",
            relays_can_ask,
            all_after("dhcp-server", "dhcp-server", "interface"),
            True,
        ),
        Rule("options-can-be-sent", "dhcp-server", options_can_be_sent, own("dhcp-server"), True),
        one_for_each(
            DhcpServer,
            "one server for each interface",
            key=lambda server: None if server.disabled or server.relayed is not None else server.interface,
            code="two-servers",
            field="interface",
            says=lambda server, first: f"DHCP server {first.id} is on {server.interface} already",
        ),
    ),
)
