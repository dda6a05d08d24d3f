# SPDX-License-Identifier: Apache-2.0
"""What rules match. A match that Weir cannot express is never left off: the rule would match more."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import replace

from weir.fields import hours_json
from weir.formats.report import quoted
from weir.formats.routeros.menus.convert import COMMON, flag, interface, ports, prefixes, text
from weir.formats.routeros.menus.lists import address_set
from weir.formats.routeros.menus.router import Json, Router
from weir.formats.routeros.menus.table import ANY, Property, Reader, Row
from weir.formats.routeros.values import window
from weir.kinds.negated import whole
from weir.model.interface import Interface
from weir.model.limits import DAYS, MINUTES_PER_DAY
from weir.model.schedule import ALWAYS

_RULES_AND_ROUTES = ("/ip firewall", "/ipv6 firewall", "/ip route", "/ipv6 route")
_BETWEEN_NAMES = re.compile(r" *[,%] *")
PROTOCOLS = {
    **{name: name for name in ("tcp", "udp", "sctp", "icmp", "gre", "ospf", "vrrp", "igmp")},
    "icmpv6": "icmp",
    "ipsec-esp": "esp",
    "ipsec-ah": "ah",
    **{"1": "icmp", "2": "igmp", "6": "tcp", "17": "udp", "47": "gre", "50": "esp", "51": "ah", "58": "icmp"},
    **{"89": "ospf", "112": "vrrp", "132": "sctp"},
}


OF_ONE_FAMILY = {"icmp": "/ip", "1": "/ip", "icmpv6": "/ipv6", "58": "/ipv6"}
"""Weir has one name for both: it is the one of the rule's family."""


def protocol(value: str, row: Row) -> str:
    if value not in PROTOCOLS:
        raise ValueError("Weir has no match for it")
    if row.menu.root != OF_ONE_FAMILY.get(value, row.menu.root):
        raise ValueError("Weir matches the messages of the rule's address family")
    return PROTOCOLS[value]


def but(read: Reader) -> Reader:
    """The same value, which may have a `!` before it (`is_negated`)."""
    return lambda value, row: read(value.removeprefix("!"), row)


def is_negated(row: Row, key: str) -> bool:
    """Whether a rule is about all but what one of its properties says."""
    return row.given.get(key, "").startswith("!")


def negate(row: Row, body: Json, fields: Mapping[str, str]) -> None:
    """Turn round the fields of these properties that have a `!`."""
    found = [field for key, field in fields.items() if field in body and is_negated(row, key)]
    if found:
        body["negated"] = [*body.get("negated", ()), *found]


def _networks(value: str, row: Row) -> list[str]:
    found = prefixes(value.removeprefix("!"), row)
    if value.startswith("!") and whole(found):
        raise ValueError("nothing is left of all addresses")
    return found


def one_interface(value: str, row: Row) -> str:
    if value in row.router.lists:
        raise ValueError("it is an interface list")
    return interface(value, row)


def _list_name(value: str, row: Row) -> str:
    name = value.removeprefix("!")
    if name not in row.router.lists:
        raise ValueError(f"there is no interface list {quoted(name)} in the file")
    row.router.members(name, is_whole=name != value)
    return value


def _address_list(value: str, row: Row) -> str:
    if not value:
        raise ValueError("it names no list")
    return value


def _place(_value: str, _row: Row) -> None:
    raise ValueError("rules come in the order of the file")


def _windows(value: str, _row: Row) -> list[Json | None]:
    """The windows of a rule, in which it is in force: two for a night, as Weir's rules have one each."""
    read = window(value)
    found = read.window
    if read.rounded:
        raise ValueError("Weir's hours begin and end at whole minutes")
    if not read.over_midnight:
        return [None] if found == ALWAYS else [hours_json(found)]
    if found.days != DAYS or found.start_min == found.end_min:
        raise ValueError("make two rules of such a night, one until 24:00 and one from 00:00")
    until, since = replace(found, end_min=MINUTES_PER_DAY), replace(found, start_min=0)
    return [hours_json(until), hours_json(since)]


def hours_of(row: Row) -> list[Json]:
    """What each of the rules says that a rule with hours becomes: none where it has no hours, or all."""
    windows = row.get("windows", [None])
    if len(windows) > 1:
        row.changed("over-midnight", "It became one rule until 24:00 and one from 00:00.")
    return [{"time": hours} if hours else {} for hours in windows]


MATCHES = {
    **COMMON,
    "chain": Property("chain", text),
    "action": Property("action", text),
    "src-address": Property("source", _networks),
    "dst-address": Property("destination", _networks),
    "src-address-list": Property("source_list", but(_address_list)),
    "dst-address-list": Property("destination_list", but(_address_list)),
    "protocol": Property("protocol", but(protocol)),
    "dst-port": Property("ports", but(ports)),
    "in-interface": Property("in_interface", but(one_interface)),
    "out-interface": Property("out_interface", but(one_interface)),
    "in-interface-list": Property("in_list", _list_name),
    "out-interface-list": Property("out_list", _list_name),
    "log": Property("log", flag),
    "time": Property("windows", _windows),
    "place-before": Property("", _place),
}
LISTS = {"src-address-list": "source_list", "dst-address-list": "destination_list"}
NEGATED = {
    "src-address": "source",
    "dst-address": "destination",
    "src-address-list": "source_set",
    "dst-address-list": "destination_set",
    "protocol": "protocol",
    "dst-port": "ports",
}
"""What rules of both kinds can turn round."""
_ANY_INTERFACE, _ANY_OF_A_LIST = ("all",), ("all", "!none")
QUIET = {
    "log-prefix": ("",),
    "ipsec-policy": ("in,none", "out,none"),
    "hw-offload": ANY,
    "in-interface": _ANY_INTERFACE,
    "out-interface": _ANY_INTERFACE,
    "in-interface-list": _ANY_OF_A_LIST,
    "out-interface-list": _ANY_OF_A_LIST,
}
"""Weir has no IPsec, so no packet is of a policy. RouterOS has the lists `all` and `none` itself."""

_NO_IPSEC = ("no-ipsec", "Weir has no IPsec, so no packet would match.")
NO_INTERFACE = ("empty-list", "No interface is in its list, so no packet would match.")
_NEVER_MATCHES = {
    "ipsec-policy": (("in,ipsec", "out,ipsec"), _NO_IPSEC),
    "in-interface-list": (("none", "!all"), NO_INTERFACE),
    "out-interface-list": (("none", "!all"), NO_INTERFACE),
}


def matches_nothing(row: Row) -> bool:
    """Whether the rule is about packets that there are not; it is left out then."""
    for key, (values, why) in _NEVER_MATCHES.items():
        if row.given.get(key) in values:
            row.leave_out(*why)
            return True
    return False


def address_matches(row: Row, body: Json, sets: Iterable[tuple[str, str, str]]) -> None:
    """Prefixes and sets of addresses; both at once of one side are `unfit`."""
    for field, from_list, set_field in sets:
        if field in row.values:
            body[field] = row.values[field]
        if from_list in row.values:
            if field in row.values:
                row.unfit.append(f"{field} as an address and a list at once")
            else:
                body[set_field] = address_set(row.router, row.values[from_list], row.line)


SIDES = (
    ("source", "source_list", "source_set"),
    ("destination", "destination_list", "destination_set"),
)


def named_interfaces(
    router: Router, name: str | None, one: str | None = None, *, but_one: bool = False
) -> list[str | None]:
    """The interfaces of a list, or with `!` all others of the file that packets come by; with `one` only
    that, where it is among them, or with `but_one` all but that. None stands for any."""
    if name is None:
        return [item for item in _routed(router) if item != one] if but_one else [one]
    members = _others(router, name[1:]) if name.startswith("!") else router.members(name)
    return [item for item in members if one is None or (item == one) != but_one]


def _others(router: Router, name: str) -> list[str]:
    members = router.members(name, is_whole=True)
    return [item for item in _routed(router) if item not in members]


def _routed(router: Router) -> list[str]:
    return router.once("routed", lambda: _routed_interfaces(router))


def interfaces_only_here(router: Router) -> list[str]:
    """This router's, of which the file does not know, so that it did not mean them either."""
    _routed(router)
    return sorted(item.id for item in router.only_here(Interface))


def _routed_interfaces(router: Router) -> list[str]:
    """Those that packets come by, also where a later command is the first to name one."""
    rows = (row for path, rows in router.rows.items() if path.startswith(_RULES_AND_ROUTES) for row in rows)
    for row in rows:
        named = (row.given.get(key, "") for key in ("in-interface", "out-interface", "gateway"))
        for name in filter(None, _BETWEEN_NAMES.split(",".join(named))):
            with suppress(ValueError):
                router.interface_of_id(router.interface_id(name))
    return [item.id for item in router.routed_interfaces()]


def keep_out_of_force(row: Row, body: Json) -> None:
    """A rule without one of its matches is kept disabled, and says why."""
    missing = ", ".join(row.unfit)
    if row.unfit and not body.get("disabled"):
        body["disabled"] = True
        text_ = f"It is imported disabled: without {missing} it would match more than it did."
        row.warn("match-not-taken", text_)
    elif row.unfit:
        row.warn("match-not-taken", f"It was disabled, and stays so: it lacks {missing}.")
