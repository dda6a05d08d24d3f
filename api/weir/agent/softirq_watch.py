# SPDX-License-Identifier: Apache-2.0
"""Watches softirqs a sixteenth of the time (docs/adr/0217): between two windows nothing is attached.

After a window with long waits or runs the next one comes sooner. Nothing is pinned: what is attached is gone
with this process.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from contextlib import closing

from weir.diagnosis.sample import Softirq, SoftirqWindow
from weir.model.problem import Unavailable
from weir.probes.softirq_rows import Row, SoftirqRows

log = logging.getLogger(__name__)

WINDOW_SHARE = 0.2
"""Of the time between two looks of the sampler."""
GAP_LOOKS, SOON_LOOKS = 3, 0.8
"""Times between looks that lie between two windows."""
RETRY_GAPS = 40
"""So many windows later it is tried again where the kernel refused."""


class SoftirqWatch:
    """Thread-safe."""

    def __init__(self, period_s: float, opens: Callable[[], SoftirqRows]) -> None:
        """`period_s`: between looks of the sampler. `opens` may raise `OSError`."""
        self._period_s = period_s
        self._opens = opens
        self._window: SoftirqWindow | None = None
        self._refused = ""
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="softirqs", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Nothing is attached any more."""
        self._stopped.set()
        if self._thread.is_alive():
            self._thread.join()

    def window(self) -> SoftirqWindow | None:
        """The last one; None: there was none yet. Raises `Unavailable` with the kernel's reason."""
        if self._refused:
            raise Unavailable(self._refused)
        return self._window

    def _run(self) -> None:
        while not self._stopped.is_set():
            try:
                with closing(self._opens()) as rows:
                    self._refused = ""
                    self._watch(rows)
            except OSError as error:
                self._refuse(error.strerror or str(error))
            except Exception:
                log.exception("watching softirqs failed; it is tried again")
                self._refuse("it failed, and is tried again")

    def _refuse(self, why: str) -> None:
        """And wait until it is tried again."""
        self._refused = why
        log.info("softirqs are not watched: %s", why)
        self._stopped.wait(RETRY_GAPS * GAP_LOOKS * self._period_s)

    def _watch(self, rows: SoftirqRows) -> None:
        """One window after the other, until the end."""
        gap_looks: float = GAP_LOOKS
        while not self._stopped.wait(gap_looks * self._period_s):
            begun_s = time.monotonic()
            rows.watch(True)
            self._stopped.wait(WINDOW_SHARE * self._period_s)
            rows.watch(False)
            seen = tuple(_softirq(row) for row in rows.read())
            self._window = SoftirqWindow(time.monotonic() - begun_s, seen)
            gap_looks = SOON_LOOKS if any(one.late or one.dear for one in seen) else GAP_LOOKS


def _softirq(row: Row) -> Softirq:
    return Softirq(
        row.core,
        row.vector,
        row.late,
        row.dear,
        row.wait_most_ns,
        row.behind,
        row.wait_task,
        row.run_most_ns,
        row.run_task,
    )
