# SPDX-License-Identifier: Apache-2.0
"""For whom the router answers ARP, and on which interfaces it knows some hosts alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from weir.kinds.dhcp_reservation import DhcpReservation
from weir.model.arp import GUARDED, ArpMode
from weir.model.document import Document
from weir.model.interface import Interface
from weir.model.objects import ConfigObject
from weir.parts.dhcp import DHCP, ServerSpec
from weir.parts.part import EntriesPart


@dataclass(frozen=True, slots=True)
class ArpSpec:
    """`hosts` are addresses with the MAC address that each is believed at; so are those that DHCP servers
    lease out of `networks`."""

    ifname: str
    mode: ArpMode
    hosts: tuple[tuple[str, str], ...] = ()
    networks: tuple[str, ...] = ()


Wanted = Mapping[str, ArpSpec]


class ArpPart(EntriesPart[ArpSpec]):
    name, what = "arp", "ARP"
    made_of = frozenset(("interface", "dhcp-server", "dhcp-reservation", "dns"))
    after = ("network", "bridges", "bonds", "dhcp")  # whose lease counts is known

    def key(self, entry: ArpSpec) -> str:
        return entry.ifname

    def wanted(self, document: Document) -> Wanted:
        items = [item for item in document.interfaces() if item.arp != "on" and not item.disabled]
        guarded = [item for item in items if item.arp == GUARDED]
        found = {item.id: ArpSpec(item.id, item.arp) for item in items}
        return {**found, **(_known(guarded, document) if guarded else {})}

    def told(self, wanted: Wanted, item: ConfigObject) -> Iterator[str]:
        if item.kind == "interface" and item.id in wanted:
            yield self.text(None, wanted[item.id])

    def text(self, old: ArpSpec | None, new: ArpSpec) -> str:
        if new.mode == "proxy":
            return f"{new.ifname} answers for addresses that are reached elsewhere"
        if new.mode == "local-proxy":
            return f"{new.ifname} answers for hosts behind itself"
        leases = f", and who has a lease of {', '.join(new.networks)}" if new.networks else ""
        return f"{new.ifname} hears no hosts but {len(new.hosts)} by their address{leases}"


def _known(items: list[Interface], document: Document) -> dict[str, ArpSpec]:
    """Who is blocked by a DHCP server is not known on its interface, though `known_hosts` may name it."""
    servers = [spec for spec in DHCP.servers(document).values() if isinstance(spec, ServerSpec)]
    at = {spec.id: spec.ifname for spec in servers}
    reserved: dict[str, list[tuple[str, str]]] = {}
    blocked: dict[str, set[str]] = {}
    for one in document.every(DhcpReservation):
        if one.mac is None or one.disabled or one.server not in at:
            continue
        if one.block:
            blocked.setdefault(at[one.server], set()).add(one.mac)
        else:
            reserved.setdefault(at[one.server], []).append((one.address, one.mac))
    return {
        item.id: ArpSpec(
            item.id,
            GUARDED,
            tuple(
                sorted(
                    (address, mac)
                    for address, mac in {
                        *reserved.get(item.id, ()),
                        *((one.address, one.mac) for one in item.known_hosts),
                    }
                    if mac not in blocked.get(item.id, ())
                )
            ),
            tuple(spec.network for spec in servers if spec.ifname == item.id),
        )
        for item in items
    }


ARP = ArpPart()
