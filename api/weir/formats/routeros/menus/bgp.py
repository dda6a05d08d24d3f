# SPDX-License-Identifier: Apache-2.0
"""BGP, as RouterOS 6 has it (instances and peers) and RouterOS 7 (templates and connections).

Filters are programs and are not taken. So a neighbor that had some is imported disabled, as is one in another
AS, which needs policies here (RFC 8212). So is one whose password the file hides or has.
"""

from __future__ import annotations

from collections.abc import Mapping
from ipaddress import ip_address, ip_interface, ip_network
from typing import Any

from weir.fields.secret import LOST
from weir.formats.identity import slug
from weir.formats.report import quoted
from weir.formats.routeros.menus.convert import (
    COMMON,
    choice,
    flag,
    host,
    prefix,
    seconds,
    text,
    whole,
    words,
)
from weir.formats.routeros.menus.lists import address_set_id
from weir.formats.routeros.menus.router import Json, Router, Wanted
from weir.formats.routeros.menus.routers import bfd_profile, of_vrf, router_id, say_filters
from weir.formats.routeros.menus.table import ANY, Menu, Property, Row
from weir.kinds.bgp import Bgp
from weir.kinds.bgp_neighbor import BgpNeighbor
from weir.model.codec import to_stored_json

DEFAULT = "default"
USUAL_ASN_OF_VERSION_6 = 65_530
USUAL_HOLD_S = 180
MOST_HOPS = 254
MAX_DESCRIPTION_CHARS = 80
_ANNOUNCED = ("connected", "static", "ospf")
"""What both RouterOS and Weir can announce of other origins."""
_FAMILIES = {"ip": "ipv4", "ipv6": "ipv6"}
Said = Mapping[str, Any]
"""What a command says, also by its templates and its instance."""


def _peer_address(value: str, _row: Row) -> str:
    """RouterOS 7 also takes a network, from which anybody may begin."""
    found = ip_network(value)
    if found.num_addresses > 1:
        raise ValueError("it is a network, and Weir has a neighbor for each address")
    return str(found.network_address)


def _is_said(value: str, _row: Row) -> bool:
    return bool(value)


def _name(row: Row) -> str:
    """`set default ...` and `set [ find default=yes ] ...` name what RouterOS has by itself."""
    return str(row.get("name") or row.get("found") or DEFAULT)


def _kept_for_others(_router: Router, row: Row) -> None:
    if row.is_disabled:
        row.leave_out("disabled", "It was off.")


def _rows_by_name(router: Router, path: str) -> dict[str, Mapping[str, Any]]:
    def found() -> dict[str, Mapping[str, Any]]:
        rows = (row for row in router.rows.get(path, ()) if row.line.fate != "left-out")
        by_name: dict[str, dict[str, Any]] = {}
        for row in rows:
            by_name.setdefault(_name(row), {}).update(row.values)
        return dict(by_name)

    return router.once(path, found)


def _said(router: Router, row: Row) -> Said:
    """Its own words before those of its template, and these before those of its instance."""
    templates = _rows_by_name(router, TEMPLATE.path)
    instances = _rows_by_name(router, INSTANCE.path)
    named = row.get("templates", ())
    for name in named:
        if name not in templates and name != DEFAULT:
            raise ValueError(f"The file has no BGP template {quoted(name)}.")
    found: dict[str, Any] = {}
    for name in (*(named or ()), *(() if "asn" in row.values or named else (DEFAULT,))):
        found = {**templates.get(name, {}), **found}
    instance = row.get("instance", DEFAULT)
    if instance not in instances and instance != DEFAULT:
        raise ValueError(f"The file has no BGP instance {quoted(instance)}.")
    found = {**instances.get(instance, {}), **found}
    for name in ("name", "found", "comment", "disabled"):
        found.pop(name, None)
    if row.menu.path in (PEER.path, NETWORK.path):
        found.setdefault("asn", USUAL_ASN_OF_VERSION_6)
    return {**found, **row.values}


# -- the instance -------------------------------------------------------------------------------------------


def _instance_of(router: Router, said: Said) -> Wanted:
    """The BGP of the session's VRF."""
    asn, vrf = said.get("asn"), of_vrf(router, said.get("vrf") or said.get("table"))
    if asn is None:
        raise ValueError("The file does not say its own AS.")
    present = next((bgp for bgp in router.existing.every(Bgp) if bgp.vrf == vrf), None)
    object_id = present.id if present is not None else slug(f"as{asn}-{vrf}" if vrf else f"as{asn}", "bgp")
    found = router.wanted.get(("bgp", object_id)) or _other_of(router, vrf)
    known = found.body["asn"] if found is not None else present.asn if present is not None else asn
    if known != asn:
        raise ValueError(f"It says AS {asn}, and BGP {f'in {vrf}' if vrf else 'here'} has AS {known}.")
    if found is None:
        body = to_stored_json(present) if present is not None else {}
        found = router.want("bgp", object_id, None, {**body, "asn": asn, **({"vrf": vrf} if vrf else {})})
    found.body.update(router_id(router, said.get("router_id")))
    return found


def _other_of(router: Router, vrf: str | None) -> Wanted | None:
    """The BGP that the file has for a VRF already, whatever its AS."""
    made = (item for item in router.wanted.values() if item.kind == "bgp")
    return next((item for item in made if item.body.get("vrf") == vrf), None)


def _announce(router: Router, row: Row, said: Said, bgp: Wanted) -> None:
    """RouterOS 7 says so for each session, Weir for all of them."""
    origins = set(said.get("redistribute", ()))
    origins |= {origin for origin in _ANNOUNCED if said.get(f"redistribute_{origin}")}
    lacking = sorted(origins.difference(_ANNOUNCED))
    if lacking:
        row.warn("redistribute", f"Weir does not announce routes of this origin: {', '.join(lacking)}.")
    for origin in origins.intersection(_ANNOUNCED):
        bgp.body[f"redistribute_{origin}"] = True
    networks = _networks(router, row, said.get("networks_of"))
    bgp.body["networks"] = list(dict.fromkeys((*bgp.body.get("networks", ()), *networks)))
    if said.get("redistribute") or networks:
        text = "What is announced is that of all neighbors, less what the policy of each holds back."
        row.changed("announced-to-all", text)


def _networks(router: Router, row: Row, name: str | None) -> list[str]:
    """The prefixes of the address list that a session announces."""
    if not name:
        return []
    set_id = address_set_id(router, name)
    entries = [item.body for item in router.wanted.values() if item.kind == "set-entry"]
    found = [body["value"] for body in entries if body["set"] == set_id and not body.get("disabled")]
    if not found:
        row.warn(
            "networks", f"The file has no prefixes of the list {quoted(name)}: nothing of it is announced."
        )
    return [str(ip_network(value)) for value in found]


# -- neighbors ----------------------------------------------------------------------------------------------


def _neighbor(router: Router, row: Row) -> None:
    said = _said(router, row)
    address = row.need("address", "remote address")
    bgp = _instance_of(router, said)
    remote_as = said.get("remote_as")
    if remote_as is None and said.get("role", "").startswith("ibgp"):
        remote_as = bgp.body["asn"]
    if remote_as is None:
        raise ValueError("It does not say the AS of the neighbor.")
    is_external = remote_as != bgp.body["asn"]
    object_id, body = _begun(router, row, bgp.id, address)
    password = body.get("password")
    body |= {"bgp": bgp.id, "address": address, "remote_as": remote_as, **_described(row)}
    body |= _of_session(router, row, said, is_external)
    body |= _families(row, said, address)
    body |= _timers(said)
    wanted = router.want("bgp-neighbor", object_id, row.line, body)
    bgp.also_of(row.line)
    _announce(router, row, said, bgp)
    if said.get("password") and not password:
        wanted.body |= {"password": {"sealed": LOST}, "disabled": True}
        row.warn(
            "password", "Its password is not taken, so it is imported disabled: enter it, and enable it."
        )
    filtered = say_filters(row, said.get("in_filter"), said.get("out_filter"))
    if filtered and not is_external and not _has_policies(body):
        wanted.body["disabled"] = True
        row.warn("disabled", "It is imported disabled until it has policies.")


def _begun(router: Router, row: Row, bgp: str, address: str) -> tuple[str, Json]:
    """The neighbor as this router has it, with its policies; else a new one."""
    present = next(
        (item for item in router.existing.every(BgpNeighbor) if (item.bgp, item.address) == (bgp, address)),
        None,
    )
    if present is not None:
        return present.id, {**to_stored_json(present), **row.some("disabled")}
    name = row.get("name") or address
    object_id = router.id_of("bgp-neighbor", (bgp, name), slug(name, "neighbor"))
    return object_id, row.some("disabled")


def _has_policies(body: Json) -> bool:
    return all(body.get(f"{way}_route_map") or body.get(f"{way}_prefix_list") for way in ("import", "export"))


def _described(row: Row) -> Json:
    words = ": ".join(dict.fromkeys(word for word in (row.get("name"), row.get("comment")) if word))
    return {"description": " ".join(words.split())[:MAX_DESCRIPTION_CHARS]} if words else {}


def _of_session(router: Router, row: Row, said: Said, is_external: bool) -> Json:
    found: Json = {}
    if said.get("multihop") and is_external:
        hops = said.get("ttl", MOST_HOPS)
        found["multihop"] = min(max(hops, 2), MOST_HOPS)
    if said.get("passive") or said.get("connect") is False:
        found["passive"] = True
    if said.get("next_hop") == "self":
        found["next_hop_self"] = True
    elif said.get("next_hop"):
        row.warn("next-hop", f"The choice of the next hop is not taken: {said.get('next_hop')}.")
    if said.get("reflects") or said.get("role") == "ibgp-rr":
        found["route_reflector_client"] = True
    if said.get("default") == "always":
        found["default_originate"] = True
    elif said.get("default") == "if-installed":
        found["default_originate"] = True
        row.changed("default-route", "The default route is announced whether there is one or not.")
    if said.get("maximum_prefixes"):
        found["maximum_prefixes"] = said.get("maximum_prefixes")
    if said.get("bfd"):
        found["bfd"] = bfd_profile(router, row.line)
    return found | _source(router, row, said)


def _source(router: Router, row: Row, said: Said) -> Json:
    """The interface that has the session's own address. A neighbor on its network is asked from it anyway."""
    named, address = said.get("source"), said.get("local")
    if named:
        try:
            address = str(ip_address(named))
        except ValueError:
            return {"update_source": router.interface_id(named)}
    if not address:
        return {}
    peer = ip_address(row.values["address"])
    for item in router.interfaces():
        own = [ip_interface(text) for text in item.body.get("addresses", ())]
        if any(each.ip == ip_address(address) for each in own):
            return {} if any(peer in each.network for each in own) else {"update_source": item.id}
    row.warn("local-address", f"No interface of the file has the address {address}: Weir chooses it.")
    return {}


def _families(row: Row, said: Said, address: str) -> Json:
    words = said.get("families", ("ip",))
    lacking = [word for word in words if word not in _FAMILIES]
    if lacking:
        row.warn("families", f"Weir does not exchange these routes: {', '.join(lacking)}.")
    known = {_FAMILIES[word] for word in words if word in _FAMILIES}
    if not known:
        raise ValueError("Weir exchanges none of its families of routes.")
    family = "both" if len(known) == 2 else known.pop()
    return {} if family == ("ipv6" if ":" in address else "ipv4") else {"family": family}


def _timers(said: Said) -> Json:
    hold_s, keepalive_s = said.get("hold_s"), said.get("keepalive_s")
    if keepalive_s is not None:
        return {"hold_s": hold_s or USUAL_HOLD_S, "keepalive_s": keepalive_s}
    return {} if hold_s in (None, USUAL_HOLD_S) else {"hold_s": hold_s}


def _network(router: Router, row: Row) -> None:
    """Of RouterOS 6."""
    said = _said(router, row)
    network = row.need("network", "network")
    if row.is_disabled:
        row.leave_out("disabled", "It was off, and Weir keeps no networks that are.")
        return
    bgp = _instance_of(router, said)
    bgp.body["networks"] = list(dict.fromkeys((*bgp.body.get("networks", ()), network)))
    bgp.of(row.line)


_NEXT_HOPS = choice({"default": "", "force-self": "self", "propagate": "propagate"})
_OF_ALL = {
    **COMMON,
    "as": Property("asn", whole),
    "router-id": Property("router_id", text),
    "vrf": Property("vrf", text),
    "routing-table": Property("table", text),
}
_OF_SESSIONS = {
    **_OF_ALL,
    "name": Property("name", text),
    "address-families": Property("families", words),
    "hold-time": Property("hold_s", seconds),
    "keepalive-time": Property("keepalive_s", seconds),
    "multihop": Property("multihop", flag),
    "nexthop-choice": Property("next_hop", _NEXT_HOPS),
    "tcp-md5-key": Property("password", _is_said),
    "use-bfd": Property("bfd", flag),
}
_OF_VERSION_7 = {
    **_OF_SESSIONS,
    "afi": Property("families", words),
    "output.default-originate": Property("default", text),
    "output.network": Property("networks_of", text),
    "output.redistribute": Property("redistribute", words),
    "output.filter-chain": Property("out_filter", text),
    "output.filter": Property("out_filter", text),
    "input.filter": Property("in_filter", text),
}
_USUAL_OF_VERSION_7 = {
    "output.keep-sent-attributes": ANY,
    "output.affinity": ANY,
    "input.affinity": ANY,
    "save-to": ANY,
    "add-path-out": ("none",),
    "default": ANY,
    "find default": ANY,
}
INSTANCE = Menu(
    "/routing bgp instance",
    "the AS, router ID and VRF of the sessions that name it",
    _kept_for_others,
    {
        **_OF_ALL,
        "name": Property("name", text),
        "find name": Property("found", text),
        **{f"redistribute-{origin}": Property(f"redistribute_{origin}", flag) for origin in _ANNOUNCED},
        "out-filter": Property("out_filter", text),
    },
    {
        "client-to-client-reflection": ("yes",),
        "ignore-as-path-len": ("no",),
        "cluster-id": ("", "0.0.0.0"),
        "default": ANY,
        "find default": ANY,
        "number": ANY,
        **{f"redistribute-{origin}": ("no",) for origin in ("other-bgp", "rip")},
    },
    ("add", "set"),
)
TEMPLATE = Menu(
    "/routing bgp template",
    "part of the sessions that name it",
    _kept_for_others,
    {**_OF_VERSION_7, "find name": Property("found", text)},
    _USUAL_OF_VERSION_7,
    ("add", "set"),
)
CONNECTION = Menu(
    "/routing bgp connection",
    "a BGP neighbor, disabled where it is in another AS, has filters or a password",
    _neighbor,
    {
        **_OF_VERSION_7,
        "instance": Property("instance", text),
        "templates": Property("templates", words),
        "template": Property("templates", words),
        "local.role": Property("role", text),
        "local.address": Property("local", host),
        "local.ttl": Property("ttl", whole),
        "remote.address": Property("address", _peer_address),
        "remote.as": Property("remote_as", whole),
        "connect": Property("connect", flag),
    },
    {**_USUAL_OF_VERSION_7, "listen": ("yes",), "local.port": ("179",), "remote.port": ("179",)},
)
PEER = Menu(
    "/routing bgp peer",
    "a BGP neighbor, disabled where it is in another AS, has filters or a password",
    _neighbor,
    {
        **_OF_SESSIONS,
        "instance": Property("instance", text),
        "remote-address": Property("address", host),
        "remote-as": Property("remote_as", whole),
        "ttl": Property("ttl", whole),
        "default-originate": Property("default", text),
        "in-filter": Property("in_filter", text),
        "out-filter": Property("out_filter", text),
        "route-reflect": Property("reflects", flag),
        "max-prefix-limit": Property("maximum_prefixes", whole),
        "passive": Property("passive", flag),
        "update-source": Property("source", text),
    },
    {"remote-port": ("179",), "remove-private-as": ("no",), "as-override": ("no",), "ttl": ("default",)},
)
NETWORK = Menu(
    "/routing bgp network",
    "a network that BGP announces",
    _network,
    {**COMMON, "network": Property("network", prefix), "instance": Property("instance", text)},
    {"synchronize": ANY},
)
