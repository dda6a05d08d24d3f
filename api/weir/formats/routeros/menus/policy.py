# SPDX-License-Identifier: Apache-2.0
"""Rules of a file that the firewall's own policy already is, so that they are left out."""

from __future__ import annotations

from weir.formats.routeros.menus.lists import ZONES
from weir.formats.routeros.menus.table import Row
from weir.kinds.firewall import Firewall
from weir.kinds.zone import ZonePolicy
from weir.model.zones import WAN

_WITHOUT_MATCHES = frozenset(("chain", "action", "comment", "disabled", "log", "log-prefix"))
_OF_THE_POLICY = _WITHOUT_MATCHES | {
    *("in-interface", "in-interface-list", "connection-state", "connection-nat-state")
}
_UNASKED = {"new", "invalid", "untracked"}
_PASSES = (
    "Weir lets port forwards pass without a rule. A later rule that drops everything would still stop them."
)
_ANSWERS = {"established", "related"}


def is_of_the_policy(row: Row, action: str) -> bool:
    """Whether it is about port forwards from outside, and what it says holds in Weir without it. Its line
    says so then."""
    nat = row.given.get("connection-nat-state")
    if nat == "dstnat" and action == "accept":
        row.leave_out("policy", _PASSES)
        return True
    if nat == "!dstnat" and action == "drop" and _comes_from_wans(row) and _is_last_word(row):
        row.leave_out("policy", "The firewall's policy drops what comes from the zone wan unasked.")
        return True
    return False


def _comes_from_wans(row: Row) -> bool:
    """Also where the file has a list WAN whose interfaces Weir does not have."""
    name = row.get("in_list") or ""
    interfaces = [row.values["in_interface"]] if "in_interface" in row.values else []
    if ZONES.get(name.lower()) == WAN:
        try:
            interfaces += row.router.members(name, is_whole=True)
        except ValueError:
            return False
    elif not interfaces:
        return False
    return all(row.router.interface_of_id(item).body.get("role") == WAN for item in interfaces)


def _is_last_word(row: Row) -> bool:
    """Whether what a drop rule stops would come to the policy without it, and the policy drops all of that.
    It says nothing else then, and nothing after it in its chain lets pass. What comes to the router itself is
    another matter: the policy lets pings and tunnels in."""
    if not set(row.given) <= _OF_THE_POLICY or row.get("chain") != "forward" or not _is_about_unasked(row):
        return False
    if not row.router.existing.single(Firewall).drop_new_from_wan or _is_open_here(row):
        return False
    last = row.router.once(("last to let pass", row.menu.path), lambda: _last_to_let_pass(row))
    return row.place > last.get(row.get("chain"), -1)


def _is_about_unasked(row: Row) -> bool:
    """Whether it leaves alone what the policy lets pass: answers, by its own words or as a rule before it
    lets these pass."""
    if "connection-state" in row.given:
        return "ct_state" in row.values and _UNASKED.issuperset(row.values["ct_state"])
    first = row.router.once(("first for answers", row.menu.path), lambda: _first_for_answers(row))
    return first is not None and first < row.place


def _first_for_answers(row: Row) -> int | None:
    """The place of the first command that lets answers through the router pass."""
    for other in row.router.rows[row.menu.path]:
        says_no_more = set(other.given) <= _WITHOUT_MATCHES | {"connection-state"} and not other.is_disabled
        is_forward = other.given.get("chain") == "forward" and other.given.get("action", "accept") == "accept"
        if (
            says_no_more
            and is_forward
            and set(other.given.get("connection-state", "").split(",")) >= _ANSWERS
        ):
            return other.place
    return None


def _is_open_here(row: Row) -> bool:
    """Whether this router has zone policies that let pass what comes from outside."""
    policies = row.router.existing.every(ZonePolicy)
    return any(item.from_zone == WAN and item.action == "accept" and not item.disabled for item in policies)


def _last_to_let_pass(row: Row) -> dict[str | None, int]:
    """The place of the last command of each chain of the menu that may accept what comes to it."""
    rows = row.router.rows[row.menu.path]
    return {other.given.get("chain"): other.place for other in rows if _may_let_pass(other)}


def _may_let_pass(row: Row) -> bool:
    of_forwards = row.given.get("connection-nat-state") == "dstnat"
    return row.given.get("action", "accept") in ("accept", "jump") and not (of_forwards or row.is_disabled)
