# SPDX-License-Identifier: Apache-2.0
"""Interface lists and address lists: zones and sets."""

from __future__ import annotations

from collections.abc import Mapping

from weir.formats.identity import slug
from weir.formats.report import LineDraft, quoted
from weir.formats.routeros.menus import own_policy
from weir.formats.routeros.menus.convert import COMMON, interface_names, milliseconds, prefixes, text
from weir.formats.routeros.menus.router import InterfaceList, Json, Router
from weir.formats.routeros.menus.table import ANY, Menu, Property, Row
from weir.model.address import parse_dns_name
from weir.model.limits import MAX_SET_NAMES
from weir.model.zones import LAN, NO_ZONE, OPEN, WAN

ZONES = {"lan": LAN, "wan": WAN}
"""The lists that say where an interface leads, by their names in small letters."""


_OWN_LISTS = ("all", "none", "dynamic", "static")
_NOTHING = "none"
"""The list that RouterOS has by itself and that holds nothing."""


def _names(value: str, row: Row) -> tuple[str, ...]:
    return tuple(name for name in interface_names(value, row) if name != _NOTHING)


def _list(router: Router, row: Row) -> None:
    name = row.need("name", "name")
    zone = own_policy.zone(router, row)
    router.lists[name] = InterfaceList(row.line, row.get("include", ()), row.get("exclude", ()), zone=zone)


def _lose_list(router: Router, verb: str, given: Mapping[str, str]) -> None:
    """What a list includes and excludes is not known. An export may also set the lists that RouterOS has."""
    if verb == "add":
        router.partial.add(given.get("name") or None)
        return
    names = {given.get("find name") or None, given.get("name") or given.get("find name")}
    if not names.issubset(_OWN_LISTS):
        router.unclear |= names


def _lose_member(router: Router, verb: str, given: Mapping[str, str]) -> None:
    """Another interface may be in the list. One that Weir does not have is not among the others either."""
    if verb != "add":
        router.unclear.add(None)
        return
    try:
        if given.get("interface"):
            router.interface_id(given["interface"])
    except ValueError:
        return
    if given.get("disabled", "").lower() not in ("yes", "true"):
        router.partial.add(given.get("list") or None)


LIST = Menu(
    "/interface list",
    "LAN and WAN: the zone of their members; any other: a set of interfaces",
    _list,
    {
        **COMMON,
        "name": Property("name", text),
        "include": Property("include", _names),
        "exclude": Property("exclude", _names),
    },
    lose=_lose_list,
)


def _member(router: Router, row: Row) -> None:
    if row.get("disabled"):
        row.leave_out("disabled", "It is disabled, and Weir keeps no disabled members.")
        return
    name, member = row.need("list", "list"), row.need("interface", "interface")
    found = router.interface_id(member)
    router.lists.setdefault(name, InterfaceList()).members.setdefault(found, []).append(row.line)


def _fill_lists(router: Router) -> None:
    """What lists include is known when all their members are: only then they give zones and are sets."""
    for name, known in router.lists.items():
        lines = [line for own in known.members.values() for line in own]
        try:
            members = router.members(name)
        except ValueError as error:
            for line in filter(None, (known.line, *lines)):
                line.note("left-out", "bad-value", f"The file does not say what is in its list: {error}.")
            continue
        zone = known.zone or ZONES.get(name.lower())
        if zone is None:
            interface_set(router, name, known.line or lines[0])
            continue
        if known.line is not None:
            known.line.note("changed", "zone", f"Its members get the zone {zone}.")
        for member in members:
            for line in known.members.get(member) or filter(None, (known.line,)):
                _give_zone(router, member, zone, line)


def _give_zone(router: Router, name: str, zone: str, line: LineDraft) -> None:
    """What the file says of a WAN comes before what is here: a LAN reaches the router and all others."""
    wanted = router.interface_of_id(name).also_of(line)
    before = wanted.body.get("role", NO_ZONE)
    if zone == WAN and before == LAN and name not in router.zoned:
        line.note("warning", "zone-changed", f"{name} has the zone lan here: it gets the zone wan.")
    elif before not in (NO_ZONE, OPEN, zone):
        line.note("warning", "two-zones", f"{name} has the zone {before} already, which stays.")
        return
    wanted.body["role"] = zone
    router.zoned.add(name)


MEMBER = Menu(
    "/interface list member",
    "the zone of the interface, or an entry of the set",
    _member,
    {"list": Property("list", text), "interface": Property("interface", text), **COMMON},
    after=_fill_lists,
    lose=_lose_member,
)


def interface_set(router: Router, name: str, line: LineDraft) -> str:
    """The set of a list's interfaces, which a rule can match. Raises `ValueError` for an unknown list."""
    members, known = router.members(name), router.lists[name]
    object_id = router.id_of("set", ("interfaces", name), f"{slug(name, 'list')}-interfaces")
    is_new = ("set", object_id) not in router.wanted
    comment = f"Interface list {name} of RouterOS"
    wanted = router.want("set", object_id, None, {"type": "interface", "comment": comment}).also_of(line)
    for member in members if is_new else ():
        for own in known.members.get(member) or (known.line or line,):
            wanted.also_of(own)
            _entry(router, object_id, member, own, {})
    return object_id


def set_of_others(router: Router, name: str, line: LineDraft) -> str:
    """The set of all interfaces of the file that are not in a list, and belong to no bridge or bond."""
    router.members(name, is_whole=True)
    object_id = router.id_of("set", ("others", name), f"not-{slug(name, 'list')}-interfaces")
    comment = f"All interfaces but those of the list {name} of RouterOS"
    router.want("set", object_id, None, {"type": "interface", "comment": comment}).also_of(line)
    router.others[object_id] = name
    return object_id


def fill_others(router: Router) -> None:
    """Once all interfaces that the file names are known."""
    routed = router.routed_interfaces() if router.others else []
    for object_id, name in router.others.items():
        inside = set(router.members(name, is_whole=True))
        line = next(iter(router.wanted["set", object_id].lines))
        for item in routed:
            if item.id not in inside:
                _entry(router, object_id, item.id, line, {})


def _entry(router: Router, set_id: str, value: str, line: LineDraft, extra: Json) -> None:
    """`value` in a set; said twice it is one entry, which is in force if one of the two is."""
    base = slug(f"{set_id}-{value.replace(':', '.').replace('/', '_')}", "entry")
    object_id = router.id_of("set-entry", (set_id, value), base)
    found = router.wanted.get(("set-entry", object_id))
    if found is None:
        found = router.want("set-entry", object_id, None, {"set": set_id, "value": value, **extra})
    elif not extra.get("disabled"):
        found.body.pop("disabled", None)
    found.also_of(line)


# -- address lists -----------------------------------------------------------------------------------------


def address_set_id(router: Router, name: str) -> str:
    return router.id_of("set", ("addresses", name), slug(name, "list"))


def address_set(router: Router, name: str, line: LineDraft, *, learns_s: int | None = None) -> str:
    """The set of an address list; with `learns_s` rules add to it. A list without entries is an empty set."""
    object_id = address_set_id(router, name)
    before = line.object_id
    body = {"type": "address", "comment": f"Address list {name} of RouterOS"}
    found = router.wanted.get(("set", object_id)) or router.want("set", object_id, line, body)
    line.object_id = before
    if learns_s is not None:
        if object_id in router.filled:
            raise ValueError(
                f"the address list {quoted(name)} has entries, and Weir's sets learn or have them"
            )
        least_s = min(learns_s, found.body.get("timeout_s", learns_s))
        if found.body.get("timeout_s", learns_s) != learns_s:
            text_ = f"Rules add to it for different times: Weir forgets all after the shortest, {least_s} s."
            line.note("changed", "timeout", text_)
        found.body.update(source="dynamic", timeout_s=least_s)
    return object_id


def _address(router: Router, row: Row) -> None:
    name, values = row.need("list", "list"), row.need("address", "address")
    if isinstance(values, str) and row.get("disabled"):
        row.leave_out("disabled", "It is disabled, and Weir keeps no disabled names in sets.")
        return
    set_id = address_set(router, name, row.line)
    router.filled.add(set_id)
    if isinstance(values, str):
        _name(router, set_id, values, row)
        return
    for value in values:
        _entry(router, set_id, value, row.line, row.some("comment", "disabled"))


def _name(router: Router, set_id: str, name: str, row: Row) -> None:
    """A set that has the addresses of names has those of the file as its entries besides."""
    found = router.wanted["set", set_id]
    names = found.body.setdefault("names", [])
    if name not in names:
        if len(names) >= MAX_SET_NAMES:
            raise ValueError(f"a set of Weir has at most {MAX_SET_NAMES} names")
        names.append(name)
    found.also_of(row.line).body["source"] = "dns"
    if row.get("comment"):
        row.changed("comment", "The name is taken without its comment: names in sets have none.")


def _addresses(value: str, row: Row) -> list[str] | str:
    """Prefixes, or a name, which RouterOS looks up again and again."""
    if value.startswith("!"):
        raise ValueError("expected an address")
    if not any(mark in value for mark in ":/") and not value.replace(".", "").replace("-", "").isdigit():
        return parse_dns_name(value)
    return prefixes(value, row)


def _address_menu(path: str) -> Menu:
    fields = {
        **COMMON,
        "list": Property("list", text),
        "address": Property("address", _addresses),
        "timeout": Property("timeout", milliseconds),
    }
    becomes = "an entry, or a name, of the set of that name"
    root = path.partition(" ")[0]

    def lose(router: Router, verb: str, given: Mapping[str, str]) -> None:
        """The list may hold more, or with None each may."""
        if given.get("disabled", "").lower() not in ("yes", "true"):
            router.lists_lost[root, given.get("list") if verb == "add" else None] += 1

    return Menu(path, becomes, _expiring, fields, {"creation-time": ANY}, lose=lose)


def _expiring(router: Router, row: Row) -> None:
    if row.get("timeout"):
        row.leave_out("expires", "It expires, and Weir's configured entries stay.")
    else:
        _address(router, row)


ADDRESS_LIST = _address_menu("/ip firewall address-list")
ADDRESS_LIST_6 = _address_menu("/ipv6 firewall address-list")
