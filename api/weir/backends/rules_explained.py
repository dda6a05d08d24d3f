# SPDX-License-Identifier: Apache-2.0
"""The rules of one object in the firewall's table, one by one beside what is asked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set

from weir.adapters.nft import Table
from weir.backends.nft_rules import texts
from weir.kinds.dhcp6_server import Dhcpv6Server
from weir.kinds.dhcp_server import DhcpServer
from weir.kinds.firewall import Firewall
from weir.kinds.firewall_rule import FirewallRule
from weir.kinds.management import Management
from weir.kinds.nat_rule import NatRule
from weir.kinds.zone import Zone, ZonePolicy
from weir.model.interface import Interface
from weir.model.objects import ConfigObject
from weir.model.schedule import TimeWindow
from weir.parts.explained import Line
from weir.parts.filter import counter_of as filter_counter
from weir.parts.firewall import rule_text
from weir.parts.nat import counter_of as nat_counter
from weir.parts.rule import PacketRule

_FIELDS = {"masquerade": "masquerade", "zone": "VRFs", "helper": "helpers"}
"""Of the policy, by the verdict of rules that follow from one."""
_NOT_IN_CHAINS = "bound"
"""The verdict that the table of connections does."""


def explain_rules(
    rules: Sequence[PacketRule], closed: Set[TimeWindow], table: Table | None, item: ConfigObject
) -> Iterator[Line]:
    """Those that an interface is named in, that the policy is made of, or that a configured rule became. With
    a window of `closed` they have to be in no chain."""
    found = [rule for rule in rules if rule.verdict != _NOT_IN_CHAINS and _is_of(rule, item)]
    for rule in found:
        chain = None if table is None else table.chains.get(rule.chain)
        is_there = chain is not None and (rule.comment, texts(rule)) in chain.rules
        is_closed = rule.time in closed
        held = f"in chain {rule.chain}" if is_there else f"not in chain {rule.chain}"
        if is_closed:
            held += ": it is outside its hours"
        yield Line(_field_of(rule, item), rule_text(rule), held, is_there != is_closed)
    counter = filter_counter(item.id) if isinstance(item, FirewallRule) else nat_counter(item.id)
    if isinstance(item, (FirewallRule, NatRule)) and not found:
        is_left = table is not None and counter in table.counters
        words = "its counter is still there" if is_left else "there is none"
        yield Line("disabled" if item.disabled else "id", "no rule", words, not is_left)


def explain_bound(connections: int, is_same: bool, uncounted_reason: str) -> Line:
    """The bound that was asked for does not agree where the kernel cannot keep it."""
    compiled = f"{connections} connections of each source" if connections else "connections are not bounded"
    reason = uncounted_reason if connections else ""
    words = reason or f"the table is {'so' if is_same else 'another'}"
    return Line("connections_per_source", compiled, words, is_same and not reason)


def _nat_field(rule: PacketRule) -> str:
    if rule.chain in ("forward", "input"):
        return "allow"
    if rule.verdict == "helper":
        return "to_address"
    return "hairpin" if rule.outside or rule.is_forwarded else "type"


def _is_of(rule: PacketRule, item: ConfigObject) -> bool:
    if isinstance(item, FirewallRule):
        return rule.is_configured and rule.comment == item.id
    if isinstance(item, NatRule):
        return rule.nat == item.id
    if isinstance(item, Interface):
        return rule.made_by == f"interface/{item.id}" or item.id in (
            *rule.in_interfaces,
            *rule.in_members,
            *rule.out_interfaces,
        )
    if isinstance(item, (Zone, ZonePolicy, Management, DhcpServer, Dhcpv6Server)):
        return rule.made_by == f"{item.kind}/{item.id}"
    return isinstance(item, Firewall) and not rule.is_configured and not rule.nat and not rule.made_by


def _field_of(rule: PacketRule, item: ConfigObject) -> str:
    """The field of the object that a rule follows from."""
    if rule.is_configured:
        return "action" if isinstance(item, FirewallRule) else f"firewall rule {rule.comment}"
    if rule.nat:
        return _nat_field(rule) if isinstance(item, NatRule) else f"NAT rule {rule.nat}"
    if isinstance(item, (Zone, ZonePolicy)):
        return "action" if isinstance(item, ZonePolicy) else "reaches"
    if isinstance(item, Management):
        return "sources"
    if isinstance(item, (DhcpServer, Dhcpv6Server)):
        return "relayed" if isinstance(item, DhcpServer) else "interface"
    if isinstance(item, Interface):
        return {"zone": "vrf", "mss": "mss_clamp"}.get(rule.verdict, "role")
    if rule.verdict in _FIELDS:
        return _FIELDS[rule.verdict]
    if rule.tcp_ports:
        return "allowed_wan_tcp_ports"
    return "allow_ping_from_wan" if rule.icmp_types == ("echo-request",) else "drop_new_from_wan"
