# SPDX-License-Identifier: Apache-2.0
"""Rules about all that is not in a list: they are in force only where the list is known whole."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator

from weir.formats.report import quoted
from weir.formats.routeros.menus.filter import OF_RULES
from weir.formats.routeros.menus.lists import ADDRESS_LIST, ADDRESS_LIST_6, address_set_id
from weir.formats.routeros.menus.matches import LISTS, interfaces_only_here, is_negated
from weir.formats.routeros.menus.nat import NAT
from weir.formats.routeros.menus.router import Router, Wanted
from weir.formats.routeros.menus.table import Row
from weir.kinds.firewall_rule import FirewallRule
from weir.kinds.sets import SetEntry

_STOPS = ("drop", "reject")
"""Actions of rules that let nothing more pass when they match more."""
_PORTS = ("in_interface", "out_interface")


def keep_outside(router: Router) -> None:
    """Keep rules disabled that would match what they did not. To be asked when all rules are known."""
    _keep_to_interfaces(router)
    while any([_keep_to_lists(router)]):  # a rule that is disabled adds nothing to a list
        pass


def _keep_to_interfaces(router: Router) -> None:
    """A rule about all interfaces but one would let pass what comes by those that are only here."""
    here = interfaces_only_here(router)
    for rule in router.order_of("firewall-rule") if here else ():
        turned = [field for field in _PORTS if field in rule.body.get("negated", ())]
        if turned and rule.body["action"] not in _STOPS:
            text = f"this router has interfaces that the file has not: {', '.join(here[:5])}"
            _disable(rule, "more-interfaces", text)


def _keep_to_lists(router: Router) -> bool:
    """Whether a rule was disabled by it."""
    lists = _Lists(router)
    found = False
    for row in lists.rows():
        for rule in lists.made[row.line]:
            whys = [
                f"{why} ({key})"
                for key in _keys(row)
                if (why := lists.why_wider(row, row.values[LISTS[key]]))
            ]
            if whys and not rule.body.get("disabled"):
                _disable(rule, "match-not-taken", f"{whys[0]}, so it would match more than it did")
                found = True
    return found


class _Lists:
    def __init__(self, router: Router) -> None:
        self._router = router
        self.made: defaultdict[object, list[Wanted]] = defaultdict(list)
        for rule in (rule for rules in router.order.values() for rule in rules):
            for line in rule.lines:
                self.made[line].append(rule)
        self._adders, self._named = Counter[tuple[str, str]](), set[tuple[str, str]]()
        for menu in (ADDRESS_LIST, ADDRESS_LIST_6):
            rows = router.rows.get(menu.path, ())
            self._named |= {
                (menu.root, row.given.get("list", "")) for row in rows if row.line.fate != "left-out"
            }
        for row in _in_force(router):
            if row.get("action", "").startswith("add-"):
                key = (row.menu.root, row.given.get("address-list", ""))
                rules = self.made[row.line]
                is_made = bool(rules) and not any(rule.body.get("disabled") for rule in rules)
                self._named |= {key} if is_made else set()
                self._adders[key] += not is_made
        self._here = {item.set for item in router.only_here(SetEntry)}
        self._here |= {item.add_set for item in router.only_here(FirewallRule) if item.add_set}

    def rows(self) -> list[Row]:
        return [row for row in _in_force(self._router) if _keys(row)]

    def why_wider(self, row: Row, name: str) -> str:
        """Why the list may hold less than it did; "" = it does not."""
        key, lost = (row.menu.root, name), self._router.lists_lost
        if count := lost[key] + lost[row.menu.root, None] + self._adders[key]:
            return f"{count} of what fills {quoted(name)} {'was' if count == 1 else 'were'} not taken"
        if key not in self._named and address_set_id(self._router, name) not in self._here:
            return f"nothing that is imported fills {quoted(name)}"
        return ""


def _in_force(router: Router) -> Iterator[Row]:
    """The rules that were not disabled in the file."""
    for menu in (*OF_RULES, NAT):
        yield from (row for row in router.rows.get(menu.path, ()) if not row.is_disabled)


def _keys(row: Row) -> list[str]:
    """The properties by which it is about what is not in an address list."""
    return [key for key, field in LISTS.items() if field in row.values and is_negated(row, key)]


def _disable(rule: Wanted, code: str, why: str) -> None:
    rule.body["disabled"] = True
    for line in rule.lines:
        line.note("warning", code, f"It is imported disabled: {why}.")
