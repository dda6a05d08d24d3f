# SPDX-License-Identifier: Apache-2.0
"""Routes to the prefixes that this router's DHCPv6 servers delegated, by the routers that have them.

A lease names its client, and not where it is: that is heard when the client asks (`Dhcp6Ear`), and kept in a
file that lasts, so that a start of Kea, of the agent or of the router changes no route. Where a client asked
while nobody listened, the neighbour with the hardware address of its lease is taken, if there is just one,
until the client is heard.
"""

from __future__ import annotations

import json
import logging
import socket
import threading
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from ipaddress import IPv6Address
from pathlib import Path

from weir.adapters import files
from weir.adapters.dhcp6_heard import Dhcp6Ear, Heard
from weir.adapters.kea_leases import Lease
from weir.adapters.neighbours import neighbours
from weir.backends.dhcp_leases import LeaseTable
from weir.loop import Loop
from weir.model.problem import Problem
from weir.parts import dhcp6
from weir.parts.routes import RouteSpec

log = logging.getLogger(__name__)

PERIOD_S = 1.0
NEIGHBOURS_EACH = 10
"""In so many turns a router that nobody heard is looked for among neighbours once."""
DISTANCE, REJECT_DISTANCE = 10, 254
"""A static route to the same prefix wins; what nobody has of a pool is rejected."""
MOST_HEARD = 8192
"""Clients that asked and have no prefix (yet): the last ones. Anybody on a link can pretend to be many."""

Client = tuple[str, str]
"""An interface, and the DUID of a client behind it."""
Way = tuple[str, str | None]
"""The interface, and the link-local address of the router that has a prefix; None: not known."""


class PrefixRoutes:
    """Thread-safe, with one that calls `follow`: that takes what one lease changes. All leases are looked at
    for all routes alone."""

    def __init__(self, leases: LeaseTable, path: Path | None = None) -> None:
        """`path` outlasts a start of the machine. None: nothing is kept."""
        self._leases = leases
        self._path = path
        self._lock = threading.Lock()
        self._kept: dict[Client, str] = _read(path)
        self._is_saved = True
        self._heard: OrderedDict[Client, str] = OrderedDict()
        """Of clients without a prefix (yet)."""
        self._leased: dict[str, Client] = {}
        """Who has which prefix of these pools, after so many changes of leases."""
        self._prefixes: dict[Client, set[str]] = {}
        self._pools: object = None
        self._number = 0

    # -- the whole -------------------------------------------------------------------------------------------

    def routes(self, servers: dhcp6.Wanted, routes: Mapping[str, RouteSpec]) -> Mapping[str, RouteSpec]:
        """With one for each prefix whose router is known, and one that rejects the rest of each pool: that
        would go to the provider, and come again. What the provider delegated is rejected as one already."""
        delegating = [spec for spec in servers.values() if spec.delegates]
        if not delegating:
            return routes
        found = dict(routes)
        for prefix in (text for spec in delegating for text in spec.delegated(is_whole=False)):
            key = f"delegating/{prefix}"
            found[key] = RouteSpec(key, prefix, None, None, False, REJECT_DISTANCE, reject=True)
        for prefix, way in self._ways(delegating).items():
            route = _route(prefix, way)
            if route is not None:
                found[route.id] = route
        return found

    def _ways(self, delegating: Sequence[dhcp6.Server6Spec]) -> Mapping[str, Way]:
        """Of all leases now; as they were while these cannot be read."""
        try:
            held = self._leases.held()
        except Problem as problem:
            log.warning("delegated prefixes keep their routes: %s", problem.message)
            return self.given()
        found = ((lease.address, _client(lease, delegating)) for lease in held.values())
        with self._lock:
            return {prefix: self._way(client) for prefix, client in found if client is not None}

    # -- what one lease or one question changes --------------------------------------------------------------

    def follow(self, servers: dhcp6.Wanted, heard: Iterable[Heard]) -> set[str] | None:
        """The prefixes that another router has since the last time, or one that was heard elsewhere; None:
        all have to be looked at. Raises a `Problem`."""
        touched, pools = self.hear(heard), _pools_of(servers)
        delegating = [spec for spec in servers.values() if spec.delegates]
        number, changes = self._leases.since(self._number)
        is_whole = pools != self._pools or number - self._number > len(changes)
        held = list(self._leases.held().values()) if is_whole else []
        with self._lock:
            if is_whole:
                self._leased, self._prefixes = {}, {}
                for lease in held:
                    self._lease(lease, delegating)
                self._forget_others()
            for change in () if is_whole else changes:
                if change.lease.is_prefix:
                    touched.add(change.lease.address)
                    self._end(change.lease.address)
                    if change.what == "came":
                        self._lease(change.lease, delegating)
        self._number, self._pools = number, pools
        return None if is_whole else touched

    def given(self) -> Mapping[str, Way]:
        """Where the prefixes lead."""
        with self._lock:
            return {prefix: self._way(client) for prefix, client in self._leased.items()}

    def route_to(self, prefix: str) -> RouteSpec | None:
        with self._lock:
            client = self._leased.get(prefix)
            return None if client is None else _route(prefix, self._way(client))

    def routes_of(self, server: dhcp6.Server6Spec) -> dict[str, RouteSpec]:
        """By prefix the routes to what a server delegated."""
        made = ((prefix, _route(prefix, way)) for prefix, way in self.given().items())
        return {
            prefix: route
            for prefix, route in made
            if route is not None and route.interface == server.ifname and server.gave(prefix)
        }

    def hear(self, heard: Iterable[Heard]) -> set[str]:
        """Who asked, and from where; the prefixes of those that asked from elsewhere before."""
        touched: set[str] = set()
        with self._lock:
            for one in heard:
                client = (one.ifname, one.duid)
                if client not in self._prefixes:
                    self._remember(client, one.address)
                elif self._kept.get(client) != one.address:
                    self._kept[client], self._is_saved = one.address, False
                    touched |= self._prefixes[client]
        return touched

    def _way(self, client: Client) -> Way:
        return client[0], self._kept.get(client)

    def _lease(self, lease: Lease, delegating: Sequence[dhcp6.Server6Spec]) -> None:
        client = _client(lease, delegating)
        if client is None:
            return
        self._leased[lease.address] = client
        self._prefixes.setdefault(client, set()).add(lease.address)
        address = self._heard.pop(client, None)
        if address is not None:
            self._kept[client], self._is_saved = address, False

    def _forget_others(self) -> None:
        """Who has no prefix any more is not kept."""
        kept = {client: address for client, address in self._kept.items() if client in self._prefixes}
        if len(kept) < len(self._kept):
            self._kept, self._is_saved = kept, False

    def _end(self, prefix: str) -> None:
        client = self._leased.pop(prefix, None)
        if client is None:
            return
        self._prefixes[client].discard(prefix)
        if not self._prefixes[client]:
            del self._prefixes[client]
            address = self._kept.pop(client, None)
            if address is not None:  # it may be given another one in a moment
                self._is_saved = False
                self._remember(client, address)

    def _remember(self, client: Client, address: str) -> None:
        self._heard[client] = address
        self._heard.move_to_end(client)
        if len(self._heard) > MOST_HEARD:
            self._heard.popitem(last=False)

    def save(self) -> None:
        """Keep where those are that have a prefix, and nobody else."""
        with self._lock:
            if self._is_saved:
                return
            kept, self._is_saved = dict(self._kept), True
        _write(self._path, kept)

    # -- those that nobody heard -----------------------------------------------------------------------------

    def look_for(self) -> Iterator[Heard]:
        """Clients that nobody heard, among the neighbours. Raises a `Problem`."""
        with self._lock:
            silent = {prefix: client for prefix, client in self._leased.items() if client not in self._kept}
        if not silent:
            return
        held = self._leases.held()
        macs = {client: held[prefix].mac for prefix, client in silent.items() if prefix in held}
        missing = {client: mac.replace(":", "") for client, mac in macs.items() if mac}
        at: dict[tuple[int, str], list[str]] = {}
        for one in neighbours():
            address = IPv6Address(one.address) if one.family == socket.AF_INET6 else None
            if address is not None and address.is_link_local and one.mac:
                at.setdefault((one.ifindex, one.mac.hex()), []).append(str(address))
        for (ifname, duid), mac in missing.items():
            found = at.get((_index(ifname), mac), [])
            if len(found) == 1:
                yield Heard(ifname, duid, found[0])


class PrefixFollower:
    """Hears clients from `start` until `stop`, and has their routes follow."""

    def __init__(
        self,
        routes: PrefixRoutes,
        servers: Callable[[], dhcp6.Wanted],
        follow: Callable[[Collection[str] | None], None],
    ) -> None:
        """`servers` are those that run; `follow(prefixes)` brings the routes to these to the kernel, of None
        all."""
        self._routes = routes
        self._servers = servers
        self._follow = follow
        self._ear: Dhcp6Ear | None = None
        self._turns = 0
        self._loop = Loop("prefix-routes", self._turn, first_s=PERIOD_S, again_s=PERIOD_S)

    def start(self) -> None:
        self._loop.start()

    def stop(self) -> None:
        self._loop.stop()
        self._close()

    def _turn(self) -> float:
        servers = self._servers()
        if not any(spec.delegates for spec in servers.values()):
            self._close()
            return PERIOD_S
        if self._ear is None:
            self._ear = Dhcp6Ear()
        heard = list(self._ear.heard())
        if self._turns % NEIGHBOURS_EACH == 0:
            heard += self._routes.look_for()
        self._turns += 1
        touched = self._routes.follow(servers, heard)
        if touched is None or touched:
            self._follow(touched)
        self._routes.save()
        return PERIOD_S

    def _close(self) -> None:
        if self._ear is not None:
            self._ear.close()
            self._ear = None


def id_of(prefix: str) -> str:
    """Of the route to a delegated prefix."""
    return f"delegated/{prefix}"


def _route(prefix: str, way: Way | None) -> RouteSpec | None:
    if way is None or way[1] is None:
        return None
    return RouteSpec(id_of(prefix), prefix, way[1], way[0], False, DISTANCE)


def _client(lease: Lease, delegating: Sequence[dhcp6.Server6Spec]) -> Client | None:
    """Who has a delegated prefix; None of another lease."""
    if not lease.is_prefix:
        return None
    spec = next((spec for spec in delegating if spec.gave(lease.address)), None)
    return None if spec is None else (spec.ifname, lease.client_id)


def _pools_of(servers: dhcp6.Wanted) -> object:
    """Whatever says which prefix is of which server."""
    return {name: (spec.ifname, spec.prefixes) for name, spec in servers.items() if spec.delegates}


def _index(ifname: str) -> int:
    try:
        return socket.if_nametoindex(ifname)
    except OSError:
        return 0


def _read(path: Path | None) -> dict[Client, str]:
    if path is None:
        return {}
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        return {
            (ifname, duid): str(IPv6Address(address))
            for ifname, clients in found.items()
            for duid, address in clients.items()
        }
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, AttributeError) as error:
        log.warning("%s is not readable, so routers behind are heard again: %s", path, error)
        return {}


def _write(path: Path | None, kept: Mapping[Client, str]) -> None:
    if path is None:
        return
    content: dict[str, dict[str, str]] = {}
    for (ifname, duid), address in kept.items():
        content.setdefault(ifname, {})[duid] = address
    try:
        files.replace(path, json.dumps(content, sort_keys=True).encode())
    except OSError as error:
        log.warning("%s cannot be written: %s", path, error.strerror)
