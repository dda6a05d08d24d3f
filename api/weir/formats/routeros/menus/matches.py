# SPDX-License-Identifier: Apache-2.0
"""What rules match. A match that Weir cannot express is never left off: the rule would match more."""

from __future__ import annotations

from collections.abc import Iterable

from weir.formats.report import quoted
from weir.formats.routeros.menus.convert import COMMON, interface, ports, prefixes, text
from weir.formats.routeros.menus.lists import address_set
from weir.formats.routeros.menus.router import Json, Router
from weir.formats.routeros.menus.table import ANY, Property, Row

_PROTOCOLS = {
    **{name: name for name in ("tcp", "udp", "sctp", "icmp", "gre", "ospf", "vrrp", "igmp")},
    "icmpv6": "icmp",
    "ipsec-esp": "esp",
    "ipsec-ah": "ah",
    **{"1": "icmp", "2": "igmp", "6": "tcp", "17": "udp", "47": "gre", "50": "esp", "51": "ah", "58": "icmp"},
    **{"89": "ospf", "112": "vrrp", "132": "sctp"},
}


def protocol(value: str, _row: Row) -> str:
    if value not in _PROTOCOLS:
        raise ValueError("Weir has no match for it")
    return _PROTOCOLS[value]


def one_interface(value: str, row: Row) -> str:
    if value.startswith("!"):
        raise ValueError("Weir matches one interface, and not all others")
    if value in row.router.lists:
        raise ValueError("it is an interface list")
    return interface(value, row)


def _list_name(value: str, row: Row) -> str:
    name = value.removeprefix("!")
    if name not in row.router.lists:
        raise ValueError(f"there is no interface list {quoted(name)} in the file")
    row.router.members(name)
    return value


def _address_list(value: str, row: Row) -> str:
    if value.startswith("!"):
        raise ValueError("Weir matches what is in a set, and not all others")
    return value


def never(value: str, _row: Row) -> str:
    raise ValueError("Weir has no such match")


MATCHES = {
    **COMMON,
    "chain": Property("chain", text),
    "action": Property("action", text),
    "src-address": Property("source", prefixes),
    "dst-address": Property("destination", prefixes),
    "src-address-list": Property("source_list", _address_list),
    "dst-address-list": Property("destination_list", _address_list),
    "protocol": Property("protocol", protocol),
    "dst-port": Property("ports", ports),
    "in-interface": Property("in_interface", one_interface),
    "out-interface": Property("out_interface", one_interface),
    "in-interface-list": Property("in_list", _list_name),
    "out-interface-list": Property("out_list", _list_name),
}
QUIET = {
    "place-before": ANY,
    "log-prefix": ("",),
    "log": ("no",),
    "ipsec-policy": ("in,none", "out,none"),
    "hw-offload": ANY,
    "in-interface": ("all",),
    "out-interface": ("all",),
}
"""`ipsec-policy`: Weir has no IPsec, so no packet is of one."""

NEVER_MATCHES = {"ipsec-policy": ("in,ipsec", "out,ipsec")}


def matches_nothing(row: Row) -> bool:
    """Whether the rule is about packets that Weir does not have."""
    return any(row.given.get(key) in values for key, values in NEVER_MATCHES.items())


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


def named_interfaces(router: Router, name: str) -> list[str | None]:
    """The interfaces of a list, or with `!` all others of the file that packets come by."""
    members = router.members(name.removeprefix("!"))
    if not name.startswith("!"):
        return list(members)
    return [item.id for item in router.routed_interfaces() if item.id not in members]


def keep_out_of_force(row: Row, body: Json) -> None:
    """A rule without one of its matches is kept disabled, and says why."""
    if row.unfit and not body.get("disabled"):
        body["disabled"] = True
        missing = ", ".join(row.unfit)
        text_ = f"It is imported disabled: without {missing} it would be about more than it was."
        row.warn("match-not-taken", text_)
    elif row.unfit:
        row.warn("match-not-taken", f"It was disabled, and stays so: {', '.join(row.unfit)} is missing.")
