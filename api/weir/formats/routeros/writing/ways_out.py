# SPDX-License-Identifier: Apache-2.0
"""Uplinks: default routes by distance, whose gateways are pinged."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from weir.formats.routeros.menus.ways_out import GATEWAY_CHECK, GATEWAY_VERDICT
from weir.formats.routeros.writing.links import must_be_written
from weir.formats.routeros.writing.script import Property, UnsaidError, command, common, not_written, section
from weir.kinds.uplink import EVERYTHING, Uplink
from weir.kinds.uplink_check import UplinkCheck
from weir.model.document import Document
from weir.parts.uplinks import distances


def placed(document: Document) -> Mapping[str, int]:
    """The distances of the uplinks' default routes as long as all work, by id."""
    items = (item for item in document.every(Uplink) if not item.disabled)
    return distances([item.id for item in sorted(items, key=lambda item: (item.priority, item.id))], set())


def leased(document: Document) -> Mapping[str, int]:
    """The distances of those whose gateway is that of a DHCP lease, by interface."""
    found = placed(document)
    items = (item for item in document.every(Uplink) if item.id in found and _is_leased(document, item))
    return {item.interface: found[item.id] for item in items}


def uplinks(document: Document) -> Iterator[str]:
    items = sorted(document.every(Uplink), key=lambda item: item.id)
    far = placed(document)
    routes = (_route(document, item, far) for item in items)
    yield from section("/ip route", (line for line in routes if line is not None))
    checks: dict[str, list[UplinkCheck]] = {}
    for check in document.every(UplinkCheck):
        if not check.disabled:
            checks.setdefault(check.uplink, []).append(check)
    for item in items:
        for what, why in _unsaid(document, item, checks.get(item.id, [])):
            yield f"{not_written(f'{what} of uplink {item.id}', why)}\n"


def _is_leased(document: Document, item: Uplink) -> bool:
    interface = document.interface(item.interface)
    return item.gateway is None and interface is not None and interface.addressing == "dhcp"


def _route(document: Document, item: Uplink, far: Mapping[str, int]) -> str | None:
    """None of one that a DHCP client makes."""
    if _is_leased(document, item):
        is_said = "RouterOS makes its route by the DHCP client, which stays on"
        return not_written(f"uplink {item.id}", is_said) if item.disabled else None
    try:
        must_be_written(document, item.interface)
    except UnsaidError as problem:
        return not_written(f"uplink {item.id}", str(problem))
    via = item.interface if item.gateway is None else f"{item.gateway}%{item.interface}"
    said: list[Property] = [("dst-address", EVERYTHING), ("gateway", via)]
    said += [("distance", str(far.get(item.id, item.priority)))]
    if item.gateway is not None and _is_checked(document, item):
        said.append(("check-gateway", "ping"))
    return command([*said, *common(disabled=item.disabled, comment=item.comment)])


def _is_checked(document: Document, item: Uplink) -> bool:
    return any(check.uplink == item.id and not check.disabled for check in document.every(UplinkCheck))


def _unsaid(document: Document, item: Uplink, checks: list[UplinkCheck]) -> Iterator[tuple[str, str]]:
    """What RouterOS has no words for, and why."""
    if item.weight is not None:
        yield "the weight", "RouterOS shares connections by marks; of several ways the first is used"
    if _is_leased(document, item) and item.comment:
        yield "the comment", "its DHCP client has the interface's"
    if not checks:
        return
    if item.gateway is None:
        yield "the checks", "RouterOS asks no gateway that is not in the file"
        return
    asked = [{name: getattr(check, name) for name in GATEWAY_CHECK} for check in checks]
    verdict = {name: getattr(item, name) for name in GATEWAY_VERDICT}
    is_same = asked == [GATEWAY_CHECK] and verdict == GATEWAY_VERDICT and checks[0].target == item.gateway
    if not is_same:
        yield "the checks", "RouterOS pings the gateway alone, every 10 s, and fails it after two"
