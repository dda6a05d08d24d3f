# SPDX-License-Identifier: Apache-2.0
"""OSPF, as RouterOS 6 has it (networks and interfaces) and RouterOS 7 (templates of interfaces).

Weir has one instance, for IPv4, whose areas are normal ones. An interface of another kind of area, or with a
signature that Weir does not have, would find no neighbor: it is imported disabled.
"""

from __future__ import annotations

from collections.abc import Iterable
from ipaddress import IPv4Network, ip_address, ip_interface, ip_network
from typing import Any, NamedTuple

from weir.fields.secret import LOST
from weir.formats.identity import slug
from weir.formats.report import quoted
from weir.formats.routeros.menus.convert import (
    COMMON,
    choice,
    flag,
    interface_names,
    prefix,
    seconds,
    text,
    whole,
    words,
)
from weir.formats.routeros.menus.router import Json, Router, Wanted
from weir.formats.routeros.menus.routers import MAIN, bfd_profile, router_id, say_filters
from weir.formats.routeros.menus.table import ANY, Menu, Property, Row
from weir.kinds.ospf import Ospf
from weir.kinds.ospf_interface import OspfInterface
from weir.model.codec import to_stored_json

BACKBONE = "backbone"
"""The area that RouterOS 6 has by itself."""
USUAL_COST, USUAL_PRIORITY = {"6": 10, "7": 1}, {"6": 1, "7": 128}
"""Of RouterOS, by its version."""
_ANNOUNCED = ("connected", "static", "bgp")
_KINDS = {"broadcast": False, "ptp": True, "ptp-unnumbered": True, "point-to-point": True, "default": False}
"""Of networks that Weir has, by whether they lead to one neighbor."""
_SIGNED = ("md5",)


class Area(NamedTuple):
    number: int
    is_off: bool
    """It, or its instance."""
    is_normal: bool


# -- the instance -------------------------------------------------------------------------------------------


def _instance(router: Router, row: Row) -> None:
    name = _name(row)
    instances = router.once("ospf instances", dict[str, bool])
    if row.get("version", "2") != "2":
        row.leave_out("ospf-v3", "Weir has OSPF for IPv4 only.")
        return
    if (row.get("vrf") or row.get("table") or MAIN) != MAIN:
        row.leave_out("ospf-in-vrf", "Weir has OSPF outside of VRFs only.")
        return
    if any(other != name for other in instances):
        row.leave_out("ospf-twice", "Weir has one instance of OSPF, and the file another before it.")
        return
    instances[name] = row.is_disabled
    wanted = _ospf(router)
    wanted.of(row.line).body.update(
        {**router_id(router, row.get("router_id")), **row.some("comment", "disabled")}
    )
    is_filtered = say_filters(row, row.get("in_filter"), row.get("out_filter"))
    _announce(row, wanted, is_filtered=is_filtered and bool(row.get("out_filter")))


def _name(row: Row) -> str:
    return str(row.get("name") or row.get("found") or "default")


def _ospf(router: Router) -> Wanted:
    """The one that this router has, or a new one."""
    made = next((item for item in router.wanted.values() if item.kind == "ospf"), None)
    if made is not None:
        return made
    present = next(iter(router.existing.every(Ospf)), None)
    body: Json = {} if present is None else to_stored_json(present)
    return router.want("ospf", "ospf" if present is None else present.id, None, body)


def _announce(row: Row, ospf: Wanted, *, is_filtered: bool) -> None:
    """Nothing of what a filter decided about: it might have held it back."""
    origins = set(row.get("redistribute", ()))
    origins |= {origin for origin in _ANNOUNCED if row.get(f"redistribute_{origin}", "no") != "no"}
    if is_filtered and origins:
        row.warn("redistribute", f"Not announced without its filter: {', '.join(sorted(origins))} routes.")
        return
    lacking = sorted(origins.difference(_ANNOUNCED))
    if lacking:
        row.warn("redistribute", f"Weir does not announce routes of this origin: {', '.join(lacking)}.")
    ospf.body.update({f"redistribute_{origin}": True for origin in origins.intersection(_ANNOUNCED)})
    default = row.get("default", "never")
    if default != "never":
        ospf.body["default_originate"] = True
    if default.startswith("always"):
        row.changed("default-route", "The default route is announced while this router has one.")


# -- areas --------------------------------------------------------------------------------------------------


def _area(router: Router, row: Row) -> None:
    areas = router.once("ospf areas", dict[str, Area])
    instances = router.once("ospf instances", dict[str, bool])
    name, instance = row.need("name", "name"), row.get("instance", "default")
    if instance not in instances and instance != "default":
        raise ValueError(f"Its instance {quoted(instance)} is not taken, or not in the file.")
    kind = row.get("type", "default")
    if kind != "default":
        row.warn(
            "area-type", f"Weir's areas are normal ones, not {kind}: its interfaces are imported disabled."
        )
    is_off = row.is_disabled or instances.get(instance, False)
    areas[name] = Area(row.get("number", 0), is_off, kind == "default")


def _area_of(router: Router, row: Row) -> Area:
    areas = router.once("ospf areas", dict[str, Area])
    name = row.get("area", BACKBONE)
    if name not in areas and name == BACKBONE:
        instances = router.once("ospf instances", dict[str, bool])
        return Area(0, instances.get("default", False), True)
    if name not in areas:
        raise ValueError(f"Its area {quoted(name)} is not taken, or not in the file.")
    return areas[name]


def _area_number(value: str, _row: Row) -> int:
    return int(ip_address(value)) if "." in value else int(value)


# -- interfaces ---------------------------------------------------------------------------------------------


def _template(router: Router, row: Row) -> None:
    """Of RouterOS 7: the first template that fits an interface counts."""
    area = _area_of(router, row)
    networks = row.get("networks", ())
    found = [item for item in _named(router, row.get("interfaces")) if _is_in(item, networks)]
    if not found:
        raise ValueError("No interface of the file fits it.")
    taken = [item for item in found if not _has_part(router, item.id)]
    if not taken:
        row.leave_out("ospf-interface-twice", "Commands before it say all of its interfaces.")
        return
    for item in taken:
        _take_part(router, row, item.id, area, "7")
        _say_others(row, item, networks)


def _named(router: Router, names: Iterable[str] | None) -> list[Wanted]:
    """Interfaces, and those of interface lists; without a name all of them."""
    if not names or "all" in names:
        return _outside_vrfs(router)
    found: dict[str, Wanted] = {}
    for name in names:
        ids = router.members(name) if name in router.lists else [router.interface_id(name)]
        found |= {item: router.interface_of_id(item) for item in ids}
    return list(found.values())


def _outside_vrfs(router: Router) -> list[Wanted]:
    return [item for item in router.routed_interfaces() if not item.body.get("vrf")]


def _own_networks(item: Wanted) -> list[IPv4Network]:
    own = (ip_interface(text).network for text in item.body.get("addresses", ()))
    return [network for network in own if isinstance(network, IPv4Network)]


def _is_in(item: Wanted, networks: Iterable[IPv4Network]) -> bool:
    """Whether one of its networks lies in one of these, if any are said."""
    return not networks or any(_lies_in(own, networks) for own in _own_networks(item))


def _lies_in(own: IPv4Network, networks: Iterable[IPv4Network]) -> bool:
    return any(own.subnet_of(network) for network in networks)


def _say_others(row: Row, item: Wanted, networks: Iterable[IPv4Network]) -> None:
    others = [str(own) for own in _own_networks(item) if networks and not _lies_in(own, networks)]
    if others:
        row.changed("all-networks", f"All networks of {item.id} are announced, also {', '.join(others)}.")


def _has_part(router: Router, interface: str) -> bool:
    return any(
        item.kind == "ospf-interface" and item.body["interface"] == interface
        for item in router.wanted.values()
    )


def _take_part(router: Router, row: Row, interface: str, area: Area, version: str) -> Wanted:
    """The interface as this router has it in OSPF, with its password; else a new one."""
    ospf = _ospf(router)
    present = next((o for o in router.existing.every(OspfInterface) if o.interface == interface), None)
    body: Json = {} if present is None else to_stored_json(present)
    body |= {"ospf": ospf.id, "interface": interface, "area": area.number}
    body |= _said_of(router, row, version, body.get("password"))
    if area.is_off:
        body["disabled"] = True
    object_id = slug(interface, "interface") if present is None else present.id
    wanted = router.want("ospf-interface", object_id, row.line, body)
    ospf.also_of(row.line)
    if not area.is_normal:
        wanted.body["disabled"] = True
    return wanted


def _said_of(router: Router, row: Row, version: str, password: object) -> Json:
    """What a command says of its interfaces; what it does not say is as RouterOS has it. `password`: the one
    that is here already."""
    body: Json = {
        "cost": row.get("cost", USUAL_COST[version]),
        "priority": row.get("priority", USUAL_PRIORITY[version]),
        **row.some("hello_s", "dead_s", "comment", "disabled"),
    }
    if row.get("passive"):
        body["passive"] = True
    else:
        body["point_to_point"] = _KINDS.get(row.get("type", "default"), False)
        if row.get("bfd"):
            body["bfd"] = bfd_profile(router, row.line)
    if row.get("type", "default") not in _KINDS:
        body["disabled"] = True
        row.warn(
            "network-type", f"It is imported disabled: Weir has no networks of the type {row.get('type')}."
        )
    return body | _signature(row, password)


def _signature(row: Row, password: object) -> Json:
    kind = row.get("auth", "none")
    if kind in ("none", ""):
        return {}
    if kind not in _SIGNED:
        row.warn("signature", f"It is imported disabled: Weir signs by MD5, not by {kind}.")
        return {"disabled": True}
    if password is not None:
        return row.some("key_id")
    row.warn("password", "Its password is not taken, so it is imported disabled: enter it, and enable it.")
    return {"password": {"sealed": LOST}, "disabled": True, **row.some("key_id")}


def _network(router: Router, row: Row) -> None:
    """Of RouterOS 6: interfaces with an address in it take part."""
    area, network = _area_of(router, row), row.need("network", "network")
    if row.is_disabled:
        row.leave_out("disabled", "It was off.")
        return
    found = [item for item in _outside_vrfs(router) if _is_in(item, (network,))]
    if not found:
        raise ValueError("No interface of the file has an address in it.")
    for item in found:
        if not _has_part(router, item.id):
            _take_part(router, row, item.id, area, "6")
        _say_others(row, item, (network,))


def _interface(router: Router, row: Row) -> None:
    """Of RouterOS 6: how an interface takes part, if one of its networks does."""
    name = row.need("interface", "interface")
    parts = [item for item in router.wanted.values() if item.kind == "ospf-interface"]
    if name != "all":
        interface = router.interface_id(name)
        parts = [item for item in parts if item.body["interface"] == interface]
    if not parts:
        row.leave_out("no-network", "No network of the file's OSPF is on it.")
        return
    for item in parts:
        is_off = item.body.get("disabled", False)
        item.of(row.line).body.update(_said_of(router, row, "6", item.body.get("password")))
        item.body["disabled"] = is_off or item.body.get("disabled", False)


def _networks(value: str, row: Row) -> tuple[IPv4Network, ...]:
    found = tuple(ip_network(prefix(item.strip(), row)) for item in value.split(",") if item.strip())
    if not all(isinstance(item, IPv4Network) for item in found):
        raise ValueError("Weir has OSPF for IPv4 only")
    return found  # type: ignore[return-value]  # as has just been checked


def _one_network(value: str, row: Row) -> Any:
    (found,) = _networks(value, row)
    return found


def _passive(value: str, _row: Row) -> bool:
    """RouterOS 7 writes the word alone."""
    return value in ("", "yes", "true")


_WAYS = choice({way: way for way in ("never", "always", "if-installed")})
_OF_INTERFACES = {
    **COMMON,
    "cost": Property("cost", whole),
    "priority": Property("priority", whole),
    "hello-interval": Property("hello_s", seconds),
    "dead-interval": Property("dead_s", seconds),
    "passive": Property("passive", _passive),
    "use-bfd": Property("bfd", flag),
}
INSTANCE = Menu(
    "/routing ospf instance",
    "the OSPF instance, if it is the first and for IPv4",
    _instance,
    {
        **COMMON,
        "name": Property("name", text),
        "find name": Property("found", text),
        "version": Property("version", text),
        "router-id": Property("router_id", text),
        "vrf": Property("vrf", text),
        "routing-table": Property("table", text),
        "redistribute": Property("redistribute", words),
        "originate-default": Property("default", _WAYS),
        "distribute-default": Property("default", text),
        **{f"redistribute-{origin}": Property(f"redistribute_{origin}", text) for origin in _ANNOUNCED},
        "in-filter-chain": Property("in_filter", text),
        "out-filter-chain": Property("out_filter", text),
        "in-filter": Property("in_filter", text),
        "out-filter": Property("out_filter", text),
    },
    {
        "default": ANY,
        "find default": ANY,
        "number": ANY,
        "in-filter": ("ospf-in",),
        "out-filter": ("ospf-out",),
        **{f"redistribute-{origin}": ("no",) for origin in ("rip", "other-ospf")},
        **{
            f"metric-{origin}": ANY
            for origin in ("default", "connected", "static", "rip", "bgp", "other-ospf")
        },
    },
    ("add", "set"),
)
AREA = Menu(
    "/routing ospf area",
    "the area's number at its interfaces",
    _area,
    {
        **COMMON,
        "name": Property("name", text),
        **dict.fromkeys(("instance", "inst"), Property("instance", text)),
        "area-id": Property("number", _area_number),
        "type": Property("type", text),
    },
    {"default-cost": ANY, "inject-summary-lsas": ANY, "translator-role": ANY},
)
TEMPLATE = Menu(
    "/routing ospf interface-template",
    "an interface in OSPF, for each that fits",
    _template,
    {
        **_OF_INTERFACES,
        "area": Property("area", text),
        **dict.fromkeys(("interfaces", "interface"), Property("interfaces", interface_names)),
        **dict.fromkeys(("networks", "network"), Property("networks", _networks)),
        "type": Property("type", text),
        "auth": Property("auth", text),
        "auth-id": Property("key_id", whole),
    },
    {
        "auth-key": ANY,
        "authentication-key": ANY,
        "instance-id": ("0",),
        "retransmit-interval": ("5s",),
        "transmit-delay": ("1s",),
    },
)
NETWORK = Menu(
    "/routing ospf network",
    "an interface in OSPF, for each that has an address in it",
    _network,
    {**COMMON, "area": Property("area", text), "network": Property("network", _one_network)},
)
INTERFACE = Menu(
    "/routing ospf interface",
    "how the interface takes part in OSPF",
    _interface,
    {
        **_OF_INTERFACES,
        "interface": Property("interface", text),
        "network-type": Property("type", text),
        "authentication": Property("auth", text),
        "authentication-key-id": Property("key_id", whole),
    },
    {
        "authentication-key": ANY,
        "instance-id": ("0",),
        "retransmit-interval": ("5s",),
        "transmit-delay": ("1s",),
    },
)
