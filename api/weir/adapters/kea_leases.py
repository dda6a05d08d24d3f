# SPDX-License-Identifier: Apache-2.0
"""Kea's leases of either family, followed as it writes them (Kea's manual, "Memfile - Basic Storage for
Leases").

Its file is a log: a row for each change, the last one of an address holds. Following it costs Kea
nothing and works while Kea does not. Now and then kea-lfc makes a short file of a long one; then all is read
again.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from ipaddress import ip_address
from pathlib import Path
from typing import NamedTuple

_COLUMNS = ("address", "hwaddr", "valid_lifetime", "expire", "subnet_id", "hostname", "state")
_CLIENT = ("client_id", "duid")
"""The column of what a client calls itself, of IPv4 and of IPv6."""
_PREFIX = ("lease_type", "prefix_len")
"""The columns that tell a prefix from an address, of IPv6 alone."""
_DELEGATED = 2
"""Kea's number of IA_PD (src/lib/dhcpsrv/lease.h)."""
_ESCAPED = re.compile(r"&#x([0-9a-fA-F]{2})")
_NOT_OF_NAMES = re.compile(r"[^A-Za-z0-9._-]+")
_TRIES = 5
_ASSIGNED = 0


class Lease(NamedTuple):
    """`address` is a prefix with its length where a router was delegated one. `expires_s` since 1970.
    `client_id` is the DUID of a client of DHCPv6. `hostname` is what the client says it is called: only
    letters, digits, dots and dashes are left of that."""

    address: str
    mac: str
    client_id: str
    hostname: str
    expires_s: int
    subnet_id: int

    @property
    def family(self) -> int:
        """4 or 6."""
        return 6 if ":" in self.address else 4

    @property
    def is_prefix(self) -> bool:
        return "/" in self.address


class LeaseFile:
    """Not thread-safe."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._inode = 0
        self._offset = 0
        self._columns: tuple[int, ...] = ()
        self.held: dict[str, Lease] = {}
        """By address, as they were given; one that has ended stays until Kea says so."""

    def follow(self) -> set[str]:
        """Read what was written since the last time; the addresses of which something else holds now. Raises
        `OSError`."""
        try:
            found = self._path.stat()
        except FileNotFoundError:
            gone, self.held, self._inode, self._offset = set(self.held), {}, 0, 0
            return gone
        if found.st_ino != self._inode or found.st_size < self._offset:
            return self._read_all()
        touched: set[str] = set()
        if found.st_size > self._offset:
            self._read_on(self._path, self._offset, self.held, touched)
        return touched

    def _read_all(self) -> set[str]:
        """From the files in the order in which Kea reads them; again while kea-lfc replaces them."""
        before = self.held
        for _ in range(_TRIES):
            names = self._state()
            held: dict[str, Lease] = {}
            for path in self._parts():
                self._read_on(path, 0, held, set())
            if self._state() == names:
                break
        self.held = held
        self._inode = self._path.stat().st_ino if self._path.exists() else 0
        return {
            address for address in before.keys() | held.keys() if before.get(address) != held.get(address)
        }

    def _parts(self) -> Iterator[Path]:
        """What kea-lfc made last, what it is working on, and what was written since."""
        completed = self._path.with_name(self._path.name + ".completed")
        if completed.exists():
            yield completed
        else:
            yield self._path.with_name(self._path.name + ".2")
            yield self._path.with_name(self._path.name + ".1")
        yield self._path

    def _state(self) -> list[tuple[str, int]]:
        """Which files there are."""
        found = self._path.parent.glob(f"{self._path.name}*")
        return sorted((path.name, path.stat().st_ino) for path in found if path.suffix != ".pid")

    def _read_on(self, path: Path, offset: int, held: dict[str, Lease], touched: set[str]) -> None:
        """The whole lines behind `offset`. One that is not whole yet is read the next time."""
        try:
            with path.open("rb") as file:
                file.seek(offset)
                data = file.read()
        except FileNotFoundError:
            return
        whole = data[: data.rfind(b"\n") + 1]
        if path == self._path:
            self._offset = offset + len(whole)
        for line in whole.decode("ascii", "replace").split("\n"):
            address = self._take(line, held)
            if address is not None:
                touched.add(address)

    def _take(self, line: str, held: dict[str, Lease]) -> str | None:
        """One row, and its address. Of a damaged file what can be read is taken."""
        values = line.split(",")
        if values[0] == "address":
            known = (*_COLUMNS, *(name for name in (*_CLIENT, *_PREFIX) if name in values))
            self._columns = tuple(values.index(name) for name in known if name in values)
            return None
        count = len(_COLUMNS) + 1
        if len(self._columns) not in (count, count + len(_PREFIX)) or len(values) <= max(self._columns):
            return None
        address, mac, lifetime, expire, subnet, hostname, state, client_id, *kind = (
            values[index] for index in self._columns
        )
        try:
            lease = Lease(_what(address, kind), mac, client_id, _name(hostname), int(expire), int(subnet))
            is_held = int(state) == _ASSIGNED and int(lifetime) > 0
        except ValueError:
            return None
        if is_held:
            held[lease.address] = lease
        else:
            held.pop(lease.address, None)
        return lease.address


def _what(address: str, kind: Sequence[str]) -> str:
    """The address, or the prefix with its length. Raises `ValueError`."""
    plain = str(ip_address(address))
    return f"{plain}/{int(kind[1])}" if kind and int(kind[0]) == _DELEGATED else plain


def _name(text: str) -> str:
    """A host name as a client sent it, harmless wherever it is shown."""
    plain = _ESCAPED.sub(lambda match: chr(int(match[1], 16)), text)
    return _NOT_OF_NAMES.sub("", plain).strip(".")[:253]
