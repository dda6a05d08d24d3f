# SPDX-License-Identifier: Apache-2.0
"""PPPoE clients. Their passwords are not taken: an export says them in plain words, or hides them."""

from __future__ import annotations

from weir.fields.secret import LOST
from weir.formats.routeros.menus.convert import COMMON, flag, interface, text, whole
from weir.formats.routeros.menus.links import described
from weir.formats.routeros.menus.router import Router
from weir.formats.routeros.menus.table import ANY, Menu, Property, Row
from weir.model.limits import USUAL_MTU_BYTES

USUAL_DISTANCE = 1
"""Of RouterOS, where a client has the default route."""
_UNKNOWN = {"sealed": LOST}


def _mtu(value: str, row: Row) -> int | None:
    return None if value == "auto" else min(whole(value, row), USUAL_MTU_BYTES)


def _client(_router: Router, row: Row) -> None:
    wanted = described(row, row.need("name", "name"))
    group = wanted.body.get("pppoe")
    password = group.get("password") if isinstance(group, dict) else None
    wanted.body["pppoe"] = {
        "parent": row.need("parent", "interface"),
        "default_route": row.get("default_route", False),
        "distance": row.get("distance", USUAL_DISTANCE),
        "password": password or _UNKNOWN,
        **row.some("username", "service_name", "ac_name"),
    }
    if password is None:
        row.warn("password", "Its password is not taken: enter it, and the session is dialled.")


CLIENT = Menu(
    "/interface pppoe-client",
    "an interface of the type pppoe, without its password",
    _client,
    {
        **COMMON,
        "name": Property("name", text),
        "interface": Property("parent", interface),
        "user": Property("username", text),
        "service-name": Property("service_name", text),
        "ac-name": Property("ac_name", text),
        "add-default-route": Property("default_route", flag),
        "default-route-distance": Property("distance", whole),
        "max-mtu": Property("mtu", _mtu),
    },
    {
        "password": ANY,
        "max-mru": ANY,
        "mrru": ("disabled",),
        "profile": ANY,
        "keepalive-timeout": ANY,
        "use-peer-dns": ANY,
        "allow": ANY,
        "dial-on-demand": ("no",),
        "host-uniq": ANY,
    },
    makes_interface=True,
)
