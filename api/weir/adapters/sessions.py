# SPDX-License-Identifier: Apache-2.0
"""Which sessions there are: TCP connections of this machine, and those through it where they are tracked."""

from __future__ import annotations

import ipaddress
import struct
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from functools import cached_property
from pathlib import Path

from weir.adapters import conntrack
from weir.adapters.process import ENVIRONMENT

MOST_TRACKED = 20_000
"""Of more the listing takes longer than 0.1 s, and somebody waits: they are not counted."""
_ESTABLISHED = "01"

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Ends = tuple[Address, ...]
Networks = Mapping[tuple[int, int], Set[int]]
"""By version of IP and bits behind the prefix: what is before them. One look for each length."""


class Connections:
    """TCP connections of one moment: they are listed when somebody asks first, and once, however many ask."""

    def own(self, networks: Iterable[str]) -> int:
        """Established ones of this machine with an end in one of the networks (prefixes; an address with a
        length stands for its network)."""
        return _count(self._own, networks)

    def tracked(self, networks: Iterable[str]) -> int | None:
        """Established ones that are tracked and have an end there; None: too many to be counted, or they
        cannot be listed."""
        return None if self._tracked is None else _count(self._tracked, networks)

    @cached_property
    def _own(self) -> Sequence[Ends]:
        return list(_own())

    @cached_property
    def _tracked(self) -> Sequence[Ends] | None:
        return _tracked()


def _tracked() -> Sequence[Ends] | None:
    fill = conntrack.fill()
    if fill is None or fill[0] > MOST_TRACKED:
        return None
    try:
        listing = subprocess.run(
            ["conntrack", "-L", "-p", "tcp", "--state", "ESTABLISHED"],
            capture_output=True,
            text=True,
            timeout=2.0,
            env=ENVIRONMENT,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    if listing.returncode != 0:
        return None
    return [tuple(_ends(line)) for line in listing.stdout.splitlines()]


def _count(found: Iterable[Ends], networks: Iterable[str]) -> int:
    wanted = _networks(networks)
    return sum(1 for ends in found if _touches(ends, wanted))


def _networks(texts: Iterable[str]) -> Networks:
    found: dict[tuple[int, int], set[int]] = {}
    for text in texts:
        network = ipaddress.ip_network(text, strict=False)
        behind = network.max_prefixlen - network.prefixlen
        found.setdefault((network.version, behind), set()).add(int(network.network_address) >> behind)
    return found


def _touches(ends: Iterable[Address], networks: Networks) -> bool:
    return any(
        int(end) >> behind in values
        for end in ends
        for (version, behind), values in networks.items()
        if version == end.version
    )


def _ends(line: str) -> Iterator[Address]:
    for word in line.split():
        name, _, value = word.partition("=")
        if name in ("src", "dst"):
            yield ipaddress.ip_address(value)


def _own() -> Iterator[tuple[Address, Address]]:
    for name in ("tcp", "tcp6"):
        try:
            lines = Path(f"/proc/thread-self/net/{name}").read_text(encoding="ascii").splitlines()[1:]
        except OSError:
            continue
        for line in lines:
            words = line.split()
            if words[3] == _ESTABLISHED:
                yield _address(words[1]), _address(words[2])


def _address(text: str) -> Address:
    """As /proc prints it: words of 32 bits in the machine's order; IPv4 within IPv6 is IPv4."""
    digits = text.partition(":")[0]
    packed = b"".join(
        struct.pack("=I", int(digits[start : start + 8], 16)) for start in range(0, len(digits), 8)
    )
    if len(packed) == 4:
        return ipaddress.IPv4Address(packed)
    found = ipaddress.IPv6Address(packed)
    return found.ipv4_mapped or found
