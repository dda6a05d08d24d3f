# SPDX-License-Identifier: Apache-2.0
"""Firewall rules as commands of `firewall filter` and `firewall raw`, for each address family."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from weir.formats.routeros.menus.filter import ICMP, NAT_STATES
from weir.formats.routeros.writing import matches
from weir.formats.routeros.writing.links import must_be_written
from weir.formats.routeros.writing.lists import zone_list
from weir.formats.routeros.writing.matches import ROOTS, Axis, commands, port_axis
from weir.formats.routeros.writing.script import (
    Property,
    UnsaidError,
    command,
    common,
    not_written,
    section,
    time_text,
)
from weir.kinds.firewall_rule import RAW, FirewallRule, families, icmp_types_of
from weir.kinds.sets import Set
from weir.kinds.source_limit import OVER, SourceLimit
from weir.model.document import Document
from weir.parts.filter import Ways, ways_of
from weir.parts.zones import Zones

_CHAINS = {RAW: "prerouting"}
_ACTIONS = {"add-to-set": "add-src-to-address-list"}
_NAT_NAMES = {ours: theirs for theirs, ours in NAT_STATES.items()}
_TIMES = {"second": "1s", "minute": "1m", "hour": "1h"}
_ANY_CODE = ":0-255"


def rules(document: Document) -> Iterator[str]:
    """In their order, chain by chain; first what comes before connections are looked up."""
    items = sorted(document.every(FirewallRule), key=lambda rule: (rule.chain, rule.position, rule.id))
    raw = _led_to(items, {RAW})
    tracked = _led_to(items, {rule.chain for rule in items} - raw)
    for menu, chains in (("raw", raw), ("filter", tracked)):
        mine = [rule for rule in items if rule.chain in chains]
        for family, root in ROOTS.items():
            lines = (line for rule in mine for line in _lines(document, rule, family))
            yield from section(f"{root} firewall {menu}", lines)


def _led_to(items: Sequence[FirewallRule], chains: Collection[str]) -> set[str]:
    """These chains, and those to which their rules jump."""
    found, waiting = set(chains), set(chains)
    while waiting:
        leads = {rule.jump_to for rule in items if rule.chain in waiting and rule.jump_to is not None}
        waiting = leads - found
        found |= waiting
    return found


def _lines(document: Document, rule: FirewallRule, family: int) -> Iterator[str]:
    if family not in families(rule):
        return
    try:
        said = _commands(document, rule, family)
    except UnsaidError as problem:
        yield not_written(f"firewall-rule {rule.id}", str(problem))
        return
    yield from map(command, said)


def _commands(document: Document, rule: FirewallRule, family: int) -> list[list[Property]]:
    must_be_written(document, rule.in_interface)
    must_be_written(document, rule.out_interface)
    ways = ways_of(rule, Zones.of(list(document.interfaces())))
    if () in ways:
        raise UnsaidError("no enabled interface is in its zone, so it matches nothing")
    of_set = document.get("set", rule.source_set or "")
    if rule.from_zone is not None and isinstance(of_set, Set) and of_set.type == "interface":
        raise UnsaidError("it matches a zone and a set of interfaces at once")
    if rule.action == "set-dscp":
        raise UnsaidError("a filter of RouterOS sets no DSCP; there a rule of mangle does")
    found = commands(
        [
            [
                [
                    *_what_it_does(document, rule),
                    *_interfaces(rule, ways),
                    *_state(rule),
                    *_limits(rule, family),
                ]
            ],
            [matches.addresses(document, rule, family)],
            *_protocols(document, rule, family),
            [[*matches.hours(rule), *_log(rule), *common(disabled=rule.disabled, comment=rule.comment)]],
        ]
    )
    if len(found) > 1 and (rule.rate_per_s is not None or rule.source_limit is not None):
        raise UnsaidError(f"it takes {len(found)} commands, and its limit would hold for each of them")
    return found


def _what_it_does(document: Document, rule: FirewallRule) -> Iterator[Property]:
    yield "chain", _CHAINS.get(rule.chain, rule.chain)
    yield "action", _ACTIONS.get(rule.action, rule.action)
    if rule.action == "jump" and rule.jump_to is not None:
        yield "jump-target", rule.jump_to
    if rule.action == "add-to-set" and rule.add_set is not None:
        item = document.get("set", rule.add_set)
        yield "address-list", rule.add_set
        if isinstance(item, Set):
            yield "address-list-timeout", time_text(item.timeout_s * 1000)


def _interfaces(rule: FirewallRule, ways: Ways) -> Iterator[Property]:
    """And who sent the frame there."""
    for zone, way, names in zip(("from_zone", "to_zone"), ("in", "out"), ways, strict=True):
        if getattr(rule, zone) is not None and names is not None:
            yield f"{way}-interface-list", matches.but(rule, zone, zone_list(getattr(rule, zone)))
    if rule.in_interface is not None:
        yield "in-interface", matches.but(rule, "in_interface", rule.in_interface)
    if rule.out_interface is not None:
        yield "out-interface", matches.but(rule, "out_interface", rule.out_interface)
    if rule.source_mac is not None:
        yield "src-mac-address", matches.but(rule, "source_mac", rule.source_mac.upper())


def _state(rule: FirewallRule) -> Iterator[Property]:
    if rule.ct_state:
        yield "connection-state", ",".join(rule.ct_state)
    if rule.ct_nat != "any":
        yield "connection-nat-state", _NAT_NAMES[rule.ct_nat]
    flags = [*rule.tcp_flags, *(f"!{flag}" for flag in rule.tcp_flags_unset)]
    if flags:
        yield "tcp-flags", ",".join(flags)
    if rule.dscp is not None:
        yield "dscp", matches.but(rule, "dscp", str(rule.dscp))


def _limits(rule: FirewallRule, family: int) -> Iterator[Property]:
    if rule.rate_per_s is not None:
        yield "limit", f"{rule.rate_per_s},{rule.burst}:packet"
    if rule.source_limit is not None:
        yield _of_each_source(rule.source_limit, family)


def _of_each_source(limit: SourceLimit, family: int) -> Property:
    length = limit.ipv4_length if family == 4 else limit.ipv6_length
    if (limit.connections is None) == (limit.rate is None):
        raise UnsaidError("it limits connections and packets of each source at once")
    if limit.connections is not None:
        if limit.match != OVER:
            raise UnsaidError("RouterOS matches sources with too many connections, and not the others")
        return "connection-limit", f"{limit.connections},{length}"
    if limit.match == OVER:
        raise UnsaidError("RouterOS matches sources within a rate, and not those beyond it")
    if length != (32 if family == 4 else 128):
        raise UnsaidError(f"RouterOS counts packets of addresses, and not of a /{length}")
    return "dst-limit", f"{limit.rate}/{_TIMES[limit.per]},{limit.burst},src-address"


def _protocols(document: Document, rule: FirewallRule, family: int) -> Iterator[Axis]:
    names, ports = matches.protocols(document, rule, family)
    yield [[("protocol", name)] for name in names] or [[]]
    if rule.port_set is not None:
        if ports:
            raise UnsaidError(f"it matches ports and the set of ports {rule.port_set} at once")
        ports = matches.ports_of_set(document, rule.port_set, negated="port_set" in rule.negated)
    yield port_axis("dst-port", ports, negated=bool({"ports", "port_set"} & {*rule.negated}))
    yield port_axis("src-port", rule.source_ports, negated="source_ports" in rule.negated)
    if "icmp_types" in rule.negated:
        raise UnsaidError("RouterOS matches types of ICMP, and not all but some")
    known = {name: number for number, name in ICMP[ROOTS[family]].items()}
    yield [[("icmp-options", f"{known[name]}{_ANY_CODE}")] for name in icmp_types_of(rule, family)] or [[]]


def _log(rule: FirewallRule) -> Iterator[Property]:
    if rule.log:
        yield "log", "yes"
        if rule.log_prefix:
            yield "log-prefix", rule.log_prefix
