# SPDX-License-Identifier: Apache-2.0
"""What zones and the policy let pass and drop, behind the rules, in the order in which Weir decides."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from weir.formats.routeros.marks import marked
from weir.formats.routeros.menus.filter import ICMP, NAT_STATES
from weir.formats.routeros.writing import service_ports
from weir.formats.routeros.writing.links import is_written
from weir.formats.routeros.writing.lists import zone_list
from weir.formats.routeros.writing.matches import ROOTS, Axis, commands, port_axis
from weir.formats.routeros.writing.script import Property, command, not_written, section
from weir.kinds.firewall import Firewall
from weir.kinds.nat_rule import NatRule
from weir.kinds.zone import ZonePolicy
from weir.model.document import Document
from weir.model.interface import members_of
from weir.model.prefix import parse_prefix
from weir.model.problem import Invalid
from weir.model.zones import NO_ZONE, WAN
from weir.parts.dhcp6 import questions_of_clients
from weir.parts.firewall import policed
from weir.parts.rule import FIXED_COUNTERS, PacketRule
from weir.parts.zones import Zones

_CHAINS = ("input", "forward")
_INSIDE = {"destination": "forward", "one-to-one": "forward", "redirect": "input"}
"""NAT rules that lead inside, and by which chain."""
_NAT_NAMES = {ours: theirs for theirs, ours in NAT_STATES.items()}
_ANY_CODE = ":0-255"
_SAID = (
    *(
        "in_interfaces",
        "out_interfaces",
        "family",
        "ct_states",
        "protocol",
        "icmp_types",
        "tcp_ports",
        "ports",
    ),
    *("sources", "destinations", "rate_per_s", "burst", "ct_nat", "counter", "target", "made_by"),
)
NO_PING = "no-ping"
"""In the mark of what drops the rest: the policy does not answer pings."""


def first(document: Document) -> Iterator[str]:
    """What comes before all rules of people's: questions to DHCPv6 servers, which meet the filter."""
    try:
        yield from _section(document, list(questions_of_clients(document)))
    except Invalid as problem:
        yield f"{not_written('what clients of DHCPv6 ask', problem.message)}\n"


def rules(document: Document) -> Iterator[str]:
    """What comes behind them."""
    try:
        made = [rule for rule in policed(document) if rule.chain in _CHAINS]
    except Invalid as problem:  # of what nobody could commit
        yield f"{not_written('what follows from zones and the policy', problem.message)}\n"
        return
    forwards, unsaid = _port_forwards(document) if made else ([], "")
    yield from _section(document, [*forwards, *made])
    if unsaid:
        yield unsaid
    followed = {rule.made_by for rule in made}
    for item in sorted(document.every(ZonePolicy), key=lambda item: item.id):
        if f"zone-policy/{item.id}" not in followed:
            why = "it is disabled" if item.disabled else "one of its zones has no interfaces"
            yield f"{not_written(f'zone-policy {item.id}', why)}\n"
    policy = document.get("firewall", "firewall")
    if isinstance(policy, Firewall) and policy.connections_per_source:
        bound = f"at most {policy.connections_per_source:,} connections of each source"
        yield f"{not_written(bound, 'RouterOS counts them at rules')}\n"
    helpers = policy.helpers if isinstance(policy, Firewall) else ()
    if made or helpers:
        yield from service_ports.lines(helpers)


def _section(document: Document, asked: Sequence[PacketRule]) -> Iterator[str]:
    written = _Written(document)
    for family, root in ROOTS.items():
        lines = (line for rule in asked for line in written.lines(rule, family))
        yield from section(f"{root} firewall filter", lines)
    for rule in asked:
        if not _is_plain(rule):
            yield f"{not_written(rule.comment, 'RouterOS has no such matches')}\n"


def _port_forwards(document: Document) -> tuple[list[PacketRule], str]:
    """What lets in from WANs what NAT rules lead inside, and what is to be said of it. RouterOS asks whether
    a connection was translated, and not by which rule."""
    asked = [item for item in document.every(NatRule) if not item.disabled and item.type in _INSIDE]
    closed = sorted(item.id for item in asked if not item.allow)
    if closed:
        what = "that port forwards are let in from WANs"
        return [], f"{not_written(what, f'it does not hold for nat-rule {closed[0]}')}\n"
    wan = Zones.of(sorted(document.interfaces(), key=lambda item: item.id))[WAN]
    chains = [chain for chain in _CHAINS if any(_INSIDE[item.type] == chain for item in asked)]
    rule = PacketRule("", "accept", "port forwards", wan, ct_nat="destination")
    return [replace(rule, chain=chain) for chain in chains if wan], ""


class _Written:
    """Rules of a document's zones and policy, as commands."""

    def __init__(self, document: Document) -> None:
        self._document = document
        interfaces = sorted(document.interfaces(), key=lambda item: item.id)
        self._zones = Zones.of(interfaces)
        self._below = {name for item in interfaces for name in members_of(item)}
        """Members of bridges and bonds: packets come by what they are members of."""

    def lines(self, rule: PacketRule, family: int) -> Iterator[str]:
        if rule.family not in (0, family) or not _is_plain(rule):
            return
        head, words = self._head(rule)
        for said in commands([*self._axes(rule, family)]):
            yield command([*said, marked(head, said, words)])

    def _head(self, rule: PacketRule) -> tuple[str, str]:
        """For the import: the object that it follows from, with what is needed to make it again."""
        kind, _, object_id = rule.made_by.partition("/")
        policy = self._document.get(kind, object_id) if kind == "zone-policy" else None
        if isinstance(policy, ZonePolicy):
            log = ["log"] if policy.log else []
            words = (kind, policy.id, policy.from_zone, policy.to_zone, policy.action, *log)
            return " ".join(words), policy.comment
        if rule.counter == f"{FIXED_COUNTERS}wan_router":
            answers = self._document.single(Firewall).allow_ping_from_wan
            return "firewall" if answers else f"firewall {NO_PING}", rule.comment
        return kind or "firewall", rule.comment

    def _axes(self, rule: PacketRule, family: int) -> Iterator[Axis]:
        yield [_what_it_does(rule)]
        yield self._places("in", rule.in_interfaces)
        yield self._places("out", rule.out_interfaces)
        yield [[("protocol", name)] for name in _protocols(rule, family)] or [[]]
        yield port_axis("dst-port", rule.ports or tuple(map(str, rule.tcp_ports)))
        known = {name: number for number, name in ICMP[ROOTS[family]].items()}
        yield [[("icmp-options", f"{known[name]}{_ANY_CODE}")] for name in rule.icmp_types] or [[]]
        yield _addresses("src-address", rule.sources, family)
        yield _addresses("dst-address", rule.destinations, family)

    def _places(self, way: str, names: Sequence[str]) -> Axis:
        """By the lists of the zones that are meant as a whole, and one by one. No command where none of them
        is there in RouterOS."""
        if not names:
            return [[]]
        found: list[list[Property]] = []
        rest = set(names)
        for zone, members in sorted(self._zones.members.items()):
            if zone != NO_ZONE and rest.issuperset(members):
                found.append([(f"{way}-interface-list", zone_list(zone))])
                rest.difference_update(members)
        alone = (name for name in sorted(rest - self._below) if is_written(self._document, name))
        return [*found, *([(f"{way}-interface", name)] for name in alone)]


def _is_plain(rule: PacketRule) -> bool:
    """Whether all that it matches is said here."""
    bare = PacketRule(rule.chain, rule.verdict, rule.comment)
    return replace(bare, **{name: getattr(rule, name) for name in _SAID}) == rule


def _what_it_does(rule: PacketRule) -> list[Property]:
    found = [("chain", rule.chain), ("action", rule.verdict)]
    found += [("connection-state", ",".join(rule.ct_states))] if rule.ct_states else []
    found += [("connection-nat-state", _NAT_NAMES[rule.ct_nat])] if rule.ct_nat else []
    found += [("limit", f"{rule.rate_per_s},{rule.burst}:packet")] if rule.rate_per_s else []
    return [*found, *([("log-prefix", rule.target.strip())] if rule.target else [])]


def _protocols(rule: PacketRule, family: int) -> tuple[str, ...]:
    if rule.protocol in ("icmp", "icmpv6", "icmp-any"):
        return ("icmp",) if family == 4 else ("icmpv6",)
    if rule.protocol == "tcp-udp":
        return ("tcp", "udp")
    return (rule.protocol,) if rule.protocol else ("tcp",) if rule.tcp_ports else ()


def _addresses(key: str, texts: Sequence[str], family: int) -> Axis:
    """None of a rule about the other family: it is no command."""
    if not texts:
        return [[]]
    return [[(key, text)] for text in texts if parse_prefix(text).family == family]
