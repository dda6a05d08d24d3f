# SPDX-License-Identifier: Apache-2.0
"""What is on this router already and would make rules of the file wider: an import removes nothing."""

from __future__ import annotations

from collections import defaultdict

from weir.formats.routeros.menus.router import Router, Wanted
from weir.kinds.sets import SetEntry

MAX_SHOWN = 5
_STOPS = ("drop", "reject")
"""Actions of rules that let nothing more pass when they match more."""


def keep_narrow(router: Router) -> None:
    """Rules that would let pass more by what is here are imported disabled. To be asked when all rules and
    entries are known."""
    extra = _extra_interfaces(router)
    for rule in _in_force(router):
        more = extra.get(rule.body.get("source_set", ""))
        if more:
            text = f"the set {rule.body['source_set']} of this router also holds {_shown(more)}"
            _disable(rule, "more-entries", f"{text}. Remove what does not belong there, and import again.")


def _in_force(router: Router) -> list[Wanted]:
    """The rules of the file that let pass, or lead to such."""
    found = (rule for (kind, _), rules in router.order.items() for rule in rules if kind == "firewall-rule")
    return [rule for rule in found if not rule.body.get("disabled") and rule.body["action"] not in _STOPS]


def _disable(rule: Wanted, code: str, text: str) -> None:
    rule.body["disabled"] = True
    for line in rule.lines:
        line.note("warning", code, f"It is imported disabled: {text}")


def _shown(names: set[str]) -> str:
    shown = ", ".join(sorted(names)[:MAX_SHOWN])
    return shown + (f" and {len(names) - MAX_SHOWN} more" if len(names) > MAX_SHOWN else "")


def _extra_interfaces(router: Router) -> dict[str, set[str]]:
    """By the set of a list of the file: what this router has in it, and the file has not."""
    sets = {
        item.id for item in router.wanted.values() if item.kind == "set" and item.body["type"] == "interface"
    }
    entries = [item.body for item in router.wanted.values() if item.kind == "set-entry"]
    wanted = {(body["set"], body["value"]) for body in entries}
    found: dict[str, set[str]] = defaultdict(set)
    for entry in router.existing.every(SetEntry) if sets else ():
        is_of_the_file = ("set-entry", entry.id) in router.wanted or (entry.set, entry.value) in wanted
        if entry.set in sets and not entry.disabled and not is_of_the_file:
            found[entry.set].add(entry.value)
    return found
