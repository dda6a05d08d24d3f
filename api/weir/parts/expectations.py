# SPDX-License-Identifier: Apache-2.0
"""Which connections get a helper of conntrack, as rules for their first packets (docs/adr/0263).

They stand behind the look-up of connections and before NAT, which makes room for other lengths of what is
said only where there is a helper already (`nf_nat_setup_info`). Those of port forwards are made in nat.py.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from weir.kinds.connection_helper import SPOKEN, ConnectionHelper
from weir.model.prefix import parse_prefix
from weir.model.zones import NO_ZONE, WAN
from weir.parts.rule import HELPERS, Family, PacketRule
from weir.parts.zones import Zones


def object_of(helper: str, protocol: str) -> str:
    """What the table calls a helper for a protocol below it: its type and that, which are told from it."""
    return f"{helper}_{protocol}"


def from_inside(helpers: Sequence[ConnectionHelper], zones: Zones) -> Iterator[PacketRule]:
    """What begins in a zone other than the WANs'."""
    inside = sorted(
        name for zone, names in zones.members.items() if zone not in (WAN, NO_ZONE) for name in names
    )
    for row in helpers if inside else ():
        spoken = SPOKEN[row.helper]
        for protocol in spoken.protocols:
            for family, servers in _servers(row):
                yield PacketRule(
                    HELPERS,
                    "helper",
                    f"connections of {spoken.title} from inside",
                    tuple(inside),
                    family=family,
                    destinations=servers,
                    protocol=protocol,
                    ports=tuple(map(str, row.at)),
                    is_first=True,
                    target=object_of(row.helper, protocol),
                )


def _servers(row: ConnectionHelper) -> Iterator[tuple[Family, tuple[str, ...]]]:
    """Its networks by family; no network where it is for all. The kernel's PPTP is of IPv4 alone."""
    families: tuple[Family, ...] = (4,) if row.helper == "pptp" else (4, 6)
    if not row.servers:
        yield 0 if len(families) > 1 else 4, ()
        return
    for family in families:
        found = tuple(text for text in row.servers if parse_prefix(text).family == family)
        if found:
            yield family, found
