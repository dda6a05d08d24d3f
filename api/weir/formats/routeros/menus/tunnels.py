# SPDX-License-Identifier: Apache-2.0
"""WireGuard tunnels and their peers. No key that is secret is taken: the router makes its own."""

from __future__ import annotations

from weir.fields.secret import LOST
from weir.formats.identity import slug
from weir.formats.routeros.menus.convert import COMMON, prefix, seconds, text, whole
from weir.formats.routeros.menus.links import described
from weir.formats.routeros.menus.router import Json, Router
from weir.formats.routeros.menus.table import ANY, Menu, Property, Row
from weir.model.codec import to_stored_json
from weir.model.endpoint import join_endpoint, parse_key

USUAL_PORT = 13_231
"""Of RouterOS, where the first tunnel says none."""
_UNKNOWN = {"sealed": LOST}


def _tunnel(router: Router, row: Row) -> None:
    wanted = described(row, row.need("name", "name"))
    group = wanted.body.setdefault("wireguard", {"private_key": _UNKNOWN})
    group["listen_port"] = row.get("listen_port", USUAL_PORT)
    if group.get("private_key") == _UNKNOWN:
        row.warn(
            "private-key", "Its private key is not taken: enter it, or have one made and tell the peers."
        )


TUNNEL = Menu(
    "/interface wireguard",
    "an interface of the type wireguard, without its private key",
    _tunnel,
    {
        **COMMON,
        "name": Property("name", text),
        "mtu": Property("mtu", whole),
        "listen-port": Property("listen_port", whole),
    },
    {"private-key": ANY},
    makes_interface=True,
)


def _peer(router: Router, row: Row) -> None:
    interface = router.interface_of_id(router.interface_id(row.need("interface", "interface")))
    key = row.need("public_key", "public-key")
    body: Json = {
        "interface": interface.id,
        "public_key": key,
        "route_allowed_ips": False,
        **row.some("allowed_ips", "keepalive_s", "comment", "disabled"),
    }
    if row.get("host"):
        body["endpoint"] = join_endpoint(row.values["host"], row.get("port") or USUAL_PORT)
    base = row.get("name") or row.get("comment") or "peer"
    object_id = slug(f"{interface.id}-{base}", "peer")[:40]
    if ("wireguard-peer", object_id) in router.wanted:
        object_id = router.name_of_content("wireguard-peer", body)
    if row.given.get("preshared-key"):
        body["preshared_key"] = _kept(router, object_id) or _UNKNOWN
    if body.get("preshared_key") == _UNKNOWN:
        row.warn("preshared-key", "Its preshared key is not taken: it is not in force until you enter it.")
    router.want("wireguard-peer", object_id, row.line, body)


def _kept(router: Router, object_id: str) -> object:
    """The key that the router has of this peer already, as it is stored."""
    present = router.existing.get("wireguard-peer", object_id)
    return None if present is None else to_stored_json(present).get("preshared_key")


def _key(value: str, _row: Row) -> str:
    return parse_key(value)


def _prefixes(value: str, row: Row) -> list[str]:
    return [prefix(item.strip(), row) for item in value.split(",") if item.strip()]


PEER = Menu(
    "/interface wireguard peers",
    "a WireGuard peer; RouterOS makes no routes to it, so neither does Weir",
    _peer,
    {
        **COMMON,
        "name": Property("name", text),
        "interface": Property("interface", text),
        "public-key": Property("public_key", _key),
        "allowed-address": Property("allowed_ips", _prefixes),
        "endpoint-address": Property("host", text),
        "endpoint-port": Property("port", whole),
        "persistent-keepalive": Property("keepalive_s", seconds),
    },
    {
        "preshared-key": ANY,
        "private-key": ANY,
        "client-address": ANY,
        "client-dns": ANY,
        "client-endpoint": ANY,
        "client-keepalive": ANY,
        "client-listen-port": ANY,
        "responder": ("no",),
        "is-responder": ("no",),
    },
)
