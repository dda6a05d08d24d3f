# SPDX-License-Identifier: Apache-2.0
"""The leases that the router's own DHCP servers gave, as the API asks for them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from weir.adapters.kea_leases import Lease
from weir.agent.configuration import Configuration
from weir.backends.dhcp_leases import LeaseTable
from weir.backends.kea_config import subnet_id
from weir.model.problem import Invalid, Problem
from weir.parts.dhcp import DHCP, DHCP_RELAYED, ReservationSpec, ServerSpec
from weir.parts.dhcp6 import DHCP6, Origin, Server6Spec
from weir.parts.network import NETWORK
from weir.store.clock import wall_ms
from weir.wire.server import Handler, Peer

MAX_PAGE = 1000
MAX_WORDS_CHARS = 200
Server = ServerSpec | Server6Spec
Wanted = tuple[Server | ReservationSpec, ...]


class GivenLeases:
    """A lease of a network that no server serves any more is nobody's, and is not told."""

    def __init__(self, configuration: Configuration, table: LeaseTable) -> None:
        self._configuration = configuration
        self._table = table

    def table(self) -> Mapping[str, Handler]:
        return {"leases": self._leases, "lease_changes": self._changes}

    def names(self) -> dict[str, str]:
        """What hosts with a lease are called, by address: as is configured, or else as they say."""
        try:
            held = self._table.held()
        except Problem:
            return {}
        wanted = self._wanted()
        named = (lease for lease in held.values() if lease.hostname and not lease.is_prefix)
        found = {lease.address: lease.hostname for lease in named}
        reserved = (spec for spec in wanted if isinstance(spec, ReservationSpec))
        return {**found, **{spec.address: spec.hostname for spec in reserved if spec.hostname}}

    def _leases(self, params: dict[str, Any], _peer: Peer) -> dict[str, Any]:
        """A page of the leases whose address, MAC or host name has `words` in it, by address; and how many
        there are. Raises `Unavailable`."""
        words, start, limit = str(params.get("words") or ""), params.get("start", 0), params.get("limit", 100)
        if type(start) is not int or type(limit) is not int or start < 0 or not 1 <= limit <= MAX_PAGE:
            raise Invalid("start and limit must be numbers of a page", code="bad-request")
        wanted = self._wanted()
        servers = _Servers(wanted)
        given = ((item, servers.of(item)) for item in self._table.found(words[:MAX_WORDS_CHARS]))
        found = [(item, server) for item, server in given if server is not None]
        reserved = _reserved(wanted)
        page = found[start : start + limit]
        ways = self._ways()
        listed = [
            {**_lease(item, server, reserved.get(item.address)), "gateway": ways.get(item.address)}
            for item, server in page
        ]
        return {"at_ms": wall_ms(), "total": len(found), "leases": listed}

    def _changes(self, params: dict[str, Any], _peer: Peer) -> dict[str, Any]:
        """The leases that came and went behind `after`, a number that an earlier answer gave."""
        after = params.get("after")
        number, changes = self._table.since(after if type(after) is int else 2**62)
        servers = _Servers(self._wanted())
        given = ((item, servers.of(item.lease)) for item in changes)
        told = [
            {
                "what": item.what,
                "address": item.lease.address,
                "mac": item.lease.mac or None,
                "hostname": item.lease.hostname or None,
                "server": server.id,
                "interface": server.link,
            }
            for item, server in given
            if server is not None
        ]
        return {"number": number, "changes": told}

    def _ways(self) -> dict[str, str | None]:
        """By delegated prefix the address of its router, where it is known."""
        routes = self._configuration.executor.prefixes
        return {} if routes is None else {prefix: way[1] for prefix, way in routes.given().items()}

    def _wanted(self) -> Wanted:
        with self._configuration.lock:
            if not self._configuration.loaded:
                return ()
            compiled = self._configuration.compiled
            four = (*compiled.of(DHCP).values(), *compiled.of(DHCP_RELAYED).values())
            delegations = self._configuration.executor.delegations
            return *four, *delegations.served(compiled.of(DHCP6), compiled.of(NETWORK)).values()


class _Servers:
    """Who gave which lease."""

    def __init__(self, wanted: Wanted) -> None:
        servers = [spec for spec in wanted if not isinstance(spec, ReservationSpec)]
        self._by_subnet = {
            (6 if ":" in spec.network else 4, subnet_id(spec.network)): spec
            for spec in servers
            if spec.network is not None
        }
        self._delegating = [spec for spec in servers if isinstance(spec, Server6Spec) and spec.delegates]

    def of(self, lease: Lease) -> Server | None:
        """A prefix is of the server that delegates it, whatever network it serves by now."""
        if lease.is_prefix:
            return next((spec for spec in self._delegating if spec.gave(lease.address)), None)
        return self._by_subnet.get((lease.family, lease.subnet_id))


def _reserved(wanted: Wanted) -> dict[str, str]:
    """The reservations by address."""
    found = {spec.address: spec.id for spec in wanted if isinstance(spec, ReservationSpec)}
    for spec in wanted:
        if isinstance(spec, Server6Spec):
            found.update({spec.address_of(one.end): one.id for one in spec.reserved if one.end is not None})
            found.update({one.prefix: one.id for one in spec.reserved if one.prefix is not None})
    return found


def _origin(item: Lease, server: Server6Spec) -> Origin | None:
    return server.origin_of(item.address) if item.is_prefix else server.origin


def _lease(item: Lease, server: Server, reservation: str | None) -> dict[str, Any]:
    origin = _origin(item, server) if isinstance(server, Server6Spec) else None
    return {
        "address": item.address,
        "mac": item.mac or None,
        "hostname": item.hostname or None,
        "client_id": item.client_id or None,
        "expires_ms": item.expires_s * 1000,
        "server": server.id,
        "interface": server.link,
        "reservation": reservation,
        "network": None if item.is_prefix else server.network,
        "origin": origin and origin.text,
    }
