# SPDX-License-Identifier: Apache-2.0
"""The firewall's policy as rules, which are replaced as one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from hashlib import blake2s

from weir.kinds.firewall import Firewall
from weir.kinds.sets import SetEntry
from weir.kinds.ssh_server import SshServer
from weir.kinds.zone import Zone, ZonePolicy
from weir.model.document import Change, Document
from weir.model.interface import Interface
from weir.model.rule import LINK_LOCAL
from weir.model.schedule import window_text
from weir.model.vrf import table_of
from weir.parts.admission import admitted
from weir.parts.delta import Replaced, Step, common_ends
from weir.parts.dhcp import questions_of_relays
from weir.parts.dhcp6 import questions_of_clients
from weir.parts.dhcp_relay import answers_to_relays
from weir.parts.expectations import from_inside
from weir.parts.filter import OUTGOING, Lengths, configured
from weir.parts.mss import clamped
from weir.parts.nat import around, translated
from weir.parts.part import ReplacedPart
from weir.parts.rule import (
    BEFORE_TRACKING,
    FIXED_COUNTERS,
    HELPERS,
    NAT_CHAINS,
    PacketRule,
    SourceBound,
    led_to,
)
from weir.parts.sets import head_of
from weir.parts.ssh import ssh_in
from weir.parts.tunnels import let_in
from weir.parts.zones import ESTABLISHED, NEIGHBOUR_DISCOVERY, Zones, apart, between, to_router, without_zone

DHCPV6_CLIENT_PORT = 546
_COUNTED = ("accept", "masquerade", "helper")
_NAMED = 4
"""So many networks of a rule are named where it is told."""


class Rules(tuple[PacketRule, ...]):
    """The rules in their order, and which sets they were made with: a change of one entry among 100,000 looks
    at no other."""

    lengths: Lengths

    @classmethod
    def of(cls, rules: Iterator[PacketRule], lengths: Lengths) -> Rules:
        made = cls(rules)
        made.lengths = lengths
        return made


class FirewallPart(ReplacedPart[Rules]):
    name = "firewall"
    made_of = frozenset(
        (
            "firewall",
            "interface",
            "zone",
            "zone-policy",
            "dhcp-relay",
            "dhcp-server",
            "dhcpv6-server",
            "firewall-rule",
            "nat-rule",
            "service",
            "set",
            "set-entry",
            "ssh-server",
            "management",
            "certificate",
        )
    )
    after = ("sets",)  # no rule meets a set that is not filled yet

    @property
    def nothing(self) -> Rules:
        return Rules.of(iter(()), {})

    def wanted(self, document: Document) -> Rules:
        enabled = (entry for entry in document.every(SetEntry) if not entry.disabled)
        return _wanted(document, Counter(head_of(entry.set, entry.value) for entry in enabled))

    def moved(
        self, before: Rules, document: Document, changes: Sequence[Change]
    ) -> tuple[Rules, Replaced[Rules]]:
        if self.made_of.isdisjoint(change.kind for change in changes):
            return before, self.delta(before, before)
        after = _wanted(document, _moved(before.lengths, changes))
        return after, self.delta(before, after)

    def delta(self, before: Rules, after: Rules) -> Replaced[Rules]:
        """Its entries are the rules between those that are the same at both ends."""
        start, end = common_ends(before, after)
        old, new = before[start : len(before) - end], after[start : len(after) - end]
        return Replaced(before, after, self.entries(old), self.entries(new))

    def entries(self, wanted: Sequence[PacketRule]) -> Mapping[PacketRule, None]:
        return dict.fromkeys(wanted)

    def made(self, delta: Replaced[Rules]) -> Iterator[Step]:
        """A rule set in another order is a change, too."""
        for rule in delta.entries_after:
            if rule not in delta.entries_before:
                yield Step(self.name, "add", "rule", rule_text(rule))
        if delta.entries_before.keys() == delta.entries_after.keys():
            yield Step(self.name, "change", "rules", "their order")

    def removed(self, delta: Replaced[Rules]) -> Iterator[Step]:
        for rule in delta.entries_before:
            if rule not in delta.entries_after:
                yield Step(self.name, "remove", "rule", rule_text(rule))


def _wanted(document: Document, lengths: Lengths) -> Rules:
    return Rules.of(map(_with_counter, _all_rules(document, lengths)), lengths)


def _with_counter(rule: PacketRule) -> PacketRule:
    """What passes by a rule that nobody typed is counted, too. What there is of it in the kernel more than
    once, such as for each family, has counters of its own; but for the two names of packets in VRFs."""
    if rule.counter or rule.bounds or rule.verdict not in _COUNTED:
        return rule
    tells = [rule.verdict, rule.comment, str(rule.family), rule.made_by, rule.nat, rule.protocol]
    tells += [rule.target, str(bool(rule.outside))] if rule.target else []
    tail = blake2s("\0".join(tells).encode(), digest_size=6).hexdigest()
    return replace(rule, counter=f"{FIXED_COUNTERS}{rule.chain}_{tail}")


def _is_policed(document: Document, policy: Firewall) -> bool:
    """Whether something may drop what a port forward lets in: the policy, a zone or what people forbade."""
    return policy.drop_new_from_wan or any(
        not getattr(item, "disabled", False) for kind in (Zone, ZonePolicy) for item in document.every(kind)
    )


def _all_rules(document: Document, lengths: Lengths) -> Iterator[PacketRule]:
    """Whom the router lets in first, what people configured, and behind it what follows from zones, and the
    policy, which needs a WAN."""
    interfaces = sorted(document.interfaces(), key=lambda item: item.id)
    wan = tuple(item.id for item in interfaces if item.role == "wan" and not item.disabled)
    policy = document.single(Firewall)
    here = around(document, policy.helpers, is_policed=bool(wan) and _is_policed(document, policy))
    own = [*configured(document, lengths), *translated(document, lengths, here)]
    made = policed(document)
    tracked = any(map(tracks, (*own, *made)))
    yield from admitted(document, own)
    if any(rule.chain == "input" for rule in (*own, *made)):
        yield from questions_of_clients(document)
    if tracked and any(rule.verdict == "notrack" for rule in own):
        yield from _left_untracked(interfaces)
    yield from _in_vrfs(iter(own), interfaces, zones=tracked and not made)
    yield from _in_vrfs(iter(made), interfaces, zones=tracked)
    if tracked:
        yield from from_inside(policy.helpers, Zones.of(interfaces))
    yield from _in_vrfs(clamped(document, interfaces), interfaces, zones=False)
    if any(map(tracks, made)):
        vrfs = tuple(item.id for item in interfaces if item.vrf_table is not None)
        yield PacketRule(
            "sources",
            "bound",
            "connections of each source",
            outside=(*wan, *vrfs),
            connections=policy.connections_per_source,
        )


def policed(document: Document) -> list[PacketRule]:
    """What follows from zones and the policy, behind all rules of people's."""
    interfaces = sorted(document.interfaces(), key=lambda item: item.id)
    wan = tuple(item.id for item in interfaces if item.role == "wan" and not item.disabled)
    return list(_made(document, document.single(Firewall), wan, interfaces))


def _left_untracked(interfaces: list[Interface]) -> Iterator[PacketRule]:
    """To set a zone has the kernel track a packet that was not to be: `nft_ct_set_zone_eval` of
    net/netfilter/nft_ct.c (6.12) looks for a connection, and not for that."""
    if any(item.vrf_table is not None for item in interfaces):
        yield PacketRule("entry", "accept", "what is not tracked has no zone", ct_states=("untracked",))


def tracks(rule: PacketRule) -> bool:
    """Whether a rule makes the kernel track connections."""
    return bool(rule.ct_states or rule.ct_nat) or rule.chain in NAT_CHAINS


def _moved(before: Lengths, changes: Sequence[Change]) -> Lengths:
    after = Counter(before)
    for change in changes:
        for entry, step in ((change.old, -1), (change.new, 1)):
            if isinstance(entry, SetEntry) and not entry.disabled:
                after[head_of(entry.set, entry.value)] += step
    return +after


def _tunnels(interfaces: list[Interface]) -> Iterator[PacketRule]:
    """What comes to the router for its tunnels, by any interface as yet. Who a peer of WireGuard is its key
    says, so it may come from anywhere."""
    open_ports = sorted(
        item.wireguard.listen_port for item in interfaces if item.wireguard is not None and not item.disabled
    )
    if open_ports:
        yield PacketRule("input", "accept", "tunnels", protocol="udp", ports=tuple(map(str, open_ports)))
    yield from let_in(interfaces)


def _made(
    document: Document, policy: Firewall, wan: tuple[str, ...], interfaces: list[Interface]
) -> Iterator[PacketRule]:
    """What follows from zones and the policy. Zone policies come before what is dropped from a WAN."""
    zones = Zones.of(interfaces)
    tunnels = tuple(_tunnels(interfaces))
    yield from without_zone(zones)
    yield from to_router(document, zones, tunnels)
    yield from between(document, zones)
    if wan:
        asking = tuple(item.id for item in interfaces if item.id in wan and item.dhcpv6 is not None)
        ssh = document.single(SshServer)
        relayed = (*answers_to_relays(document), *questions_of_relays(document))
        yield from _firewall(policy, wan, (*_services(policy, ssh), *tunnels, *relayed), asking)
    yield from apart(zones)


def _services(policy: Firewall, ssh: SshServer) -> Iterator[PacketRule]:
    """The allowed TCP ports. That of the SSH server is open to its sources alone."""
    allowed = set(policy.allowed_wan_tcp_ports)
    rules = list(ssh_in(ssh)) if ssh.sources and ssh.port in allowed else []
    others = allowed - {ssh.port} if rules else allowed
    if others:
        yield PacketRule(
            "input", "accept", "allowed services", protocol="tcp", tcp_ports=tuple(sorted(others))
        )
    yield from rules


def _in_vrfs(
    rules: Iterator[PacketRule], interfaces: list[Interface], *, zones: bool = True
) -> Iterator[PacketRule]:
    """The rules as they have to be where there are VRFs.

    Connections of each VRF have a conntrack zone of their own, as their addresses may be those of others.
    A rule on packets from some interfaces holds for them by both names, whether they are in a VRF or not:
    rules change before interfaces do, and none may be without them meanwhile. Not where packets come in, as
    they have no other name yet, nor where the router sends them: the kernel takes no such rule there
    (`nft_meta_get_validate_sdif` of net/netfilter/nft_meta.c), nor in chains to which rules lead from there.
    """
    asked = list(rules)
    with_one_name = led_to(asked, BEFORE_TRACKING, HELPERS, OUTGOING, *NAT_CHAINS)
    vrfs = {item.id: table for item in interfaces if (table := table_of(item)) is not None}
    for vrf, table in vrfs.items():
        members = tuple(item.id for item in interfaces if item.vrf == vrf)
        if members and asked and zones:
            what = f"connections of VRF {vrf}"
            yield PacketRule("entry", "zone", what, in_interfaces=members, zone=table)
            yield PacketRule("output", "zone", what, out_interfaces=members, zone=table)
    for rule in asked:
        if not vrfs or rule.chain in with_one_name:
            yield rule
        else:
            yield from _by_either_name(rule)


def _by_either_name(rule: PacketRule) -> Iterator[PacketRule]:
    """Packets come in by an interface, or by one of a set, that is either of their names. Of those that a
    rule turns round neither may be."""
    ways = [rule]
    if "in_interfaces" in rule.negated:
        ways = [replace(rule, in_members=rule.in_interfaces)]
    elif rule.in_interfaces:
        ways.append(replace(rule, in_interfaces=(), in_members=rule.in_interfaces))
    for found in map(_by_no_name, ways):
        yield found
        by_member = tuple(
            lookup._replace(what="sdifname") if lookup.what == "iifname" and not lookup.negated else lookup
            for lookup in found.lookups
        )
        if by_member != found.lookups:
            yield replace(found, lookups=by_member)


def _by_no_name(rule: PacketRule) -> PacketRule:
    """What does not come in by an interface of a set does so by neither of its names."""
    found = [
        lookup._replace(what="sdifname")
        for lookup in rule.lookups
        if lookup.what == "iifname" and lookup.negated
    ]
    return replace(rule, lookups=(*rule.lookups, *found)) if found else rule


def _firewall(
    policy: Firewall, wan: tuple[str, ...], let_in: Sequence[PacketRule], asking: tuple[str, ...]
) -> Iterator[PacketRule]:
    """The policy as rules. Without a WAN there are no rules of it. `let_in` are rules for what comes to the
    router by any interface; `asking` are WANs with DHCPv6."""
    if policy.drop_new_from_wan:
        yield PacketRule("input", "accept", "answers to what the router asked", wan, ct_states=ESTABLISHED)
        yield PacketRule(
            "input",
            "accept",
            "IPv6 neighbour discovery, without which a WAN has no IPv6",
            wan,
            family=6,
            protocol="icmpv6",
            icmp_types=NEIGHBOUR_DISCOVERY,
        )
        if asking:  # a question goes to a group, so no connection knows the answer
            yield PacketRule(
                "input",
                "accept",
                "answers of DHCPv6 servers beside a WAN",
                asking,
                family=6,
                protocol="udp",
                sources=(LINK_LOCAL.text,),
                destinations=(LINK_LOCAL.text,),
                ports=(str(DHCPV6_CLIENT_PORT),),
            )
        if policy.allow_ping_from_wan:
            yield PacketRule(
                "input", "accept", "ping", wan, family=4, protocol="icmp", icmp_types=("echo-request",)
            )
            yield PacketRule(
                "input", "accept", "ping", wan, family=6, protocol="icmpv6", icmp_types=("echo-request",)
            )
        yield from (replace(rule, in_interfaces=wan) for rule in let_in)
        text = "everything else from a WAN to the router"
        yield PacketRule("input", "drop", text, wan, counter=f"{FIXED_COUNTERS}wan_router")
        yield PacketRule("forward", "accept", "answers to what was asked inside", wan, ct_states=ESTABLISHED)
        text = "everything else from a WAN through the router"
        yield PacketRule("forward", "drop", text, wan, counter=f"{FIXED_COUNTERS}wan_through")
    if policy.masquerade:
        yield PacketRule(
            "postrouting", "masquerade", "IPv4 leaves with the WAN's address", out_interfaces=wan, family=4
        )


def rule_text(rule: PacketRule) -> str:
    """A rule in words."""
    came = "not from" if "in_interfaces" in rule.negated else "from"
    leaves = "not to" if "out_interfaces" in rule.negated else "to"
    interfaces = [
        *(f"{came} {name}" for name in rule.in_interfaces),
        *(f"{came} {name} in a VRF" for name in rule.in_members),
        *(f"{leaves} {name}" for name in rule.out_interfaces),
        *(f"not from {name}" for name in rule.outside),
    ]
    where = "".join(f" {word}" for word in (*interfaces, rule.target) if word)
    hours = f", at {window_text(rule.time)}" if rule.time is not None else ""
    if rule.nat:
        port = f" port {rule.to_port}" if rule.to_port else ""
        new = f" to {rule.to}{port}" if rule.to else port and f" to{port}"
        return f"{rule.chain} {rule.verdict}{where}: {rule.comment}{new}{hours}"
    only = ", new connections only" if rule.ct_states == ("new",) else ""
    only += "".join(f", each source up to {bound_text(bound)}" for bound in rule.bounds)
    only += f", at most {rule.rate_per_s} a second" if rule.rate_per_s else ""
    only += hours
    numbers = ", ".join([*map(str, rule.tcp_ports), *rule.ports])
    ports = f" ({rule.protocol.upper()} {numbers})" if numbers else ""
    if rule.is_configured:
        return f"{rule.chain} {rule.verdict}{where}: rule {rule.comment}{only}"
    family = f" IPv{rule.family}" if rule.family else ""
    number = rule.zone or rule.connections or rule.mss
    verdict = f"{rule.verdict} {number}" if number else rule.verdict
    networks = f" from {_some(rule.sources)}" if rule.sources else ""
    if rule.verdict == "helper" and rule.destinations:
        networks += f" to {_some(rule.destinations)}"
    return f"{rule.chain} {verdict}{family}{where}: {rule.comment}{networks}{ports}{only}"


def _some(networks: Sequence[str]) -> str:
    others = len(networks) - _NAMED
    return ", ".join(networks[:_NAMED]) + (f" and {others} more" if others > 0 else "")


def bound_text(bound: SourceBound) -> str:
    """What a source may have, in words."""
    if bound.connections:
        return f"{bound.connections} connections at once"
    return f"{bound.rate} packets a {bound.per}"


FIREWALL = FirewallPart()
