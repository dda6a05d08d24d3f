# SPDX-License-Identifier: Apache-2.0
"""DHCPv6 servers, and the pools that they give addresses of (RouterOS manual, DHCP server, IP pools).

A pool there has networks of any length, and a server gives each client one: with 128 bits that is an address,
and with less it is a prefix for a router behind.
"""

from __future__ import annotations

from ipaddress import IPv6Address, IPv6Network
from typing import NamedTuple

from weir.formats.identity import slug
from weir.formats.report import quoted
from weir.formats.routeros.menus.convert import COMMON, prefix, seconds, text, whole
from weir.formats.routeros.menus.router import Router
from weir.formats.routeros.menus.table import ANY, Menu, Property, Row
from weir.kinds.dhcp6_pools import LONGEST_BITS, SHORTEST_BITS
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
    "the addresses of the DHCPv6 servers that use it (prefix-length 128), or the prefixes that they delegate",
    _pool,
    {
        **COMMON,
        "name": Property("name", text),
        "prefix": Property("network", prefix),
        "prefix-length": Property("length", whole),
    },
)


def _server(router: Router, row: Row) -> None:
    """`address-pool` may be of prefixes: older versions have no `prefix-pool`."""
    name, pool, prefixes = row.need("name", "name"), row.get("pool", _STATIC_ONLY), row.get("prefixes")
    found = _pools(router)
    if pool in found and _is_of_prefixes(found[pool]):
        pool, prefixes = _STATIC_ONLY, pool
    interface = router.interface_of_id(router.interface_id(row.need("interface", "interface")))
    object_id = router.id_of("dhcpv6-server", name, slug(name, "dhcpv6"))
    body = {"interface": interface.id, **row.some("comment", "disabled")}
    lease_s = max(MIN_LEASE_S, row.get("lease_s", _USUAL_LEASE_S))
    if prefixes is not None:
        if prefixes not in found or not _is_of_prefixes(found[prefixes]):
            said = (
                f"{quoted(prefixes)} is no pool of prefixes of {SHORTEST_BITS} to {LONGEST_BITS} bits here."
            )
            row.leave_out("no-prefix-pool", said)
            return
        given = found[prefixes]
        body["prefix_pools"] = [{"prefix": given.network, "length": given.length}]
        body |= {"valid_s": lease_s, "preferred_s": lease_s}
    if pool == _STATIC_ONLY:
        body["mode"] = "stateless"
        row.changed("stateless", "It gives no addresses: its bindings are not imported.")
    else:
        if pool not in found or found[pool].length != _ADDRESS_BITS:
            row.leave_out("no-pool", f"{quoted(pool)} is no pool of addresses here.")
            return
        body |= {**_ends(row, found[pool].network), "valid_s": lease_s, "preferred_s": lease_s}
    for used in (pool, prefixes):
        if used in found:
            found[used].row.line.object_id = object_id
    router.want("dhcpv6-server", object_id, row.line, body)


def _is_of_prefixes(pool: _Pool) -> bool:
    return SHORTEST_BITS <= pool.length <= LONGEST_BITS


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
    "a DHCPv6 server that gives addresses, prefixes or settings; for 3 days where the file says nothing",
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
    """Pools of which nobody is given anything."""
    for pool in _pools(router).values():
        if pool.row.line.object_id is None and pool.row.line.fate != "left-out":
            said = "No DHCPv6 server that is taken uses it, and Weir has pools for those only."
            pool.row.leave_out("unused-pool", said)
