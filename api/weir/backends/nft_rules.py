# SPDX-License-Identifier: Apache-2.0
"""Rules in nft's JSON (libnftables-json(5)), in the form in which it prints them: what is read back compares
equal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any, Literal

from weir.adapters.nft_canonical import Expression, canonical
from weir.model.members import ports_of
from weir.model.prefix import WIDTH, Prefix, parse_prefix
from weir.parts.rule import Lookup, PacketRule, SourceBound

_L4 = {"icmp": "icmp", "icmpv6": "ipv6-icmp", "icmp-any": ["icmp", "ipv6-icmp"]}
_NETWORK = {4: "ip", 6: "ip6"}
_FLAG_NAMES = {"ece": "ecn"}
_NAT_BITS = {
    "source": (("snat",), "in"),
    "destination": (("dnat",), "in"),
    "either": (("snat", "dnat"), "in"),
    "not-source": (("snat",), "!"),
    "not-destination": (("dnat",), "!"),
    "neither": (("snat", "dnat"), "!"),
}


@lru_cache(maxsize=16_384)
def texts(rule: PacketRule) -> tuple[str, ...]:
    """The expressions of a rule, as canonical texts. They are remembered: a commit asks several times for
    all rules, of which it changes one."""
    return tuple(map(canonical, _expressions(rule)))


def match(left: Expression, right: object, operator: str = "==") -> Expression:
    return {"match": {"op": operator, "left": left, "right": right}}


def _operator(rule: PacketRule, field: str) -> str:
    return "!=" if field in rule.negated else "=="


def _expressions(rule: PacketRule) -> Iterator[Expression]:
    yield from _ends(rule)
    if rule.family and not _says_family(rule):
        yield match(_meta("nfproto"), f"ipv{rule.family}")
    if rule.ct_states:
        yield match({"ct": {"key": "state"}}, list(rule.ct_states), "in")
    if rule.ct_nat:
        bits, operator = _NAT_BITS[rule.ct_nat]
        yield match({"ct": {"key": "status"}}, list(bits), operator)
    if rule.is_first:
        yield match({"ct": {"key": "status"}}, "confirmed", "!")
    yield from _addressed(rule)
    for name, prefixes in (("saddr", rule.sources), ("daddr", rule.destinations)):
        spans = merged(_span(parse_prefix(text)) for text in prefixes)
        if spans and spans != [(0, (1 << WIDTH[rule.family]) - 1)]:
            right = _one_or_set(map(_addresses(rule.family), spans))
            field = "sources" if name == "saddr" else "destinations"
            yield match(_payload(_NETWORK[rule.family], name), right, _operator(rule, field))
    for lookup in rule.lookups:
        if lookup.what != "dport":
            yield _lookup(lookup)
    if rule.dscp is not None:
        yield match(_payload(_NETWORK[rule.family], "dscp"), rule.dscp, _operator(rule, "dscp"))
    if rule.source_mac:  # behind what is of a family: nft would take that from the Ethernet header
        yield match(_payload("ether", "saddr"), rule.source_mac, _operator(rule, "source_mac"))
    yield from _protocol(rule)
    yield from map(_counted, rule.bounds)
    if rule.rate_per_s:
        yield {"limit": {"rate": rule.rate_per_s, "burst": rule.burst, "per": "second"}}
    if rule.counter:
        yield {"counter": rule.counter}
    yield from _verdict(rule)


def _ends(rule: PacketRule) -> Iterator[Expression]:
    sides = (
        ("iifname", rule.in_interfaces, "in_interfaces"),
        ("sdifname", rule.in_members, "in_interfaces"),
        ("oifname", rule.out_interfaces, "out_interfaces"),
    )
    for key, names, field in sides:
        if names:
            yield match(_meta(key), {"set": list(names)}, _operator(rule, field))
    if rule.outside:
        yield match(_meta("iifname"), {"set": list(rule.outside)}, "!=")


def _addressed(rule: PacketRule) -> Iterator[Expression]:
    """To whom a packet is, beside prefixes; and whether that is where it was sent to."""
    if rule.is_forwarded:
        yield match({"ct": {"key": "status"}}, "dnat", "in")
    if rule.addressed:
        kind = "local" if rule.addressed == "own" else "unicast"
        yield match({"fib": {"result": "type", "flags": ["daddr"]}}, kind)
    if rule.not_destinations:
        payload = _payload(_NETWORK[rule.family], "daddr")
        yield match(payload, _one_or_set(rule.not_destinations), "!=")


def _says_family(rule: PacketRule) -> bool:
    """Something else of the rule is of one family, and nft leaves the family out then."""
    whole = [(0, (1 << WIDTH[rule.family]) - 1)]
    narrow = (
        merged(_span(parse_prefix(text)) for text in found) for found in (rule.sources, rule.destinations)
    )
    return (
        (rule.protocol in ("icmp", "icmpv6") and "protocol" not in rule.negated)
        or any(spans and spans != whole for spans in narrow)
        or any(lookup.family for lookup in rule.lookups)
        or bool(rule.not_destinations or rule.bounds)
        or rule.dscp is not None
        or (rule.verdict in ("add-to-set", "set-dscp") and rule.family != 0)
    )


def _protocol(rule: PacketRule) -> Iterator[Expression]:
    if rule.mss:
        yield match(_payload("tcp", "flags"), "syn", "in")
        return
    if rule.icmp_types:
        types = {"set": list(rule.icmp_types)}
        yield match(_payload(rule.protocol, "type"), types, _operator(rule, "icmp_types"))
        return
    source, destination = _operator(rule, "source_ports"), _operator(rule, "ports")
    right = [("sport", item, source) for item in _ports(rule.source_ports)]
    right += [("dport", item, destination) for item in _ports([*map(str, rule.tcp_ports), *rule.ports])]
    right += [
        ("dport", f"@{lookup.set}", "!=" if lookup.negated else "==")
        for lookup in rule.lookups
        if lookup.what == "dport"
    ]
    has_two = rule.protocol == "tcp-udp"
    if has_two:
        yield match(_meta("l4proto"), {"set": ["tcp", "udp"]}, _operator(rule, "protocol"))
    elif rule.protocol and not right and not (rule.flags or rule.flags_unset):
        names = _L4.get(rule.protocol, rule.protocol)
        value = {"set": names} if isinstance(names, list) else names
        yield match(_meta("l4proto"), value, _operator(rule, "protocol"))
    for field, item, operator in right:
        yield match(_payload("th" if has_two else rule.protocol, field), item, operator)
    for flag in rule.flags:
        yield match(_payload("tcp", "flags"), _FLAG_NAMES.get(flag, flag), "in")
    if rule.flags_unset:
        unset = [_FLAG_NAMES.get(flag, flag) for flag in rule.flags_unset]
        yield match(_payload("tcp", "flags"), unset, "!")


def _ports(ports: Sequence[str]) -> list[object]:
    """What a match of these ports says; nothing where there are none."""
    spans = merged((found[0], found[-1]) for found in map(ports_of, ports))
    return [_one_or_set(_range(*span) for span in spans)] if spans else []


def _verdict(rule: PacketRule) -> Iterator[Expression]:
    match rule.verdict:
        case "zone":
            yield {"mangle": {"key": {"ct": {"key": "zone"}}, "value": rule.zone}}
        case "mss":
            size = {"tcp option": {"name": "maxseg", "field": "size"}}
            yield {"mangle": {"key": size, "value": rule.mss}}
        case "jump" | "goto":
            yield {rule.verdict: {"target": rule.target}}
        case "helper":
            yield {"ct helper": rule.target}
        case "log":
            yield {"log": {"prefix": rule.target}}
        case "reject":
            yield {"reject": {"type": "icmpx", "expr": "port-unreachable"}}
        case "add-to-set":
            element = _payload(_NETWORK[rule.family], "saddr")
            yield {"set": {"op": "update", "elem": element, "set": f"@{rule.target}"}}
        case "set-dscp":
            yield {"mangle": {"key": _payload(_NETWORK[rule.family], "dscp"), "value": rule.new_dscp}}
        case "notrack":  # no verdict to the kernel: the rules behind it would be asked
            yield {"notrack": None}
            yield {"accept": None}
        case "dnat" | "snat":
            yield {rule.verdict: _translation(rule)}
        case "redirect" if rule.to_port:
            yield {"redirect": {"port": rule.to_port}}
        case _:
            yield {rule.verdict: None}


def _translation(rule: PacketRule) -> Expression:
    """Of several addresses one that is free; of a network that is translated as one the same host."""
    prefix = parse_prefix(rule.to)
    (address,) = map(_addresses(prefix.family), [_span(prefix)])
    found: Expression = {"family": _NETWORK[prefix.family], "addr": address}
    if rule.to_port:
        found["port"] = rule.to_port
    if isinstance(address, dict) and rule.maps:
        found |= {"flags": "netmap", "type_flags": "prefix"}
    return found


def _lookup(lookup: Lookup) -> Expression:
    name, operator = f"@{lookup.set}", "!=" if lookup.negated else "=="
    if lookup.what in ("iifname", "sdifname"):
        return match(_meta(lookup.what), name, operator)
    if lookup.what == "ether":
        return match(_payload("ether", "saddr"), name, operator)
    return match(_cut(6 if lookup.family == 6 else 4, lookup.what, lookup.length), name, operator)


def _cut(family: Literal[4, 6], field: str, length: int) -> Expression:
    """An address of the packet, its last bits 0."""
    found = _payload(_NETWORK[family], field)
    width = WIDTH[family]
    if length < width:
        mask = (1 << width) - (1 << (width - length))
        found = {"&": [found, Prefix(family, mask, width).text.partition("/")[0]]}
    return found


def _counted(bound: SourceBound) -> Expression:
    """Counts the source, and goes on while it is within its bound. Where the set is full the rule ends. A set
    that forgets hears again that the source was there."""
    statement: Expression = {"limit": {"rate": bound.rate, "burst": bound.burst, "per": bound.per}}
    operation = "update"
    if bound.connections:
        operation, statement = "add", {"ct count": {"val": bound.connections}}
    source = _cut(bound.family, "saddr", bound.length)
    return {"set": {"op": operation, "elem": source, "set": f"@{bound.set}", "stmt": [statement]}}


def merged(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Sorted, with those that overlap or touch made one: so nft stores them."""
    found: list[tuple[int, int]] = []
    for first, last in sorted(spans):
        if found and first <= found[-1][1] + 1:
            found[-1] = (found[-1][0], max(last, found[-1][1]))
        else:
            found.append((first, last))
    return found


def _span(prefix: Prefix) -> tuple[int, int]:
    return prefix.value, prefix.value + (1 << (WIDTH[prefix.family] - prefix.length)) - 1


def _addresses(family: Any) -> Any:
    def text(value: int) -> str:
        return Prefix(family, value, WIDTH[family]).text.partition("/")[0]

    def shown(span: tuple[int, int]) -> object:
        """An address, a prefix where it is one, or a range."""
        first, last = span
        size = last - first + 1
        if size == 1:
            return text(first)
        if size & (size - 1) == 0 and first % size == 0:
            return {"prefix": {"addr": text(first), "len": WIDTH[family] - size.bit_length() + 1}}
        return {"range": [text(first), text(last)]}

    return shown


def _range(first: int, last: int) -> object:
    return first if first == last else {"range": [first, last]}


def _one_or_set(items: Iterable[object]) -> object:
    found: Sequence[object] = list(items)
    return found[0] if len(found) == 1 else {"set": found}


def _meta(key: str) -> Expression:
    return {"meta": {"key": key}}


def _payload(protocol: str, field: str) -> Expression:
    return {"payload": {"protocol": protocol, "field": field}}
