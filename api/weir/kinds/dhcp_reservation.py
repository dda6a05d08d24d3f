# SPDX-License-Identifier: Apache-2.0
"""Reservations: hosts that always get the same address."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from ipaddress import IPv4Address
from typing import Annotated, ClassVar

from weir.fields import OBJECT_IDS, Comment, Host, HostName, Mac, Ref, Text
from weir.kinds.declaration import Declaration
from weir.kinds.dhcp_server import DhcpServer, network_of
from weir.kinds.reservations import MAX_ID_BYTES, STATE, Blocked, Disabled, Reservation, each_once, has_a_name
from weir.model.dhcp_options import identifier_bytes
from weir.model.document import Change
from weir.model.interface import Interface
from weir.model.objects import Kind
from weir.model.problem import Finding, Invalid
from weir.model.rule import Rule, View, caused_by, differs, error, own


@dataclass(frozen=True, slots=True)
class DhcpReservation(Reservation):
    """An address that one host gets and no other, or that is kept from a host that is blocked. Exactly one of
    `mac`, `client_id` and `circuit_id` says which host."""

    kind: ClassVar[Kind] = "dhcp-reservation"
    id: str
    server: Annotated[
        str, Ref("dhcp-server", role="DHCP server", help="The server that gives it.", example="lan")
    ]
    address: Annotated[
        str,
        Host(help="Any address of the server's network, in its ranges or not.", example="192.168.88.10"),
    ]
    mac: Annotated[
        str | None,
        Mac(label="MAC address", help="The host with this hardware address, whatever client id it sends."),
    ] = None
    client_id: Annotated[
        str | None,
        Text(
            3 * MAX_ID_BYTES,
            label="Client id",
            importance="folded",
            help="The host that sends this client id: bytes as `01:02:5e:10:00:01` or `0x01025e`, or a text.",
        ),
    ] = None
    circuit_id: Annotated[
        str | None,
        Text(
            3 * MAX_ID_BYTES,
            label="Circuit id",
            importance="folded",
            help="The host behind this port of a switch or relay that tells it (option 82): bytes or a text.",
        ),
    ] = None
    hostname: Annotated[
        str | None,
        HostName(label="Host name", help="The name that the host is told.", example="printer"),
    ] = None
    block: Blocked = False
    comment: Comment = ""
    disabled: Disabled = False

    @property
    def name(self) -> str:
        return self.address

    @property
    def identifier(self) -> tuple[str, str] | None:
        """What tells the host: `hw-address`, `client-id` or `circuit-id`, and its bytes in hexadecimal.
        None where it is not exactly one, or no bytes."""
        said = [
            (name, text)
            for name, text in (("client-id", self.client_id), ("circuit-id", self.circuit_id))
            if text
        ]
        if self.mac is not None:
            return None if said else ("hw-address", self.mac.replace(":", ""))
        if len(said) != 1:
            return None
        ((name, text),) = said
        try:
            return name, identifier_bytes(text).hex()
        except Invalid:
            return None


def says_who(_view: View, item: DhcpReservation) -> Iterator[Finding]:
    """Exactly one of the three says which host it is for."""
    given = [
        name
        for name, value in (
            ("mac", item.mac),
            ("client_id", item.client_id),
            ("circuit_id", item.circuit_id),
        )
        if value
    ]
    if len(given) != 1:
        found = f"these are {' and '.join(given)}" if given else "none of them is given"
        yield error("not-one-host", item, "mac", f"one of mac, client_id and circuit_id says who: {found}")
    elif item.identifier is None or len(item.identifier[1]) > 2 * MAX_ID_BYTES:
        text = f"must be 1 to {MAX_ID_BYTES} bytes: a text, or hexadecimal digits such as 01:02:5e"
        yield error("bad-identifier", item, given[0], text)
    yield from has_a_name(item)


def fits_its_server(view: View, item: DhcpReservation) -> Iterator[Finding]:
    """Its address is one of the server's network that nobody else can have."""
    server = view.document.get("dhcp-server", item.server)
    if item.disabled or not isinstance(server, DhcpServer):
        return  # a reference to nothing is said already
    if ":" in item.address:
        text = f"{item.address} is an IPv6 address, which DHCP for IPv4 cannot give"
        yield error("not-ipv4", item, "address", text)
        return
    served = view.worked_out(
        f"network of DHCP server {server.id}",
        lambda: network_of(server, view.document.interface(server.interface)),
    )
    if served is None:
        return
    first, last = served.hosts
    if not first <= int(IPv4Address(item.address)) <= last:
        text = f"{item.address} is no address of a host in {served.network}, which DHCP server {server.id} "
        text += "serves" if server.relayed is not None else f"serves on {server.interface}"
        yield error("address-outside", item, "address", text)
    elif server.relayed is not None and item.address in server.relayed.relays:
        text = f"{item.address} is the address of a relay agent of DHCP server {server.id}"
        yield error("own-address", item, "address", text)
    elif item.address in view.own_addresses():
        text = f"{item.address} is the router's own address on {view.own_addresses()[item.address][0]}"
        yield error("own-address", item, "address", text)


def _moves(change: Change) -> bool:
    """Whether reservations may fit now that did not, or the other way round."""
    if isinstance(change.new or change.old, Interface):
        return differs(change, "addresses")
    return differs(change, "interface", "ranges", "relayed", "disabled")


@caused_by("dhcp-reservation", "dhcp-server", "interface")
def _with_its_server(view: View, change: Change) -> Iterator[str]:
    if change.kind == "dhcp-reservation":
        yield change.id
    elif _moves(change) and view.once("all dhcp-reservation", "moved"):
        yield from view.document.of_kind("dhcp-reservation")


KIND = Declaration(
    DhcpReservation,
    singular="DHCP reservation",
    plural="DHCP reservations",
    short="dhcp-reservation",
    about="Hosts that always get the same address (static leases of `/ip dhcp-server lease` of RouterOS).",
    ids=replace(OBJECT_IDS, assigned="r"),
    columns=("address", "mac", "hostname", "server", "leased_until", "block", "comment"),
    named_by="address",
    argument="reservation_id",
    area="Services",
    purpose="A reservation gives a host the same address always, or no answer at all where it is blocked. "
    "The page Leases makes one of a lease.",
    state=STATE,
    rules=(
        Rule("says-who", "dhcp-reservation", says_who, own("dhcp-reservation"), True),
        Rule("fits-its-server", "dhcp-reservation", fits_its_server, _with_its_server, True),
        *each_once(DhcpReservation, "address", "mac"),
    ),
)
