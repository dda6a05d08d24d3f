# SPDX-License-Identifier: Apache-2.0
"""The firewall: the compiler's rules as one nftables table, replaced as a whole in one transaction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from weir.adapters import nft
from weir.adapters.nft import Chain, Expression, Table
from weir.backends.backend import refuse, step
from weir.compiler.types import FirewallRule, Step

_CHAINS = (
    # Before connections are looked up (-200): the zone says where.
    ("entry", "filter", "prerouting", -300),
    ("output", "filter", "output", -300),
    ("input", "filter", "input", 0),
    ("forward", "filter", "forward", 0),
    ("postrouting", "nat", "postrouting", 100),
)
_PROTOCOL = {"icmp": "icmp", "icmpv6": "ipv6-icmp"}
_OFFLOADED = ("tcp", "udp")


@dataclass(frozen=True, slots=True)
class FirewallWanted:
    """The rules, and the ports that forward established connections in XDP (sorted; none: no flow table)."""

    rules: tuple[FirewallRule, ...]
    flow_devices: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FirewallDifference:
    """`wanted` None: there shall be no table of ours."""

    held: Table | None
    wanted: Table | None

    def __bool__(self) -> bool:
        return self.held != self.wanted

    def steps(self) -> Sequence[Step]:
        if not self:
            return []
        if self.wanted is None:
            return [step("firewall", "remove", "firewall", "the table inet weir")]
        rules = sum(len(chain.rules) for chain in self.wanted.chains)
        action, was = ("add", "") if self.held is None else ("change", ", replacing what was there")
        return [step("firewall", action, "firewall", f"the table inet weir with {rules} rules{was}")]  # type: ignore[arg-type]


class FirewallBackend:
    def read(self) -> Table | None:
        return nft.read_table()

    def diff(self, held: Table | None, wanted: FirewallWanted) -> FirewallDifference:
        return FirewallDifference(held, table_of(wanted))

    def apply(self, difference: FirewallDifference) -> None:
        wanted = difference.wanted
        commands = nft.remove_commands() if wanted is None else nft.replace_commands(wanted)
        nft.check(commands)
        nft.apply(commands)

    def verify(self, difference: FirewallDifference) -> None:
        held = self.read()
        if held != difference.wanted:
            refuse("firewall", [f"the table inet weir: {_first_difference(held, difference.wanted)}"])


def table_of(wanted: FirewallWanted) -> Table | None:
    """Our table for these rules; None for none. Chains without rules are left out: they cost packets."""
    if not wanted.rules:
        return None
    chains = []
    for name, kind, hook, priority in _CHAINS:
        own = [_rule(rule) for rule in wanted.rules if rule.chain == name]
        if name == "forward" and wanted.flow_devices:
            own.insert(0, _flow_rule())
        if own:
            chains.append(Chain(name, kind, hook, priority, "accept", tuple(own)))
    return Table(tuple(chains), wanted.flow_devices)


def _flow_rule() -> tuple[str, tuple[str, ...]]:
    """First in the chain: a connection gets that far only after its first packet passed all the rules."""
    expressions = [_match({"meta": {"key": "l4proto"}}, {"set": list(_OFFLOADED)}), nft.flow_expression()]
    return "connections that XDP may forward", tuple(map(nft.canonical, expressions))


def _rule(rule: FirewallRule) -> tuple[str, tuple[str, ...]]:
    return rule.comment, tuple(map(nft.canonical, _expressions(rule)))


def _expressions(rule: FirewallRule) -> list[Expression]:
    """In the form in which nft prints them, so that what is read back compares equal."""
    found: list[Expression] = []
    sides = (
        ("iifname", rule.in_interfaces),
        ("sdifname", rule.in_members),
        ("oifname", rule.out_interfaces),
    )
    for key, names in sides:
        if names:
            found.append(_match({"meta": {"key": key}}, {"set": list(names)}))
    if rule.family and rule.protocol != "icmpv6" and rule.protocol != "icmp":
        found.append(_match({"meta": {"key": "nfproto"}}, f"ipv{rule.family}"))
    if rule.ct_states:
        found.append(_match({"ct": {"key": "state"}}, list(rule.ct_states), "in"))
    if rule.icmp_types:
        payload = {"payload": {"protocol": rule.protocol, "field": "type"}}
        found.append(_match(payload, {"set": list(rule.icmp_types)}))
    elif rule.protocol in _PROTOCOL:
        found.append(_match({"meta": {"key": "l4proto"}}, _PROTOCOL[rule.protocol]))
    if rule.tcp_ports:
        found.append(
            _match({"payload": {"protocol": "tcp", "field": "dport"}}, {"set": list(rule.tcp_ports)})
        )
    elif rule.protocol == "tcp":
        found.append(_match({"meta": {"key": "l4proto"}}, "tcp"))
    if rule.verdict == "zone":
        return [*found, {"mangle": {"key": {"ct": {"key": "zone"}}, "value": rule.zone}}]
    return [*found, {rule.verdict: None}]


def _match(left: Expression, right: object, operator: str = "==") -> Expression:
    return {"match": {"op": operator, "left": left, "right": right}}


def _first_difference(held: Table | None, wanted: Table | None) -> str:
    if held is None or wanted is None:
        return "it is not there" if held is None else "it is still there"
    if held.flow_devices != wanted.flow_devices:
        return f"its flow table has the devices {held.flow_devices}, not {wanted.flow_devices}"
    for chain, other in zip(held.chains, wanted.chains, strict=False):
        if chain != other:
            for found, asked in zip(chain.rules, other.rules, strict=False):
                if found != asked:
                    return f"chain {chain.name} holds {found} in place of {asked}"
            return f"chain {chain.name} has {len(chain.rules)} rules in place of {len(other.rules)}"
    return f"{len(held.chains)} chains in place of {len(wanted.chains)}"
