# SPDX-License-Identifier: Apache-2.0
"""Reservations of IPv6 addresses: hosts whose address always has the same end."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar

from weir.fields import OBJECT_IDS, Comment, HostName, HostPart, Mac, Prefix, Ref, Text
from weir.kinds.declaration import Declaration
from weir.kinds.dhcp6_pools import LONGEST_BITS, SHORTEST_BITS, meet, taken_by
from weir.kinds.dhcp6_server import Dhcpv6Server, end_of, length_of, taken_ends
from weir.kinds.reservations import MAX_ID_BYTES, STATE, Blocked, Disabled, Reservation, each_once, has_a_name
from weir.model.objects import Kind
from weir.model.prefix import parse_prefix
from weir.model.problem import Finding
from weir.model.rule import Rule, View, all_after, error, own, warning
from weir.model.unique import one_for_each

MAX_DUID_BYTES = MAX_ID_BYTES
"""A type and at most 128 bytes (RFC 8415, 11.1), of which Kea takes 128 in all."""
_DUID = re.compile(r"(?:0x)?([0-9a-f]{2}(?::?[0-9a-f]{2})*)", re.ASCII | re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Dhcpv6Reservation(Reservation):
    """An address or a prefix, or both, that one host gets and no other, or who gets no answer. Exactly one of
    `duid` and `mac` says which host."""

    kind: ClassVar[Kind] = "dhcpv6-reservation"
    id: str
    server: Annotated[
        str, Ref("dhcpv6-server", role="DHCPv6 server", help="The server that gives it.", example="lan")
    ]
    address: Annotated[
        str | None,
        HostPart(
            help="Its part behind the server's network, which may change; in the server's range or not.",
            example="::10",
        ),
    ] = None
    prefix: Annotated[
        str | None,
        Prefix(
            help="The prefix that it is delegated where it is a router; of a pool of the server or of none.",
            example="2001:db8:1000:100::/56",
        ),
    ] = None
    duid: Annotated[
        str | None,
        Text(
            3 * MAX_DUID_BYTES,
            label="DUID",
            help="The host that calls itself so: bytes in hexadecimal. The page Leases shows it.",
            example="00:03:00:01:02:00:5e:10:00:01",
        ),
    ] = None
    mac: Annotated[
        str | None,
        Mac(
            label="MAC address",
            help="The host with this hardware address, as far as it tells it: in its DUID, or in the "
            "link-local address that it asks from.",
        ),
    ] = None
    hostname: Annotated[
        str | None,
        HostName(
            label="Host name",
            help="The name of the host, in the name service as well.",
            example="printer",
        ),
    ] = None
    block: Blocked = False
    comment: Comment = ""
    disabled: Disabled = False

    @property
    def name(self) -> str:
        return self.address or self.prefix or self.id

    @property
    def identifier(self) -> tuple[str, str] | None:
        """What tells the host, as Kea calls it, and its bytes in hexadecimal with colons. None where it is
        not exactly one, or no bytes."""
        if (self.duid is None) == (self.mac is None):
            return None
        if self.mac is not None:
            return "hw-address", self.mac
        match = _DUID.fullmatch((self.duid or "").strip())
        found = b"" if match is None else bytes.fromhex(match[1].replace(":", ""))
        return ("duid", found.hex(":")) if 3 <= len(found) <= MAX_DUID_BYTES else None


def says_who(_view: View, item: Dhcpv6Reservation) -> Iterator[Finding]:
    if (item.duid is None) == (item.mac is None):
        text = "one of duid and mac says which host it is for"
        yield error("not-one-host", item, "duid", text)
    elif item.identifier is None:
        text = f"must be 3 to {MAX_DUID_BYTES} bytes in hexadecimal, such as 00:03:00:01:02:00:5e:10:00:01"
        yield error("bad-identifier", item, "duid", text)
    yield from has_a_name(item)


def says_what(_view: View, item: Dhcpv6Reservation) -> Iterator[Finding]:
    if item.address is None and item.prefix is None and not item.block:
        text = "an address, a prefix or both are reserved, or the host is blocked"
        yield error("nothing-reserved", item, "address", text)


def prefix_fits(view: View, item: Dhcpv6Reservation, text_: str, server: Dhcpv6Server) -> Iterator[Finding]:
    """Its prefix is one that a router can be given, and nobody else has."""
    prefix = parse_prefix(text_)
    if prefix.family != 6 or not SHORTEST_BITS <= prefix.length <= LONGEST_BITS:
        text = f"{text_} is no IPv6 prefix of {SHORTEST_BITS} to {LONGEST_BITS} bits"
        yield error("bad-prefix-length", item, "prefix", text)
        return
    taken = taken_by(view, prefix)
    if taken is not None:
        yield error("prefix-taken", item, "prefix", f"{text_} meets {taken}")
    for other in view.document.every(Dhcpv6Server):
        for pool in other.prefix_pools if not other.disabled else ():
            fits = other.id == server.id and pool.length == prefix.length
            if meet(parse_prefix(pool.prefix), prefix) and not fits:
                text = (
                    f"{text_} meets {pool.prefix}, of which DHCPv6 server {other.id} delegates /{pool.length}"
                )
                yield error("not-of-the-pool", item, "prefix", text)


def fits_its_server(view: View, item: Dhcpv6Reservation) -> Iterator[Finding]:
    """Its address is one behind the server's network that is not the router's own; its prefix is free."""
    server = view.document.get("dhcpv6-server", item.server)
    if item.disabled or not isinstance(server, Dhcpv6Server):
        return  # a reference to nothing is said already
    if item.prefix is not None:
        yield from prefix_fits(view, item, item.prefix, server)
    interface = view.document.interface(server.interface)
    if interface is None or item.address is None:
        return
    if end_of(item.address) >> 128 - length_of(interface):
        text = f"{item.address} is more than the part of an address behind the network on {interface.id}"
        yield error("address-outside", item, "address", text)
    elif end_of(item.address) in taken_ends(interface):
        yield error("own-address", item, "address", f"{item.address} is the router's own on {interface.id}")
    elif not server.gives_addresses:
        text = f"DHCPv6 server {server.id} is stateless, and gives no addresses"
        yield warning("stateless", item, "server", text)


KIND = Declaration(
    Dhcpv6Reservation,
    singular="DHCPv6 reservation",
    plural="DHCPv6 reservations",
    short="dhcpv6-reservation",
    about="Hosts whose IPv6 address by DHCP always has the same end, and routers that get the same prefix.",
    ids=replace(OBJECT_IDS, assigned="r"),
    columns=("address", "prefix", "duid", "mac", "server", "leased_until", "block", "comment"),
    named_by="address",
    argument="reservation_id",
    area="Services",
    purpose="A reservation gives a host an address with the same end always, whatever its network is, "
    "or a router behind the same prefix, or no answer at all where it is blocked. The page Leases makes one "
    "of a lease.",
    state=STATE,
    rules=(
        Rule("says-what", "dhcpv6-reservation", says_what, own("dhcpv6-reservation"), True),
        Rule("says-which-host", "dhcpv6-reservation", says_who, own("dhcpv6-reservation"), True),
        Rule(
            "fits-its-server-6",
            "dhcpv6-reservation",
            fits_its_server,
            all_after("dhcpv6-reservation", "dhcpv6-server", "interface", "static-route"),
            True,
        ),
        *each_once(Dhcpv6Reservation, "IPv6 address", "duid"),
        one_for_each(
            Dhcpv6Reservation,
            "one router for each prefix",
            key=lambda item: None if item.disabled else item.prefix,
            code="prefix-twice",
            field="prefix",
            says=lambda item, first: f"{item.prefix} is reserved already, by reservation {first.id}",
        ),
    ),
)
