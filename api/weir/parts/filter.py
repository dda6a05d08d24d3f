# SPDX-License-Identifier: Apache-2.0
"""Configured firewall rules as rules of nftables.

One becomes several where a match is one of a family or protocol only. A set of addresses is a look for each
length of prefix that it has; so that a packet matches once, these lead to a chain of the rule's own, by
`goto`, which comes back behind the rule (docs/adr/0131). So does what is within the limits of its source, by
`return`, where a rule is about what is over them. What is not in a set is in none of them: that is one rule.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache

from weir.kinds.firewall_rule import BUILT_IN, RAW, FirewallRule, families, icmp_types_of
from weir.kinds.service import Service
from weir.kinds.sets import Set
from weir.kinds.source_limit import OVER
from weir.model.document import Document
from weir.model.prefix import WIDTH, parse_prefix
from weir.parts.fetched import origin_of
from weir.parts.head import Head
from weir.parts.rule import BEFORE_TRACKING, Family, Lookup, PacketRule
from weir.parts.sets import learnt_heads
from weir.parts.source_bounds import bounds_of
from weir.parts.zones import Names, Zones

Lengths = Mapping[Head, int]
"""Of the static sets, how many entries are in each of the kernel's."""

_NEGATED = {"in_interface": "in_interfaces", "out_interface": "out_interfaces", "source": "sources"}
_NEGATED |= {"destination": "destinations", "from_zone": "in_interfaces", "to_zone": "out_interfaces"}
_OF_SETS = ("source_set", "destination_set", "port_set")
_MAY_BE_UNSAID = ("in_interfaces", "out_interfaces", "sources", "destinations", "icmp_types")
OUTGOING = "outgoing"
"""What the router sends; the chain `output` is where connections get their zone."""


def configured(document: Document, lengths: Lengths) -> Iterator[PacketRule]:
    """The enabled rules in their order, but for those that name something empty or disabled."""
    named = NamedByRules(document, lengths)
    zones = Zones.of(sorted(document.interfaces(), key=lambda item: item.id))
    rules = sorted(document.every(FirewallRule), key=lambda rule: (rule.chain, rule.position, rule.id))
    for rule in rules:
        if not rule.disabled:
            names = (rule.source_set, rule.destination_set, rule.port_set, rule.add_set)
            yield from compiled(rule, named.sets(*names), named.service(rule.service), ways_of(rule, zones))


Named = tuple[Set | None, tuple[Head, ...]]
"""A set that a rule names, and what the kernel has of its entries."""
Ways = tuple[Names | None, Names | None]
"""The interfaces by which packets of a rule arrive and leave; None: by any."""


def ways_of(rule: FirewallRule, zones: Zones) -> Ways:
    """Those that it names, and those of the zones that it names. All but those of a zone that has none are
    all of them."""
    found = []
    for interface, zone in (("in_interface", "from_zone"), ("out_interface", "to_zone")):
        name, of_zone = getattr(rule, interface), getattr(rule, zone)
        members = None if of_zone is None else zones[of_zone]
        if members == () and zone in rule.negated:
            members = None
        found.append(members if name is None else (name,))
    return found[0], found[1]


class NamedByRules:
    """The sets and services of a document, as rules look at them."""

    def __init__(self, document: Document, lengths: Lengths) -> None:
        by_set: dict[str, list[Head]] = {}
        for head in sorted(lengths, key=lambda head: (head.key, -head.length)):
            by_set.setdefault(head.set_id, []).append(head)
        self._document = document
        self._heads = {name: tuple(found) for name, found in by_set.items()}

    def sets(self, *names: str | None) -> tuple[Named, ...]:
        """Of the names that are given."""
        return tuple(self._set(name) for name in names if name is not None)

    def service(self, name: str | None) -> Service | None:
        found = None if name is None else self._document.get("service", name)
        return found if isinstance(found, Service) else None

    def _set(self, name: str) -> Named:
        found = self._document.get("set", name)
        return (found if isinstance(found, Set) else None), self._heads.get(name, ())


@lru_cache(maxsize=16_384)
def compiled(
    rule: FirewallRule, sets: tuple[Named, ...], service: Service | None, ways: Ways
) -> tuple[PacketRule, ...]:
    """What one rule becomes. It is remembered: of thousands of rules a commit changes one."""
    if () in ways:
        return ()
    return tuple(_Compiled(rule, sets, service, ways).rules())


def looked_up(rules: Iterable[PacketRule], heads: Iterable[Head]) -> Iterator[PacketRule]:
    """The rules with a look for each of the kernel's sets that fetched sets have now; with none where nothing
    was fetched yet, so that the rule matches nothing. Sets of names have looks at their entries before it."""
    by_name: dict[str, list[Head]] = {}
    for head in sorted(heads, key=lambda head: -head.length):
        by_name.setdefault(head._replace(length=0).name, []).append(head)
    before: list[str] = []
    """The sets that the rules right before it look at, in the same chain."""
    chain = ""
    for rule in rules:
        rule = _outside_of_fetched(rule, by_name)
        if rule.chain != chain:
            chain, before = rule.chain, []
        if not (rule.lookups and rule.lookups[0].origin):  # it is the only one of its rule then
            before += [lookup.set for lookup in rule.lookups]
            yield rule
            continue
        (lookup,) = rule.lookups
        for head in by_name.get(lookup.set, ()):
            if head.name not in before:
                own = lookup._replace(set=head.name, length=head.length, origin="")
                yield replace(rule, lookups=(own,))


def _outside_of_fetched(rule: PacketRule, by_name: Mapping[str, Sequence[Head]]) -> PacketRule:
    """What is not in a fetched set is in none of those that it has."""
    if not any(lookup.origin and lookup.negated for lookup in rule.lookups):
        return rule
    found: dict[Lookup, None] = {}
    for lookup in rule.lookups:
        heads = by_name.get(lookup.set, ()) if lookup.origin else ()
        own = (lookup._replace(set=head.name, length=head.length, origin="") for head in heads)
        found.update(dict.fromkeys(own if lookup.origin else (lookup,)))
    return replace(rule, lookups=tuple(found))


def chain_of(name: str) -> str:
    """A chain's name in nftables, where a plain one may be a keyword."""
    if name == "output":
        return OUTGOING
    if name == RAW:
        return BEFORE_TRACKING
    return name if name in BUILT_IN else f"c_{name}"


def counter_of(rule_id: str) -> str:
    return f"r_{rule_id}"


def rule_of(counter: str) -> str | None:
    """The id of the firewall rule that has a counter; None for a counter of another kind."""
    return counter.removeprefix("r_") if counter.startswith("r_") else None


class _Compiled:
    def __init__(
        self, rule: FirewallRule, sets: tuple[Named, ...], service: Service | None, ways: Ways
    ) -> None:
        self._rule = rule
        self._came, self._leave = (names or () for names in ways)
        self._sets = {item.id: (item, heads) for item, heads in sets if item is not None}
        self._service = service
        limit = rule.source_limit
        self._by_first = limit is not None and limit.connections is not None
        self._is_over = limit is not None and limit.match == OVER

    def rules(self) -> Iterator[PacketRule]:
        rule = self._rule
        start = PacketRule(
            chain=chain_of(rule.chain),
            verdict="accept",
            comment=rule.id,
            in_interfaces=self._came,
            out_interfaces=self._leave,
            ct_states=("new",) if self._by_first else tuple(sorted(rule.ct_state)),
            ct_nat="" if rule.ct_nat == "any" else rule.ct_nat,
            source_mac=rule.source_mac or "",
            source_ports=rule.source_ports,
            flags=tuple(sorted(rule.tcp_flags)),
            flags_unset=tuple(sorted(rule.tcp_flags_unset)),
            dscp=rule.dscp,
            negated=tuple(
                sorted(_NEGATED.get(field, field) for field in rule.negated if field not in _OF_SETS)
            ),
            is_first=self._by_first,
            time=rule.time,
        )
        for family in self._families():
            for number, match in enumerate(self._protocols(replace(start, family=family))):
                yield from self._expanded(match, f"{rule.id}_{family}_{number}")

    def _families(self) -> tuple[Family, ...]:
        rule = self._rule
        sets = (self._set(name) for name in (rule.source_set, rule.destination_set))
        splits = (
            rule.source
            or rule.destination
            or rule.icmp_types
            or rule.dscp is not None
            or rule.add_set
            or rule.action == "set-dscp"
            or rule.source_limit
            or any(item is not None and item.type == "address" for item in sets)
        )
        if splits:
            found = families(rule)
            return tuple(family for family in (4, 6) if family in found)
        return (0,) if rule.family == "any" else (4,) if rule.family == "ipv4" else (6,)

    def _set(self, name: str | None) -> Set | None:
        return self._sets[name][0] if name in self._sets else None

    def _protocols(self, match: PacketRule) -> Iterator[PacketRule]:
        rule = self._rule
        protocol, ports = rule.protocol, rule.ports
        if rule.service is not None:
            service = self._service
            if service is None or service.disabled:
                return
            protocol, ports = service.protocol, service.ports
        if protocol == "icmp" and rule.icmp_types:
            protocol = "icmp" if match.family == 4 else "icmpv6"
            yield replace(match, protocol=protocol, icmp_types=icmp_types_of(rule, match.family))
        elif protocol == "icmp":
            names = {0: "icmp-any", 4: "icmp", 6: "icmpv6"}
            yield replace(match, protocol=names[match.family])
        else:
            yield replace(match, protocol="" if protocol == "any" else protocol, ports=ports)

    def _expanded(self, match: PacketRule, name: str) -> Iterator[PacketRule]:
        rule, family = self._rule, match.family
        alternatives: list[list[Lookup]] = []
        outside: list[Lookup] = []
        for field, end in zip(_OF_SETS, ("saddr", "daddr", "dport"), strict=True):
            name_of_set = getattr(rule, field)
            if name_of_set is not None and field not in rule.negated:
                alternatives.append(self._lookups(name_of_set, end, family))
            elif name_of_set is not None and not self._is_there(name_of_set):
                return
            elif name_of_set is not None:
                found = self._lookups(name_of_set, end, family)
                outside += [lookup._replace(negated=True) for lookup in found]
        sources = tuple(text for text in rule.source if parse_prefix(text).family == family)
        destinations = tuple(text for text in rule.destination if parse_prefix(text).family == family)
        if not all(alternatives):
            return
        several = [found for found in alternatives if len(found) > 1 or found[0].origin]
        single = tuple(found[0] for found in alternatives if found not in several)
        match = replace(match, sources=sources, destinations=destinations, lookups=(*single, *outside))
        unsaid = {field for field in _MAY_BE_UNSAID if not getattr(match, field)}
        match = replace(match, negated=tuple(field for field in match.negated if field not in unsaid))
        yield from self._led(match, several, name)

    def _led(self, match: PacketRule, stages: list[list[Lookup]], name: str) -> Iterator[PacketRule]:
        """The match, and where it leads to until the packet has its verdict."""
        rule = self._rule
        if not stages and not rule.log and not self._is_over:
            yield self._final(match)
            return
        chains = [f"x{number}_{name}" for number in range(len(stages) + 2)]
        yield replace(match, verdict="jump", target=chains[0])
        inner = PacketRule(chain="", verdict="goto", comment=rule.id, family=match.family, time=match.time)
        for number, found in enumerate(stages):
            for lookup in found:
                yield replace(inner, chain=chains[number], lookups=(lookup,), target=chains[number + 1])
        last = replace(inner, chain=chains[len(stages)])
        if self._is_over:
            within = bounds_of(rule, match.family)
            yield replace(last, verdict="return", is_first=self._by_first, bounds=within)
        bounded = self._bounded(last)
        if rule.log and bounded != last:
            yield replace(bounded, target=chains[-1])
            last = replace(last, chain=chains[-1])
        if rule.log:
            prefix = rule.log_prefix or rule.id
            yield replace(
                last, verdict="log", rate_per_s=rule.log_per_s, burst=rule.log_per_s, target=f"{prefix}: "
            )
        yield self._final(last, limits=not rule.log)

    def _final(self, match: PacketRule, *, limits: bool = True) -> PacketRule:
        rule = self._rule
        found = replace(match, verdict=rule.action, counter=counter_of(rule.id), target="")
        if limits:
            found = self._bounded(found)
        if rule.action == "jump":
            return replace(found, target=chain_of(rule.jump_to or ""))
        if rule.new_dscp is not None:
            return replace(found, new_dscp=rule.new_dscp)
        learns = self._set(rule.add_set)
        if rule.action == "add-to-set" and learns is not None:
            heads = {int(head.family): head.name for head in learnt_heads(learns)}
            return replace(found, target=heads.get(match.family, ""))
        return found

    def _bounded(self, match: PacketRule) -> PacketRule:
        """With what holds for some packets of those that match: its rate, and what each source may have."""
        rule = self._rule
        if rule.source_limit is not None and not self._is_over:
            bounds = bounds_of(rule, match.family)
            match = replace(match, is_first=self._by_first, bounds=bounds)
        if rule.rate_per_s is not None:
            match = replace(match, rate_per_s=rule.rate_per_s, burst=rule.burst)
        return match

    def _is_there(self, set_id: str) -> bool:
        item = self._set(set_id)
        return item is not None and not item.disabled

    def _lookups(self, set_id: str, end: str, family: Family) -> list[Lookup]:
        item = self._set(set_id)
        if item is None or item.disabled:
            return []
        heads = learnt_heads(item) if item.source == "dynamic" else self._sets[set_id][1]
        found = []
        for head in heads:
            match head.key:
                case "ipv4_addr" | "ipv6_addr" if head.family == family:
                    length = WIDTH[head.family] if head.timeout_s else head.length
                    found.append(Lookup(end, head.name, head.family, length, bool(head.timeout_s)))
                case "ether_addr":
                    found.append(Lookup("ether", head.name))
                case "ifname":
                    found.append(Lookup("iifname", head.name))
                case "inet_service":
                    found.append(Lookup("dport", head.name))
        if origin := origin_of(item):
            head = Head(set_id, "ipv6_addr" if family == 6 else "ipv4_addr")
            found.append(Lookup(end, head.name, family, origin=origin))
        return found
