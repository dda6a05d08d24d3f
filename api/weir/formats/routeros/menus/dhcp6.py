# SPDX-License-Identifier: Apache-2.0
"""DHCPv6 servers, and the pools that they give addresses of (RouterOS manual, DHCP server, IP pools).

A pool there has networks of any length, and a server gives each client one: with 128 bits that is an address,
which a server of Weir gives as well, and with less it is a prefix for a router behind.
"""

from __future__ import annotations

from ipaddress import IPv6Address, IPv6Network
from typing import NamedTuple

from weir.formats.identity import slug
from weir.formats.report import quoted
from weir.formats.routeros.menus.convert import COMMON, prefix, seconds, text, whole
from weir.formats.routeros.menus.router import Router
from weir.formats.routeros.menus.table import ANY, Menu, Property, Row
from weir.kinds.dhcp6_server import MIN_LEASE_S
from weir.kinds.dhcp_server import MAX_ADDRESSES
from weir.model.delegation import LAN_BITS

_STATIC_ONLY = "static-only"
_USUAL_LEASE_S = 3 * 86_400
_ADDRESS_BITS = 128


class _Pool(NamedTuple):
    row: Row
    network: str
    length: int


def _pools(router: Router) -> dict[str, _Pool]:
    return router.once("pools of IPv6", dict[str, _Pool])


def _pool(router: Router, row: Row) -> None:
    network, length = row.need("network", "prefix"), row.need("length", "prefix-length")
    _pools(router)[row.need("name", "name")] = _Pool(row, network, length)


POOL = Menu(
    "/ipv6 pool",
    "the addresses of the DHCPv6 servers that use it, where its prefix-length is 128",
    _pool,
    {
        **COMMON,
        "name": Property("name", text),
        "prefix": Property("network", prefix),
        "prefix-length": Property("length", whole),
    },
)


def _server(router: Router, row: Row) -> None:
    name, pool = row.need("name", "name"), row.get("pool", _STATIC_ONLY)
    interface = router.interface_of_id(router.interface_id(row.need("interface", "interface")))
    object_id = router.id_of("dhcpv6-server", name, slug(name, "dhcpv6"))
    body = {"interface": interface.id, **row.some("comment", "disabled")}
    if row.get("prefixes"):
        row.leave_out("delegates", "It delegates prefixes to routers behind, which Weir does not do.")
        return
    if pool == _STATIC_ONLY:
        body["mode"] = "stateless"
        row.changed("stateless", "It tells settings and gives no addresses: its bindings are not imported.")
    else:
        found = _pools(router).get(pool)
        if found is None or found.length != _ADDRESS_BITS:
            text_ = (
                f"{quoted(pool)} is no pool of addresses, and Weir delegates no prefixes to routers behind."
            )
            row.leave_out("delegates", text_)
            return
        found.row.line.object_id = object_id
        lease_s = max(MIN_LEASE_S, row.get("lease_s", _USUAL_LEASE_S))
        body |= {**_ends(row, found.network), "valid_s": lease_s, "preferred_s": lease_s}
    router.want("dhcpv6-server", object_id, row.line, body)


def _ends(row: Row, text_: str) -> dict[str, str]:
    """The first and the last address by their ends, of a pool's network; the usual ones of a wide one."""
    network = IPv6Network(text_)
    if network.prefixlen <= LAN_BITS:
        row.changed("first-addresses", "It gives addresses that end in 1000 to 1fff, not any of the network.")
        return {}
    first = int(network.network_address) & (1 << _ADDRESS_BITS - LAN_BITS) - 1
    count = min(network.num_addresses, MAX_ADDRESSES)
    if count < network.num_addresses:
        row.changed("fewer-addresses", f"It gives the first {MAX_ADDRESSES:,} addresses of its pool.")
    return {"first": str(IPv6Address(first)), "last": str(IPv6Address(first + count - 1))}


SERVER = Menu(
    "/ipv6 dhcp-server",
    "a DHCPv6 server that gives addresses, or settings alone; for 3 days where the file says nothing",
    _server,
    {
        **COMMON,
        "name": Property("name", text),
        "interface": Property("interface", text),
        "address-pool": Property("pool", text),
        "prefix-pool": Property("prefixes", text),
        "lease-time": Property("lease_s", seconds),
    },
    {
        "preference": ANY,
        "rapid-commit": ANY,
        "route-distance": ANY,
        "use-radius": ("no",),
        "use-reconfigure": ("no",),
        "allow-dual-stack-queue": ANY,
    },
)


def finish_pools(router: Router) -> None:
    """Pools of which nobody is given an address."""
    for pool in _pools(router).values():
        if pool.row.line.object_id is None and pool.row.line.fate != "left-out":
            said = "No DHCPv6 server that is taken gives addresses of it, and Weir has pools for those only."
            pool.row.leave_out("unused-pool", said)
