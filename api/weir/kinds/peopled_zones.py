# SPDX-License-Identifier: Apache-2.0
"""Whether the zones that rules name have interfaces."""

from __future__ import annotations

from collections.abc import Iterator

from weir.kinds.firewall_rule import FirewallRule
from weir.model.problem import Finding
from weir.model.rule import View, warning


def zones_have_interfaces(view: View, rule: FirewallRule) -> Iterator[Finding]:
    for field in ("from_zone", "to_zone"):
        zone = getattr(rule, field)
        if zone is None or rule.disabled or zone in _peopled(view):
            continue
        text = f"no enabled interface is in the zone {zone}: no packet matches"
        if field in rule.negated:
            text = f"no enabled interface is in the zone {zone}: packets of all interfaces match"
        yield warning("empty-zone", rule, field, text)


def _peopled(view: View) -> set[str]:
    """The zones that packets come from and go to."""

    def found() -> set[str]:
        return {item.role for item in view.document.interfaces() if item.is_port and not item.disabled}

    return view.worked_out("zones with interfaces", found)
