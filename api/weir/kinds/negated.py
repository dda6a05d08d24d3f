# SPDX-License-Identifier: Apache-2.0
"""Matches of rules that are turned round (docs/adr/0278)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from weir.fields import Many, Word
from weir.model.members import other_ports
from weir.model.prefix import WIDTH, parse_prefix
from weir.model.problem import Finding
from weir.model.rule import View, error

if TYPE_CHECKING:
    from weir.kinds.firewall_rule import FirewallRule
    from weir.kinds.nat_rule import NatRule

_EMPTY = (None, (), "any")


def negated_field(*fields: str) -> Many:
    """Of a rule in which the matches of these fields can be turned round."""
    return Many(
        Word(*fields),
        len(fields),
        label="Matches all but",
        help="These fields say what the rule does not match: with source here and 10.0.0.0/8 there, packets "
        "from anywhere else.",
        example="source",
        importance="folded",
    )


def whole(prefixes: Iterable[str]) -> set[int]:
    """The address families of which these prefixes leave no address out."""
    parsed = sorted(map(parse_prefix, prefixes))
    found = set[int]()
    for family, width in WIDTH.items():
        reached = 0
        for prefix in parsed:
            if prefix.family == family and prefix.value <= reached:
                reached = max(reached, prefix.value + (1 << (width - prefix.length)))
        if reached == 1 << width:
            found.add(family)
    return found


def families_of(rule: FirewallRule | NatRule, side: str) -> set[int]:
    """Of the packets that a rule's prefixes of one side match. Those of one family say nothing of the other,
    so all packets of that are outside of them."""
    prefixes: tuple[str, ...] = getattr(rule, side)
    if side in rule.negated:
        return WIDTH.keys() - whole(prefixes)
    return {parse_prefix(text).family for text in prefixes} if prefixes else set(WIDTH)


def names_what_is_there(_view: View, rule: FirewallRule | NatRule) -> Iterator[Finding]:
    """Nothing can be turned round of a field that matches anything."""
    for field in rule.negated:
        if getattr(rule, field) in _EMPTY:
            text = f"{field} is empty, so it matches anything: fill it in, or do not turn it round"
            yield error("nothing-negated", rule, "negated", text)
        elif field in ("ports", "source_ports") and not other_ports(getattr(rule, field)):
            yield error("matches-nothing", rule, field, "no packet can match: there is no other port")
