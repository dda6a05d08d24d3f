# SPDX-License-Identifier: Apache-2.0
"""/ip arp, and what interfaces say of ARP."""

from __future__ import annotations

from ipaddress import ip_address, ip_interface

from weir.formats.report import quoted
from weir.formats.routeros.menus.convert import choice, flag, host, mac, text
from weir.formats.routeros.menus.router import Router, Wanted
from weir.formats.routeros.menus.table import ANY, Menu, Property, Row
from weir.model.arp import GUARDED, ArpMode

WORDS: dict[ArpMode, str] = {
    "on": "enabled",
    "proxy": "proxy-arp",
    "local-proxy": "local-proxy-arp",
    "reply-only": "reply-only",
}
"""By what Weir calls a mode."""
_MODES = choice({word: mode for mode, word in WORDS.items()})


def mode(value: str, row: Row) -> str:
    if value == "disabled":
        row.warn("arp", "Weir has no interface without ARP: it answers there.")
        return "on"
    if value == WORDS[GUARDED]:
        row.changed("arp", "Hosts with a lease or reservation of a DHCP server there are known, too.")
    return _MODES(value, row)


def _known(router: Router, row: Row) -> None:
    name, address = row.need("interface", "interface"), row.need("address", "address")
    wanted = router.interface(name, row.line)
    if row.get("disabled"):
        row.leave_out("disabled", "It is disabled, and Weir keeps no disabled hosts.")
    elif wanted.body.get("arp") != GUARDED or row.get("mac") is None:
        row.leave_out("learnt", f"Weir learns the hardware addresses behind {wanted.id} itself.")
    elif not _is_behind(wanted, address):
        row.leave_out("elsewhere", f"{address} is in no network of {quoted(wanted.id)}.")
    else:
        hosts = wanted.body.setdefault("known_hosts", [])
        assert isinstance(hosts, list)
        hosts[:] = [item for item in hosts if item["address"] != address]
        hosts.append({"address": address, "mac": row.get("mac")})


def _is_behind(wanted: Wanted, address: str) -> bool:
    own = wanted.body.get("addresses", ())
    assert isinstance(own, list | tuple)
    return any(ip_address(address) in ip_interface(text).network for text in own)


ARP = Menu(
    "/ip arp",
    "a known host of an interface with `arp=reply-only`; of other interfaces Weir learns them itself",
    _known,
    {
        "address": Property("address", host),
        "interface": Property("interface", text),
        "mac-address": Property("mac", mac),
        "disabled": Property("disabled", flag),
    },
    {"comment": ANY, "published": ("no",)},
)
