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
from collections.abc import Callable, Iterable, Mapping
from ipaddress import IPv6Address
from pathlib import Path

from weir.adapters import files
from weir.adapters.dhcp6_heard import Dhcp6Ear, Heard
from weir.adapters.neighbours import neighbours
from weir.backends.dhcp_leases import LeaseTable
from weir.loop import Loop
from weir.model.problem import Problem
from weir.parts import dhcp6
from weir.parts.routes import RouteSpec

log = logging.getLogger(__name__)

PERIOD_S = 1.0
NEIGHBOURS_EACH = 10
"""In so many turns all is compared once, and a router that nobody heard is looked for among neighbours."""
DISTANCE, REJECT_DISTANCE = 10, 254
"""A static route to the same prefix wins; what nobody has of a pool is rejected."""
MOST_HEARD = 8192
"""Clients that asked and have no prefix (yet): the last ones. Anybody on a link can pretend to be many."""

Client = tuple[str, str]
"""An interface, and the DUID of a client behind it."""
Ways = Mapping[str, tuple[str, str | None]]
"""By prefix the interface, and the link-local address of the router that has it; None: not known."""


class PrefixRoutes:
    """Thread-safe."""

    def __init__(self, leases: LeaseTable, path: Path | None = None) -> None:
        """`path` outlasts a start of the machine. None: nothing is kept."""
        self._leases = leases
        self._path = path
        self._lock = threading.Lock()
        self._kept: dict[Client, str] = _read(path)
        self._heard: OrderedDict[Client, str] = OrderedDict()
        self._given: Ways = {}

    def routes(self, servers: dhcp6.Wanted, routes: Mapping[str, RouteSpec]) -> Mapping[str, RouteSpec]:
        """With one for each prefix whose router is known, and one that rejects the rest of each pool: that
        would go to the provider, and come again. What the provider delegated is rejected as one already."""
        delegating = [spec for spec in servers.values() if spec.delegates]
        if not delegating:
            self._given = {}
            return routes
        found = dict(routes)
        for prefix in (text for spec in delegating for text in spec.delegated(is_whole=False)):
            key = f"delegating/{prefix}"
            found[key] = RouteSpec(key, prefix, None, None, False, REJECT_DISTANCE, reject=True)
        self._given = self.ways(servers)
        for prefix, (ifname, address) in self._given.items():
            if address is not None:
                found[f"delegated/{prefix}"] = _route(prefix, ifname, address)
        return found

    def ways(self, servers: dhcp6.Wanted) -> Ways:
        """Where the prefixes lead that are delegated now; what was given last while that cannot be read."""
        delegating = [spec for spec in servers.values() if spec.delegates]
        try:
            held = self._leases.held() if delegating else {}
        except Problem as problem:
            log.warning("delegated prefixes keep their routes: %s", problem.message)
            return self._given
        with self._lock:
            return {
                lease.address: (spec.ifname, self._kept.get((spec.ifname, lease.client_id)))
                for lease in held.values()
                if lease.is_prefix
                for spec in delegating
                if spec.gave(lease.address)
            }

    def given(self) -> Ways:
        """Where the prefixes lead by the routes that were made last."""
        return self._given

    def routes_of(self, server: dhcp6.Server6Spec) -> dict[str, RouteSpec]:
        """By prefix the routes that were made last to what a server delegated."""
        return {
            prefix: _route(prefix, ifname, address)
            for prefix, (ifname, address) in self._given.items()
            if address is not None and ifname == server.ifname and server.gave(prefix)
        }

    def is_given(self, ways: Ways) -> bool:
        """Whether the routes are these."""
        return ways == self._given

    def version(self) -> int:
        """A number that changes with the leases. Raises a `Problem`."""
        return self._leases.version()

    def hear(self, heard: Iterable[Heard]) -> None:
        """Who asked, and from where."""
        with self._lock:
            for one in heard:
                client = (one.ifname, one.duid)
                self._heard[client] = one.address
                self._heard.move_to_end(client)
                if len(self._heard) > MOST_HEARD:
                    self._heard.popitem(last=False)

    def note(self, servers: dhcp6.Wanted) -> None:
        """Keep of those that asked the ones that have a prefix, and nobody else."""
        ways = self.clients(servers)
        with self._lock:
            kept = {client: self._heard.get(client) or self._kept.get(client) for client in ways}
            kept_now = {client: address for client, address in kept.items() if address is not None}
            if kept_now == self._kept:
                return
            self._kept = kept_now
        _write(self._path, kept_now)

    def clients(self, servers: dhcp6.Wanted) -> dict[Client, str]:
        """Who has a prefix, and their hardware addresses as far as Kea knows them. Raises a `Problem`."""
        delegating = [spec for spec in servers.values() if spec.delegates]
        return {
            (spec.ifname, lease.client_id): lease.mac
            for lease in (self._leases.held() if delegating else {}).values()
            if lease.is_prefix
            for spec in delegating
            if spec.gave(lease.address)
        }

    def look_for(self, servers: dhcp6.Wanted) -> None:
        """Clients that nobody heard, among the neighbours. Raises a `Problem`."""
        clients = self.clients(servers)
        with self._lock:
            missing = {
                client: mac.replace(":", "")
                for client, mac in clients.items()
                if mac and client not in self._kept and client not in self._heard
            }
        if not missing:
            return
        at: dict[tuple[int, str], list[str]] = {}
        for one in neighbours():
            address = IPv6Address(one.address) if one.family == socket.AF_INET6 else None
            if address is not None and address.is_link_local and one.mac:
                at.setdefault((one.ifindex, one.mac.hex()), []).append(str(address))
        for (ifname, duid), mac in missing.items():
            found = at.get((_index(ifname), mac), [])
            if len(found) == 1:
                self.hear([Heard(ifname, duid, found[0])])


class PrefixFollower:
    """Hears clients from `start` until `stop`, and has their routes follow."""

    def __init__(
        self,
        routes: PrefixRoutes,
        servers: Callable[[], dhcp6.Wanted],
        follow: Callable[[Callable[[], bool]], None],
    ) -> None:
        """`servers` are those that run; `follow(note)` brings what changed to the kernel where `note` says
        that something did."""
        self._routes = routes
        self._servers = servers
        self._follow = follow
        self._ear: Dhcp6Ear | None = None
        self._turns = 0
        self._seen: tuple[object, int] = (None, 0)
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
        heard, version = list(self._ear.heard()), self._routes.version()
        is_due = self._turns % NEIGHBOURS_EACH == 0
        self._turns += 1
        if not heard and not is_due and servers == self._seen[0] and version == self._seen[1]:
            return PERIOD_S
        self._seen = (servers, version)
        self._routes.hear(heard)
        if is_due:
            self._routes.look_for(servers)
        self._routes.note(servers)
        if not self._routes.is_given(self._routes.ways(servers)):
            self._follow(lambda: True)
        return PERIOD_S

    def _close(self) -> None:
        if self._ear is not None:
            self._ear.close()
            self._ear = None


def _route(prefix: str, ifname: str, address: str) -> RouteSpec:
    return RouteSpec(f"delegated/{prefix}", prefix, address, ifname, False, DISTANCE)


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
