# SPDX-License-Identifier: Apache-2.0
"""Addresses, DHCP clients and static routes."""

from __future__ import annotations

from ipaddress import ip_interface

from weir.formats.identity import slug
from weir.formats.quantity import truth
from weir.formats.routeros.menus import ipv6, pcc, ways_out
from weir.formats.routeros.menus.convert import (
    COMMON,
    flag,
    host,
    interface,
    interface_address,
    prefix,
    text,
    whole,
)
from weir.formats.routeros.menus.router import Json, Router, Wanted
from weir.formats.routeros.menus.table import ANY, Menu, Property, Row
from weir.model.address import parse_host
from weir.model.problem import Invalid


def _with_addresses(router: Router, row: Row) -> Wanted | None:
    """The interface of the command; None if it belongs to a bridge or bond, which has the addresses. RouterOS
    lists such commands as invalid, and exports keep them for years."""
    name = row.need("interface", "interface")
    links = router.once("members of links", router.members_of_links)
    if (link := links.get(router.interface_id(name))) is not None:
        text = f"{name} belongs to {link}, which has the addresses: add it there if it is needed."
        row.leave_out("member-with-its-own", text)
        return None
    return router.interface(name, row.line)


def _address(router: Router, row: Row) -> None:
    if row.get("disabled"):
        row.leave_out("disabled", "It is disabled, and Weir keeps no disabled addresses.")
        return
    wanted = _with_addresses(router, row)
    if wanted is None:
        return
    if row.get("pool"):
        ipv6.take_part(router, row, wanted)
        return
    address = row.need("address", "address")
    if row.get("eui_64"):
        raise ValueError("With eui-64 the address follows from the hardware, which the file does not name.")
    if row.get("network") not in (None, str(ip_interface(address).network.network_address)):
        row.warn("peer", f"Its peer {row.values['network']} is not taken: add a static route to it.")
    wanted.body["addresses"] = list(dict.fromkeys([*wanted.body.get("addresses", ()), address]))
    wanted.describe(row, "addresses")
    if ":" in address and not address.startswith("fe80") and row.get("advertise", True):
        ipv6.announced(router, row, wanted)


_ADDRESS = {
    **COMMON,
    "address": Property("address", interface_address),
    "interface": Property("interface", text),
}
ADDRESS = Menu(
    "/ip address",
    "an address of the interface",
    _address,
    {**_ADDRESS, "network": Property("network", host)},
    {"broadcast": ANY},
)
ADDRESS_6 = Menu(
    "/ipv6 address",
    "an address of the interface",
    _address,
    {
        **_ADDRESS,
        "eui-64": Property("eui_64", flag),
        "advertise": Property("advertise", flag),
        "from-pool": Property("pool", text),
    },
    {"no-dad": ("no",), "auto-link-local": ANY},
)


def _client(router: Router, row: Row) -> None:
    if row.get("disabled"):
        row.leave_out("disabled", "It is disabled, so the interface asks for no address.")
        return
    wanted = _with_addresses(router, row)
    if wanted is not None:
        wanted.body["addressing"] = "dhcp"
        wanted.describe(row, "DHCP clients")


CLIENT = Menu(
    "/ip dhcp-client",
    "the addressing of the interface, and an uplink beside routes whose gateways are checked",
    _client,
    {
        **COMMON,
        "interface": Property("interface", text),
        "default-route-distance": Property("distance", whole),
    },
    {
        "add-default-route": ("yes",),
        "use-peer-dns": ANY,
        "use-peer-ntp": ANY,
        "dhcp-options": ("hostname,clientid", "clientid,hostname"),
        "name": ANY,
    },
)


# -- routes ------------------------------------------------------------------------------------------------


def _ways(value: str, row: Row) -> list[Json]:
    """`192.0.2.1`, `ether1`, `192.0.2.1%ether1`, and several of these with commas between them."""
    return [_way(item.strip(), row) for item in value.split(",") if item.strip()]


def _way(value: str, row: Row) -> Json:
    value = value.removesuffix("@main")
    for key in ("routing-table", "routing-mark"):
        value = value.removesuffix(f"@{row.given.get(key, 'main')}")
    if "@" in value:
        raise ValueError("its gateway is looked up in another table")
    gateway, _, device = value.partition("%")
    try:
        found: Json = {"gateway": parse_host(gateway)}
    except Invalid:
        return {"interface": interface(value, row)}
    if device:
        found["interface"] = interface(device, row)
    return found


_EVERYTHING = {"/ip route": "0.0.0.0/0", "/ipv6 route": "::/0"}


def _route(router: Router, row: Row) -> None:
    if pcc.takes_route(router, row) or ways_out.takes_route(router, row):
        return
    table, kind = row.get("table", "main"), row.get("type", "unicast")
    body: Json = {"destination": row.get("destination") or _EVERYTHING[row.menu.path]}
    if table != "main":
        vrf = router.wanted.get(("interface", table))
        if vrf is None or "vrf_table" not in vrf.body:
            raise ValueError("It is in another routing table, which Weir has for VRFs only.")
        body["vrf"] = vrf.id
    ways = row.get("ways", ())
    if row.get("blackhole") or kind != "unicast":
        ways = [{"blackhole": True}]
        if kind in ("unreachable", "prohibit"):
            row.changed("blackhole", f"{kind}: senders are not told that their packets are dropped.")
    if not ways:
        raise ValueError("It has no gateway.")
    body.update(row.some("distance", "comment", "disabled"))
    if row.get("check") not in (None, "none"):
        row.warn("not-checked", "Its gateway is not checked: the route stays while the link is up.")
    for way in ways:
        through = way.get("gateway") or way.get("interface") or "blackhole"
        number = body.get("distance", 1)
        words = f"{table if table != 'main' else ''} {body['destination']} {through} {number}"
        base = slug(words.replace(":", ".").replace("/", "_"), "route")
        object_id = router.id_of("static-route", (words, way.get("interface")), base)
        router.want_in_force("static-route", object_id, row.line, {**body, **way})


def _is_blackhole(value: str, _row: Row) -> bool:
    """RouterOS exports the word alone."""
    return not value or truth(value)


def _route_menu(path: str) -> Menu:
    fields = {
        **COMMON,
        "dst-address": Property("destination", prefix),
        "gateway": Property("ways", _ways),
        "distance": Property("distance", whole),
        "routing-table": Property("table", text),
        "routing-mark": Property("table", text),
        "type": Property("type", text),
        "blackhole": Property("blackhole", _is_blackhole),
        "check-gateway": Property("check", text),
    }
    usual = {
        "scope": ("30",),
        "target-scope": ("10",),
        "suppress-hw-offload": ANY,
        "vrf-interface": ANY,
        "pref-src": ("", "0.0.0.0", "::"),
    }
    checked = ", or an uplink where gateways are checked" if path == "/ip route" else ""
    return Menu(path, f"a static route{checked}", _route, fields, usual)


ROUTE = _route_menu("/ip route")
ROUTE_6 = _route_menu("/ipv6 route")
