# SPDX-License-Identifier: Apache-2.0
"""DHCP relays for IPv4: who asks a server elsewhere for the clients behind an interface."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network
from typing import Annotated, ClassVar

from weir.fields import INTERFACE_NAMES, Comment, Flag, Host, Many, Ref, Text, When, Whole
from weir.kinds.declaration import Declaration
from weir.kinds.dhcp_relayed import address_of
from weir.kinds.dhcp_server import DhcpServer
from weir.model.address import is_of_no_host
from weir.model.limits import MAX_EXACT
from weir.model.objects import ConfigObject, Kind
from weir.model.outside import is_outside
from weir.model.problem import Finding
from weir.model.rule import Rule, View, all_after, error, own
from weir.model.unique import one_for_each

MAX_SERVERS = 8
MAX_REMOTE_ID_BYTES = 200
"""Option 82 has 255 bytes for it, the interface's name, and how long each is."""
MOST_HOPS = 16
"""RFC 1542, section 4.1.1."""


@dataclass(frozen=True, slots=True)
class DhcpRelay(ConfigObject):
    """Takes what clients behind one interface ask to DHCP servers elsewhere, and the answers back."""

    kind: ClassVar[Kind] = "dhcp-relay"
    id: str
    interface: Annotated[
        str,
        Ref(
            "interface",
            INTERFACE_NAMES,
            offered=When("role", ("wan",), unless=True),
            help="Where the clients are. Its first IPv4 address tells servers which network they are in.",
            example="br-lan",
        ),
    ]
    servers: Annotated[
        tuple[str, ...],
        Many(
            Host(),
            MAX_SERVERS,
            option="server",
            help="Who is asked, all of them each time. Answers of others are not passed on.",
            example="192.0.2.67",
        ),
    ] = ()
    option_82: Annotated[
        bool,
        Flag(
            label="Option 82",
            help="Servers are told where a client is: the name of the interface as circuit id. Clients are "
            "not shown it.",
        ),
    ] = True
    remote_id: Annotated[
        str | None,
        Text(
            MAX_REMOTE_ID_BYTES,
            label="Remote id",
            importance="folded",
            help="What option 82 says of this router as well. Empty: nothing.",
            example="tower-7",
        ),
    ] = None
    trusted: Annotated[
        bool,
        Flag(
            label="Trusts switches and relays there",
            importance="folded",
            help="Option 82 of a switch and the address of another relay are passed on as they come. "
            "Otherwise such messages are dropped: a client could say that it is somewhere else.",
        ),
    ] = False
    max_hops: Annotated[
        int,
        Whole(
            1,
            MOST_HOPS,
            label="Relays at most",
            importance="folded",
            help="A message that so many relays have passed on is dropped.",
        ),
    ] = 4
    comment: Comment = ""
    disabled: Annotated[bool, Flag(help="It is kept, and passes nothing on.")] = False


def has_a_link(view: View, relay: DhcpRelay) -> Iterator[Finding]:
    """Its interface is one that clients can be behind, and nobody else answers them there."""
    interface = view.document.interface(relay.interface)
    if relay.disabled or interface is None:
        return  # a reference to nothing is said already
    name = interface.id
    if is_outside(interface):
        text = f"{name} is a WAN, and a DHCP relay there would ask for addresses for strangers"
        yield error("dhcp-on-wan", relay, "interface", text)
    elif not interface.is_port or interface.is_point_to_point:
        text = f"{name} has no Ethernet frames, so nobody can ask for an address there"
        yield error("no-clients-there", relay, "interface", text)
    elif interface.vrf is not None:
        text = f"{name} is in the VRF {interface.vrf}, where the DHCP relay has no way to a server"
        yield error("dhcp-in-vrf", relay, "interface", text)
    elif address_of(interface) is None:
        text = f"{name} has no static IPv4 address, by which servers know the network of its clients"
        yield error("no-address", relay, "interface", text)
    for server in view.document.every(DhcpServer):
        if server.interface == name and not server.disabled:
            whom = "clients" if server.relayed is None else "relay agents"
            text = f"DHCP server {server.id} answers {whom} on {name} itself: disable one of the two"
            yield error("relay-and-server", relay, "interface", text)


def has_servers(view: View, relay: DhcpRelay) -> Iterator[Finding]:
    """Its servers are hosts elsewhere."""
    interface = view.document.interface(relay.interface)
    if relay.disabled:
        return
    if not relay.servers:
        yield error("no-server", relay, "servers", "no DHCP server is named that could be asked")
    networks = [] if interface is None else [text for text in interface.addresses if ":" not in text]
    for server in relay.servers:
        if ":" in server:
            text = f"{server} is an IPv6 address, and DHCP for IPv4 has no servers there"
            yield error("not-ipv4", relay, "servers", text)
            continue
        host = IPv4Address(server)
        if is_of_no_host(host):
            yield error("no-server", relay, "servers", f"{server} is the address of no host")
        elif server in view.own_addresses():
            text = f"{server} is this router's own: its DHCP servers serve the interfaces that they name"
            yield error("own-address", relay, "servers", text)
        elif any(host in IPv4Network(text, strict=False) for text in networks):
            text = f"{server} is beside the clients on {relay.interface}, and hears them without a relay"
            yield error("server-beside-clients", relay, "servers", text)


def says_where(_view: View, relay: DhcpRelay) -> Iterator[Finding]:
    """What option 82 says fits into it."""
    if relay.remote_id and len(relay.remote_id.encode()) > MAX_REMOTE_ID_BYTES:
        text = f"must be {MAX_REMOTE_ID_BYTES} bytes at most"
        yield error("too-long", relay, "remote_id", text)


KIND = Declaration(
    DhcpRelay,
    singular="DHCP relay",
    plural="DHCP relays",
    short="dhcp-relay",
    about="Who asks a DHCP server elsewhere for clients behind an interface (`/ip dhcp-relay` of RouterOS).",
    argument="relay_id",
    columns=("interface", "servers", "serving", "requests", "answers", "comment"),
    area="Services",
    purpose="A DHCP relay takes what clients behind an interface ask to a DHCP server in another network, "
    "and tells it where they are.",
    state={
        "serving": Flag(help="Whether it listens on its interface now."),
        "requests": Whole(
            0, MAX_EXACT, help="Messages of clients that were passed on, since the relay process began."
        ),
        "answers": Whole(0, MAX_EXACT, help="Messages of servers that were passed on, since then."),
        "untrusted": Whole(
            0, MAX_EXACT, help="Messages dropped since then that carried option 82 or a relay's address."
        ),
        "dropped": Whole(0, MAX_EXACT, help="All messages dropped since then."),
        "silent": Many(Host(), MAX_SERVERS, help="Servers that were asked and have not answered since then."),
    },
    rules=(
        Rule(
            "has-a-link", "dhcp-relay", has_a_link, all_after("dhcp-relay", "interface", "dhcp-server"), True
        ),
        Rule("has-servers", "dhcp-relay", has_servers, all_after("dhcp-relay", "interface"), True),
        Rule("says-where", "dhcp-relay", says_where, own("dhcp-relay"), True),
        one_for_each(
            DhcpRelay,
            "one relay for each interface",
            key=lambda relay: None if relay.disabled else relay.interface,
            code="two-relays",
            field="interface",
            says=lambda relay, first: f"DHCP relay {first.id} is on {relay.interface} already",
        ),
    ),
)
