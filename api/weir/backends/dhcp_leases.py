# SPDX-License-Identifier: Apache-2.0
"""The leases that the router's DHCP servers gave: held ready for lists, searches and events.

Kea takes no lease back, and there is no message by which it could. Those of clients that are blocked are
left out here, so that nothing that follows leases knows these clients by them.
"""

from __future__ import annotations

import heapq
import threading
import time
from bisect import bisect_left, insort
from collections import deque
from collections.abc import Callable, Mapping
from ipaddress import ip_address
from pathlib import Path
from typing import Literal, NamedTuple

from weir.adapters.kea_leases import Lease, LeaseFile
from weir.model.problem import Unavailable

KEPT_CHANGES = 1000
Place = tuple[int, int, str]
"""Where an address or a prefix is among others: all of IPv4 before IPv6."""


class Client(NamedTuple):
    """Whose leases of one subnet are meant: who has this MAC address (`mac`), who calls itself so (`client`),
    bytes with colons either, or who has this address."""

    subnet_id: int
    by: Literal["mac", "client", "address"]
    value: str


class LeaseChange(NamedTuple):
    """`number` counts all changes since the agent's start."""

    number: int
    what: Literal["came", "went"]
    lease: Lease


class LeaseTable:
    """Thread-safe. Every question first reads what Kea wrote since the last one, and costs what changed."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        """Without leases until it is told what to follow."""
        self._files: dict[Path, LeaseFile] = {}
        self._blocked: dict[Path, Mapping[Client, str]] = {}
        self._is_stale = False
        """Whether others are blocked than when leases were looked at last."""
        self._clock = clock
        self._lock = threading.Lock()
        self._held: dict[Place, tuple[str, Lease]] = {}
        """By the place of its address: what is searched in, and the lease."""
        self._places: list[Place] = []
        """Those of the addresses in order."""
        self._ends: list[tuple[int, str]] = []
        """A heap of when leases end, also those that were renewed since."""
        self._changes: deque[LeaseChange] = deque(maxlen=KEPT_CHANGES)
        self._count = 0
        self._version = 0
        self._is_first = True

    def follow(self, path: Path) -> None:
        """The leases of one more Kea. Of two that know an address the lease that ends last counts."""
        with self._lock:
            self._files[path] = LeaseFile(path)

    def block(self, path: Path, blocked: Mapping[Client, str]) -> None:
        """From now on leave out what these clients have of a Kea; each is named by its reservation."""
        with self._lock:
            self._is_stale |= self._blocked.get(path, {}) != blocked
            self._blocked[path] = blocked

    def left_out(self, path: Path) -> Mapping[str, int]:
        """When the last lease that a blocked client has of a Kea ends, in seconds since 1970, by reservation.
        Raises `Unavailable`."""
        found: dict[str, int] = {}
        with self._lock:
            self._follow()
            now_s = self._clock()
            for lease in self._files[path].held.values() if self._blocked.get(path) else ():
                name = self._blocker(path, lease)
                if name is not None and lease.expires_s > now_s:
                    found[name] = max(lease.expires_s, found.get(name, 0))
        return found

    def version(self) -> int:
        """A number that changes with whatever `held` answers. Raises `Unavailable`."""
        with self._lock:
            self._follow()
            return self._version

    def held(self) -> Mapping[str, Lease]:
        """Those that have not ended, by address. Raises `Unavailable`."""
        with self._lock:
            self._follow()
            return {lease.address: lease for _, lease in self._held.values()}

    def found(self, words: str) -> list[Lease]:
        """Those whose address, MAC or host name has these words in it, by address. Raises `Unavailable`."""
        wanted = words.strip().lower()
        with self._lock:
            self._follow()
            entries = map(self._held.__getitem__, self._places)
            return [lease for text, lease in entries if wanted in text]

    def since(self, number: int) -> tuple[int, list[LeaseChange]]:
        """The number of the last change, and those behind `number`: of very many the last."""
        with self._lock:
            self._follow()
            return self._count, [change for change in self._changes if change.number > number]

    def _follow(self) -> None:
        try:
            touched = {address for file in self._files.values() for address in file.follow()}
        except OSError as error:
            raise Unavailable(f"the leases cannot be read: {error.strerror}", code="no-leases") from error
        if self._is_stale:
            touched.update(address for file in self._files.values() for address in file.held)
            self._is_stale = False
        now_s = self._clock()
        while self._ends and self._ends[0][0] <= now_s:
            touched.add(heapq.heappop(self._ends)[1])
        for place, address in sorted((_place(address), address) for address in touched):
            lease = self._latest(address)
            self._put(place, lease if lease is not None and lease.expires_s > now_s else None)
        self._version += bool(touched)
        self._is_first = False

    def _latest(self, address: str) -> Lease | None:
        held = ((path, file.held.get(address)) for path, file in self._files.items())
        found = (lease for path, lease in held if lease is not None and self._blocker(path, lease) is None)
        return max(found, key=lambda lease: lease.expires_s, default=None)

    def _blocker(self, path: Path, lease: Lease) -> str | None:
        """The reservation that blocks who has it."""
        blocked = self._blocked.get(path)
        if not blocked:
            return None
        clients = (
            Client(lease.subnet_id, "mac", lease.mac),
            Client(lease.subnet_id, "client", lease.client_id),
            Client(lease.subnet_id, "address", lease.address),
        )
        return next((blocked[client] for client in clients if client in blocked), None)

    def _put(self, place: Place, lease: Lease | None) -> None:
        _, before = self._held.get(place, ("", None))
        if before is not None and lease is None:
            del self._held[place]
            del self._places[bisect_left(self._places, place)]
        if lease is not None:
            if before is None:
                insort(self._places, place)
            text = f"{lease.address} {lease.mac} {lease.hostname}".lower()
            self._held[place] = (text, lease)
            heapq.heappush(self._ends, (lease.expires_s, lease.address))
        if before is None or lease is None or _host(before) != _host(lease):
            self._note("went", before)
            self._note("came", lease)

    def _note(self, what: Literal["came", "went"], lease: Lease | None) -> None:
        """One that is renewed is no change; an address that another host has now went and came. What was
        there at the start is no news."""
        if lease is not None and not self._is_first:
            self._count += 1
            self._changes.append(LeaseChange(self._count, what, lease))


def _place(address: str) -> Place:
    plain, _, length = address.partition("/")
    found = ip_address(plain)
    return found.version, int(found), length


def _host(lease: Lease) -> str:
    """Whose it is: a client of DHCPv6 may have no MAC address; a prefix is its DUID's."""
    return lease.client_id if lease.is_prefix else lease.mac or lease.client_id
