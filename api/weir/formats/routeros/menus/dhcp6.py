# SPDX-License-Identifier: Apache-2.0
"""DHCPv6 servers, the pools that they give of, and bindings (RouterOS manual, DHCP server, IP pools).

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
    lease_s = max(MIN_LEASE_S, row.get("lease_s", _USUAL_LEASE_S))
    body = {"interface": interface.id, "valid_s": lease_s, "preferred_s": lease_s}
    body |= row.some("comment", "disabled")
    if prefixes is not None:
        if prefixes not in found or not _is_of_prefixes(found[prefixes]):
            said = (
                f"{quoted(prefixes)} is no pool of prefixes of {SHORTEST_BITS} to {LONGEST_BITS} bits here."
            )
            row.leave_out("no-prefix-pool", said)
            return
        given = found[prefixes]
        body["prefix_pools"] = [{"prefix": given.network, "length": given.length}]
    if pool == _STATIC_ONLY:
        body["mode"] = "stateless"
        row.changed("stateless", "It has no pool of addresses, so it gives none.")
    else:
        if pool not in found or found[pool].length != _ADDRESS_BITS:
            row.leave_out("no-pool", f"{quoted(pool)} is no pool of addresses here.")
            return
        body |= _ends(row, found[pool].network)
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


def _duid(value: str, _row: Row) -> str:
    """Its bytes with colons."""
    try:
        return bytes.fromhex(value.removeprefix("0x")).hex(":")
    except ValueError:
        raise ValueError("expected bytes in hexadecimal, such as 0x00030001aabbcc000001") from None


def _bound(value: str, _row: Row) -> str:
    return str(IPv6Network(value if "/" in value else f"{value}/{_ADDRESS_BITS}"))


def _server_of(router: Router, row: Row) -> str:
    """The server that is named, or else the only one that the file has."""
    name = row.get("server")
    if name not in (None, "all"):
        found = router.wanted.get(
            ("dhcpv6-server", router.id_of("dhcpv6-server", name, slug(name, "dhcpv6")))
        )
        if found is None:
            raise ValueError(f"Its DHCPv6 server {quoted(name)} is not imported.")
        return found.id
    servers = [object_id for kind, object_id in router.wanted if kind == "dhcpv6-server"]
    if len(servers) != 1:
        raise ValueError(
            f"It is for {len(servers)} servers of the file, and a reservation of Weir is of one."
        )
    return servers[0]


def _binding(router: Router, row: Row) -> None:
    """The address and the prefix of one client are one reservation."""
    given = IPv6Network(row.need("given", "address"))
    server, duid = _server_of(router, row), row.need("duid", "duid")
    length = given.prefixlen
    if length != _ADDRESS_BITS and not SHORTEST_BITS <= length <= LONGEST_BITS:
        raise ValueError(f"Weir reserves addresses, and prefixes of {SHORTEST_BITS} to {LONGEST_BITS} bits.")
    key = (server, duid, bool(row.get("disabled")))
    object_id = router.id_of("dhcpv6-reservation", key, slug(f"{server}-{duid[-8:]}", "binding"))
    if length == _ADDRESS_BITS:
        end = int(given.network_address) & (1 << _ADDRESS_BITS - LAN_BITS) - 1
        said = {"address": str(IPv6Address(end))}
    else:
        said = {"prefix": str(given)}
    before = router.wanted.get(("dhcpv6-reservation", object_id))
    if before is not None and said.keys() & before.body.keys():
        raise ValueError("A binding before it is for the same client, and Weir reserves one for each.")
    body = {"server": server, "duid": duid, **said, **row.some("comment", "disabled")}
    router.want("dhcpv6-reservation", object_id, row.line, body)


BINDING = Menu(
    "/ipv6 dhcp-server binding",
    "a reservation of an address (`/128`) or a prefix, or of both where one client has two bindings",
    _binding,
    {
        **COMMON,
        "address": Property("given", _bound),
        "duid": Property("duid", _duid),
        "server": Property("server", text),
    },
    {
        "iaid": ANY,
        "ia-type": ANY,
        "life-time": ANY,
        "allow-dual-stack-queue": ANY,
        "prefix-pool": ("",),
        "rate-limit": ("",),
        "dhcp-option": ("",),
    },
)


def finish_pools(router: Router) -> None:
    """Pools of which nobody is given anything."""
    for pool in _pools(router).values():
        if pool.row.line.object_id is None and pool.row.line.fate != "left-out":
            said = "No DHCPv6 server that is taken uses it, and Weir has pools for those only."
            pool.row.leave_out("unused-pool", said)
