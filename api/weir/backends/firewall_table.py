# SPDX-License-Identifier: Apache-2.0
"""The compiler's rules as the nftables table that they are to be."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from weir.adapters import nft
from weir.adapters.nft import Chain, Table
from weir.adapters.nft_canonical import Expression, canonical
from weir.adapters.nft_commands import Rule
from weir.adapters.nft_turns import first_direction, other_direction
from weir.backends.nft_rules import match, texts
from weir.backends.remembered import Remembered
from weir.model.schedule import TimeWindow
from weir.parts.delta import common_ends
from weir.parts.filter import OUTGOING
from weir.parts.rule import BEFORE_TRACKING, CLAMP, HELPERS, NAT_CHAINS, PacketRule, led_to
from weir.parts.zones import NO_ZONES

_CHAINS = (
    # Before a zone is said: what has one is tracked.
    (BEFORE_TRACKING, "filter", "prerouting", -310),
    # Before connections are looked up (-200): the zone says where.
    ("entry", "filter", "prerouting", -300),
    ("output", "filter", "output", -300),
    (OUTGOING, "filter", "output", 0),
    # Behind that and what bounds connections (-150), before NAT.
    (HELPERS, "filter", "prerouting", -140),
    ("prerouting", "nat", "prerouting", -100),
    (CLAMP, "filter", "forward", -150),
    ("input", "filter", "input", 0),
    ("forward", "filter", "forward", 0),
    ("postrouting", "nat", "postrouting", 100),
)
_ELSEWHERE = frozenset({"sources"})
"""Done by the table of connections."""
_OFFLOADED = ("tcp", "udp")
_MAY_FLOW = ("", *_OFFLOADED, "tcp-udp")
"""Protocols of a rule whose packets may be of a connection in the flow table."""
_TRACK = ("zone", "helper", "masquerade", "snat", "dnat", "redirect")
_TRACKING_RULE = (
    "connections are tracked outside hours, too",
    (canonical(match({"ct": {"key": "state"}}, "new", "in")),),
)


@dataclass(frozen=True, slots=True)
class FirewallWanted:
    """The rules, and the ports that forward established connections in XDP (sorted; none: no flow table).

    Rules with a window of `closed` are not in force now: they keep their counters (docs/adr/0202).
    """

    rules: tuple[PacketRule, ...]
    flow_devices: tuple[str, ...]
    closed: frozenset[TimeWindow] = frozenset()

    @property
    def in_force(self) -> Iterator[PacketRule]:
        """Those that packets meet now. A rule in its hours is the same as one that has none."""
        for rule in self.rules:
            if rule.time is None:
                yield rule
            elif rule.time not in self.closed:
                yield replace(rule, time=None)


def table_of(wanted: FirewallWanted) -> Table | None:
    """Our table for these rules; None for none. Chains without rules are left out: they cost packets."""
    return _table(wanted)


def _made(wanted: FirewallWanted) -> Table | None:
    if not wanted.rules:
        return None
    filled: dict[str, list[PacketRule]] = {}
    for rule in wanted.in_force:
        filled.setdefault(rule.chain, []).append(rule)
        if rule.verdict in ("jump", "goto"):
            filled.setdefault(rule.target, [])
    for rule in wanted.rules:
        if rule.chain in NAT_CHAINS:
            # Without a chain the kernel translates no more, connections that exist neither.
            filled.setdefault(rule.chain, [])
    tracking = _tracking_chain(wanted)
    if tracking:
        filled.setdefault(tracking, [])
    hooks = {name: (kind, hook, priority) for name, kind, hook, priority in _CHAINS}
    chains = {}
    for name, rules in filled.items():
        lines = _lines.of(name, rules)
        if name == tracking:
            lines.append(_TRACKING_RULE)
        if name == "forward" and wanted.flow_devices:
            place = _flow_place(rules)
            waits = _may_end(rules[:place], filled) or _stops_before_tracking(filled)
            lines[place:place] = _flow_rules(waits)
        if name in hooks:
            chains[name] = Chain(name, *hooks[name], "accept", tuple(lines))
        elif name not in _ELSEWHERE:
            chains[name] = Chain(name, "", "", 0, "", tuple(lines))
    _lines.forget_others(filled)
    if wanted.flow_devices and "forward" not in chains:
        chains["forward"] = Chain("forward", *hooks["forward"], "accept", tuple(_flow_rules(False)))
    counters = frozenset(rule.counter for rule in wanted.rules if rule.counter)
    helpers = frozenset(rule.target for rule in wanted.rules if rule.verdict == "helper")
    return Table(chains, wanted.flow_devices, counters, helpers=helpers)


_table = Remembered(_made)


class _Lines:
    """The rules of chains as nft has them, of which those are made that were others when it was last asked: a
    look-up of each of 2,000 takes more than a millisecond."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[list[PacketRule], list[Rule]]] = {}

    def of(self, chain: str, rules: list[PacketRule]) -> list[Rule]:
        """A list of one's own."""
        before, lines = self._known.get(chain, ([], []))
        start, end = common_ends(before, rules)
        made = [(rule.comment, texts(rule)) for rule in rules[start : len(rules) - end]]
        found = [*lines[:start], *made, *lines[len(lines) - end :]]
        self._known[chain] = rules, found
        return found.copy()

    def forget_others(self, chains: Collection[str]) -> None:
        """Than these."""
        self._known = {name: known for name, known in self._known.items() if name in chains}


_lines = _Lines()


def _tracking_chain(wanted: FirewallWanted) -> str:
    """Where a rule has to stand that does nothing but make the kernel track connections, as those that need
    it are all outside their hours; "" = nowhere. When their hours begin, connections that exist are known."""
    if any(map(_makes_track, wanted.in_force)):
        return ""
    return next((rule.chain for rule in wanted.rules if _makes_track(rule)), "")


def _makes_track(rule: PacketRule) -> bool:
    """Whether the kernel tracks connections because of this rule: it looks at them, or changes them."""
    return bool(rule.ct_states or rule.ct_nat) or rule.is_forwarded or rule.verdict in _TRACK


def _flow_place(rules: Sequence[PacketRule]) -> int:
    """Behind what people configured and what may pass nothing: what is dropped is not known to XDP. Or
    before a rule of theirs that accepts all that is established, behind which no rule sees it."""
    for place, rule in enumerate(rules):
        if rule.made_by == NO_ZONES and rule.verdict == "drop":
            continue
        if not rule.is_configured or _accepts_established(rule):
            return place
    return len(rules)


def _accepts_established(rule: PacketRule) -> bool:
    plain = PacketRule(rule.chain, "accept", rule.comment, ct_states=rule.ct_states, counter=rule.counter)
    return rule == plain and "established" in rule.ct_states


def _may_end(rules: Sequence[PacketRule], chains: Mapping[str, Sequence[PacketRule]]) -> bool:
    """Whether one of these, or of those that they lead to, refuses packets of connections that exist: it may
    see only one direction of them."""
    first = {rule.target for rule in rules if rule.verdict in ("jump", "goto")}
    reached = led_to(chain.from_iterable(chains.values()), *first)
    asked = chain(rules, *(chains.get(name, ()) for name in reached))
    return any(
        rule.verdict in ("drop", "reject")
        and rule.made_by != NO_ZONES
        and (not rule.ct_states or "established" in rule.ct_states)
        for rule in asked
    )


def _stops_before_tracking(chains: Mapping[str, Sequence[PacketRule]]) -> bool:
    """Whether packets of a connection may be stopped, or be tracked no more, before it is looked up."""
    reached = led_to(chain.from_iterable(chains.values()), BEFORE_TRACKING)
    asked = chain.from_iterable(chains.get(name, ()) for name in reached)
    return any(rule.verdict in ("drop", "notrack") and rule.protocol in _MAY_FLOW for rule in asked)


def _flow_rules(waits: bool) -> Iterator[Rule]:
    """A connection gets that far only after its first packets passed the rules before it. `waits`: both of
    its directions did since rules changed (docs/adr/0257)."""
    protocols, flow = match({"meta": {"key": "l4proto"}}, {"set": list(_OFFLOADED)}), nft.flow_expression()
    if waits:
        yield _line("connections that passed in their first direction", protocols, *first_direction())
        yield _line("connections that XDP may forward", protocols, *other_direction(), flow)
    else:
        yield _line("connections that XDP may forward", protocols, flow)


def _line(comment: str, *expressions: Expression) -> Rule:
    return comment, tuple(map(canonical, expressions))
