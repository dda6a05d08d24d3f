# SPDX-License-Identifier: Apache-2.0
"""What lookups cost, measured now and then (docs/adr/0224)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from weir.diagnosis.sample import Chain, RouteLookups
from weir.diagnosis.tables import CHAINED_SOCKETS, SLOW_ROUTE_NS
from weir.model.problem import Unavailable
from weir.probes.lookup_meter import LookupMeter, route_count

EVERY_LOOKS = 120
"""Looks between two measurements of routes; at each look while the last one was slow. They are not
counted again for that, which takes the kernel longer."""


class LookupTimes:
    """Of this network namespace, by one thread."""

    def __init__(self, opens: Callable[[], LookupMeter]) -> None:
        """`opens` may raise `OSError`."""
        self._opens = opens
        self._meter: LookupMeter | None = None
        self._routes: RouteLookups | None = None
        self._looks = 0

    def routes(self) -> RouteLookups:
        """The last measurement. Raises `Unavailable`."""
        last, is_due = self._routes, self._looks % EVERY_LOOKS == 0
        self._looks += 1
        if last is not None and not is_due and last.random_ns <= SLOW_ROUTE_NS:
            return last
        self._routes = None
        try:
            times = self._open().routes()
            count = route_count() if last is None or is_due else last.routes
        except OSError as error:
            raise Unavailable(error.strerror or str(error)) from error
        self._routes = RouteLookups(times.fixed_ns, times.random_ns, count)
        return self._routes

    def timed(self, chains: tuple[Chain, ...]) -> tuple[Chain, ...]:
        """Of the address with most sockets, where they are many, also what a lookup takes; unless the kernel
        refuses to tell."""
        if not chains or chains[0].sockets <= CHAINED_SOCKETS:
            return chains
        try:
            took_ns = self._open().listener(chains[0].address)
        except OSError:
            return chains
        return (replace(chains[0], lookup_ns=took_ns), *chains[1:])

    def _open(self) -> LookupMeter:
        if self._meter is None:
            self._meter = self._opens()
        return self._meter
