# SPDX-License-Identifier: Apache-2.0
"""One encoder, many readers: frames are encoded once per filter and tick and handed to every subscriber.

A slow subscriber misses frames instead of holding memory: each has room for one frame per topic of
a tick, and the newest replaces what was not taken.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Hashable
from typing import Generic, TypeVar

from weir.model.problem import Unavailable

Filter = TypeVar("Filter", bound=Hashable)
HEARTBEAT = b": still here\n\n"


class Subscription:
    """What one reader waits for."""

    def __init__(self) -> None:
        self._ready = threading.Condition()
        self._frame: bytes | None = None
        self._closed = False

    def put(self, frame: bytes) -> None:
        with self._ready:
            self._frame = frame
            self._ready.notify()

    def close(self) -> None:
        with self._ready:
            self._closed = True
            self._ready.notify()

    def take(self, timeout_s: float) -> bytes | None:
        """The newest frame, a heartbeat when there was none in time, None when it is over."""
        with self._ready:
            self._ready.wait_for(lambda: self._frame is not None or self._closed, timeout_s)
            frame, self._frame = self._frame, None
            return frame or (None if self._closed else HEARTBEAT)


class Fanout(Generic[Filter]):
    """Subscriptions by filter. `most` bounds their number: each one occupies a thread of the server."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._readers: dict[Filter, set[Subscription]] = {}
        self._count = 0
        self._closed = False

    def subscribe(self, chosen: Filter) -> Subscription:
        """Raises Unavailable when there are too many already."""
        with self._lock:
            if self._closed or self._count >= self._most:
                message = f"There are {self._count} live streams already; close one or poll instead."
                raise Unavailable(message, code="too-many-streams")
            self._count += 1
            found = Subscription()
            self._readers.setdefault(chosen, set()).add(found)
            return found

    def unsubscribe(self, chosen: Filter, reader: Subscription) -> None:
        with self._lock:
            readers = self._readers.get(chosen, set())
            if reader in readers:
                readers.remove(reader)
                self._count -= 1
            if not readers:
                self._readers.pop(chosen, None)

    def filters(self) -> list[Filter]:
        with self._lock:
            return list(self._readers)

    def publish(self, encode: Callable[[Filter], bytes]) -> None:
        """Encode a frame for each filter that somebody reads; an empty frame is not sent."""
        for chosen in self.filters():
            frame = encode(chosen)
            with self._lock:
                readers = list(self._readers.get(chosen, ()))
            if frame:
                for reader in readers:
                    reader.put(frame)

    def close(self) -> None:
        """End every stream."""
        with self._lock:
            self._closed = True
            readers = [reader for group in self._readers.values() for reader in group]
        for reader in readers:
            reader.close()

    def frames(
        self,
        chosen: Filter,
        first: bytes,
        heartbeat_s: float,
        permitted: Callable[[], bool],
        check_every: int = 15,
    ) -> Generator[bytes, None, None]:
        """The frames of one stream. `permitted` is asked every `check_every` frames (sessions end)."""
        reader = self.subscribe(chosen)

        def run() -> Generator[bytes, None, None]:
            try:
                yield b""  # taken below: a generator that never ran would not unsubscribe when closed
                yield first
                count = 0
                while (frame := reader.take(heartbeat_s)) is not None:
                    count += 1
                    if count % check_every == 0 and not permitted():
                        return
                    yield frame
            finally:
                self.unsubscribe(chosen, reader)

        stream = run()
        next(stream)
        return stream
