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
from weir.diagnosis.messages import Message
from weir.model.moment import moment
from weir.store.clock import wall_ms

log = logging.getLogger(__name__)

MOST_WAITING = 100
"""The oldest is given up for one more: the newest says how things are."""
FIRST_WAIT_S, LONGEST_WAIT_S = 10.0, 600.0
GIVEN_UP_AFTER_S = 24 * 3600.0

Send = Callable[[Message], Outcome]


@dataclass(frozen=True, slots=True)
class _Waiting:
    message: Message
    since_s: float


class Outbox:
    """`send` makes one attempt, in bounded time. Thread-safe."""

    def __init__(self, name: str, send: Send, first_wait_s: float = FIRST_WAIT_S) -> None:
        self.name = name
        self._send = send
        self._first_wait_s = first_wait_s
        self._news = threading.Condition()
        self._waiting: deque[_Waiting] = deque()
        self._under_way: _Waiting | None = None
        """It is not in the queue meanwhile."""
        self._is_stopped = False
        self._tries = 0
        """Attempts that failed since the receiver took one, whichever message it was."""
        self._due_s = 0.0
        self._lost = 0
        self._delivered_ms: int | None = None
        self._error: tuple[str, int] | None = None
        self._thread: threading.Thread | None = None

    def put(self, message: Message) -> None:
        """Never waits."""
        with self._news:
            if self._waiting and self._held() >= MOST_WAITING:
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
            self._send, self._tries, self._due_s = send, 0, 0.0
            self._news.notify()

    def stop(self) -> None:
        """Nothing more is sent; an attempt that is under way ends by itself."""
        with self._news:
            self._is_stopped = True
            self._news.notify()

    def note(self, outcome: Outcome) -> None:
        """An attempt was made, here or as a test. After one that was taken nothing that waits is put off."""
        with self._news:
            now_ms = wall_ms()
            if outcome.delivered:
                self._delivered_ms, self._error = now_ms, None
                self._tries, self._due_s = 0, 0.0
                self._news.notify()
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
                "waiting": self._held(),
                "lost": self._lost,
            }

    def _held(self) -> int:
        return len(self._waiting) + (self._under_way is not None)

    def _run(self) -> None:
        while (taken := self._next()) is not None:
            item, send = taken
            self._settle(item, send, self._attempt(send, item.message))

    def _attempt(self, send: Send, message: Message) -> Outcome:
        """A failure of the router itself is one of the attempt, so that what waits is not forgotten."""
        try:
            return send(message)
        except Exception as error:
            log.exception("alert target %s: sending failed; it goes on", self.name)
            return Outcome(False, f"the router could not try it ({type(error).__name__}); its log says more")

    def _next(self) -> tuple[_Waiting, Send] | None:
        """The oldest, once the receiver is due; None when the outbox is stopped."""
        with self._news:
            while not self._is_stopped:
                self._give_up_old()
                wait_s = self._due_s - time.monotonic()
                if self._waiting and wait_s <= 0:
                    self._under_way = self._waiting.popleft()
                    return self._under_way, self._send
                self._news.wait(wait_s if self._waiting else None)
            return None

    def _give_up_old(self) -> None:
        before = self._lost
        while self._waiting and time.monotonic() - self._waiting[0].since_s > GIVEN_UP_AFTER_S:
            self._waiting.popleft()
            self._lost += 1
        if self._lost > before:
            log.warning("alert target %s: %d messages are too old: given up", self.name, self._lost - before)

    def _settle(self, item: _Waiting, send: Send, outcome: Outcome) -> None:
        with self._news:
            self.note(outcome)
            self._under_way = None
            if outcome.delivered:
                log.info("alert target %s: delivered: %s", self.name, outcome.answer)
                return
            self._waiting.appendleft(item)
            if send is not self._send:
                return  # it is configured in another way since: tried at once
            wait_s = min(self._first_wait_s * 2 ** min(self._tries, 16), LONGEST_WAIT_S)
            self._tries += 1
            self._due_s = time.monotonic() + wait_s
        log.warning("alert target %s: %s; tried again in %.0f s", self.name, outcome.answer, wait_s)
