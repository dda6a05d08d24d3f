# SPDX-License-Identifier: Apache-2.0
"""By which ports of bridges no DHCP server answers. The rules are there before a port joins its bridge."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from weir.model.document import Document
from weir.model.objects import ConfigObject
from weir.parts.part import EntriesPart


@dataclass(frozen=True, slots=True)
class SnoopedBridge:
    """`untrusted` are the ports by which no server answers; by those of `trusted` they do."""

    ifname: str
    trusted: tuple[str, ...]
    untrusted: tuple[str, ...]


class DhcpSnoopingPart(EntriesPart[SnoopedBridge]):
    name, what = "dhcp-snooping", "bridge"
    made_of = frozenset(("interface",))

    def key(self, entry: SnoopedBridge) -> str:
        return entry.ifname

    def wanted(self, document: Document) -> Mapping[str, SnoopedBridge]:
        found = {}
        for item in sorted(document.interfaces(), key=lambda item: item.id):
            if item.bridge is not None and item.bridge.dhcp_snooping:
                sides: tuple[list[str], list[str]] = [], []
                for port in item.bridge.ports:
                    sides[port.trusted].append(port.interface)
                untrusted, trusted = map(tuple, sides)
                found[item.id] = SnoopedBridge(item.id, trusted, untrusted)
        return found

    def told(self, wanted: Mapping[str, SnoopedBridge], item: ConfigObject) -> Iterator[str]:
        if item.id in wanted:
            yield self.text(None, wanted[item.id])

    def text(self, old: SnoopedBridge | None, new: SnoopedBridge) -> str:
        return f"{new.ifname}: DHCP servers answer by {' '.join(new.trusted) or 'no port'}"


DHCP_SNOOPING = DhcpSnoopingPart()
