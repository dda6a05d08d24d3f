# SPDX-License-Identifier: Apache-2.0
"""DHCP servers for IPv6 (RFC 8415): who gets addresses beside those that hosts make of what is announced."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from ipaddress import IPv6Address
from typing import Annotated, ClassVar, Literal

from weir.fields import (
    INTERFACE_NAMES,
    Choice,
    Comment,
    Flag,
    Host,
    HostName,
    HostPart,
    Many,
    Ref,
    Rows,
    Text,
    When,
    Whole,
)
from weir.kinds.announcing import announced_networks, type_of
from weir.kinds.declaration import Declaration
from weir.kinds.dhcp6_pools import (
    MAX_POOLS,
    DelegatedPool,
    PoolState,
    PrefixPool,
    delegated_pools_make_sense,
    pools_make_sense,
)
from weir.kinds.dhcp_server import MAX_ADDRESSES, MAX_SERVERS_NAMED
from weir.kinds.dns import Dns, answers_on
from weir.model.address import is_dns_name, split_address
from weir.model.address_range import Span, without
from weir.model.delegation import LAN_BITS
from weir.model.interface import HAS_HOSTS, Interface
from weir.model.limits import MAX_EXACT, MAX_SECONDS_32
from weir.model.objects import ConfigObject, Kind
from weir.model.outside import is_outside
from weir.model.prefix import Prefix
from weir.model.problem import Finding
from weir.model.rule import LINK_LOCAL, Rule, View, all_after, error, notice, own, warning
from weir.model.unique import one_for_each

Mode = Literal["stateful", "stateless"]
MIN_LEASE_S = 60
MAX_SHOWN_POOLS = 64
_GIVES = When("mode", ("stateful",))


@dataclass(frozen=True, slots=True)
class Dhcpv6Server(ConfigObject):
    """Answers hosts behind one interface that ask for addresses or settings by DHCPv6."""

    kind: ClassVar[Kind] = "dhcpv6-server"
    id: str
    interface: Annotated[
        str,
        Ref(
            "interface",
            INTERFACE_NAMES,
            offered=When("role", ("wan",), unless=True),
            help="Where the clients are: it has an IPv6 network, static or delegated, and is not a WAN.",
            example="br-lan",
        ),
    ]
    mode: Annotated[
        Mode,
        Choice(
            "stateful",
            "stateless",
            help="`stateful`: clients get addresses, and are told the rest. `stateless`: they are told the "
            "rest, and have addresses of their own making alone.",
        ),
    ] = "stateful"
    first: Annotated[
        str,
        HostPart(
            when=_GIVES,
            label="First address",
            help="Of those that clients get: its part behind the network, which may change.",
            example="::1000",
        ),
    ] = "::1000"
    last: Annotated[
        str,
        HostPart(
            when=_GIVES,
            label="Last address",
            help=f"As `first`. {MAX_ADDRESSES:,} addresses at most; when all are given there are no more.",
            example="::1fff",
        ),
    ] = "::1fff"
    preferred_s: Annotated[
        int,
        Whole(
            MIN_LEASE_S,
            MAX_SECONDS_32 - 1,
            label="Preferred for",
            help="For so long clients begin connections with the address or prefix. They ask again after "
            "half of that. Of a delegated prefix 2,700 at most, and no longer than it is the router's.",
        ),
    ] = 2700
    valid_s: Annotated[
        int,
        Whole(
            MIN_LEASE_S,
            MAX_SECONDS_32 - 1,
            label="Valid for",
            help="For so long they keep it when nobody answers; at least as long as it is preferred. Of a "
            "delegated prefix 5,400 at most.",
        ),
    ] = 5400
    prefix_pools: Annotated[
        tuple[PrefixPool, ...],
        Rows(
            PrefixPool,
            MAX_POOLS,
            by="prefix",
            option="prefix-pool",
            importance="folded",
            help="Routers behind the interface that ask for a prefix are delegated one of these, and it is "
            "routed to them.",
        ),
    ] = ()
    delegated_pools: Annotated[
        tuple[DelegatedPool, ...],
        Rows(
            DelegatedPool,
            MAX_POOLS,
            by="uplink",
            option="delegated-pool",
            importance="folded",
            help="The same of prefixes that providers delegate to this router, beside the networks of its "
            "own interfaces.",
        ),
    ] = ()
    dns_servers: Annotated[
        tuple[str, ...],
        Many(
            Host(),
            MAX_SERVERS_NAMED,
            label="DNS servers",
            option="dns",
            help="Whom clients ask for names, IPv6 addresses. Empty: this router, where its name service "
            "answers them at a static IPv6 address.",
            example="2001:db8::53",
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
    comment: Comment = ""
    disabled: Annotated[bool, Flag(help="It is kept, and answers nobody.")] = False

    @property
    def gives_addresses(self) -> bool:
        return self.mode == "stateful"

    @property
    def span(self) -> Span:
        """The parts of addresses behind the network, as numbers; the last may be before the first."""
        return end_of(self.first), end_of(self.last)


def end_of(text: str) -> int:
    """What of an address is behind the network, as a number."""
    return int(IPv6Address(text))


def network_of(interface: Interface) -> Prefix | None:
    """The static network that is served: the first one. None where a delegated one is, or none."""
    found = announced_networks(interface)
    return found[0] if found and interface.delegated is None else None


def spans_of(server: Dhcpv6Server, interface: Interface) -> tuple[Span, ...]:
    """The parts of addresses that clients get, without the router's own; none of a stateless server."""
    if not server.gives_addresses:
        return ()
    return tuple(without(server.span, taken_ends(interface)))


def taken_ends(interface: Interface) -> set[int]:
    """The ends of the router's own addresses in the network that is served: of a delegated one the first."""
    network = network_of(interface)
    if network is None:
        return {1}
    own_here = (split_address(text) for text in interface.addresses if ":" in text)
    return {end_of(host) - network.value for host, around in own_here if around == network}


def length_of(interface: Interface) -> int:
    """How many bits the network has that is served."""
    network = network_of(interface)
    return LAN_BITS if network is None else network.length


def serves(server: Dhcpv6Server, interface: Interface | None) -> bool:
    """Whether it is in force, as far as the configuration says."""
    if server.disabled or interface is None or interface.disabled:
        return False
    return interface.delegated is not None or network_of(interface) is not None


def dns_of(server: Dhcpv6Server, dns: Dns, interface: Interface) -> tuple[tuple[str, ...], str | None]:
    """Whom clients ask for names, and what they append."""
    if server.dns_servers or not answers_on(dns, interface):
        return server.dns_servers, server.domain
    hosts = [split_address(text) for text in interface.addresses if ":" in text]
    own_here = tuple(host for host, around in hosts if not LINK_LOCAL.covers(around))
    return own_here, server.domain or (dns.domain if own_here else None)


def has_a_link(view: View, server: Dhcpv6Server) -> Iterator[Finding]:
    """Its interface is one that clients can be behind, and that has a network for them."""
    interface = view.document.interface(server.interface)
    if server.disabled or interface is None:
        return  # a reference to nothing is said already
    name = interface.id
    if is_outside(interface):
        text = f"{name} is a WAN, and a DHCP server there would give addresses to strangers"
        yield error("dhcp-on-wan", server, "interface", text)
    elif type_of(interface) not in HAS_HOSTS:
        yield error("no-clients-there", server, "interface", f"{name} has no hosts that could ask")
    elif interface.vrf is not None:
        text = f"{name} is in the VRF {interface.vrf}, where the DHCP server cannot answer: take it out of it"
        yield error("dhcp-in-vrf", server, "interface", text)
    elif interface.delegated is None and network_of(interface) is None:
        text = f"{name} has no IPv6 network, static or delegated: give it an address with one"
        yield error("no-address", server, "interface", text)
    elif interface.ra is None:
        text = f"{name} announces nothing, so hosts there neither ask nor learn their gateway: set its ra"
        yield warning("not-announced", server, "interface", text)
    elif interface.ra.managed and not server.gives_addresses:
        text = f"{name} tells hosts to ask for addresses (ra.managed), and this server gives none"
        yield warning("announced-otherwise", server, "mode", text)


def fits_its_network(view: View, server: Dhcpv6Server) -> Iterator[Finding]:
    """Its addresses are the ends of some in its network, and not too many."""
    interface = view.document.interface(server.interface)
    first, last = server.span
    if first > last:
        yield error("bad-range", server, "last", f"{server.last} is before {server.first}")
        return
    if last - first >= MAX_ADDRESSES:
        text = f"these are {last - first + 1:,} addresses, and a server gives {MAX_ADDRESSES:,} at most"
        yield error("too-many-addresses", server, "last", text)
    if server.disabled or interface is None or not server.gives_addresses:
        return
    network = network_of(interface)
    if last >> 128 - length_of(interface):
        where = "a delegated /64" if network is None else network.text
        text = f"{server.last} is more than the part of an address behind {where} on {interface.id}"
        yield error("range-outside", server, "last", text)
    elif not spans_of(server, interface):
        text = f"{server.first} to {server.last} is the router's own on {interface.id}"
        yield error("no-addresses", server, "first", text)


def lasts_in_order(_view: View, server: Dhcpv6Server) -> Iterator[Finding]:
    if server.preferred_s > server.valid_s:
        text = "addresses would be preferred for longer than they are valid"
        yield error("lifetimes", server, "preferred_s", text)


def delegates_what_is_free(view: View, server: Dhcpv6Server) -> Iterator[Finding]:
    """Its prefixes are nobody else's."""
    if server.disabled or not (server.prefix_pools or server.delegated_pools):
        return
    before = [
        other for other in view.document.every(Dhcpv6Server) if other.id < server.id and not other.disabled
    ]
    others = [(other.id, pool) for other in before for pool in other.prefix_pools]
    yield from pools_make_sense(view, server, server.prefix_pools, others)
    parts = [(other.id, pool) for other in before for pool in other.delegated_pools]
    yield from delegated_pools_make_sense(view, server, server.delegated_pools, parts)


def is_told_in_ipv6(view: View, server: Dhcpv6Server) -> Iterator[Finding]:
    """What clients are told fits into DHCP for IPv6."""
    for value in server.dns_servers:
        if ":" not in value:
            text = f"{value} is an IPv4 address, which DHCP for IPv6 cannot say"
            yield error("not-ipv6", server, "dns_servers", text)
    if server.domain is not None and not is_dns_name(server.domain):
        yield error("no-name", server, "domain", f"{server.domain} is an address, and no name of a domain")
    interface = view.document.interface(server.interface)
    if interface is None or server.disabled:
        return
    if not dns_of(server, view.document.single(Dns), interface)[0]:
        text = "no DNS server is named, so clients learn none by this server"
        yield notice("no-dns-server", server, "dns_servers", text)


KIND = Declaration(
    Dhcpv6Server,
    singular="DHCPv6 server",
    plural="DHCPv6 servers",
    short="dhcpv6-server",
    about="Who gives IPv6 addresses to hosts behind an interface (`/ipv6 dhcp-server` of RouterOS).",
    argument="server_id",
    columns=("interface", "mode", "network", "serving", "lease_count", "comment"),
    area="Services",
    purpose="Hosts make IPv6 addresses of what the router announces, and need no server for that. This one "
    "gives them addresses that are listed, or tells them DNS servers. It needs an interface with an IPv6 "
    "network, static or delegated, and what that announces tells hosts to ask.",
    state={
        "serving": Flag(help="Whether it listens on its interface now."),
        "network": Text(50, help="Of which it gives addresses now; nothing while there is no prefix."),
        "origin": Text(
            80,
            label="Part of",
            help="The delegated prefix that the network is part of, and the WAN that was given it; nothing "
            "of a static network.",
        ),
        "failure": Text(
            400, label="Not answered", help="Why nobody is answered: what is the matter with the prefix."
        ),
        "lease_count": Whole(0, 2**31, label="Leases", help="Addresses that clients have now."),
        "address_count": Whole(0, 2**31, label="Addresses", help="Addresses that clients can get."),
        "delegated_count": Whole(
            0, 2**31, label="Delegated", help="Prefixes that routers behind it have now."
        ),
        "prefix_count": Whole(0, MAX_EXACT, label="Prefixes", help="Prefixes of its pools, taken and free."),
        "pools": Rows(
            PoolState, MAX_SHOWN_POOLS, by="prefix", help="What routers behind are given prefixes of now."
        ),
    },
    rules=(
        Rule("has-a-link-6", "dhcpv6-server", has_a_link, all_after("dhcpv6-server", "interface"), True),
        Rule(
            "fits-its-network-6",
            "dhcpv6-server",
            fits_its_network,
            all_after("dhcpv6-server", "interface"),
            True,
        ),
        Rule(
            "delegates-what-is-free",
            "dhcpv6-server",
            delegates_what_is_free,
            all_after("dhcpv6-server", "dhcpv6-server", "interface", "static-route"),
            True,
        ),
        Rule("lasts-in-order", "dhcpv6-server", lasts_in_order, own("dhcpv6-server"), True),
        Rule(
            "told-in-ipv6",
            "dhcpv6-server",
            is_told_in_ipv6,
            all_after("dhcpv6-server", "interface", "dns"),
            True,
        ),
        one_for_each(
            Dhcpv6Server,
            "one server of IPv6 for each interface",
            key=lambda server: None if server.disabled else server.interface,
            code="two-servers",
            field="interface",
            says=lambda server, first: f"DHCPv6 server {first.id} is on {server.interface} already",
        ),
    ),
)
