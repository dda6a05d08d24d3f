# SPDX-License-Identifier: Apache-2.0
"""What rules match, as properties of commands. A rule of Weir may take several commands, one after the other:
each for a part of what it matches, and for no packet that another one matches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

from weir.formats.routeros.menus.matches import OF_ONE_FAMILY, PROTOCOLS
from weir.formats.routeros.writing.lists import list_of, networks_of
from weir.formats.routeros.writing.script import Property, UnsaidError, window_text
from weir.kinds.firewall_rule import FirewallRule
from weir.kinds.nat_rule import NatRule
from weir.kinds.service import Service
from weir.kinds.sets import Set, SetEntry
from weir.model.document import Document
from weir.model.members import other_ports

AnyRule = FirewallRule | NatRule
Axis = Sequence[Sequence[Property]]
"""Several properties, of which each command has one group."""
MOST_PORTS = 15
"""In one command (help.mikrotik.com, Filter, `dst-port`)."""
ROOTS = {4: "/ip", 6: "/ipv6"}
_NOT = "!"
_NAMES = {"source": "src-address", "destination": "dst-address"}


def commands(axes: Sequence[Axis]) -> list[list[Property]]:
    """Every combination."""
    return [[said for group in groups for said in group] for groups in product(*axes)]


def addresses(document: Document, rule: AnyRule, family: int) -> list[Property]:
    """Networks and sets of both sides. Raises `UnsaidError`."""
    return [*_side(document, rule, "source", family), *_side(document, rule, "destination", family)]


def _side(document: Document, rule: AnyRule, side: str, family: int) -> Iterator[Property]:
    found, name = networks_of(rule, side, family), getattr(rule, f"{side}_set")
    if len(found) == 1:
        yield _NAMES[side], but(rule, side, found[0])
    elif found:
        yield f"{_NAMES[side]}-list", but(rule, side, list_of(rule, side))
    if name is None:
        return
    named = but(rule, f"{side}_set", name)
    item = document.get("set", name)
    kind = item.type if isinstance(item, Set) else "address"
    if kind == "interface":
        yield "in-interface-list", named
    elif kind != "address":
        raise UnsaidError(f"it matches the set {name}, which is of type {kind}")
    elif len(found) > 1:
        raise UnsaidError(f"it matches several networks and the set {name} at once")
    else:
        yield f"{_NAMES[side]}-list", named


def but(rule: AnyRule, field: str, value: str) -> str:
    """What a property says, with the mark of all but that where the rule turns the field round."""
    return f"{_NOT}{value}" if field in rule.negated else value


def protocols(document: Document, rule: AnyRule, family: int) -> tuple[list[str], list[str]]:
    """What RouterOS calls the protocols, none of a rule for all, and the ports, none of a rule for all."""
    protocol, ports = rule.protocol, list(rule.ports)
    if rule.service is not None:
        service = document.get("service", rule.service)
        if not isinstance(service, Service) or service.disabled:
            raise UnsaidError(f"its service {rule.service} is disabled, so it matches nothing")
        protocol, ports = service.protocol, list(service.ports)
    named = {"any": (), "tcp-udp": ("tcp", "udp")}.get(protocol, (protocol,))
    if len(named) > 1 and "protocol" in rule.negated:
        raise UnsaidError("RouterOS matches all protocols but one, and not all but two")
    return [but(rule, "protocol", _protocol(name, family)) for name in named], ports


def _protocol(name: str, family: int) -> str:
    """The first name for it that is no number, and is the family's."""
    return next(
        theirs
        for theirs, ours in PROTOCOLS.items()
        if ours == name and not theirs.isdigit() and OF_ONE_FAMILY.get(theirs, ROOTS[family]) == ROOTS[family]
    )


def port_axis(key: str, ports: Sequence[str], *, negated: bool = False) -> Axis:
    if negated and ports and len(ports) <= MOST_PORTS:
        return [[(key, _NOT + ",".join(ports))]]
    ports = other_ports(ports) if negated and ports else ports
    starts = range(0, len(ports), MOST_PORTS)
    return [[(key, ",".join(ports[start : start + MOST_PORTS]))] for start in starts] or [[]]


def ports_of_set(document: Document, name: str, *, negated: bool = False) -> list[str]:
    """What a set of ports holds. Raises `UnsaidError` where the rule matches nothing by it."""
    item = document.get("set", name)
    found = [entry.value for entry in document.every(SetEntry) if entry.set == name and not entry.disabled]
    if not (found or negated) or (isinstance(item, Set) and item.disabled):
        raise UnsaidError(f"its set of ports {name} holds nothing, so it matches nothing")
    return sorted(found)


def hours(rule: AnyRule) -> list[Property]:
    return [] if rule.time is None else [("time", window_text(rule.time))]
