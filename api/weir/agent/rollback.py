# SPDX-License-Identifier: Apache-2.0
"""The thread that undoes a change which nobody confirmed in time.

Until the deadline it prepares for it. It has nothing else to do, so no scan and no copy makes it late.
"""

from __future__ import annotations

import logging
import threading
from typing import Protocol

from weir.model.problem import Problem
from weir.store import Pending
from weir.store.clock import boot_id, boottime_ms, wall_ms

log = logging.getLogger(__name__)

LOOK_S = 2.0
"""So often the store is asked, as a confirmation need not be told, and the clock, which may be set."""
REVERTED_S = 0.2
RETRY_S = 5.0


class Undoing(Protocol):
    """The part of `Configuration` that is used here."""

    def pending(self) -> Pending | None: ...
    def await_confirmation(self, pending: Pending | None) -> None: ...
    def prepare_way_back(self, pending: Pending) -> None: ...
    def roll_back(self, expected: Pending) -> int | None: ...


class RollbackTimer:
    """Start it after the configuration; `stop` waits for it."""

    def __init__(self, configuration: Undoing) -> None:
        self._configuration = configuration
        self._asked = threading.Event()
        self._is_stopping = False
        self._thread = threading.Thread(target=self._run, name="rollback", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._is_stopping = True
        self._asked.set()
        self._thread.join()

    def look(self) -> None:
        """Ask the store now: something was committed. From any thread."""
        self._asked.set()

    def _run(self) -> None:
        wait_s = 0.0
        while True:
            self._asked.wait(wait_s)
            self._asked.clear()
            if self._is_stopping:
                return
            try:
                wait_s = self._follow()
            except Problem as problem:
                log.warning("%s; trying again in %g s", problem.message, RETRY_S)
                wait_s = RETRY_S
            except Exception:
                log.exception("the rollback timer failed; it goes on in %g s", RETRY_S)
                wait_s = RETRY_S

    def _follow(self) -> float:
        """Seconds until there is something to do."""
        pending = self._configuration.pending()
        self._configuration.await_confirmation(pending)
        if pending is None:
            return LOOK_S
        self._configuration.prepare_way_back(pending)
        left_s = pending.seconds_left(wall_ms(), boot_id(), boottime_ms())
        if left_s > 0:
            return min(left_s, LOOK_S)
        return REVERTED_S if self._configuration.roll_back(pending) is None else 0.0
