# SPDX-License-Identifier: Apache-2.0
"""The thread that undoes a change which nobody confirmed in time.

Until the deadline it prepares for it. It has nothing else to do, so no scan and no copy makes it late.
"""

from __future__ import annotations

import logging
from typing import Protocol

from weir.loop import Loop
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
        self._loop = Loop("rollback", self._follow, again_s=RETRY_S)

    def start(self) -> None:
        self._loop.start()

    def stop(self) -> None:
        self._loop.stop()

    def look(self) -> None:
        """Ask the store now: something was committed. From any thread."""
        self._loop.wake()

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
