# SPDX-License-Identifier: Apache-2.0
"""Where rules see the hardware address of who sent a frame."""

from __future__ import annotations

from collections.abc import Iterator

from weir.kinds.firewall_rule import FirewallRule
from weir.kinds.sets import Set
from weir.model.document import Change
from weir.model.interface import Interface
from weir.model.problem import Finding
from weir.model.rule import View, caused_by, differs, warning

_KIND = FirewallRule.kind


def macs_are_seen(view: View, rule: FirewallRule) -> Iterator[Finding]:
    """Where packets arrive without an Ethernet header no rule sees the address of their sender."""
    came_by = view.document.interface(rule.in_interface or "")
    if "in_interface" in rule.negated or not lacks_macs(came_by):
        return
    item = view.document.get("set", rule.source_set or "")
    of_set = "source_set" if isinstance(item, Set) and item.type == "mac" else ""
    for field in filter(None, ("source_mac" if rule.source_mac else "", of_set)):
        text = f"packets arrive by {rule.in_interface} without a hardware address: none can match"
        yield warning("no-mac", rule, field, text)


def lacks_macs(item: Interface | None) -> bool:
    """Whether packets come in by the interface without a hardware address of their sender."""
    made = () if item is None else (item.wireguard, item.gre, item.pppoe)
    return any(each is not None for each in made)


@caused_by(_KIND, "interface", "set")
def itself_and_where_macs_are(view: View, change: Change) -> Iterator[str]:
    """A rule; those by an interface that is made in another way, and those of a set that holds others."""
    if change.kind == _KIND:
        yield change.id
        return
    is_set = change.kind == "set"
    if not differs(change, *(("type",) if is_set else ("wireguard", "gre", "pppoe"))):
        return
    field = "source_set" if is_set else "in_interface"
    yield from (rule.id for rule in view.document.every(FirewallRule) if getattr(rule, field) == change.id)
