# SPDX-License-Identifier: Apache-2.0
"""IPv6 of networks: what a WAN asks for, the part that a network takes of it, and what hosts are told.

An export says these at three places, of which each is known only when the others were read: the zone of the
interface that asks, who takes a part of the pool, and whether its network is announced (RouterOS manual, DHCP
client, IPv6 addresses, Neighbor discovery).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from ipaddress import IPv6Address
from typing import NamedTuple

from weir.formats.report import quoted
from weir.formats.routeros.menus.convert import COMMON, flag, seconds, text
from weir.formats.routeros.menus.router import Json, Router, Wanted
from weir.formats.routeros.menus.table import ANY, Menu, Property, Row
from weir.model.delegation import LAN_BITS, WIDEST_BITS
from weir.model.limits import MAX_ROUTER_LIFETIME_S, MIN_ROUTER_LIFETIME_S

WAN = "wan"
_FIRST = IPv6Address("::1")
_NO_HOSTS = ("vrf_table", "wireguard", "loopback")
_EVERYWHERE = "all"


class _Asked(NamedTuple):
    """A DHCP client of the file, at an interface."""

    row: Row
    wanted: Wanted
    group: Json


class _Part(NamedTuple):
    """An address of the file that is of a pool."""

    row: Row
    wanted: Wanted
    pool: str


@dataclass(slots=True)
class _Found:
    """What the rows say, until all are read. `announced` are the addresses whose networks are, by the id of
    their interface; `told` are the settings of that, likewise, and "" has those of all others."""

    asked: list[_Asked] = field(default_factory=list)
    parts: list[_Part] = field(default_factory=list)
    announced: dict[str, list[Row]] = field(default_factory=dict)
    told: dict[str, Row] = field(default_factory=dict)


def _found(router: Router) -> _Found:
    return router.once("networks of IPv6", _Found)


# -- what a WAN asks for -----------------------------------------------------------------------------------


def _hint(value: str, _row: Row) -> int:
    """`::/56`: only the length is asked for."""
    length = value.partition("/")[2]
    if not length.isdecimal() or not WIDEST_BITS <= int(length) <= LAN_BITS:
        raise ValueError(f"expected a prefix of {WIDEST_BITS} to {LAN_BITS} bits")
    return int(length)


def _client(router: Router, row: Row) -> None:
    if row.get("disabled"):
        row.leave_out("disabled", "It is disabled, so the interface asks for no prefix.")
        return
    wanted = router.interface(row.need("interface", "interface"), row.line)
    request = row.get("request", ())
    if "prefix" not in request and "address" not in request:
        row.leave_out("settings-only", "It asks for settings only, and Weir asks for a prefix.")
        return
    group: Json = row.some("pd_hint")
    if "address" in request:
        group["address"] = True
    wanted.describe(row, "DHCP clients")
    _found(router).asked.append(_Asked(row, wanted, group))


CLIENT = Menu(
    "/ipv6 dhcp-client",
    "what the interface asks its provider for by DHCPv6",
    _client,
    {
        **COMMON,
        "interface": Property("interface", text),
        "request": Property("request", lambda value, _row: value.split(",")),
        "pool-name": Property("pool", text),
        "prefix-hint": Property("pd_hint", _hint),
        "add-default-route": Property("default_route", flag),
    },
    {
        "pool-prefix-length": ("64",),
        "use-peer-dns": ANY,
        "rapid-commit": ANY,
        "allow-reconfigure": ANY,
        "default-route-distance": ANY,
        "default-route-tables": ("main",),
        "check-gateway": ("none",),
        "dhcp-options": ("",),
        "validate-server-duid": ANY,
        "use-interface-duid": ANY,
    },
)


def _ask(router: Router, asked: _Asked) -> bool:
    """Whether the prefix is asked for."""
    row, body = asked.row, asked.wanted.body
    reason = None if body.get("pppoe") is not None else _why_no_hosts(router, asked.wanted)
    if reason is None and body.get("role") != WAN:
        reason = "is in no list of WANs: give it the zone wan, and set `dhcpv6` there"
    if reason is not None:
        row.leave_out("no-prefix-here", f"Its interface {asked.wanted.id} {reason}.")
        return False
    body["dhcpv6"] = asked.group
    if "prefix" not in row.get("request"):
        row.changed("prefix-too", "It asks for a prefix as well.")
    if row.get("default_route"):
        body["ipv6_addressing"] = "auto"
        row.changed("announced-gateway", "The gateway is what routers there announce, not the DHCPv6 server.")
    return True


def _why_no_hosts(router: Router, wanted: Wanted) -> str | None:
    """Why nothing of this can be at an interface, behind its name; None: it can."""
    body = wanted.body
    if wanted.id in router.members_of_links():
        return "belongs to a bridge or bond"
    if body.get("pppoe") is not None:
        return "is a PPPoE session, behind which are no hosts"
    if any(name in body for name in _NO_HOSTS):
        return "has no hosts and no provider"
    return "is in a VRF, where Weir does not do this yet" if body.get("vrf") is not None else None


# -- the networks inside -----------------------------------------------------------------------------------


def take_part(router: Router, row: Row, wanted: Wanted) -> None:
    """An address of a pool, which is a part of the prefix that somebody is given."""
    own = row.get("address", "::1").partition("/")[0]
    if row.get("eui_64") or IPv6Address(own) != _FIRST:
        row.changed("first-address", "The router has the first address of the network, ending in ::1.")
    if row.given.get("address", "").partition("/")[2] not in ("", str(LAN_BITS)):
        row.changed("part-length", f"The network is a /{LAN_BITS}.")
    wanted.describe(row, "addresses")
    _found(router).parts.append(_Part(row, wanted, row.values["pool"]))
    if row.get("advertise", True):
        announced(router, row, wanted)


def announced(router: Router, row: Row, wanted: Wanted) -> None:
    """A network that RouterOS announces unless told otherwise."""
    _found(router).announced.setdefault(wanted.id, []).append(row)


def _take(router: Router, part: _Part, uplinks: dict[str, str], takers: set[str]) -> None:
    """`takers` are the interfaces that have taken a part before."""
    row, wanted, body = part.row, part.wanted, part.wanted.body
    uplink = uplinks.get(part.pool)
    reason = _why_no_hosts(router, wanted)
    if uplink is None:
        text_ = f"No DHCPv6 client that is taken fills the pool {quoted(part.pool)}."
        row.leave_out("no-pool", text_)
    elif reason is not None or body.get("role") == WAN:
        row.leave_out("no-part-here", f"Its interface {wanted.id} {reason or 'is a WAN'}.")
    elif wanted.id in takers or body.get("delegated", {}).get("uplink", uplink) != uplink:
        row.leave_out("second-part", f"{wanted.id} takes a part already, and an interface takes one here.")
    else:
        takers.add(wanted.id)
        body["delegated"] = {**body.get("delegated", {}), "uplink": uplink}
        if not row.get("advertise", True):
            row.warn("not-advertised", "It is not advertised in the file: hosts do not learn this network.")


# -- what hosts are told -----------------------------------------------------------------------------------


def _lifetime(value: str, row: Row) -> int:
    """RouterOS has any; less than its announcements need would take the gateway away in between."""
    found = 0 if value == "none" else seconds(value, row)
    return min(max(found, MIN_ROUTER_LIFETIME_S), MAX_ROUTER_LIFETIME_S) if found else 0


def _discovery(router: Router, row: Row) -> None:
    name = row.get("interface", _EVERYWHERE)
    told = _found(router).told
    place = "" if name == _EVERYWHERE else router.interface(name, row.line).id
    if place in told:
        told[place].leave_out("twice", "A later command says what is announced there.")
    told[place] = row


DISCOVERY = Menu(
    "/ipv6 nd",
    "the router advertisements of the interfaces with a network that is advertised",
    _discovery,
    {
        "interface": Property("interface", text),
        "ra-lifetime": Property("router_lifetime_s", _lifetime),
        "managed-address-configuration": Property("managed", flag),
        "other-configuration": Property("other", flag),
        "advertise-dns": Property("dns", flag),
        "disabled": Property("disabled", flag),
    },
    {
        "find default": ANY,
        "comment": ANY,
        "ra-interval": ANY,
        "ra-delay": ANY,
        "reachable-time": ANY,
        "retransmit-interval": ANY,
        "hop-limit": ANY,
        "mtu": ("unspecified",),
        "advertise-mac-address": ANY,
        "ra-preference": ("medium",),
    },
    ("add", "set"),
)


def _announce(router: Router, found: _Found, place: str, rows: list[Row], used: set[Row]) -> None:
    wanted = router.interface_of_id(place)
    told = found.told.get(place) or found.told.get("")
    reason = _why_no_hosts(router, wanted)
    if reason is None and wanted.body.get("role") == WAN:
        reason = "is a WAN"
    if reason is None and wanted.body.get("ipv6_addressing") == "auto":
        reason = "takes what other routers announce"
    if told is not None and told.get("disabled"):
        reason = "has router advertisements disabled in the file"
    if reason is not None:
        for row in rows:
            row.warn("not-advertised", f"Hosts do not learn this network: {place} {reason}.")
        return
    wanted.body["ra"] = {**(wanted.body.get("ra") or {})}
    if told is not None:
        wanted.also_of(told.line)
        wanted.body["ra"].update(told.some("dns", "managed", "other", "router_lifetime_s"))
        used.add(told)


def finish_networks(router: Router) -> None:
    """When the zones of all interfaces are known."""
    found = _found(router)
    taken = [asked for asked in found.asked if _ask(router, asked)]
    uplinks = {asked.row.get("pool"): asked.wanted.id for asked in taken if asked.row.get("pool")}
    takers: set[str] = set()
    for part in found.parts:
        _take(router, part, uplinks, takers)
    used: set[Row] = set()
    for place, rows in found.announced.items():
        taken_rows = [row for row in rows if row.line.fate != "left-out"]
        if taken_rows:
            _announce(router, found, place, taken_rows, used)
    for row in found.told.values():
        if row not in used:
            row.leave_out("nothing-announced", "No network of the file is announced with it.")
