# SPDX-License-Identifier: Apache-2.0
"""Interface lists and address lists: zones and sets."""

from __future__ import annotations

from weir.formats.identity import slug
from weir.formats.report import LineDraft, quoted
from weir.formats.routeros.menus.convert import COMMON, interface_names, prefixes, seconds, text
from weir.formats.routeros.menus.router import Json, Router
from weir.formats.routeros.menus.table import ANY, Menu, Property, Row
from weir.model.zones import LAN, NO_ZONE, OPEN, WAN

ZONES = {"lan": LAN, "wan": WAN}
"""The lists that say where an interface leads, by their names in small letters."""


def _list(router: Router, row: Row) -> None:
    name = row.need("name", "name")
    members = router.lists.setdefault(name, [])
    for other in row.get("include", ()):
        if other not in router.lists:
            raise ValueError(f"It includes {quoted(other)}, which only a running RouterOS knows.")
        members += router.lists[other]
    zone = ZONES.get(name.lower())
    if zone is not None:
        row.changed("zone", f"Its members get the zone {zone}.")
    else:
        interface_set(router, name, row.line)


LIST = Menu(
    "/interface list",
    "LAN and WAN: the zone of their members; any other: a set of interfaces",
    _list,
    {**COMMON, "name": Property("name", text), "include": Property("include", interface_names)},
)


def _member(router: Router, row: Row) -> None:
    if row.get("disabled"):
        row.leave_out("disabled", "It is disabled, and Weir keeps no disabled members.")
        return
    name, member = row.need("list", "list"), row.need("interface", "interface")
    found = router.interface_id(member)
    router.lists.setdefault(name, []).append(member)
    zone = ZONES.get(name.lower())
    if zone is not None:
        _give_zone(router, found, zone, row)
    else:
        interface_set(router, name, row.line)
        _entry(router, _set_of_interfaces(name), found, row.line, {})


def _give_zone(router: Router, name: str, zone: str, row: Row) -> None:
    wanted = router.interface_of_id(name, row.line)
    if wanted.body.get("role", NO_ZONE) not in (NO_ZONE, OPEN, zone):
        text = f"{name} has the zone {wanted.body['role']} already, which stays."
        row.warn("two-zones", text)
        return
    wanted.body["role"] = zone


MEMBER = Menu(
    "/interface list member",
    "the zone of the interface, or an entry of the set",
    _member,
    {"list": Property("list", text), "interface": Property("interface", text), **COMMON},
)


def _set_of_interfaces(name: str) -> str:
    return f"{slug(name, 'list')}-interfaces"


def interface_set(router: Router, name: str, line: LineDraft) -> str:
    """The set of a list's interfaces, which a rule can match. Raises `ValueError` for an unknown list."""
    if name not in router.lists:
        raise ValueError(f"there is no interface list {quoted(name)} in the file")
    object_id = _set_of_interfaces(name)
    before = line.object_id
    comment = f"Interface list {name} of RouterOS"
    router.want("set", object_id, line, {"type": "interface", "comment": comment})
    for member in router.members(name):
        _entry(router, object_id, member, line, {})
    line.object_id = before or object_id
    return object_id


def set_of_others(router: Router, name: str, line: LineDraft) -> str:
    """The set of all interfaces of the file that are not in a list, and belong to no bridge or bond."""
    inside = set(router.members(name))
    object_id = f"not-{_set_of_interfaces(name)}"
    comment = f"All interfaces but those of the list {name} of RouterOS"
    router.want("set", object_id, line, {"type": "interface", "comment": comment})
    for item in router.routed_interfaces():
        if item.id not in inside:
            _entry(router, object_id, item.id, line, {})
    return object_id


def _entry(router: Router, set_id: str, value: str, line: LineDraft, extra: Json) -> None:
    """`value` in a set; said twice it is one entry, which is in force if one of the two is."""
    before = line.object_id
    object_id = slug(f"{set_id}-{value.replace(':', '.').replace('/', '_')}", "entry")
    said = {"set": set_id, "value": value}
    found = router.wanted.get(("set-entry", object_id))
    if found is not None and said.items() - found.body.items():
        object_id = router.name_of_content("set-entry", said)
        found = router.wanted.get(("set-entry", object_id))
    if found is None:
        router.want("set-entry", object_id, line, {**said, **extra})
    else:
        found.of(line)
        if not extra.get("disabled"):
            found.body.pop("disabled", None)
    line.object_id = before or object_id


# -- address lists -----------------------------------------------------------------------------------------


def address_set(router: Router, name: str, line: LineDraft, *, learns_s: int | None = None) -> str:
    """The set of an address list; with `learns_s` rules add to it. A list without entries is an empty set."""
    object_id = slug(name, "list")
    before = line.object_id
    body = {"type": "address", "comment": f"Address list {name} of RouterOS"}
    found = router.wanted.get(("set", object_id)) or router.want("set", object_id, line, body)
    if learns_s is not None:
        if object_id in router.filled:
            raise ValueError(
                f"the address list {quoted(name)} has entries, and Weir's sets learn or have them"
            )
        found.body.update(source="dynamic", timeout_s=learns_s)
    line.object_id = before
    return object_id


def _address(router: Router, row: Row) -> None:
    name, values = row.need("list", "list"), row.need("address", "address")
    set_id = address_set(router, name, row.line)
    router.filled.add(set_id)
    for value in values:
        _entry(router, set_id, value, row.line, row.some("comment", "disabled"))


def _addresses(value: str, row: Row) -> list[str]:
    if value.startswith("!"):
        raise ValueError("expected an address")
    if not any(mark in value for mark in ":/") and not value.replace(".", "").replace("-", "").isdigit():
        raise ValueError("it is a name, which RouterOS looks up again and again; Weir's sets hold addresses")
    return prefixes(value, row)


def _address_menu(path: str) -> Menu:
    fields = {
        **COMMON,
        "list": Property("list", text),
        "address": Property("address", _addresses),
        "timeout": Property("timeout", seconds),
    }
    return Menu(path, "an entry of the set of that name", _expiring, fields, {"creation-time": ANY})


def _expiring(router: Router, row: Row) -> None:
    if row.get("timeout"):
        row.leave_out("expires", "It expires, and Weir's configured entries stay.")
    else:
        _address(router, row)


ADDRESS_LIST = _address_menu("/ip firewall address-list")
ADDRESS_LIST_6 = _address_menu("/ipv6 firewall address-list")
