# SPDX-License-Identifier: Apache-2.0
"""/interface: those that Weir does not have."""

from __future__ import annotations

from weir.formats.routeros.menus.router import Router
from weir.formats.routeros.menus.table import Menu, Row

_UNMADE = {
    "pppoe-server server": "a PPPoE server",
    "l2tp-client": "an L2TP client",
    "l2tp-server": "an L2TP server",
    "pptp-client": "a PPTP client",
    "pptp-server": "a PPTP server",
    "sstp-client": "an SSTP client",
    "ovpn-client": "an OpenVPN client",
    "ppp-client": "a PPP client",
    "ipip": "an IPIP tunnel",
    "ipipv6": "an IPIP tunnel",
    "6to4": "a 6to4 tunnel",
    "eoip": "an EoIP tunnel",
    "eoipv6": "an EoIP tunnel",
    "vrrp": "a VRRP interface",
    "macvlan": "a macvlan",
    "vpls": "a VPLS tunnel",
    "wireless": "a radio",
    "wifi": "a radio",
    "wifiwave2": "a radio",
    "lte": "a mobile modem",
}


def _unmade_menu(path: str, what: str) -> Menu:
    def take(router: Router, row: Row) -> None:
        name = row.given.get("name") or row.given.get("find default-name") or row.given.get("default-name")
        if name:
            router.unmade[name] = f"{what}, which Weir does not have"
        row.leave_out("no-counterpart", f"It is {what}, which Weir does not have.")

    return Menu(f"/interface {path}", "", take, verbs=("add", "set"), is_opaque=True)


UNMADE = tuple(_unmade_menu(path, what) for path, what in _UNMADE.items())
