# SPDX-License-Identifier: Apache-2.0
"""The output of a tool's run as the body of an answer. The run ends with it: its process sees that nobody
reads any more."""

from __future__ import annotations

import os
import select
import threading
from collections.abc import Callable, Iterator

from weir.service.tools import Events, Run
from weir.stats.fanout import HEARTBEAT
from weir.tools.tool import LINES

WAIT_MS = 200
"""For so long a run may go on that nobody reads any more."""


class RunStream:
    """As `weir.stats.fanout.Stream`: iterated by a thread, or polled by the front's loop."""

    def __init__(self, run: Run) -> None:
        is_lines = run.tool.answers == LINES
        self.heartbeat = HEARTBEAT if is_lines else b""
        self.first = b": %s\n\n" % run.id.encode() if is_lines else b""
        self._events = Events(run)
        self._output = run.output
        self._lock = threading.Lock()
        self._waiter: threading.Thread | None = None
        self._is_closed = False
        self._taken = threading.Event()

    def __iter__(self) -> Iterator[bytes]:
        yield self.first
        while (frame := self._next()) is not None:
            if frame:
                yield frame

    def _next(self) -> bytes | None:
        select.select([self._output], [], [])
        return self.poll()

    def listen(self, wake: Callable[[], None]) -> None:
        """Call `wake` when there is something to `poll`; a thread waits for it as long as the run goes on."""
        with self._lock:
            if not self._is_closed:
                self._waiter = threading.Thread(
                    target=self._wait, args=(wake,), name="tool-output", daemon=True
                )
                self._waiter.start()

    def _wait(self, wake: Callable[[], None]) -> None:
        """It closes the descriptor, so that it never waits for another one of that number."""
        poll = select.poll()
        poll.register(self._output, select.POLLIN)
        try:
            while not self._is_closed:
                if poll.poll(WAIT_MS) and not self._is_closed:
                    self._taken.clear()
                    wake()
                    self._taken.wait(WAIT_MS / 1000)
        finally:
            os.close(self._output)

    def poll(self) -> bytes | None:
        """What has come, `b""` when nothing has, None when it is over. Raises `EOFError`."""
        with self._lock:
            frame = None if self._is_closed else self._events.frame()
        self._taken.set()
        return frame

    def close(self) -> None:
        """Nobody reads any more."""
        with self._lock:
            if self._is_closed:
                return
            self._is_closed = True
            if self._waiter is None:
                os.close(self._output)

    def __del__(self) -> None:
        self.close()  # of an answer that failed before anybody could close it
