# SPDX-License-Identifier: Apache-2.0
"""Commits wait here for each other, and are told how long."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from weir.model.problem import Unavailable

WAIT_S = 10.0
"""So long a change waits beyond what the one before it still needs, ..."""
MAX_WAIT_S = 60.0
"""... and never longer than this: a browser gives up after a minute."""
MANY = 2000
FIRST_GUESS_S = 0.0002
"""What one of thousands of changes takes to write and apply, until one commit was measured."""


@dataclass(frozen=True, slots=True)
class _Holder:
    count: int
    since_s: float


class Turn:
    """One at a time. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._holder = _Holder(1, 0.0)
        self._change_s = FIRST_GUESS_S

    @contextmanager
    def of(self, count: int) -> Iterator[None]:
        """The turn of a commit of about so many changes. Raises `Unavailable` (`store-busy`), which says what
        is being done and how long it is likely to take."""
        if not self._lock.acquire(timeout=min(self._left_s() + WAIT_S, MAX_WAIT_S)):
            raise self._busy()
        self._holder = _Holder(count, time.monotonic())
        try:
            yield
            if count > MANY:
                self._change_s = (time.monotonic() - self._holder.since_s) / count
        finally:
            self._lock.release()

    def _left_s(self) -> float:
        """About how long whoever has the turn still needs; 0 when nobody has it."""
        holder = self._holder
        if not self._lock.locked():
            return 0.0
        return max(holder.since_s + holder.count * self._change_s - time.monotonic(), 0.0)

    def _busy(self) -> Unavailable:
        holder, left_s = self._holder, max(round(self._left_s()), 1)
        if holder.count <= MANY:
            return Unavailable("another change is being made; try again", code="store-busy")
        problem = Unavailable(
            f"a commit of {holder.count:,} changes is being written for "
            f"{time.monotonic() - holder.since_s:.0f} s; try again in about {left_s} s",
            code="store-busy",
        )
        problem.retry_after_s = left_s
        return problem
