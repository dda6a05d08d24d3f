# SPDX-License-Identifier: Apache-2.0
"""VXLAN and GRE. What IPsec encrypted is not sent in the open: such a tunnel is imported disabled."""

from __future__ import annotations

from weir.formats.report import quoted
from weir.formats.routeros.menus import arp
from weir.formats.routeros.menus.convert import COMMON, choice, flag, host, mac, text, whole
from weir.formats.routeros.menus.links import described
from weir.formats.routeros.menus.router import Json, Router
from weir.formats.routeros.menus.table import ANY, Menu, Property, Row
from weir.model.limits import USUAL_MTU_BYTES
from weir.model.tunnels import Gre, Vxlan

VXLAN_PORT = 4789
"""RFC 7348, 5."""


def _end(value: str, row: Row) -> str | None:
    found = host(value, row)
    return None if found in ("0.0.0.0", "::") else found


def _mtu(value: str, row: Row) -> int | None:
    return None if value == "auto" else whole(value, row)


def _fitting(row: Row, overhead_bytes: int) -> None:
    """RouterOS cuts packets that do not fit in pieces; Weir sends what fits."""
    asked, room = row.get("mtu"), USUAL_MTU_BYTES - overhead_bytes
    if asked is not None and asked > room:
        del row.values["mtu"]
        row.changed("mtu", f"Its MTU of {asked} does not fit into usual packets; it is {room} at most here.")


def _gre(_router: Router, row: Row) -> None:
    tunnel = Gre(row.need("remote", "remote-address"), row.get("local"))
    _fitting(row, tunnel.overhead_bytes)
    wanted = described(row, row.need("name", "name"))
    wanted.body["gre"] = {"remote": tunnel.remote, "local": tunnel.local}
    if row.get("clamp") is False:
        wanted.body["mss_clamp"] = "off"
    if row.get("keepalive") not in (None, "", "0"):
        row.changed("keepalive", "Weir sends no keepalives: the tunnel is up whether or not its end answers.")
    if row.given.get("ipsec-secret"):
        wanted.body["disabled"] = True
        row.warn("ipsec", "IPsec encrypted its packets, which Weir does not do, so it is disabled.")


def _gre_menu(name: str, words: str) -> Menu:
    return Menu(
        f"/interface {name}",
        words,
        _gre,
        {
            **COMMON,
            "name": Property("name", text),
            "mtu": Property("mtu", _mtu),
            "remote-address": Property("remote", _end),
            "local-address": Property("local", _end),
            "clamp-tcp-mss": Property("clamp", flag),
            "keepalive": Property("keepalive", text),
        },
        {
            "ipsec-secret": ANY,
            "allow-fast-path": ANY,
            "dont-fragment": ANY,
            "dscp": ("inherit",),
        },
        makes_interface=True,
    )


GRE = _gre_menu("gre", "an interface of the type gre, without keepalives; with IPsec it is disabled")
GRE_6 = _gre_menu("gre6", "an interface of the type gre over IPv6, in the same way")


def _vxlan(router: Router, row: Row) -> None:
    if row.get("group"):
        router.unmade[row.given.get("name", "")] = "a VXLAN of a multicast group, which Weir does not have"
        raise ValueError("It floods to a multicast group, and a VXLAN of Weir names its remotes.")
    vni = row.need("vni", "vni")
    is_over_6 = row.get("family") == "6" or ":" in (row.get("local") or "")
    _fitting(row, Vxlan(vni, local="::1" if is_over_6 else None).overhead_bytes)
    wanted = described(row, row.need("name", "name"))
    group: Json = {"vni": vni, "port": row.get("port", VXLAN_PORT), **row.some("local", "learning")}
    if "port" not in row.values:
        text = (
            f"It says no UDP port, so it has {VXLAN_PORT} here. Compare with the other ends: some have 8472."
        )
        row.warn("port", text)
    remotes = (wanted.body.get("vxlan") or {}).get("remotes")
    wanted.body["vxlan"] = {**group, **({"remotes": remotes} if remotes else {})}


VXLAN = Menu(
    "/interface vxlan",
    "an interface of the type vxlan",
    _vxlan,
    {
        **COMMON,
        "name": Property("name", text),
        "mtu": Property("mtu", _mtu),
        "mac-address": Property("mac", mac),
        "arp": Property("arp", arp.mode),
        "vni": Property("vni", whole),
        "port": Property("port", whole),
        "local-address": Property("local", _end),
        "learning": Property("learning", flag),
        "group": Property("group", _end),
        "vteps-ip-version": Property("family", choice({"ipv4": "4", "ipv6": "6"})),
    },
    {
        "allow-fast-path": ANY,
        "arp-timeout": ANY,
        "checksum": ANY,
        "dont-fragment": ANY,
        "hw": ANY,
        "loop-protect": ("default", "off"),
        "loop-protect-disable-time": ANY,
        "loop-protect-send-interval": ANY,
        "max-fdb-size": ANY,
        "rem-csum": ("none",),
        "ttl": ANY,
        "vrf": ("main",),
    },
    makes_interface=True,
)


def _vtep(router: Router, row: Row) -> None:
    if row.get("disabled"):
        row.leave_out("disabled", "It is disabled, and Weir keeps no disabled remotes.")
        return
    name, remote = row.need("interface", "interface"), row.need("remote", "remote-ip")
    wanted = router.interface(name, row.line)
    group = wanted.body.get("vxlan")
    if not isinstance(group, dict):
        raise ValueError(f"{quoted(name)} is no VXLAN of the file.")
    port = row.get("port", group.get("port"))
    if port != group.get("port"):
        row.leave_out("port", f"It has the port {port}, and all remotes of {wanted.id} have one.")
        return
    remotes = group.setdefault("remotes", [])
    if remote not in remotes:
        remotes.append(remote)
    row.line.object_id = wanted.id


VTEP = Menu(
    "/interface vxlan vteps",
    "a remote of the VXLAN",
    _vtep,
    {
        "interface": Property("interface", text),
        "remote-ip": Property("remote", _end),
        "port": Property("port", whole),
        "disabled": Property("disabled", flag),
    },
    {"comment": ANY},
)
