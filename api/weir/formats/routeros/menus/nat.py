# SPDX-License-Identifier: Apache-2.0
"""/ip firewall nat: NAT rules."""

from __future__ import annotations

from itertools import product

from weir.formats.report import quoted
from weir.formats.routeros.menus.convert import mac, prefixes
from weir.formats.routeros.menus.lists import MEMBER, ZONES
from weir.formats.routeros.menus.matches import (
    MATCHES,
    NEGATED,
    NO_INTERFACE,
    QUIET,
    SIDES,
    address_matches,
    but,
    hours_of,
    is_negated,
    keep_out_of_force,
    matches_nothing,
    named_interfaces,
    negate,
)
from weir.formats.routeros.menus.nat_chains import BASES, say_unused, take_jump
from weir.formats.routeros.menus.router import Json, Router, Translation
from weir.formats.routeros.menus.table import ANY, Menu, Property, Row
from weir.kinds.firewall import Firewall
from weir.model.members import parse_ports
from weir.model.zones import LAN, NO_ZONE, OPEN, WAN

_TYPES = {
    ("srcnat", "masquerade"): "masquerade",
    ("srcnat", "src-nat"): "source",
    ("srcnat", "same"): "source",
    ("srcnat", "accept"): "none",
    ("srcnat", "netmap"): "source",
    ("dstnat", "dst-nat"): "destination",
    ("dstnat", "redirect"): "redirect",
    ("dstnat", "accept"): "none",
    ("dstnat", "netmap"): "one-to-one",
}


_SIDE_OF = {"srcnat": "out", "dstnat": "in"}
_TO_ITSELF = "dst-address-type"
_NARROWS = {"source", "source_list", "destination", "destination_list", "protocol", "ports"}
"""What a rule that masquerades for everybody does not say."""


def _to_addresses(value: str, row: Row) -> str:
    found = prefixes(value, row)
    if len(found) != 1:
        raise ValueError("Weir's rules lead to one address or network")
    return found[0]


def _to_ports(value: str, row: Row) -> int | None:
    if value == row.given.get("dst-port"):
        return None
    found = parse_ports(value)
    if "-" in found:
        raise ValueError("Weir's rules lead to one port, or to the same ones")
    return int(found)


def _local(value: str, _row: Row) -> bool:
    if value != "local":
        raise ValueError("Weir has no such match")
    return True


def _nat(router: Router, row: Row) -> None:
    chain, action = row.need("chain", "chain"), row.get("action", "accept")
    if chain in BASES and action == "jump":
        take_jump(router, row, _one_rule)
    elif chain in BASES:
        _one_rule(router, row)


def _one_rule(router: Router, row: Row) -> None:
    chain, action = row.need("chain", "chain"), row.get("action", "accept")
    kind = _TYPES.get((chain, action))
    if kind is None:
        raise ValueError(
            f"Weir has no NAT rule of the chain {quoted(chain)} with the action {quoted(action)}."
        )
    if matches_nothing(row):
        return
    if action == "netmap" and kind == "one-to-one" and _is_one_host(row.get("to_address", "")):
        kind, action = "destination", "dst-nat"
    body: Json = {"type": kind, **row.some("protocol", "ports", "comment", "disabled", "to_address")}
    if row.get("to_port") is not None:
        body["to_port"] = row.values["to_port"]
    address_matches(row, body, SIDES)
    if "source_mac" in row.values and kind in ("destination", "redirect"):
        body["source_mac"] = row.values["source_mac"]
    elif "source_mac" in row.values:
        row.unfit.append(row.shown("src-mac-address"))
    if row.get("local") and not _takes_its_own_addresses(router, row, body):
        row.unfit.append(row.shown(_TO_ITSELF))
    negate(row, body, {**NEGATED, "src-mac-address": "source_mac"})
    _direction(row, body, chain, action)
    if row.get("log"):
        row.warn("no-log", "Weir's NAT rules write no log.")
    interfaces = _interfaces(router, row, chain, kind)
    keep_out_of_force(row, body)
    is_of_one = "out_interface" in row.values and not is_negated(row, "out-interface")
    if kind == "masquerade" and is_of_one and not body.get("disabled"):
        _leads_outside(router, row)
    router.translations.append(Translation(row, body, interfaces))


def _make_rules(router: Router) -> None:
    """In the order of the file, once every WAN is known."""
    say_unused(router, NAT.path)
    wans = _wans(router) if router.translations else set()
    for row, body, named in router.translations:
        interfaces = _members_of_wan(row, wans) if named is None else named
        if not interfaces:
            row.leave_out(*NO_INTERFACE)
        if len(interfaces) > 1:
            row.changed("several-rules", f"It became {len(interfaces)} rules, one for each interface.")
        for name, hours in product(interfaces, hours_of(row) if interfaces else []):
            rule = {**body, **hours, **({"interface": name} if name else {})}
            router.want_next("nat-rule", row.line, rule)


def _wans(router: Router) -> set[str]:
    existing = router.existing.of_kind("interface")
    roles = {name: getattr(item, "role", None) for name, item in existing.items()}
    roles |= {item.id: item.body.get("role") for item in router.interfaces()}
    return {name for name, role in roles.items() if role == WAN}


def _members_of_wan(row: Row, wans: set[str]) -> list[str | None]:
    """Of a rule about the list WAN: None, which is every WAN, where the router has no other."""
    name = row.get("out_list" if row.get("chain") == "srcnat" else "in_list")
    members = row.router.members(name)
    if not wans.issubset(members):
        return list(members)
    if not members and not _has_lost_members(row.router, name):
        return []
    if not members:
        row.changed(
            "every-wan", "No interface of its list is imported: it applies to every WAN that you make."
        )
    return [None]


def _has_lost_members(router: Router, name: str) -> bool:
    if {name, None} & router.partial:
        return True
    rows = (row for row in router.rows.get(MEMBER.path, ()) if row.given.get("list") == name)
    return any(row.line.fate == "left-out" and not row.is_disabled for row in rows)


def _takes_its_own_addresses(router: Router, row: Row, body: Json) -> bool:
    """Whether the rule is about the router's own addresses without saying so: one that opens a port on WANs,
    and names no address."""
    if body["type"] not in ("destination", "redirect"):
        return False
    if "destination" in row.values or "destination_list" in row.values:
        return False
    if "in_list" in row.values:
        return ZONES.get(row.values["in_list"].lower()) == WAN
    port = row.get("in_interface")
    if is_negated(row, "in-interface"):
        return False
    return port is None or router.interface_of_id(port).body.get("role") == WAN


def _is_one_host(text: str) -> bool:
    return text.endswith("/128" if ":" in text else "/32")


def _leads_outside(router: Router, row: Row) -> None:
    """Where no list says so, an interface that masquerades for everybody is outside."""
    found = router.interface_of_id(row.values["out_interface"], row.line)
    zone = found.body.get("role", NO_ZONE)
    if zone == WAN or found.id in router.zoned or found.body.get("disabled") or _NARROWS & row.values.keys():
        return
    if zone in (NO_ZONE, OPEN):
        found.body["role"] = WAN
        row.changed("zone", f"{found.id} is in no interface list, and masquerades: it gets the zone wan.")
    elif zone == LAN:
        found.body["role"] = WAN
        row.warn("zone-changed", f"{found.id} masquerades, and has the zone lan here: it gets the zone wan.")
    else:
        row.warn("two-zones", f"{found.id} masquerades, and has the zone {zone} here, which stays.")


def _direction(row: Row, body: Json, chain: str, action: str) -> None:
    """What the two systems do differently."""
    kind = body["type"]
    named = row.get("out_interface") or row.get("out_list") or row.unfit
    if kind in ("masquerade", "source") and not named:
        row.changed("wan-only", "It has no outgoing interface: in Weir it applies to every WAN.")
    arrives = row.get("in_interface") or row.get("in_list")
    if kind == "destination":
        body["hairpin"] = not arrives
    if kind in ("destination", "redirect") and not arrives and not row.unfit:
        _say_where_it_arrives(row, kind)
    if action == "netmap" and kind == "one-to-one":
        row.changed(
            "both-ways", "Weir translates these addresses both ways, also when the hosts inside begin."
        )
        narrowing = ("source", "source_set", "destination_set", "protocol", "ports", "to_port")
        extra = [name for name in narrowing if name in body]
        row.unfit += [name.replace("_", " ") for name in extra]
        row.unfit += ["all but its destination"] if "negated" in body else []
        body.pop("negated", None)
        for name in extra:
            del body[name]
    elif action == "netmap":
        row.warn("not-one-to-one", "Hosts share these addresses; with a dstnat netmap each has its own.")
    if kind == "none":
        row.changed("both-ways", "In Weir what it matches is not translated in either direction.")


def _say_where_it_arrives(row: Row, kind: str) -> None:
    """RouterOS translates what comes from anywhere where a rule does not say more."""
    is_addressed = "destination" in row.values or "destination_list" in row.values or row.get("local")
    if kind == "redirect":
        row.warn(
            "wan-only", "It names no interface: in Weir it applies to every WAN, but not to hosts inside."
        )
    elif not is_addressed:
        text = "It names no address: in Weir it applies to the router's own, but not to others."
        row.warn("wan-only", text)


def _interfaces(router: Router, row: Row, chain: str, kind: str) -> list[str | None] | None:
    """None for the members of the list WAN."""
    field, from_list = (f"{_SIDE_OF[chain]}_interface", f"{_SIDE_OF[chain]}_list")
    for key in ("out-interface", "out-interface-list", "in-interface", "in-interface-list"):
        other = row.menu.fields[key].field
        if other in row.values and other not in (field, from_list):
            row.unfit.append(row.shown(key))
    name, one = row.get(from_list), row.get(field)
    if name is not None and one is None and ZONES.get(name.lower()) == WAN and kind != "none":
        return None
    but_one = is_negated(row, f"{_SIDE_OF[chain]}-interface")
    if but_one and one is not None:
        row.changed("other-interfaces", f"“Not {one}” are the other interfaces of the file.")
    return named_interfaces(router, name, one, but_one=but_one and one is not None)


def _nat_menu(path: str) -> Menu:
    fields = {
        **MATCHES,
        "src-mac-address": Property("source_mac", but(mac)),
        "to-addresses": Property("to_address", _to_addresses),
        "to-ports": Property("to_port", _to_ports),
        _TO_ITSELF: Property("local", _local),
    }
    usual = {**QUIET, "log-prefix": ANY, "randomise-ports": ("no",)}
    return Menu(path, "a NAT rule", _nat, fields, usual, must_fit=True, after=_make_rules)


NAT = _nat_menu("/ip firewall nat")


def finish_zones(router: Router) -> None:
    """Where the file has a WAN it says what is translated, so the policy's masquerading is off."""
    outside = [item for item in router.interfaces() if item.body.get("role") == WAN and item.lines]
    if outside:
        _policy(router)
    _say_who_has_no_zone(router)


def _policy(router: Router) -> None:
    router.want_single("firewall", None, {"masquerade": False})
    if router.existing.single(Firewall).masquerade:
        text = "Only what its NAT rules say is translated: the firewall's own masquerading is turned off."
        router.say("masquerade-off", text)


def _say_who_has_no_zone(router: Router) -> None:
    without = [
        item.id
        for item in router.routed_interfaces()
        if item.lines and item.body.get("role") == NO_ZONE and _is_in_use(item.body)
    ]
    if without:
        shown = ", ".join(without[:20]) + (f" and {len(without) - 20} more" if len(without) > 20 else "")
        text = f"These interfaces have no zone, so nothing passes by them until you choose one: {shown}."
        router.say("no-zone", text)


def _is_in_use(body: Json) -> bool:
    return bool(body.get("addresses") or body.get("delegated")) or body.get("addressing") == "dhcp"
