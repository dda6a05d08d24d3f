# SPDX-License-Identifier: Apache-2.0
"""The table of tracked connections of this network namespace: how full it is, and who fills it."""

from __future__ import annotations

import ipaddress
import subprocess
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from weir.adapters.process import ENVIRONMENT
from weir.model.problem import Unavailable

_FOLDER = Path("/proc/sys/net/netfilter")
_V6_PREFIX = 64
FORGET_S = 10.0


def fill() -> tuple[int, int] | None:
    """Entries and the most there can be; None where nothing is tracked."""
    try:
        count, most = (int((_FOLDER / f"nf_conntrack_{name}").read_text()) for name in ("count", "max"))
    except (OSError, ValueError):
        return None
    return count, most


def holders(most: int) -> list[tuple[str, int]]:
    """Who has most entries: an IPv4 address or an IPv6 /64, as it was before translation. Reads them all: a
    quarter of a million take about a second. Raises `Unavailable`."""
    found: Counter[str] = Counter()
    for family in ("ipv4", "ipv6"):
        command = ["conntrack", "-L", "-f", family]
        try:
            listing = subprocess.Popen(
                command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=ENVIRONMENT
            )
        except OSError as error:
            raise Unavailable(f"conntrack cannot be run: {error.strerror}", code="program-missing") from error
        with listing:
            assert listing.stdout is not None
            found.update(_sources(listing.stdout))
    return _merged(found).most_common(most)


def _sources(lines: Iterable[str]) -> Iterable[str]:
    """The first `src=` of a line is the sender of the connection's first packet."""
    for line in lines:
        _, found, rest = line.partition(" src=")
        if found:
            yield rest.partition(" ")[0]


def _merged(addresses: Counter[str]) -> Counter[str]:
    found: Counter[str] = Counter()
    for address, count in addresses.items():
        source = str(ipaddress.ip_network((address, _V6_PREFIX), strict=False)) if ":" in address else address
        found[source] += count
    return found


def forget(address: str) -> int:
    """Forget the connections that have an IPv4 address of this router: translated to it, its own, and those
    that came to it. How many there were. Raises `Unavailable`."""
    found = 0
    for end in ("--reply-dst", "--orig-dst"):
        command = ["conntrack", "-D", "-f", "ipv4", end, address]
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, env=ENVIRONMENT, timeout=FORGET_S, check=False
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise Unavailable(f"conntrack cannot be run: {error}", code="program-missing") from error
        found += done.stdout.count("\n")  # it ends with 1 when there was nothing, as for an error
    return found
