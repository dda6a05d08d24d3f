# SPDX-License-Identifier: Apache-2.0
"""The firewall: the compiler's rules as one nftables table, whose chains are changed in one transaction.

Beside it the table of connections (connection_limits.py), which a change of other rules leaves alone.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from weir.adapters import connection_limits, modules, nft
from weir.adapters.connection_limits import Limits
from weir.adapters.nft import Table
from weir.adapters.proc import read_sysctl, write_sysctl
from weir.backends.backend import Comparison, Look, Topic, refuse, step
from weir.backends.firewall_table import FirewallWanted as FirewallWanted
from weir.backends.firewall_table import table_of as table_of
from weir.backends.rule_effects import EVERYBODY, judged_otherwise, kept_out
from weir.backends.rules_explained import explain_bound, explain_rules
from weir.kinds.dhcp_server import DhcpServer
from weir.kinds.firewall import Firewall
from weir.model.objects import ConfigObject
from weir.model.problem import ApplyFailed, Unsupported
from weir.parts.admission import REFUSED
from weir.parts.delta import Replaced, Step
from weir.parts.effect import Effect, for_each
from weir.parts.explained import Line
from weir.parts.filter import rule_of as filter_rule_of
from weir.parts.firewall import Rules, tracks
from weir.parts.nat import rule_of as nat_rule_of
from weir.parts.rule import NAT_CHAINS, PacketRule
from weir.parts.zones import policy_of, zone_of

_FLOW_TIMEOUT = "net/netfilter/nf_flowtable_udp_timeout"
_FLOW_TIMEOUT_S = 15
"""Half of what conntrack gives a UDP connection without an answer (`nf_conntrack_udp_timeout`, 30 s)."""


@dataclass(frozen=True, slots=True)
class FirewallHeld:
    """`limits`: the table of connections as nft prints it, "" = there is none."""

    table: Table | None
    limits: str


@dataclass(frozen=True, slots=True)
class FirewallDifference:
    """`wanted` None: there must be no table of ours. `limits_wanted`: as nft will print `limits`."""

    held: Table | None
    wanted: Table | None
    limits: Limits | None = None
    limits_held: str = ""
    limits_wanted: str = ""

    def __bool__(self) -> bool:
        return self.changes_rules or self.changes_limits

    @property
    def changes_rules(self) -> bool:
        return not nft.agree(self.held, self.wanted)

    @property
    def changes_limits(self) -> bool:
        return self.limits_held != self.limits_wanted

    def steps(self) -> Sequence[Step]:
        found = []
        if self.changes_rules:
            chains = self.wanted.chains.values() if self.wanted else ()
            count = sum(len(chain.rules) for chain in chains)
            found.append(_table_step("the table inet weir", f" with {count} rules", self.held, self.wanted))
        if self.changes_limits:
            name = f"the table inet {connection_limits.TABLE}"
            count = self.limits.connections if self.limits else 0
            words = f" with {count} connections for each source" if count else ""
            found.append(_table_step(name, words, self.limits_held or None, self.limits))
        return found


def _table_step(name: str, words: str, held: object | None, wanted: object | None) -> Step:
    if wanted is None:
        return step("firewall", "remove", "firewall", name)
    if held is None:
        return step("firewall", "add", "firewall", name + words)
    return step("firewall", "change", "firewall", f"{name}{words}")


def _keep_unanswered() -> None:
    """A connection that leaves the flow table keeps its time-out less that of the table
    (nf_flow_table_core.c). Both are 30 s for UDP of which only XDP saw an answer: it and its NAT would be
    forgotten with each change of rules. Without the setting there are no flow tables."""
    held = read_sysctl(_FLOW_TIMEOUT)
    if held is not None and held != str(_FLOW_TIMEOUT_S):
        write_sysctl(_FLOW_TIMEOUT, str(_FLOW_TIMEOUT_S))


class FirewallBackend:
    topics: ClassVar[frozenset[Topic]] = frozenset(("links", "firewall"))
    is_scanned_apart: ClassVar[bool] = False

    def __init__(self) -> None:
        self._learnt: tuple[Limits, str] | None = None
        self._has_flows = True
        self._limits_held: tuple[Sequence[dict[str, Any]], str] = (), ""
        """What was read beside our table, and what of it is the table of connections."""
        self.uncounted_reason = ""
        """Why the kernel does not count connections by source, "" = it does, or nobody asked it to."""
        self.missing_helpers: Sequence[str] = ()
        """What is asked for and this kernel does not have, each in a sentence."""
        self._refused_helpers: dict[str, str] = {}
        """Of each helper that was asked for why the kernel has none, "" = it has."""

    def read(self) -> FirewallHeld:
        found = nft.reading()
        if self._limits_held[0] is not found.others:
            self._limits_held = found.others, connection_limits.held(found.others)
        return FirewallHeld(found.table, self._limits_held[1])

    def look_again(self) -> None:
        """The next reading is nft's, of the whole table, also where netlink told what a change made."""
        nft.look_again()

    def diff(self, held: FirewallHeld, wanted: FirewallWanted) -> FirewallDifference:
        limits = self._possible(limits_of(wanted.rules))
        printed = "" if limits is None else self._print_of(limits)
        table = table_of(wanted)
        self.missing_helpers = self._missing(() if table is None else table.helpers)
        if self.missing_helpers:
            table = table_of(self._without_refused(wanted))
        return FirewallDifference(held.table, table, limits, held.limits, printed)

    def apply(self, difference: FirewallDifference) -> None:
        self._has_flows = True
        if difference.changes_rules:
            if difference.wanted is not None and difference.wanted.flow_devices:
                _keep_unanswered()
            _apply(nft.commands(difference.held, difference.wanted))
        if difference.changes_limits:
            connection_limits.apply(difference.limits)

    def verify(self, difference: FirewallDifference) -> None:
        held = self.read()
        if not nft.agree(held.table, difference.wanted):
            nft.look_again()  # perhaps netlink was not understood
            held = self.read()
        if not nft.agree(held.table, difference.wanted):
            refuse("firewall", [f"the table inet weir: {_first_difference(held.table, difference.wanted)}"])
        nft.is_made_of(held.table, difference.wanted)
        if held.limits != difference.limits_wanted:
            refuse("firewall", [f"the table inet {connection_limits.TABLE} is not as it was written"])

    def counted(self, ids: Collection[str] | None) -> dict[str, dict[str, int]]:
        """Packets and bytes that matched configured rules, of these or of all. Raises as `read`."""
        return _decided(filter_rule_of, ids)

    def connections(self, ids: Collection[str] | None) -> dict[str, dict[str, int]]:
        """Connections that NAT rules translated, of these or of all: only the first packet of one meets them.
        Raises as `read`."""
        return {name: {"connections": int(item["packets"])} for name, item in _counters(nat_rule_of, ids)}

    def zones(self, ids: Collection[str] | None) -> dict[str, dict[str, int]]:
        """What was dropped for want of a right, by zone. Raises as `read`."""
        return _decided(zone_of, ids)

    def policies(self, ids: Collection[str] | None) -> dict[str, dict[str, int]]:
        """What zone policies decided. Raises as `read`."""
        return _decided(policy_of, ids)

    def management(self, _ids: Collection[str] | None) -> dict[str, dict[str, int]]:
        """What came to it from outside of its sources. Raises as `read`."""
        found = dict(_counters(lambda counter: counter if counter == REFUSED else None, None))
        packets = int(found[REFUSED]["packets"]) if found else 0
        return {"management": {"refused_packets": packets}}

    def forget_flows(self) -> None:
        """Connections go up the stack and meet the rules again, which may judge them otherwise now."""
        if self._has_flows:
            table = nft.read_table()
            self._has_flows = table is not None and bool(table.flow_devices)
            if table is not None and self._has_flows:
                nft.apply(nft.flow_reset(table))

    def effects(self, look: Look[FirewallHeld, FirewallWanted, FirewallDifference]) -> Iterator[Effect]:
        """Rules change in one transaction, and connections that are tracked go on under new ones;
        unless they are tracked elsewhere, or no more, or from now on only."""
        delta: Replaced[Rules] | None = look.delta
        text = "" if delta is None else _cost(delta.before, delta.after)
        if text:
            objects = look.changed_of(
                "firewall", "zone", "zone-policy", "nat-rule", "interface", "firewall-rule"
            )
            yield from for_each(objects, "drops-sessions", text, sessions=look.sessions(EVERYBODY))
        if delta is not None:
            yield from judged_otherwise(delta, look)
            yield from kept_out(delta, look)

    def explain(
        self,
        found: Comparison[FirewallHeld, FirewallWanted, FirewallDifference],
        item: ConfigObject,
        told: Sequence[str],
    ) -> Iterator[Line]:
        """The rules that the object is in, and the table as a whole, whose order counts. What is in sets is
        said by them. A certificate is in none: it only keeps a port open. DHCP for hosts on a link
        passes before all of them."""
        if item.kind in ("set", "set-entry", "certificate"):
            return
        if isinstance(item, DhcpServer) and item.relayed is None:
            return
        rules, difference, table = found.wanted.rules, found.difference, found.held.table
        yield from explain_rules(rules, found.wanted.closed, table, item)
        if isinstance(item, Firewall):
            for reason in self._missing(_helpers(rules)):
                yield Line("helpers", "a helper of connections", reason, False)
        if difference.limits is not None and item.kind in ("firewall", "interface"):
            asked = limits_of(rules)
            same = not difference.changes_limits
            yield explain_bound(asked.connections if asked else 0, same, self.uncounted_reason)
        wanted, changes = difference.wanted, difference.changes_rules
        count = 0 if wanted is None else sum(len(chain.rules) for chain in wanted.chains.values())
        words = _first_difference(table, wanted) if changes else "it is so"
        yield Line("the table inet weir", f"{count} rules" if count else "none", words, not changes)

    def refuse_missing(self, delta: Replaced[Rules]) -> None:
        """Raise `Unsupported` for a helper that no rule named before, and that the kernel does not have."""
        if (asked := _helpers(delta.entries_after)) and (new := asked - _helpers(delta.before)):
            for reason in self._missing(new):
                raise Unsupported(reason, code="no-helper", path="firewall/firewall/helpers")

    def _missing(self, names: Iterable[str]) -> list[str]:
        """Those that the kernel does not have, each in a sentence."""
        return [
            f"this kernel has no helper {name.replace('_', ' for ')}: {reason}"
            for name in sorted(names)
            if (reason := self._refused_helper(name))
        ]

    def _refused_helper(self, name: str) -> str:
        if name not in self._refused_helpers:
            modules.load_helper(name.partition("_")[0])
            self._refused_helpers[name] = nft.refused_helper(name)
        return self._refused_helpers[name]

    def _without_refused(self, wanted: FirewallWanted) -> FirewallWanted:
        """Without the rules whose helpers this kernel lacks, as after an update: a commit refuses them, and a
        router that starts has its other rules."""
        kept = (
            rule for rule in wanted.rules if rule.verdict != "helper" or not self._refused_helper(rule.target)
        )
        return replace(wanted, rules=tuple(kept))

    def _possible(self, limits: Limits | None) -> Limits | None:
        """Without the bound where the kernel cannot count: that is told, and no commit fails for it."""
        if limits is None or not limits.connections:
            return limits
        if self._learnt is None:
            self.uncounted_reason = connection_limits.unsupported_reason()
        return replace(limits, connections=0) if self.uncounted_reason else limits

    def _print_of(self, limits: Limits) -> str:
        if self._learnt is None or self._learnt[0] != limits:
            self._learnt = (limits, connection_limits.expected(limits))
        return self._learnt[1]


def _helpers(rules: Iterable[PacketRule]) -> set[str]:
    return {rule.target for rule in rules if rule.verdict == "helper"}


def _decided(rule_of: Callable[[str], str | None], ids: Collection[str] | None) -> dict[str, dict[str, int]]:
    return {
        name: {"packets": int(item["packets"]), "bytes": int(item["bytes"])}
        for name, item in _counters(rule_of, ids)
    }


def _counters(
    rule_of: Callable[[str], str | None], ids: Collection[str] | None
) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """What the counters of some rules say, by the rules' ids."""
    for item in nft.of_table(nft.TABLE, nft.counted_ruleset()):
        name = rule_of(str(item["counter"]["name"])) if "counter" in item else None
        if name is not None and (ids is None or name in ids):
            yield name, item["counter"]


def _apply(steps: Sequence[nft.Command]) -> None:
    """Raises `ApplyFailed` that names the rule which the kernel does not take."""
    try:
        nft.apply(steps)
    except ApplyFailed as problem:
        name = nft.refused_rule(steps)
        if not name:
            raise
        text = f"the kernel refuses the firewall rule {name}: {problem.message}"
        raise ApplyFailed(text, code="rule-refused", path="firewall") from problem


def _cost(before: Rules, after: Rules) -> str:
    """Why sessions end when one rule set takes the place of another; "" = they do not."""
    translates = [any(rule.chain in NAT_CHAINS for rule in rules) for rules in (before, after)]
    zones = [[rule for rule in rules if rule.verdict == "zone"] for rules in (before, after)]
    if not _tracks(before) and _tracks(after):
        return "connections are tracked from now on, and those that exist may be taken for new ones"
    if translates[0] and not translates[1]:
        return "connections that were given another address lose it"
    if _tracks(before) and _tracks(after) and zones[0] != zones[1]:
        return "connections of a VRF are tracked apart from now on, and those that exist may be new ones then"
    return ""


def _tracks(rules: Rules) -> bool:
    """Whether these make the kernel track connections."""
    return any(map(tracks, rules))


def limits_of(rules: Sequence[PacketRule]) -> Limits | None:
    """How many connections a source may have; None where none are tracked."""
    rule = next((rule for rule in rules if rule.verdict == "bound"), None)
    return None if rule is None else Limits(rule.outside, rule.connections)


def _first_difference(held: Table | None, wanted: Table | None) -> str:
    if held is None or wanted is None:
        return "it is not there" if held is None else "it is still there"
    if held.flow_devices != wanted.flow_devices:
        return f"its flow table has the devices {held.flow_devices}, not {wanted.flow_devices}"
    for name in sorted(held.chains.keys() | wanted.chains.keys()):
        chain, other = held.chains.get(name), wanted.chains.get(name)
        if chain is None or other is None:
            return f"chain {name} {'is not there' if chain is None else 'is still there'}"
        for found, asked in zip(chain.rules, other.rules, strict=False):
            if found != asked:
                return f"chain {name} holds {found} in place of {asked}"
        if len(chain.rules) != len(other.rules):
            return f"chain {name} has {len(chain.rules)} rules in place of {len(other.rules)}"
    return "its counters, helpers or sets are others"
