# SPDX-License-Identifier: Apache-2.0
"""Looks for sources that scan networks, for a hundredth of the time and while there is traffic at all
(docs/adr/0229). Nothing is pinned: what is attached is gone with this process."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import closing

from weir.diagnosis.sample import Core, Scan
from weir.diagnosis.scans import LEAST
from weir.model.problem import Unavailable
from weir.probes.scan_sources import ScanSources

log = logging.getLogger(__name__)

WINDOW_SHARE = 0.01
"""Of the time between two looks of the sampler."""
BUSY_PPS = 2_000
"""Packets per second that the machine receives: with fewer nobody scans so that it matters."""
RETRY_PERIODS = 120
"""So many looks later it is tried again where the kernel refused."""


class ScanWatch:
    """Thread-safe."""

    def __init__(
        self, period_s: float, opens: Callable[[], ScanSources], cores: Callable[[], Iterable[Core]]
    ) -> None:
        """`period_s`: between looks of the sampler. `opens` may raise `OSError`; `cores` as
        `Counters.cores`."""
        self._period_s = period_s
        self._opens = opens
        self._cores = cores
        self._found: tuple[Scan, ...] | None = None
        self._refused = ""
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="scans", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Nothing is attached any more."""
        self._stopped.set()
        if self._thread.is_alive():
            self._thread.join()

    def found(self) -> tuple[Scan, ...] | None:
        """Of the last window; nobody while the router receives little. None: there was none yet. Raises
        `Unavailable` with the kernel's reason."""
        if self._refused:
            raise Unavailable(self._refused)
        return self._found

    def _run(self) -> None:
        while not self._stopped.is_set():
            try:
                with closing(self._opens()) as sources:
                    self._refused = ""
                    self._watch(sources)
            except OSError as error:
                self._refuse(error.strerror or str(error))
            except Exception:
                log.exception("looking for scans failed; it is tried again")
                self._refuse("it failed, and is tried again")

    def _refuse(self, why: str) -> None:
        """And wait until it is tried again."""
        self._refused = why
        log.info("nobody looks for scans: %s", why)
        self._stopped.wait(RETRY_PERIODS * self._period_s)

    def _watch(self, sources: ScanSources) -> None:
        before, begun_s = self._received(), time.monotonic()
        while not self._stopped.wait(self._period_s):
            now, now_s = self._received(), time.monotonic()
            is_busy = now - before >= BUSY_PPS * (now_s - begun_s)
            before, begun_s = now, now_s
            self._found = self._window(sources) if is_busy else ()

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
