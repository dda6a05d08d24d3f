# SPDX-License-Identifier: Apache-2.0
"""Zones and sets as lists of interfaces and of addresses."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from weir.formats.routeros.marks import marked
from weir.formats.routeros.writing.links import is_written
from weir.formats.routeros.writing.script import Property, command, common, not_written, section
from weir.kinds.firewall_rule import FirewallRule
from weir.kinds.nat_rule import NatRule
from weir.kinds.sets import Set, SetEntry
from weir.kinds.zone import Zone
from weir.model.document import Document
from weir.model.objects import ConfigObject
from weir.model.prefix import parse_prefix
from weir.model.problem import Invalid
from weir.model.zones import LAN, NO_ZONE, WAN

ZONES = {LAN: "LAN", WAN: "WAN"}
"""What RouterOS' usual configuration calls the lists of these zones."""
SIDES = ("source", "destination")


def zone_list(zone: str) -> str:
    """What the list of a zone's interfaces is called; no set has such a name."""
    return ZONES.get(zone, f"zone {zone}")


def interface_lists(document: Document) -> Iterator[str]:
    """Of each zone, and of each set of interfaces. Lists of zones beside LAN and WAN are marked as such."""
    members = [
        (zone_list(item.role), item.id, item.disabled)
        for item in document.interfaces()
        if item.role != NO_ZONE and is_written(document, item.id)
    ]
    sets = {item.id for item in document.every(Set) if item.type == "interface"}
    members += [
        (item.set, item.value, item.disabled or _is_off(document, item.set))
        for item in document.every(SetEntry)
        if item.set in sets and is_written(document, item.value)
    ]
    zones = {zone_list(zone.id): zone for zone in document.every(Zone)}
    names = sorted({name for name, _, _ in members} | sets | zones.keys())
    yield from section("/interface list", (_list(name, zones.get(name), name in sets) for name in names))
    lines = (
        command([("list", name), ("interface", member), *common(disabled=disabled)])
        for name, member, disabled in sorted(members)
    )
    yield from section("/interface list member", lines)


def _list(name: str, zone: Zone | None, is_set: bool) -> str:
    said = [("name", name)]
    if is_set or name in ZONES.values():
        return command(said)
    reaches = ",".join(zone.reaches) if zone is not None else ""
    head = f"zone {name.partition(' ')[2]} {reaches}".strip()
    return command([*said, marked(head, said, zone.comment if zone is not None else "")])


def address_lists(document: Document) -> Iterator[str]:
    """Entries of sets of addresses, and networks of rules that name several, by family."""
    for root, family in (("/ip", 4), ("/ipv6", 6)):
        rows = chain(_entries(document), _networks_of_rules(document))  # there may be 100,000
        lines = (command(properties) for of, properties in rows if of in (0, family))
        yield from section(f"{root} firewall address-list", lines)
    for item in sorted(document.every(Set), key=lambda item: item.id):
        if why := _unsaid(item):
            yield f"{not_written(f'set {item.id}', why)}\n"
    kinds = {item.id: item.type for item in document.every(Set)}
    for entry in sorted(document.every(SetEntry), key=lambda entry: entry.id):
        if kinds.get(entry.set, "address") == "address" and not (
            entry.set in kinds and is_prefix(entry.value)
        ):
            yield f"{not_written(f'set-entry {entry.id}', 'it is no address of a set')}\n"


def list_of(rule: ConfigObject, side: str) -> str:
    """What the list is called that has a rule's networks of one side; no set has a blank in its name."""
    return f"{rule.kind} {rule.id} {side}"


def networks_of(rule: FirewallRule | NatRule, side: str, family: int) -> list[str]:
    """Those of the family on one side of a rule."""
    return [text for text in getattr(rule, side) if parse_prefix(text).family == family]


def is_prefix(text: str) -> bool:
    try:
        parse_prefix(text)
    except Invalid:
        return False
    return True


def _unsaid(item: Set) -> str:
    if item.source == "url":
        return "RouterOS fetches no lists; rules that name it match nothing"
    if item.type == "mac":
        return "RouterOS has no lists of hardware addresses"
    return ""


def _entries(document: Document) -> Iterator[tuple[int, list[Property]]]:
    sets = {item.id: item for item in document.every(Set) if item.type == "address"}
    for entry in sorted(document.every(SetEntry), key=lambda entry: (entry.set, entry.id)):
        if entry.set in sets and is_prefix(entry.value):
            off = entry.disabled or sets[entry.set].disabled
            said = common(disabled=off, comment=entry.comment)
            yield parse_prefix(entry.value).family, [("list", entry.set), ("address", entry.value), *said]
    for item in sets.values():
        for name in item.names:
            yield 0, [("list", item.id), ("address", name), *common(disabled=item.disabled)]


def _networks_of_rules(document: Document) -> Iterator[tuple[int, list[Property]]]:
    rules: list[FirewallRule | NatRule] = [*document.every(FirewallRule), *document.every(NatRule)]
    for rule in sorted(rules, key=lambda rule: (rule.kind, rule.id)):
        for side in SIDES:
            for family in (4, 6):
                found = networks_of(rule, side, family)
                for text in found if len(found) > 1 else ():
                    yield family, [("list", list_of(rule, side)), ("address", text)]


def _is_off(document: Document, set_id: str) -> bool:
    found = document.get("set", set_id)
    return isinstance(found, Set) and found.disabled
