# SPDX-License-Identifier: Apache-2.0
"""Looks for sources that scan networks, for a hundredth of the time and while there is traffic at all
(docs/adr/0229)."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable

from weir.agent.watch import Watch
from weir.diagnosis.sample import Core, Scan
from weir.diagnosis.scans import LEAST
from weir.probes.scan_sources import ScanSources

WINDOW_SHARE = 0.01
"""Of the time between two looks of the sampler."""
BUSY_PPS = 2_000
"""Packets per second that the machine receives: with fewer nobody scans so that it matters."""
RETRY_PERIODS = 120
"""So many looks later it is tried again where the kernel refused."""


class ScanWatch(Watch[ScanSources, tuple[Scan, ...]]):
    """Finds nobody while the router receives little."""

    name = "scans"

    def __init__(
        self, period_s: float, opens: Callable[[], ScanSources], cores: Callable[[], Iterable[Core]]
    ) -> None:
        """`cores` as `Counters.cores`."""
        super().__init__(period_s, RETRY_PERIODS * period_s, opens)
        self._cores = cores

    def _watch(self, opened: ScanSources) -> None:
        before, begun_s = self._received(), time.monotonic()
        while not self._stopped.wait(self._period_s):
            now, now_s = self._received(), time.monotonic()
            is_busy = now - before >= BUSY_PPS * (now_s - begun_s)
            before, begun_s = now, now_s
            self._found = self._window(opened) if is_busy else ()

    def _window(self, sources: ScanSources) -> tuple[Scan, ...]:
        begun_s = time.monotonic()
        sources.watch(True)
        try:
            self._stopped.wait(WINDOW_SHARE * self._period_s)
        finally:
            sources.watch(False)
        took_s = time.monotonic() - begun_s
        return tuple(
            Scan(seen.source, seen.destinations / took_s, seen.lookups / took_s)
            for seen in sources.read(LEAST)
        )

    def _received(self) -> int:
        return sum(core.packets for core in self._cores())
