# SPDX-License-Identifier: Apache-2.0
"""Addresses of interfaces, and static routes."""

from __future__ import annotations

from collections.abc import Iterator

from weir.formats.routeros.writing.links import is_written, must_be_written
from weir.formats.routeros.writing.script import Property, UnsaidError, command, common, not_written, section
from weir.kinds.static_route import StaticRoute
from weir.model.document import Document
from weir.model.prefix import parse_prefix

_ROOTS = (("/ip", 4), ("/ipv6", 6))
_USUAL_DISTANCE = 1


def addresses(document: Document) -> Iterator[str]:
    rows = [
        (item, text)
        for item in document.interfaces()
        for text in item.addresses
        if is_written(document, item.id)
    ]
    for root, family in _ROOTS:
        lines = (
            command([("address", text), ("interface", item.id), *common(disabled=item.disabled)])
            for item, text in sorted(rows, key=lambda row: (row[0].id, row[1]))
            if (":" in text) == (family == 6)
        )
        yield from section(f"{root} address", lines)


def known_hosts(document: Document) -> Iterator[str]:
    hosts = ((item, host) for item in document.interfaces() for host in item.known_hosts)
    rows = sorted((item.id, host.address, host.mac.upper()) for item, host in hosts)
    lines = (command([("interface", n), ("address", a), ("mac-address", m)]) for n, a, m in rows)
    yield from section("/ip arp", lines)


def routes(document: Document) -> Iterator[str]:
    items = sorted(document.every(StaticRoute), key=lambda item: item.id)
    for root, family in _ROOTS:
        mine = (item for item in items if parse_prefix(item.destination).family == family)
        yield from section(f"{root} route", (_route(document, item) for item in mine))


def _route(document: Document, item: StaticRoute) -> str:
    try:
        must_be_written(document, item.interface)
        return command(_properties(item))
    except UnsaidError as problem:
        return not_written(f"static-route {item.id}", str(problem))


def _properties(item: StaticRoute) -> list[Property]:
    if item.vrf is not None:
        raise UnsaidError(f"it is of the VRF {item.vrf}, and VRFs are not written")
    found = [("dst-address", item.destination), *common(disabled=item.disabled, comment=item.comment)]
    if item.blackhole:
        found.append(("blackhole", "yes"))
    elif item.gateway is not None and item.interface is not None:
        found.append(("gateway", f"{item.gateway}%{item.interface}"))
    else:
        found.append(("gateway", item.gateway or item.interface or ""))
    if item.distance != _USUAL_DISTANCE:
        found.append(("distance", str(item.distance)))
    return found
