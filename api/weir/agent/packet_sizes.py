# SPDX-License-Identifier: Apache-2.0
"""Packets no larger than a slow queue can bear.

Cards and the kernel merge arriving packets of a flow into one of up to 64 KB (GRO), and fq paces whole
packets: at 2 Mbit/s one such packet is a burst of 262 ms. No queue here takes it apart again, so the agent
keeps the kernel from making it: on every shaped interface merged packets are at most what the slowest queue
sends in 5 ms.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

from weir.adapters.netlink import GRO_MAX_BYTES, Link
from weir.backends.modes import Decision

PACKET_TIME_MS = 5
LEAST_BYTES = 1514
"""A full packet is never split: nothing is merged."""


class Sizes(Protocol):
    """The part of `Links` that is used here."""

    def links(self) -> dict[str, Link]: ...
    def set_gro_max(self, name: str, size_bytes: int) -> None: ...


def gro_max_bytes(slowest_bps: int) -> int:
    """For the lowest limit of any queue, 0 = there is none."""
    if not slowest_bps:
        return GRO_MAX_BYTES
    return min(max(slowest_bps * PACKET_TIME_MS // 8000, LEAST_BYTES), GRO_MAX_BYTES)


class Merging:
    def __init__(
        self, links: Sizes, decisions: Callable[[], Mapping[str, Decision]], slowest_bps: Callable[[], int]
    ) -> None:
        self._links = links
        self._decisions = decisions
        self._slowest_bps = slowest_bps
        self._ours: set[str] = set()

    def fit(self) -> None:
        """Set what differs; an interface that is shaped no more gets the kernel's own size back."""
        wanted = gro_max_bytes(self._slowest_bps())
        shaped = {name for name, decision in self._decisions().items() if decision.mode != "none"}
        for name, link in self._links.links().items():
            if name not in shaped and name not in self._ours:
                continue
            size_bytes = wanted if name in shaped else GRO_MAX_BYTES
            if link.gro_max_bytes != size_bytes:
                self._links.set_gro_max(name, size_bytes)
        self._ours = shaped
