# SPDX-License-Identifier: Apache-2.0
"""Which queue has which slot, and what of that changed lately, for readers of the counters."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Any

from weir.compiler import NO_SLOT, Plan

KEPT_CHANGES = 1000
KEPT_QUEUES = 10_000
"""In all changes together: who has missed more reads everything."""


class SlotLog:
    """Thread-safe. A reader names the generation it has seen and gets the difference, or everything."""

    def __init__(self, slots: Callable[[], Mapping[str, int]], still: AbstractContextManager[object]) -> None:
        """`slots` gives all there are now, for who needs everything; they are not held here. Slots change,
        and are noted, while `still` is held: a lock that is taken before that of this log."""
        self._lock = threading.Lock()
        self._slots = slots
        self._still = still
        self._generation = time.time_ns() // 1000  # never one of a process before this
        self._changes: deque[tuple[int, dict[str, int]]] = deque()
        self._kept = 0

    def reset(self) -> None:
        """All may be others."""
        with self._lock:
            self._generation += 1
            self._changes.clear()
            self._kept = 0

    def note(self, plan: Plan) -> None:
        """Take over the queues that came, went or moved to another slot: all slots are so by now."""
        classes = plan.shaping.classes
        change = {spec.queue_id: NO_SLOT for spec in classes.removed if spec.is_queue}
        change.update(
            (new.queue_id, new.slot)
            for old, new in classes.set
            if new.is_queue and (old is None or old.slot != new.slot)
        )
        if not change:
            return
        with self._lock:
            self._generation += 1
            self._changes.append((self._generation, change))
            self._kept += len(change)
            while len(self._changes) > KEPT_CHANGES or self._kept > KEPT_QUEUES:
                self._kept -= len(self._changes.popleft()[1])

    def since(self, generation: int) -> dict[str, Any]:
        """Slots that changed after `generation`; `full` when the answer replaces all that was known."""
        with self._lock:
            oldest = self._changes[0][0] - 1 if self._changes else self._generation
            if oldest <= generation <= self._generation:
                change: dict[str, int] = {}
                for number, slots in self._changes:
                    if number > generation:
                        change.update(slots)
                return self._answer(False, change)
        with self._still, self._lock:  # while a plan is taken over, classes that it changes are missing
            return self._answer(True, self._slots())

    def _answer(self, full: bool, slots: Mapping[str, int]) -> dict[str, Any]:
        return {
            "generation": self._generation,
            "full": full,
            "slots": {queue_id: slot for queue_id, slot in slots.items() if slot != NO_SLOT},
            "removed": [queue_id for queue_id, slot in slots.items() if slot == NO_SLOT],
        }
