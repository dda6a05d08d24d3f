# SPDX-License-Identifier: Apache-2.0
"""Which rule decides about a packet, by walking the compiled rules as the kernel does (docs/adr/0176).

Pure: nothing is asked of the kernel. What only it knows, such as what a set has learnt and whether a rate is
exceeded, is assumed and said (`unsure`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AnySet
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Literal

from weir.kinds.firewall_rule import TCP_FLAGS
from weir.kinds.sets import SetEntry
from weir.model.document import Document
from weir.model.members import ports_of
from weir.model.prefix import WIDTH, Prefix, parse_prefix
from weir.model.schedule import is_open
from weir.parts.rule import BEFORE_TRACKING, Lookup, PacketRule

Verdict = Literal["accept", "drop", "reject"]
_WORDS = {"icmp": ("icmp",), "icmpv6": ("icmpv6",), "icmp-any": ("icmp", "icmpv6"), "tcp-udp": ("tcp", "udp")}
_TRANSLATES = ("masquerade", "snat", "dnat", "redirect")
_LEADS = ("jump", "goto")
_ALL_FLAGS = frozenset(TCP_FLAGS)
_FLAGS_OF_A_FIRST = _ALL_FLAGS - {"ece", "cwr"}
"""A connection begins with SYN alone, or with those two, which ask for ECN (RFC 3168, 6.1.1)."""
_SHOWN_CHARS = 200
"""Of where a set is filled from, which may be many names."""
_MAC = "the sender's hardware address"
_ENDS = ("accept", "drop", "reject", "notrack", *_TRANSLATES)


@dataclass(frozen=True, slots=True)
class Packet:
    """The first packet of a connection, or one of `state`.

    `in_names` and `out_names` are what rules may call its interfaces: their own names and their VRFs'.
    `port` is that of the destination, `icmp_type` what ICMP says in its place. None is not known.
    """

    family: Literal[4, 6]
    source: str
    destination: str
    protocol: str
    port: int = 0
    icmp_type: str = ""
    in_names: AnySet[str] = frozenset()
    out_names: AnySet[str] = frozenset()
    state: str = "new"
    to_router: bool = False
    """The destination is an address of the router's."""
    is_forwarded: bool = False
    """It got another destination."""
    mac: str | None = None
    """Of the sender; "": it has none, as it comes in without an Ethernet header or is the router's own."""
    source_port: int | None = None
    dscp: int | None = None
    flags: AnySet[str] | None = None
    """Of TCP; None: what is known of a connection's first packet, and of others nothing."""
    at: datetime | None = None
    """The router's local time, by which rules with hours match or not; None: any time is in their hours."""


@dataclass(slots=True)
class Walk:
    """What was met on the way."""

    matched: list[PacketRule] = field(default_factory=list)
    doubted: dict[str, PacketRule] = field(default_factory=dict)
    """By what only the kernel knows, the first rule that looks at it."""
    resting: list[PacketRule] = field(default_factory=list)
    """What would have matched at another time."""
    dscp: int | None = None
    """What a rule set, which those behind it see; None: the packet's own."""

    @property
    def unsure(self) -> list[str]:
        return list(self.doubted)


@dataclass(frozen=True, slots=True)
class Members:
    """The enabled entries of static sets, as a packet's addresses and ports are looked up in them."""

    addresses: Mapping[str, AnySet[str]]
    ports: Mapping[str, Sequence[range]]
    others: Mapping[str, AnySet[str]]

    @classmethod
    def of(cls, document: Document) -> Members:
        addresses: dict[str, set[str]] = {}
        ports: dict[str, list[range]] = {}
        others: dict[str, set[str]] = {}
        for entry in document.every(SetEntry):
            if entry.disabled:
                continue
            if "/" in entry.value:
                addresses.setdefault(entry.set, set()).add(entry.value)
            elif entry.value[0].isdigit() and entry.value.replace("-", "").isdigit():
                ports.setdefault(entry.set, []).append(ports_of(entry.value))
            else:
                others.setdefault(entry.set, set()).add(entry.value)
        return cls(addresses, ports, others)


class Rules:
    """Compiled rules by chain, with what is in the sets that they look at: that is read when the first of
    them looks, where a function is given."""

    def __init__(self, rules: Iterable[PacketRule], members: Members | Callable[[], Members]) -> None:
        self._told_members = members
        self._chains: dict[str, list[PacketRule]] = {}
        for rule in rules:
            self._chains.setdefault(rule.chain, []).append(rule)

    @property
    def _members(self) -> Members:
        if not isinstance(self._told_members, Members):
            self._told_members = self._told_members()
        return self._told_members

    @property
    def translate(self) -> bool:
        """Whether a rule may give a packet another source or destination."""
        return any(rule.verdict in _TRANSLATES for rules in self._chains.values() for rule in rules)

    def decide(self, chain: str, packet: Packet, walk: Walk) -> PacketRule | None:
        """The rule that ends a packet's way through a base chain; None: none does, and it passes."""
        found, _ = self._walk(chain, packet, walk)
        return found

    def before_tracking(self, packet: Packet, walk: Walk) -> tuple[PacketRule | None, Packet]:
        """The rule that ends the way of a packet that comes in before its connection is looked up, None: none
        does; and the packet behind it."""
        found = self.decide(BEFORE_TRACKING, packet, walk)
        if found is not None and found.verdict == "drop":
            return found, packet
        if found is not None and found.verdict == "notrack":
            return None, replace(packet, state="untracked")
        return None, packet

    def commented(self, chain: str, comment: str) -> PacketRule | None:
        """The rule of a chain that the kernel knows by this comment."""
        return next((rule for rule in self._chains.get(chain, ()) if rule.comment == comment), None)

    def below(self, rule: PacketRule) -> tuple[PacketRule, ...]:
        """All rules that a packet may come to by what a rule jumps to."""
        waiting, seen, found = [rule], set[str](), list[PacketRule]()
        while waiting:
            each = waiting.pop()
            if each.verdict in _LEADS and each.target not in seen:
                seen.add(each.target)
                found += self._chains.get(each.target, ())
                waiting += self._chains.get(each.target, ())
        return tuple(found)

    def _walk(self, chain: str, packet: Packet, walk: Walk) -> tuple[PacketRule | None, bool]:
        """The rule that decides; and, without one, whether a rule before the end of the chain came back."""
        for rule in self._chains.get(chain, ()):
            if not self._matches(rule, packet, walk):
                continue
            if rule.counter:
                walk.matched.append(rule)
            if rule.verdict in _ENDS:
                return rule, False
            if rule.verdict == "set-dscp":
                walk.dscp = rule.new_dscp
            if rule.verdict == "return":
                return None, True
            if rule.verdict in _LEADS:
                found, _ = self._walk(rule.target, packet, walk)
                if found is not None:
                    return found, False
                if rule.verdict == "goto":
                    return None, True
        return None, False

    def _matches(self, rule: PacketRule, packet: Packet, walk: Walk) -> bool:
        return (
            _by_interface(rule, packet)
            and rule.family in (0, packet.family)
            and (not rule.ct_states or packet.state in rule.ct_states)
            and (not rule.is_forwarded or packet.is_forwarded)
            and (not rule.addressed or packet.to_router == (rule.addressed == "own"))
            and packet.destination not in rule.not_destinations
            and _in_prefixes(rule, "sources", packet.source)
            and _in_prefixes(rule, "destinations", packet.destination)
            and _by_protocol(rule, packet)
            and all(self._holds(lookup, rule, packet, walk) for lookup in rule.lookups)
            and _by_source_port(rule, packet, walk)
            and _by_flags(rule, packet, walk)
            and _by_mac(rule, packet, walk)
            and _by_dscp(rule, packet, walk)
            and _by_nat(rule, packet, walk)
            and _in_its_hours(rule, packet, walk)
            and _within_bounds(rule, walk)
            and _within_rate(rule, walk)
        )

    def _holds(self, lookup: Lookup, rule: PacketRule, packet: Packet, walk: Walk) -> bool:
        name = _set_of(lookup)
        if lookup.is_learnt or lookup.origin:
            has = f"from {_cut_short(lookup.origin)}" if lookup.origin else "learnt"
            taken = "to match, as for none of it" if lookup.negated else "not to match"
            _say(walk, f"{_name(rule)} looks at what the set {name} has {has}; it is taken {taken}", rule)
            return lookup.negated
        if lookup.what == "ether" and packet.mac is None:
            return _unknown(rule, _MAC, walk)
        if lookup.what == "ether" and packet.mac == "":
            return False
        return self._is_in(lookup, name, packet) != lookup.negated

    def _is_in(self, lookup: Lookup, name: str, packet: Packet) -> bool:
        if lookup.what == "dport":
            return any(packet.port in ports for ports in self._members.ports.get(name, ()))
        if lookup.what in ("iifname", "sdifname"):
            return not packet.in_names.isdisjoint(self._members.others.get(name, ()))
        if lookup.what == "ether":
            return packet.mac in self._members.others.get(name, ())
        address = packet.source if lookup.what == "saddr" else packet.destination
        return _cut(address, lookup.length) in self._members.addresses.get(name, ())


def _cut_short(origin: str) -> str:
    return origin if len(origin) <= _SHOWN_CHARS else f"{origin[: _SHOWN_CHARS - 1]}…"


def _set_of(lookup: Lookup) -> str:
    """The id of the set, of which the kernel's name ends in it (`Head.name`)."""
    parts = {"saddr": 4 if lookup.is_learnt else 3, "daddr": 4 if lookup.is_learnt else 3}
    return lookup.set.split("_", parts.get(lookup.what, 2) - 1)[-1]


def _cut(address: str, length: int) -> str:
    whole = parse_prefix(address)
    shift = WIDTH[whole.family] - length
    return Prefix(whole.family, whole.value >> shift << shift, length).text


def _by_interface(rule: PacketRule, packet: Packet) -> bool:
    came = (*rule.in_interfaces, *rule.in_members)
    leaves = rule.out_interfaces
    return (
        (not came or _turned(rule, "in_interfaces", not packet.in_names.isdisjoint(came)))
        and (not leaves or _turned(rule, "out_interfaces", not packet.out_names.isdisjoint(leaves)))
        and packet.in_names.isdisjoint(rule.outside)
    )


def _turned(rule: PacketRule, field: str, holds: bool) -> bool:
    return holds != (field in rule.negated)


def _in_prefixes(rule: PacketRule, field: Literal["sources", "destinations"], address: str) -> bool:
    prefixes = rule.sources if field == "sources" else rule.destinations
    if not prefixes:
        return True
    host = parse_prefix(address)
    return _turned(rule, field, any(parse_prefix(text).covers(host) for text in prefixes))


def _by_protocol(rule: PacketRule, packet: Packet) -> bool:
    names = _WORDS.get(rule.protocol, (rule.protocol,))
    if rule.protocol and not _turned(rule, "protocol", packet.protocol in names):
        return False
    if rule.icmp_types:
        return _turned(rule, "icmp_types", packet.icmp_type in rule.icmp_types)
    if rule.tcp_ports or rule.ports:
        named = packet.port in rule.tcp_ports or any(packet.port in ports_of(text) for text in rule.ports)
        return _turned(rule, "ports", named)
    return True


def _by_source_port(rule: PacketRule, packet: Packet, walk: Walk) -> bool:
    if rule.source_ports and packet.source_port is None:
        return _unknown(rule, "the source port", walk)
    named = any(packet.source_port in ports_of(text) for text in rule.source_ports)
    return not rule.source_ports or _turned(rule, "source_ports", named)


def _by_flags(rule: PacketRule, packet: Packet, walk: Walk) -> bool:
    flags, known = packet.flags, _FLAGS_OF_A_FIRST if packet.state == "new" else frozenset[str]()
    if flags is None:
        flags = known & {"syn"}
    else:
        known = _ALL_FLAGS
    asked = {*rule.flags, *rule.flags_unset}
    if flags & {*rule.flags_unset} or (known & {*rule.flags}) - flags:
        return False
    return asked <= known or _unknown(rule, "TCP flags that are not known of this packet", walk)


def _by_mac(rule: PacketRule, packet: Packet, walk: Walk) -> bool:
    if rule.source_mac and packet.mac is None:
        return _unknown(rule, _MAC, walk)
    if not rule.source_mac:
        return True
    return bool(packet.mac) and _turned(rule, "source_mac", packet.mac == rule.source_mac)


def _by_dscp(rule: PacketRule, packet: Packet, walk: Walk) -> bool:
    dscp = packet.dscp if walk.dscp is None else walk.dscp
    if rule.dscp is not None and dscp is None:
        return _unknown(rule, "the DSCP", walk)
    return rule.dscp is None or _turned(rule, "dscp", dscp == rule.dscp)


def _by_nat(rule: PacketRule, packet: Packet, walk: Walk) -> bool:
    """The source of a first packet is translated behind all rules that look. Of what belongs to no connection
    nothing is said."""
    if not rule.ct_nat or packet.state in ("invalid", "untracked"):
        return not rule.ct_nat
    if packet.state != "new":
        return _unknown(rule, "what NAT did to the connection", walk)
    if rule.ct_nat in ("source", "not-source"):
        return rule.ct_nat == "not-source"
    return packet.is_forwarded == (rule.ct_nat in ("destination", "either"))


def _unknown(rule: PacketRule, what: str, walk: Walk) -> bool:
    _say(walk, f"{_name(rule)} looks at {what}; it is taken not to match", rule)
    return False


def _in_its_hours(rule: PacketRule, packet: Packet, walk: Walk) -> bool:
    if packet.at is None or is_open(rule.time, packet.at):
        return True
    if all(rule.comment != other.comment for other in walk.resting):
        walk.resting.append(rule)
    return False


def _within_bounds(rule: PacketRule, walk: Walk) -> bool:
    if rule.bounds:
        _say(
            walk,
            f"{_name(rule)} limits what each source has; this packet is taken to be within the limits",
            rule,
        )
    return True


def _within_rate(rule: PacketRule, walk: Walk) -> bool:
    if rule.rate_per_s and rule.verdict != "log":
        _say(walk, f"{_name(rule)} matches so many packets per second; this is taken to be one of them", rule)
    return True


def _name(rule: PacketRule) -> str:
    return rule.comment if rule.nat else f"firewall rule {rule.comment}"


def _say(walk: Walk, text: str, rule: PacketRule) -> None:
    walk.doubted.setdefault(text, rule)


def redirected(packet: Packet, rule: PacketRule, own: str) -> Packet:
    """The packet behind a rule of `prerouting`; `own`: the address of the interface by which it comes."""
    if rule.verdict not in ("redirect", "dnat"):
        return packet
    is_own = rule.verdict == "redirect"
    destination = own if is_own else _mapped(packet.destination, rule)
    port = rule.to_port or packet.port
    return replace(
        packet,
        destination=destination,
        port=port,
        to_router=is_own,
        # Where nothing changes the kernel does not call it translated.
        is_forwarded=(destination, port) != (packet.destination, packet.port),
    )


def source_behind(packet: Packet, rule: PacketRule | None) -> str:
    """By which address the destination sees it behind a rule of `postrouting`; "" = one of several, or that
    of the interface."""
    if rule is None or rule.verdict not in _TRANSLATES:
        return packet.source
    if rule.verdict == "snat":
        target = parse_prefix(rule.to)
        if rule.maps or target.length == WIDTH[target.family]:
            return _mapped(packet.source, rule)
    return ""


def _mapped(address: str, rule: PacketRule) -> str:
    """The first address of the target, or with `maps` the one at the same place."""
    target, own = parse_prefix(rule.to), parse_prefix(address)
    host = own.value & ((1 << (WIDTH[target.family] - target.length)) - 1) if rule.maps else 0
    return Prefix(target.family, target.value | host, WIDTH[target.family]).text.partition("/")[0]
