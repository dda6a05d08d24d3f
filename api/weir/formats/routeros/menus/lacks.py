# SPDX-License-Identifier: Apache-2.0
"""What a rule matches no longer, or beside what it did, said at the rule. That is known once all else of the
file has its fate."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from weir.formats.report import quoted
from weir.formats.routeros.menus.filter import OF_RULES
from weir.formats.routeros.menus.lists import ADDRESS_LIST, ADDRESS_LIST_6, MEMBER, address_set_id
from weir.formats.routeros.menus.matches import LISTS, is_negated
from weir.formats.routeros.menus.nat import NAT
from weir.formats.routeros.menus.router import Router
from weir.formats.routeros.menus.table import Menu, Row
from weir.kinds.firewall_rule import FirewallRule
from weir.kinds.sets import SetEntry

_STOPPED = "The rules after it and the zones now decide what happens to these packets."
_ACTIONS_THAT_STOP = ("drop", "tarpit", "reject")
_EXEMPTED = "What it exempted is translated as the rules after it say."


def say_what_rules_lack(router: Router) -> None:
    """Where a rule lets pass or translates less no more is to be said; others matter to those after them. For
    what is about more it is the other way round."""
    lacks = _Lacks(router)
    for row in _in_force(router, *OF_RULES):
        if row.get("action", "accept") != "accept":
            lacks.say(row, _STOPPED)
        if row.get("action", "accept") not in _ACTIONS_THAT_STOP:
            lacks.say_of_entries_here(row)
    for row in _in_force(router, NAT):
        if row.get("action", "accept") == "accept":
            lacks.say(row, _EXEMPTED)
        else:
            lacks.say_of_entries_here(row)


def _in_force(router: Router, *menus: Menu) -> Iterator[Row]:
    """What was not disabled in the file."""
    for menu in menus:
        yield from (row for row in router.rows.get(menu.path, ()) if not row.is_disabled)


class _Lacks:
    """Lists are known by the first word of their menu (`/ip`, `/ipv6`, `/interface`) and their names."""

    def __init__(self, router: Router) -> None:
        self._router = router
        made = [rule for rules in router.order.values() for rule in rules]
        self._made = {line for rule in made for line in rule.lines}
        self._disabled = {line for rule in made if rule.body.get("disabled") for line in rule.lines}
        adding = [row for row in _in_force(router, *OF_RULES) if _adds(row)]
        self._entries = self._missing("list", _in_force(router, ADDRESS_LIST, ADDRESS_LIST_6))
        self._adders = self._missing("address-list", adding)
        self._members = self._missing("list", _in_force(router, MEMBER))
        self._named = {(row.menu.root, row.given["address-list"]) for row in adding}
        for menu in (ADDRESS_LIST, ADDRESS_LIST_6):
            rows = router.rows.get(menu.path, ())
            self._named |= {(menu.root, row.given.get("list", "")) for row in rows}
        self._here = Counter(item.set for item in router.only_here(SetEntry))
        self._adders_here = Counter(item.add_set for item in router.only_here(FirewallRule))

    def _missing(self, key: str, rows: Iterable[Row]) -> Counter[tuple[str, str]]:
        gone = (row for row in rows if row.line.fate == "left-out" or row.line in self._disabled)
        return Counter((row.menu.root, row.given.get(key, "")) for row in gone)

    def say(self, row: Row, effect: str) -> None:
        if row.line in self._made and not self._is_in_force(row):
            row.warn("match-not-taken", effect)
        if row.line.fate == "left-out":
            return
        self._say_of_interfaces(row)
        for name in _address_lists(row):
            self._say_of_addresses(row, name)
        self._say_of_entries_here(row, "the rule does not match {} here", negated=True)

    def _is_in_force(self, row: Row) -> bool:
        return row.line.fate != "left-out" and row.line not in self._disabled

    def say_of_entries_here(self, row: Row) -> None:
        self._say_of_entries_here(row, "the rule matches {}, too")

    def _say_of_entries_here(self, row: Row, effect: str, *, negated: bool = False) -> None:
        """A set of this router that is called as a list of the file may hold more."""
        if not self._is_in_force(row):
            return
        for name in _address_lists(row, negated=negated):
            set_id, shown = address_set_id(self._router, name), quoted(name)
            if count := self._here[set_id]:
                what = _were(count, f"entry of {shown}", f"entries of {shown}")
                row.warn("more-entries", f"{what} here before: {effect.format('these')}.")
            if count := self._adders_here[set_id]:
                what = _were(count, f"rule that adds to {shown}", f"rules that add to {shown}")
                row.warn("more-entries", f"{what} here before: {effect.format('what these add')}.")

    def _say_of_addresses(self, row: Row, name: str) -> None:
        key, shown = (row.menu.root, name), quoted(name)
        if entries := self._entries[key]:
            what = _were(entries, f"entry of {shown}", f"entries of {shown}")
            row.warn("entries-lost", f"{what} not taken: the rule does not match these here.")
        if adders := self._adders[key]:
            what = _were(adders, f"rule that adds to {shown}", f"rules that add to {shown}")
            row.warn("entries-lost", f"{what} not taken, or disabled: what these added is not matched here.")
        set_id = address_set_id(self._router, name)
        if key not in self._named and not self._here[set_id] and not self._adders_here[set_id]:
            row.warn("empty-list", f"Nothing that is imported fills {shown}: the rule matches nothing here.")

    def _say_of_interfaces(self, row: Row) -> None:
        names = {row.values[field] for field in ("in_list", "out_list") if field in row.values}
        reached = {item for name in names for item in _with_included(self._router, name)}
        if gone := sum(self._members["/interface", name] for name in reached):
            what = _were(gone, "interface of its list", "interfaces of its list")
            row.warn("entries-lost", f"{what} not taken: the rule does not match these here.")
        elif names and self._router.partial.intersection((*reached, None)):
            text = "A command about its interface list could not be read: the rule may match less here."
            row.warn("entries-lost", text)


def _were(number: int, one: str, several: str) -> str:
    return f"1 {one} was" if number == 1 else f"{number} {several} were"


def _address_lists(row: Row, *, negated: bool = False) -> list[str]:
    """What it matches is in these, or `negated` outside of these."""
    named = {key: field for key, field in LISTS.items() if field in row.values}
    return sorted({row.values[field] for key, field in named.items() if is_negated(row, key) == negated})


def _adds(row: Row) -> bool:
    return row.get("action", "").startswith("add-") and "address-list" in row.given


def _with_included(router: Router, name: str) -> list[str]:
    """The lists whose members are in a list; none of one that is excluded, or all others than a list."""
    found = [name] if name in router.lists else []
    for item in found:
        found += [other for other in router.lists[item].include if other not in found]
    return found
