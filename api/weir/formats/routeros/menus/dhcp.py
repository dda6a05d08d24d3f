# SPDX-License-Identifier: Apache-2.0
"""DHCP servers with their pools, networks and static leases."""

from __future__ import annotations

from ipaddress import ip_address, ip_interface, ip_network

from weir.formats.identity import slug
from weir.formats.report import quoted
from weir.formats.routeros.menus.convert import (
    COMMON,
    flag,
    host,
    hosts,
    mac,
    prefix,
    seconds,
    text,
)
from weir.formats.routeros.menus.lease_queues import FIRST, Limited, Place, rate_limit
from weir.formats.routeros.menus.router import Pool, Router, Wanted
from weir.formats.routeros.menus.table import ANY, Menu, Property, Row
from weir.model.address_range import parse_range

USUAL_LEASE_S = 1800
"""Of RouterOS 7; earlier ones had 10 minutes."""
_LEAST_LEASE_S = 60
_DIRECT, _ANY_RELAY = "0.0.0.0", "255.255.255.255"
"""Of `relay`: no relay, and any of them (RouterOS manual, DHCP server)."""


def _ranges(value: str, _row: Row) -> list[str]:
    return [parse_range(item.strip()) for item in value.split(",") if item.strip()]


def _pool(router: Router, row: Row) -> None:
    router.pools[row.need("name", "name")] = Pool(row.need("ranges", "ranges"), row.line)


POOL = Menu(
    "/ip pool",
    "the ranges of the DHCP servers that use it",
    _pool,
    {**COMMON, "name": Property("name", text), "ranges": Property("ranges", _ranges)},
    {"next-pool": ("none",)},
)


def _id_of(router: Router, name: str) -> str:
    return router.id_of("dhcp-server", name, slug(name, "dhcp"))


def _server(router: Router, row: Row) -> None:
    object_id = _id_of(router, row.need("name", "name"))
    interface = router.interface_of_id(router.interface_id(row.need("interface", "interface")))
    body = {"interface": interface.id, "lease_s": USUAL_LEASE_S, **row.some("comment", "disabled")}
    if "lease_s" in row.values:
        body["lease_s"] = max(_LEAST_LEASE_S, row.values["lease_s"])
    pool = row.get("pool")
    if pool in router.pools:
        found = router.pools[pool]
        body["ranges"] = found.ranges
        found.line.object_id = object_id
    else:
        body["disabled"] = True
        said = "it gives static leases only" if pool in (None, "static-only") else f"no pool {quoted(pool)}"
        row.warn("no-pool", f"It is imported disabled: {said}, and Weir would give all addresses there.")
    relay = row.get("relay", _DIRECT)
    if relay == _ANY_RELAY:
        body["disabled"] = True
        row.warn("relay", "It serves clients of any relay, and Weir only of those named: it is disabled.")
    elif relay != _DIRECT:
        body["relayed"] = {"relays": [relay]}
        row.warn("relay-sources", f"Relay agents and clients reach it from the network of {relay} alone.")
    router.places_of_queues[object_id] = Place(row.get("parent_queue"), row.get("insert_before", FIRST))
    router.want("dhcp-server", object_id, row.line, body)


SERVER = Menu(
    "/ip dhcp-server",
    "a DHCP server; its lease time is 30 minutes where the file says none",
    _server,
    {
        **COMMON,
        "name": Property("name", text),
        "interface": Property("interface", text),
        "address-pool": Property("pool", text),
        "lease-time": Property("lease_s", seconds),
        "parent-queue": Property("parent_queue", lambda value, _row: None if value == "none" else value),
        "insert-queue-before": Property("insert_before", text),
        "relay": Property("relay", lambda value, row: host(value, row) if value else _DIRECT),
    },
    {
        "authoritative": ANY,
        "add-arp": ANY,
        "bootp-support": ANY,
        "conflict-detection": ANY,
        "server-address": ("0.0.0.0",),
        "use-radius": ("no",),
        "always-broadcast": ("no",),
        "use-framed-as-classless": ANY,
        "dynamic-lease-identifiers": ANY,
        "support-broadband-tr101": ("no",),
        "use-reconfigure": ("no",),
    },
)


def finish_pools(router: Router) -> None:
    """Pools that are for something else, such as PPP."""
    for pool in router.pools.values():
        if pool.line.object_id is None and pool.line.fate != "left-out":
            text = "No DHCP server of the file uses it, and Weir has pools for those only."
            pool.line.note("left-out", "unused-pool", text)


def finish_relayed(router: Router) -> None:
    """Servers for relays of which the file does not say the network."""
    for key, server in list(router.wanted.items()):
        relayed = server.body.get("relayed") if server.kind == "dhcp-server" else None
        if relayed is not None and "network" not in relayed:
            relay = relayed["relays"][0]
            for line in server.lines:
                line.note("left-out", "no-network", f"No DHCP network of the file has the relay {relay}.")
            del router.wanted[key]


def _server_of(router: Router, address: str) -> Wanted | None:
    """The DHCP server that has an address or network in one of its interface's, or in that of its relay."""
    host = ip_address(address.partition("/")[0])
    for (kind, _), server in router.wanted.items():
        relayed = server.body.get("relayed") if kind == "dhcp-server" else None
        if relayed is not None:
            around = ip_network(relayed.get("network", address))
            if host in around and ip_address(relayed["relays"][0]) in around:
                return server
        elif kind == "dhcp-server":
            interface = router.wanted.get(("interface", server.body["interface"]))
            for item in interface.body.get("addresses", ()) if interface else ():
                if ":" not in item and host in ip_interface(item).network:
                    return server
    return None


def _network(router: Router, row: Row) -> None:
    network = ip_network(row.need("network", "address"))
    server = _server_of(router, row.values["network"])
    if server is None:
        raise ValueError(f"No DHCP server of the file has an address in {network}.")
    if "relayed" in server.body:
        server.body["relayed"].setdefault("network", str(network))
    gateways = row.get("gateway", ())
    if gateways:
        server.body["gateway"] = gateways[0]
    if len(gateways) > 1:
        row.warn("one-gateway", f"Clients are told of one gateway, {gateways[0]}.")
    server.body.update(row.some("dns_servers", "ntp_servers", "domain"))
    server.of(row.line)


NETWORK = Menu(
    "/ip dhcp-server network",
    "what the DHCP server of that network tells its clients",
    _network,
    {
        "address": Property("network", prefix),
        "gateway": Property("gateway", hosts),
        "dns-server": Property("dns_servers", hosts),
        "ntp-server": Property("ntp_servers", hosts),
        "domain": Property("domain", text),
    },
    {"comment": ANY, "netmask": ANY, "dns-none": ("no",), "caps-manager": ("",)},
)


def _lease(router: Router, row: Row) -> None:
    address = row.need("address", "address")
    name = row.get("server")
    found = router.wanted.get(("dhcp-server", _id_of(router, name))) if name not in (None, "all") else None
    found = found or _server_of(router, address)
    if found is None:
        raise ValueError("No DHCP server of the file serves its network.")
    body = {"server": found.id, "address": address, **row.some("comment", "disabled", "block")}
    body.update(row.some("mac") if "mac" in row.values else row.some("client_id"))
    if "client_id" in row.values and "mac" in row.values and not _is_of(row.values["client_id"], body["mac"]):
        row.changed("client-id", "The hardware address alone says which host it is for.")
    object_id = router.id_of("dhcp-reservation", (found.id, address), slug(f"{found.id}-{address}", "lease"))
    if ("dhcp-reservation", object_id) in router.wanted:
        raise ValueError(f"{address} is reserved by a lease before.")
    router.want("dhcp-reservation", object_id, row.line, body)
    if row.get("limit"):
        router.limited.append(Limited(row.line, object_id, found.id, address, row.values["limit"]))


def _is_of(client_id: str, mac_text: str) -> bool:
    """Whether it is no more than the hardware address, as most clients send it."""
    digits = "".join(item.zfill(2) for item in client_id.lower().split(":"))
    return digits == "01" + mac_text.replace(":", "")


LEASE = Menu(
    "/ip dhcp-server lease",
    "a reservation, and a queue for its address where it has a `rate-limit`",
    _lease,
    {
        **COMMON,
        "address": Property("address", host),
        "mac-address": Property("mac", mac),
        "client-id": Property("client_id", text),
        "server": Property("server", text),
        "block-access": Property("block", flag),
        "rate-limit": Property("limit", rate_limit),
    },
    {"use-src-mac": ANY, "always-broadcast": ("no",), "lease-time": ("0s",)},
)
