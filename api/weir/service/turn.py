# SPDX-License-Identifier: Apache-2.0
"""Commits wait here for each other, in the order in which they came, and are told how long."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from weir.model.problem import Unavailable

WAIT_S = 10.0
"""So long a change waits beyond what the one before it still needs, ..."""
MAX_WAIT_S = 60.0
"""... and never longer than this: a browser gives up after a minute. A commit of thousands, which others have
let pass while it was prepared, always waits as long."""
MAX_WAITING = 32
"""Who reads must find a thread, too: of the 64 that answer requests, so many may wait for a large commit.
Who is refused asks again, and that takes more from the commit than waiting does."""
MANY = 2000
FIRST_GUESS_S = 0.0002
"""What one of thousands of changes takes to write and apply, until one commit was measured."""


@dataclass(slots=True)
class _Ticket:
    """A commit of about `count` changes; `since_s` is when its turn began."""

    count: int
    is_first: threading.Condition
    """Told when its turn has come."""
    since_s: float = 0.0

    @property
    def is_large(self) -> bool:
        return self.count > MANY


class Turn:
    """One at a time, who came first is first: single changes keep no large commit away. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._tickets: deque[_Ticket] = deque()
        """The first one has the turn."""
        self._change_s = FIRST_GUESS_S

    @property
    def is_taken(self) -> bool:
        return bool(self._tickets)

    @contextmanager
    def of(self, count: int) -> Iterator[None]:
        """The turn of a commit of about so many changes. Raises `Unavailable` (`store-busy`), which says what
        is being done and how long it is likely to take."""
        ticket = _Ticket(count, threading.Condition(self._lock))
        with self._lock:
            self._wait(ticket)
        try:
            yield
            if ticket.is_large:
                self._change_s = (time.monotonic() - ticket.since_s) / count
        finally:
            with self._lock:
                self._tickets.popleft()
                if self._tickets:  # the others need not be woken, dozens of times a second
                    self._tickets[0].is_first.notify()

    def _wait(self, ticket: _Ticket) -> None:
        if len(self._tickets) > MAX_WAITING and any(other.is_large for other in self._tickets):
            raise self._busy()
        self._tickets.append(ticket)
        begun_s = time.monotonic()
        while self._tickets[0] is not ticket:
            patience_s = MAX_WAIT_S if ticket.is_large else min(self._left_s() + WAIT_S, MAX_WAIT_S)
            if not ticket.is_first.wait(max(begun_s + patience_s - time.monotonic(), 0.0)):
                if self._tickets[0] is ticket:
                    break
                if begun_s + min(self._left_s() + WAIT_S, MAX_WAIT_S) > time.monotonic():
                    continue  # a large commit has begun meanwhile
                problem = self._busy()
                self._tickets.remove(ticket)
                raise problem
        ticket.since_s = time.monotonic()

    def _left_s(self) -> float:
        """About how long the commit that has the turn still needs."""
        holder = self._tickets[0]
        return max(holder.since_s + holder.count * self._change_s - time.monotonic(), 0.0)

    def _busy(self) -> Unavailable:
        holder, left_s = self._tickets[0], max(round(self._left_s()), 1)
        if not holder.is_large:
            return Unavailable("another change is being made; try again", code="store-busy")
        problem = Unavailable(
            f"a commit of {holder.count:,} changes is being written for "
            f"{time.monotonic() - holder.since_s:.0f} s; try again in about {left_s} s",
            code="store-busy",
        )
        problem.retry_after_s = left_s
        return problem
