# SPDX-License-Identifier: Apache-2.0
"""Where the router knows some hosts alone, those with a lease are among them as soon as they have it."""

from __future__ import annotations

from collections.abc import Callable

from weir.backends.arp import ArpBackend
from weir.loop import Loop
from weir.parts.arp import Wanted

PERIOD_S = 0.5
"""A host asks for its gateway again after a second (RFC 1122, 2.3.2.1)."""


class KnownHosts:
    """Follows leases from `start` until `stop`."""

    def __init__(self, arp: ArpBackend, wanted: Callable[[], Wanted]) -> None:
        self._arp = arp
        self._wanted = wanted
        self._loop = Loop("known-hosts", self._turn, first_s=PERIOD_S, again_s=PERIOD_S)

    def start(self) -> None:
        self._loop.start()

    def stop(self) -> None:
        self._loop.stop()

    def _turn(self) -> float:
        self._arp.follow(self._wanted())
        return PERIOD_S
