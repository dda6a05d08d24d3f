# SPDX-License-Identifier: Apache-2.0
"""PPPoE sessions with providers, one for each interface of that type that is to be up."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from weir.fields.secret import LOST
from weir.model.document import Document
from weir.model.interface import Interface
from weir.model.objects import ConfigObject
from weir.model.pppoe import Pppoe
from weir.parts.network import known_mtu
from weir.parts.part import EntriesPart
from weir.parts.wireguard import Sealed, sealed_of


@dataclass(frozen=True, slots=True)
class SessionSpec:
    """What pppd is told. `password` None: there is none."""

    ifname: str
    parent: str
    username: str
    password: Sealed | None
    service_name: str
    ac_name: str
    mtu: int
    keepalive_s: int
    ipv6: bool
    """Whether IPv6 is agreed on as well (RFC 5072); a provider without it has a session without."""


class PppoePart(EntriesPart[SessionSpec]):
    name, what = "pppoe", "session"
    made_of = frozenset(("interface",))
    after = ("network",)  # what it is on is there and up

    def key(self, entry: SessionSpec) -> str:
        return entry.ifname

    def wanted(self, document: Document) -> Mapping[str, SessionSpec]:
        """Without those whose password this router has lost: a provider would only count wrong tries."""
        found = sorted(document.interfaces(), key=lambda item: item.id)
        return {
            item.id: _spec(item, item.pppoe, document)
            for item in found
            if item.pppoe is not None and not item.disabled and item.pppoe.password != LOST
        }

    def told(self, wanted: Mapping[str, SessionSpec], item: ConfigObject) -> Iterator[str]:
        if item.id in wanted:
            yield self.text(None, wanted[item.id])

    def text(self, old: SessionSpec | None, new: SessionSpec) -> str:
        who = f" as {new.username}" if new.username else ""
        ipv6 = ", with IPv6" if new.ipv6 else ""
        return f"{new.ifname}: PPPoE over {new.parent}{who}, MTU {new.mtu}{ipv6}"


def _spec(item: Interface, session: Pppoe, document: Document) -> SessionSpec:
    mtu = known_mtu(document, item)
    assert mtu is not None, "a session always has one"
    return SessionSpec(
        item.id,
        session.parent,
        session.username,
        sealed_of("interface", item.id, "pppoe.password", session.password),
        session.service_name,
        session.ac_name,
        mtu,
        session.keepalive_s,
        item.ipv6_addressing == "auto" or item.dhcpv6 is not None,
    )


PPPOE = PppoePart()
