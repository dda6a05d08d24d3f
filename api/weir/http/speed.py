# SPDX-License-Identifier: Apache-2.0
"""What a speed test answers with: its own events, and bytes for as long as it goes on.

Both are streams that the front's loop sends (`weir.http.serving.front`): no thread is with a client, and a
download holds one block of what its client has not taken.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from functools import cache

from weir.http.answers import moment
from weir.service.speed import SpeedRun, SpeedTests
from weir.stats.fanout import HEARTBEAT, event

BLOCK_BYTES = 131_072
"""More than compression looks back (RFC 1951: 32 KiB; LZ4: 64 KiB), so that a repetition is not found."""
TELL_S = 0.2
"""Between two events that tell what was counted."""


@cache
def block() -> bytes:
    """Bytes that no compression makes fewer, made once."""
    return os.urandom(BLOCK_BYTES)


class _Stream:
    """As `weir.stats.fanout.Stream`. `after` is called once, when nobody reads any more."""

    first = b""
    heartbeat = b""

    def __init__(self, after: Callable[[], None]) -> None:
        self._after = after
        self._closed = threading.Event()
        self._lock = threading.Lock()

    def close(self) -> None:
        with self._lock:
            is_first = not self._closed.is_set()
            self._closed.set()
        if is_first:
            self._after()

    def __del__(self) -> None:
        self.close()  # of an answer that failed before anybody could close it


class Told(_Stream):
    """The run's events: what was counted, and its end. The run ends with this stream."""

    heartbeat = HEARTBEAT

    def __init__(self, tests: SpeedTests, run: SpeedRun) -> None:
        super().__init__(lambda: tests.end(run))
        self._run = run
        self._told_s = 0.0
        self._is_over = False
        told = {**run.told(), "lasts_s": run.lasts_s, "path": run.path.to_json()}
        told["started_at"] = moment(told["started_at"])
        self.first = event("run", told)

    def __iter__(self) -> Iterator[bytes]:
        yield self.first
        while (frame := self.poll()) is not None:
            if frame:
                yield frame
            self._run.over.wait(TELL_S)

    def listen(self, wake: Callable[[], None]) -> None:
        """One thread for a run, as there is one at a time; it wakes the reader until that has ended."""
        threading.Thread(target=self._wake, args=(wake,), name="speed-test", daemon=True).start()

    def _wake(self, wake: Callable[[], None]) -> None:
        while not self._closed.wait(TELL_S):
            wake()

    def poll(self) -> bytes | None:
        now = time.monotonic()
        if self._is_over or self._closed.is_set():
            return None
        if self._run.is_over:
            self._is_over = True
            reason = "stopped" if self._run.stopped else "done"
            return self._counted() + event("end", {"reason": reason, "message": None})
        if now - self._told_s < TELL_S / 2:
            return b""
        self._told_s = now
        return self._counted()

    def _counted(self) -> bytes:
        run = self._run
        counted = {"sent_bytes": run.sent_bytes, "received_bytes": run.received_bytes}
        return event("counted", {"ms": round(run.age_s() * 1000), **counted})


class Download(_Stream):
    """The same block again and again, whenever the one before was taken. It has entered `tests`."""

    def __init__(self, tests: SpeedTests, run: SpeedRun) -> None:
        super().__init__(lambda: tests.leave("download"))
        self._run = run
        self._wake: Callable[[], None] = _nobody

    def __iter__(self) -> Iterator[bytes]:
        while (frame := self.poll()) is not None:
            yield frame

    def listen(self, wake: Callable[[], None]) -> None:
        self._wake = wake

    def poll(self) -> bytes | None:
        if self._run.is_over or self._closed.is_set():
            return None
        self._run.count(sent=BLOCK_BYTES)
        self._wake()
        return block()


def _nobody() -> None:
    """Iterated by a thread, which asks again by itself."""
