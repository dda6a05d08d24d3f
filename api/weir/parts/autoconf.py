# SPDX-License-Identifier: Apache-2.0
"""Which interfaces take IPv6 addresses and a default route from the announcements of other routers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from weir.model.document import Document
from weir.model.objects import ConfigObject
from weir.parts.part import EntriesPart


@dataclass(frozen=True, slots=True)
class AutoconfSpec:
    ifname: str


Wanted = Mapping[str, AutoconfSpec]


class AutoconfPart(EntriesPart[AutoconfSpec]):
    name, what = "autoconf", "IPv6 address"
    made_of = frozenset(("interface",))
    after = ("network", "bridges", "bonds", "forwarding")  # which makes Linux forget what it has learnt

    def key(self, entry: AutoconfSpec) -> str:
        return entry.ifname

    def wanted(self, document: Document) -> Wanted:
        items = sorted(document.interfaces(), key=lambda item: item.id)
        return {
            item.id: AutoconfSpec(item.id)
            for item in items
            if item.ipv6_addressing == "auto" and not item.disabled
        }

    def told(self, wanted: Wanted, item: ConfigObject) -> Iterator[str]:
        if item.id in wanted:
            yield self.text(None, wanted[item.id])

    def text(self, old: AutoconfSpec | None, new: AutoconfSpec) -> str:
        return f"{new.ifname} takes addresses and a default route from what routers announce there"


AUTOCONF = AutoconfPart()
