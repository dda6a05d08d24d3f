# SPDX-License-Identifier: Apache-2.0
"""A configuration as an export of RouterOS 7.

What RouterOS has other words for is written in these, in the order in which it needs it. What it has none for
is named in a line for people, with the reason, so that each object is either written or named.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from weir.formats.routeros.writing import (
    firewall,
    links,
    lists,
    nat,
    network,
    policy,
    queues,
    routing,
    services,
    ways_out,
)
from weir.formats.routeros.writing.script import remark
from weir.model.document import Document

_HEAD = (
    "Written by Weir for RouterOS 7. Ports have to be there by the names that they have here.",
    "Commands whose comment begins with Weir follow from its zones and its policy, and an import into Weir",
    "knows them again. Read it before you use it.",
)
_WRITTEN = frozenset(
    (
        "queue",
        "queue-type",
        "interface",
        "dhcp-server",
        "dhcp-reservation",
        "dhcpv6-server",
        "dhcpv6-reservation",
        "dns",
        "dns-record",
        "dns-forward",
        "ntp",
        "identity",
        "management",
        "ssh-server",
        "wireguard-peer",
        "static-route",
        "uplink",
        "uplink-check",
        "set",
        "set-entry",
        "service",
        "firewall",
        "firewall-rule",
        "zone",
        "zone-policy",
        "nat-rule",
        "bfd-profile",
        "bgp",
        "bgp-neighbor",
        "ospf",
        "ospf-interface",
    )
)
_SECTIONS = (
    links.links,
    lists.interface_lists,
    network.addresses,
    network.known_hosts,
    network.routes,
    ways_out.uplinks,
    services.services,
    lists.address_lists,
    policy.first,
    firewall.rules,
    policy.rules,
    nat.rules,
    routing.networks,
    routing.routing,
    queues.lines,
)


def write(document: Document) -> str:
    """As `written`, in one piece."""
    return "".join(written(document))


def written(document: Document) -> Iterator[str]:
    """Line by line."""
    yield from (f"{remark(line)}\n" for line in _HEAD)
    for lines in _SECTIONS:
        yield from lines(document)
    others = Counter(item.kind for item in document if item.kind not in _WRITTEN)
    for kind, count in sorted(others.items()):
        yield f"{remark(f'Not written: {count} of {kind}.')}\n"
