# SPDX-License-Identifier: Apache-2.0
"""DHCP relays."""

from __future__ import annotations

from weir.formats.identity import slug
from weir.formats.routeros.menus.convert import COMMON, flag, host, hosts, text
from weir.formats.routeros.menus.router import Router
from weir.formats.routeros.menus.table import ANY, Menu, Property, Row

_ANY_ADDRESS = "0.0.0.0"


def _relay(router: Router, row: Row) -> None:
    name = row.need("name", "name")
    interface = router.interface_of_id(router.interface_id(row.need("interface", "interface")))
    marks = row.get("option_82", False)
    body = {
        "interface": interface.id,
        "servers": row.need("servers", "dhcp-server"),
        "option_82": marks,
        **row.some("remote_id", "comment", "disabled"),
    }
    own = [item.partition("/")[0] for item in interface.body.get("addresses", ()) if ":" not in item]
    local = row.get("address", _ANY_ADDRESS)
    if local != _ANY_ADDRESS and own[:1] != [local]:
        said = (
            f"Servers are told the first address of {interface.id}, {own[0]}" if own else "It has no address"
        )
        row.warn("local-address", f"{said}, and not {local}.")
    if marks:
        text = f"Option 82 says {interface.id} as circuit id: compare it with what the server expects."
        row.warn("circuit-id", text)
    object_id = router.id_of("dhcp-relay", name, slug(name, "relay"))
    router.want("dhcp-relay", object_id, row.line, body)


RELAY = Menu(
    "/ip dhcp-relay",
    "a DHCP relay; without option 82 where the file does not ask for it",
    _relay,
    {
        **COMMON,
        "name": Property("name", text),
        "interface": Property("interface", text),
        "dhcp-server": Property("servers", hosts),
        "local-address": Property("address", host),
        "add-relay-info": Property("option_82", flag),
        "relay-info-remote-id": Property("remote_id", text),
    },
    {
        "delay-threshold": ("none",),
        "dhcp-server-vrf": ("main",),
        "local-address-as-src-ip": ANY,
    },
)
