# SPDX-License-Identifier: Apache-2.0
"""What the DHCP relay is asked for: one entry for each relay."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from weir.kinds.dhcp_relay import DhcpRelay
from weir.kinds.dhcp_relayed import address_of
from weir.model.document import Document
from weir.parts.part import EntriesPart
from weir.parts.rule import PacketRule


@dataclass(frozen=True, slots=True)
class RelaySpec:
    """`address` is the router's own on the clients' link, which tells servers their network."""

    id: str
    ifname: str
    address: str
    servers: tuple[str, ...]
    option_82: bool
    remote_id: str
    trusted: bool
    max_hops: int


Wanted = Mapping[str, RelaySpec]


class DhcpRelayPart(EntriesPart[RelaySpec]):
    name, what = "dhcp-relay", "DHCP relay"
    made_of = frozenset(("dhcp-relay", "interface"))
    after = ("network", "bridges")  # the addresses are there

    def key(self, entry: RelaySpec) -> str:
        return entry.id

    def wanted(self, document: Document) -> Wanted:
        return {spec.id: spec for spec in relays_of(document)}

    def text(self, old: RelaySpec | None, new: RelaySpec) -> str:
        marked = f", marked as from {new.ifname}" if new.option_82 else ""
        return f"{new.id} takes what clients on {new.ifname} ask to {', '.join(new.servers)}{marked}"


def relays_of(document: Document) -> list[RelaySpec]:
    """Those in force, by id."""
    found = []
    for item in sorted(document.every(DhcpRelay), key=lambda item: item.id):
        interface = document.interface(item.interface)
        address = address_of(interface)
        if item.disabled or interface is None or interface.disabled or address is None:
            continue
        found.append(
            RelaySpec(
                item.id,
                item.interface,
                address,
                tuple(dict.fromkeys(item.servers)),
                item.option_82,
                item.remote_id or "",
                item.trusted,
                item.max_hops,
            )
        )
    return found


def answers_to_relays(document: Document) -> Iterator[PacketRule]:
    """What servers answer, by any interface as yet. They answer to the relay's address, so no connection
    knows it where a question has left with another one (masquerading)."""
    for spec in relays_of(document):
        yield PacketRule(
            "input",
            "accept",
            f"answers of the servers of DHCP relay {spec.id}",
            family=4,
            protocol="udp",
            sources=spec.servers,
            destinations=(spec.address,),
            ports=("67",),
            made_by=f"dhcp-relay/{spec.id}",
        )


DHCP_RELAY = DhcpRelayPart()
