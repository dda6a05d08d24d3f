# SPDX-License-Identifier: Apache-2.0
"""The firewall's policy as rules, which are replaced as one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Literal

from weir.kinds.firewall import Firewall
from weir.model.document import Document
from weir.model.objects import Interface
from weir.model.vrf import table_of
from weir.parts.delta import Replaced, Step
from weir.parts.part import ReplacedPart

_ESTABLISHED = ("established", "related")
_NEIGHBOUR_DISCOVERY = (
    "nd-router-solicit",
    "nd-router-advert",
    "nd-neighbor-solicit",
    "nd-neighbor-advert",
)


@dataclass(frozen=True, slots=True)
class FirewallRule:
    """One rule; an empty field matches anything. `family` 0 = both. Rules apply in their order.

    In the chains `input` and `forward` the kernel calls a packet's way in by the name of the VRF, if it is in
    one; `in_members` are those interfaces. `zone` is set for connections by `entry` and `output`, 0 = not.
    `bound` holds in `sources`: so many `connections` (0 = any number) of each source that does not come in by
    an interface of `outside`, and none for a queue that is full.
    """

    chain: Literal["entry", "sources", "input", "forward", "output", "postrouting"]
    verdict: Literal["accept", "drop", "masquerade", "zone", "bound"]
    comment: str
    in_interfaces: tuple[str, ...] = ()
    in_members: tuple[str, ...] = ()
    out_interfaces: tuple[str, ...] = ()
    family: Literal[0, 4, 6] = 0
    ct_states: tuple[str, ...] = ()
    protocol: Literal["", "tcp", "icmp", "icmpv6"] = ""
    icmp_types: tuple[str, ...] = ()
    tcp_ports: tuple[int, ...] = ()
    zone: int = 0
    outside: tuple[str, ...] = ()
    connections: int = 0


Rules = tuple[FirewallRule, ...]


class FirewallPart(ReplacedPart[Rules]):
    name = "firewall"
    made_of = frozenset(("firewall", "interface"))
    after = ("sets",)  # no rule meets a set that is not filled yet

    @property
    def nothing(self) -> Rules:
        return ()

    def wanted(self, document: Document) -> Rules:
        interfaces = sorted(document.interfaces(), key=lambda item: item.id)
        wan = tuple(item.id for item in interfaces if item.role == "wan" and not item.disabled)
        return tuple(_rules(document.single(Firewall), wan, interfaces)) if wan else ()

    def entries(self, wanted: Rules) -> Mapping[FirewallRule, None]:
        return dict.fromkeys(wanted)

    def made(self, delta: Replaced[Rules]) -> Iterator[Step]:
        """A rule set in another order is a change, too."""
        for rule in delta.after:
            if rule not in delta.entries_before:
                yield Step(self.name, "add", "rule", _rule_text(rule))
        if delta.entries_before.keys() == delta.entries_after.keys():
            yield Step(self.name, "change", "rules", "their order")

    def removed(self, delta: Replaced[Rules]) -> Iterator[Step]:
        for rule in delta.before:
            if rule not in delta.entries_after:
                yield Step(self.name, "remove", "rule", _rule_text(rule))


def _rules(policy: Firewall, wan: tuple[str, ...], interfaces: list[Interface]) -> Iterator[FirewallRule]:
    """The policy; and where it has connections tracked, how many each source may have of them."""
    policed = tuple(_in_vrfs(_firewall(policy, wan), interfaces))
    yield from policed
    if policed:
        vrfs = tuple(item.id for item in interfaces if item.vrf_table is not None)
        yield FirewallRule(
            "sources",
            "bound",
            "connections of each source",
            outside=(*wan, *vrfs),
            connections=policy.connections_per_source,
        )


def _in_vrfs(rules: Iterator[FirewallRule], interfaces: list[Interface]) -> Iterator[FirewallRule]:
    """The rules as they have to be where there are VRFs.

    Connections of each VRF have a conntrack zone of their own, as their addresses may be those of others.
    A rule on packets from some interfaces holds for them by both names, whether they are in a VRF or not:
    rules change before interfaces do, and none may be without them meanwhile.
    """
    asked = list(rules)
    vrfs = {item.id: table for item in interfaces if (table := table_of(item)) is not None}
    for vrf, table in vrfs.items():
        members = tuple(item.id for item in interfaces if item.vrf == vrf)
        if members and asked:
            what = f"connections of VRF {vrf}"
            yield FirewallRule("entry", "zone", what, in_interfaces=members, zone=table)
            yield FirewallRule("output", "zone", what, out_interfaces=members, zone=table)
    for rule in asked:
        yield rule
        if vrfs and rule.in_interfaces:
            yield replace(rule, in_interfaces=(), in_members=rule.in_interfaces)


def _firewall(policy: Firewall, wan: tuple[str, ...]) -> Iterator[FirewallRule]:
    """The policy as rules. What is not from a WAN interface passes; without a WAN there are no rules."""
    if policy.drop_new_from_wan:
        yield FirewallRule("input", "accept", "answers to what the router asked", wan, ct_states=_ESTABLISHED)
        yield FirewallRule(
            "input",
            "accept",
            "IPv6 neighbour discovery, without which a WAN has no IPv6",
            wan,
            family=6,
            protocol="icmpv6",
            icmp_types=_NEIGHBOUR_DISCOVERY,
        )
        if policy.allow_ping_from_wan:
            yield FirewallRule(
                "input", "accept", "ping", wan, family=4, protocol="icmp", icmp_types=("echo-request",)
            )
            yield FirewallRule(
                "input", "accept", "ping", wan, family=6, protocol="icmpv6", icmp_types=("echo-request",)
            )
        if policy.allowed_wan_tcp_ports:
            ports = tuple(sorted(policy.allowed_wan_tcp_ports))
            yield FirewallRule("input", "accept", "allowed services", wan, protocol="tcp", tcp_ports=ports)
        yield FirewallRule("input", "drop", "everything else from a WAN to the router", wan)
        yield FirewallRule(
            "forward", "accept", "answers to what was asked inside", wan, ct_states=_ESTABLISHED
        )
        yield FirewallRule("forward", "drop", "everything else from a WAN through the router", wan)
    if policy.masquerade:
        yield FirewallRule(
            "postrouting", "masquerade", "IPv4 leaves with the WAN's address", out_interfaces=wan, family=4
        )


def _rule_text(rule: FirewallRule) -> str:
    interfaces = [
        *(f"from {name}" for name in rule.in_interfaces),
        *(f"from {name} in a VRF" for name in rule.in_members),
        *(f"to {name}" for name in rule.out_interfaces),
        *(f"not from {name}" for name in rule.outside),
    ]
    ports = f" (TCP {', '.join(map(str, rule.tcp_ports))})" if rule.tcp_ports else ""
    family = f" IPv{rule.family}" if rule.family else ""
    number = rule.zone or rule.connections
    verdict = f"{rule.verdict} {number}" if number else rule.verdict
    return f"{rule.chain} {verdict}{family} {' '.join(interfaces)}: {rule.comment}{ports}"


FIREWALL = FirewallPart()
