# SPDX-License-Identifier: Apache-2.0
"""What is announced to the hosts behind each interface (router advertisements)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from weir.kinds.announcing import SLAAC_BITS, announced_networks
from weir.kinds.dhcp6_server import Dhcpv6Server, Mode
from weir.kinds.dns import Dns, answers_on
from weir.model.address import split_address
from weir.model.announcing import Announcement
from weir.model.document import Document
from weir.model.interface import Interface
from weir.model.objects import ConfigObject
from weir.parts.part import EntriesPart

MAX_PREFERRED_S, MAX_VALID_S = 2700, 5400
"""Of a prefix that a provider may take back: hosts that miss the end are rid of it soon (RFC 9096, 3.4)."""


@dataclass(frozen=True, slots=True)
class PrefixSpec:
    """`autonomous`: hosts make addresses of it. Lifetimes begin with each announcement."""

    prefix: str
    autonomous: bool
    preferred_s: int
    valid_s: int


@dataclass(frozen=True, slots=True)
class AnnounceSpec:
    """`dns_servers` are the router's own addresses, where the name service answers on them."""

    ifname: str
    prefixes: tuple[PrefixSpec, ...]
    dns_servers: tuple[str, ...]
    domain: str | None
    managed: bool
    other: bool
    router_lifetime_s: int
    most_s: tuple[int, int] | None = None
    """How long a prefix that a provider gives is preferred and valid at most; None: none is taken."""
    is_awaited: bool = False
    """Whether it has such a prefix is not known yet, so none that was announced before ends."""


Wanted = Mapping[str, AnnounceSpec]


class AnnouncingPart(EntriesPart[AnnounceSpec]):
    name, what = "announcing", "announcement"
    made_of = frozenset(("interface", "dns", "dhcpv6-server"))
    after = ("network", "bridges", "bonds", "forwarding", "dns", "dhcp6")  # what is promised is there

    def key(self, entry: AnnounceSpec) -> str:
        return entry.ifname

    def wanted(self, document: Document) -> Wanted:
        dns = document.single(Dns)
        items = sorted(document.interfaces(), key=lambda item: item.id)
        modes = {
            server.interface: server.mode for server in document.every(Dhcpv6Server) if not server.disabled
        }
        return {
            item.id: _spec(item, item.ra, dns, modes.get(item.id))
            for item in items
            if item.ra is not None and not item.disabled
        }

    def told(self, wanted: Wanted, item: ConfigObject) -> Iterator[str]:
        if item.kind == "interface" and item.id in wanted:
            yield self.text(None, wanted[item.id])

    def text(self, old: AnnounceSpec | None, new: AnnounceSpec) -> str:
        prefixes = ", ".join(
            [*(one.prefix for one in new.prefixes), *(["a delegated prefix"] if new.most_s else [])]
        )
        prefixes = prefixes or "no prefix"
        dns = f", DNS server {', '.join(new.dns_servers)}" if new.dns_servers else ""
        gateway = (
            f"default route for {new.router_lifetime_s} s" if new.router_lifetime_s else "no default route"
        )
        return f"{new.ifname} announces {prefixes}, {gateway}{dns}"


def _spec(item: Interface, told: Announcement, dns: Dns, mode: Mode | None) -> AnnounceSpec:
    """`mode` is that of the DHCPv6 server there; None: there is none."""
    answers = told.dns and answers_on(dns, item)
    hosts = [split_address(text)[0] for text in item.addresses if ":" in text] if answers else []
    return AnnounceSpec(
        ifname=item.id,
        prefixes=tuple(
            PrefixSpec(network.text, network.length == SLAAC_BITS, told.preferred_s, told.valid_s)
            for network in announced_networks(item)
        ),
        dns_servers=tuple(text for text in hosts if not text.startswith("fe80:")),
        domain=dns.domain if answers and hosts else None,
        managed=told.managed or mode == "stateful",
        other=told.other or mode is not None,
        router_lifetime_s=told.router_lifetime_s,
        most_s=None
        if item.delegated is None
        else (min(told.preferred_s, MAX_PREFERRED_S), min(told.valid_s, MAX_VALID_S)),
    )


ANNOUNCING = AnnouncingPart()
