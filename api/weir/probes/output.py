# SPDX-License-Identifier: Apache-2.0
"""Where a probe says what it finds: events as lines of JSON, or bytes, to a reader who may go away."""

from __future__ import annotations

import json
import os
import select
import signal
import time
from collections.abc import Iterable, Set
from typing import Any, NoReturn

STDOUT = 1


class Gone(Exception):
    """Nobody reads any more, or somebody ended the run."""


class Output:
    """Events to standard output. Waiting for a socket is done here, as the reader's end is watched too."""

    def __init__(self) -> None:
        self.has_begun = False
        signal.signal(signal.SIGTERM, self._stop)

    @staticmethod
    def _stop(_number: int, _frame: object) -> NoReturn:
        raise Gone("stopped")

    def tell(self, event: str, **values: Any) -> None:
        self.write(json.dumps({"event": event, **values}, separators=(",", ":")).encode() + b"\n")

    def write(self, data: bytes) -> None:
        """Waits while the reader is slow. Raises `Gone`."""
        self.has_begun, view = True, memoryview(data)
        try:
            while view:
                view = view[os.write(STDOUT, view) :]
        except BrokenPipeError as error:
            raise Gone("nobody reads") from error

    def wait(self, descriptor: int | None, until_s: float) -> bool:
        """Whether there is something to read, before a time of the monotonic clock: past it nothing is, also
        where packets never stop. Raises `Gone`."""
        return bool(self.wait_any(() if descriptor is None else (descriptor,), until_s))

    def wait_any(self, descriptors: Iterable[int], until_s: float) -> Set[int]:
        """Which of them have something to read, or are at their end; the same."""
        poll = select.poll()
        poll.register(STDOUT, 0)  # a pipe whose reader has gone says so
        for descriptor in descriptors:
            poll.register(descriptor, select.POLLIN)
        left_ms = max((until_s - time.monotonic()) * 1000, 0)
        found = dict(poll.poll(left_ms))
        if found.pop(STDOUT, 0) & (select.POLLERR | select.POLLHUP):
            raise Gone("nobody reads")
        return found.keys() if time.monotonic() < until_s else frozenset()
