# SPDX-License-Identifier: Apache-2.0
"""What is on this router already and would make rules of the file wider: an import removes nothing."""

from __future__ import annotations

from collections import Counter, defaultdict

from weir.formats.routeros.menus.router import Router, Wanted
from weir.kinds.firewall_rule import BUILT_IN, FirewallRule
from weir.kinds.sets import SetEntry

MAX_SHOWN = 5
_STOPS = ("drop", "reject")
"""Actions of rules that let nothing more pass when they match more."""


def keep_narrow(router: Router) -> None:
    """Rules that would let pass more by what is here are imported disabled. To be asked when all rules and
    entries are known."""
    extra = _extra_interfaces(router)
    chains = _Chains(router)
    for rule in _in_force(router):
        more = extra.get(rule.body.get("source_set", ""))
        if more:
            text = f"the set {rule.body['source_set']} of this router also holds {_shown(more)}"
            _disable(rule, "more-entries", f"{text}. Remove what does not belong there, and import again.")
        elif why := chains.why_wider(rule):
            _disable(rule, "chain-here", f"{why} Rename that chain or remove its rules, and import again.")
    for rule in router.order_of("firewall-rule"):
        more = extra.get(rule.body.get("source_set", ""))
        if more and "source_set" in rule.body.get("negated", ()) and not rule.body.get("disabled"):
            text = f"The set {rule.body['source_set']} of this router also holds {_shown(more)}"
            for line in rule.lines:
                line.note("warning", "more-entries", f"{text}: the rule does not match these here.")


def _in_force(router: Router) -> list[Wanted]:
    """The rules of the file that let pass, or lead to such."""
    found = router.order_of("firewall-rule")
    return [rule for rule in found if not rule.body.get("disabled") and rule.body["action"] not in _STOPS]


def _disable(rule: Wanted, code: str, text: str) -> None:
    rule.body["disabled"] = True
    for line in rule.lines:
        line.note("warning", code, f"It is imported disabled: {text}")


def _shown(names: set[str]) -> str:
    shown = ", ".join(sorted(names)[:MAX_SHOWN])
    return shown + (f" and {len(names) - MAX_SHOWN} more" if len(names) > MAX_SHOWN else "")


class _Chains:
    """Chains of the user's own for which this router has rules in force that the file does not make: `inside`
    what these let pass, `leading` which chains they come from."""

    def __init__(self, router: Router) -> None:
        rules = router.only_here(FirewallRule)
        self._inside = Counter(rule.chain for rule in rules if rule.action not in _STOPS)
        self._leading = Counter(rule.jump_to for rule in rules if rule.jump_to)

    def why_wider(self, rule: Wanted) -> str | None:
        """A jump would also lead to these rules; other rules would also be reached by theirs."""
        led_to, own = rule.body.get("jump_to"), rule.body["chain"]
        if led_to and led_to not in BUILT_IN and self._inside[led_to]:
            return f"the chain {led_to} of this router has rules that the file has not."
        if own not in BUILT_IN and self._leading[own]:
            return f"rules of this router that the file has not lead to the chain {own}."
        return None


def _extra_interfaces(router: Router) -> dict[str, set[str]]:
    """By the set of a list of the file: what this router has in it, and the file has not."""
    sets = {
        item.id for item in router.wanted.values() if item.kind == "set" and item.body["type"] == "interface"
    }
    entries = [item.body for item in router.wanted.values() if item.kind == "set-entry"]
    wanted = {(body["set"], body["value"]) for body in entries}
    found: dict[str, set[str]] = defaultdict(set)
    for entry in router.only_here(SetEntry) if sets else ():
        if entry.set in sets and (entry.set, entry.value) not in wanted:
            found[entry.set].add(entry.value)
    return found
