# SPDX-License-Identifier: Apache-2.0
"""Messages that wait for one receiver: sent one after the other by a thread of their own, again after a
while where that failed, and given up within bounds. Nothing of it waits for another receiver."""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from weir.adapters.courier import Outcome
from weir.diagnosis.messages import Message, moment
from weir.store.clock import wall_ms

log = logging.getLogger(__name__)

MOST_WAITING = 100
"""The oldest is given up for one more: the newest says how things are."""
FIRST_WAIT_S, LONGEST_WAIT_S = 10.0, 600.0
GIVEN_UP_AFTER_S = 24 * 3600.0

Send = Callable[[Message], Outcome]


@dataclass(slots=True)
class _Waiting:
    message: Message
    since_s: float
    tries: int = 0


class Outbox:
    """`send` makes one attempt, in bounded time. Thread-safe."""

    def __init__(self, name: str, send: Send, first_wait_s: float = FIRST_WAIT_S) -> None:
        self.name = name
        self._send = send
        self._first_wait_s = first_wait_s
        self._news = threading.Condition()
        self._waiting: deque[_Waiting] = deque()
        self._is_stopped = False
        self._is_hurried = False
        self._due_s = 0.0
        self._lost = 0
        self._delivered_ms: int | None = None
        self._error: tuple[str, int] | None = None
        self._thread: threading.Thread | None = None

    def put(self, message: Message) -> None:
        """Never waits."""
        with self._news:
            if len(self._waiting) >= MOST_WAITING:
                self._waiting.popleft()
                self._lost += 1
            self._waiting.append(_Waiting(message, time.monotonic()))
            if self._thread is None:
                name = f"alerts-{self.name}"
                self._thread = threading.Thread(target=self._run, name=name, daemon=True)
                self._thread.start()
            self._news.notify()

    def hurry(self, send: Send) -> None:
        """The receiver is configured in another way: what waits is tried at once, in that way."""
        with self._news:
            self._send, self._is_hurried = send, True
            self._news.notify()

    def stop(self) -> None:
        """Nothing more is sent; an attempt that is under way ends by itself."""
        with self._news:
            self._is_stopped = True
            self._news.notify()

    def note(self, outcome: Outcome) -> None:
        """An attempt was made, here or as a test."""
        with self._news:
            now_ms = wall_ms()
            if outcome.delivered:
                self._delivered_ms, self._error = now_ms, None
            else:
                self._error = (outcome.answer, now_ms)

    def state(self) -> dict[str, Any]:
        """As the kind `alert-target` declares it."""
        with self._news:
            error, delivered_ms = self._error, self._delivered_ms
            return {
                "last_delivery": None if delivered_ms is None else moment(delivered_ms),
                "last_error": None if error is None else error[0],
                "last_error_at": None if error is None else moment(error[1]),
                "waiting": len(self._waiting),
                "lost": self._lost,
            }

    def _run(self) -> None:
        while (taken := self._next()) is not None:
            item, send = taken
            item.tries += 1
            outcome = send(item.message)
            self.note(outcome)
            self._settle(item, outcome)

    def _next(self) -> tuple[_Waiting, Send] | None:
        """The oldest, once it is due; None when the outbox is stopped."""
        with self._news:
            while not self._is_stopped:
                if self._waiting and (wait_s := self._wait_s(self._waiting[0])) <= 0:
                    self._is_hurried = False
                    return self._waiting[0], self._send
                self._news.wait(wait_s if self._waiting else None)
            return None

    def _wait_s(self, item: _Waiting) -> float:
        if self._is_hurried or not item.tries:
            return 0.0
        return self._due_s - time.monotonic()

    def _settle(self, item: _Waiting, outcome: Outcome) -> None:
        with self._news:
            wait_s = min(self._first_wait_s * 2 ** min(item.tries - 1, 16), LONGEST_WAIT_S)
            self._due_s = time.monotonic() + wait_s
            is_old = time.monotonic() - item.since_s > GIVEN_UP_AFTER_S
            if (outcome.delivered or is_old) and self._waiting and self._waiting[0] is item:
                self._waiting.popleft()
                self._lost += not outcome.delivered
        if not outcome.delivered:
            told = "given up" if is_old else f"tried again in {wait_s:.0f} s"
            log.warning("alert target %s: %s; %s", self.name, outcome.answer, told)
