# SPDX-License-Identifier: Apache-2.0
"""One encoder, many readers: frames are encoded once per filter and tick and handed to every subscriber.

A slow subscriber misses frames instead of holding memory: each has room for one frame per topic of
a tick, and the newest replaces what was not taken.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Hashable, Iterator
from typing import Any, Generic, TypeVar

from weir.model.problem import Unavailable

Filter = TypeVar("Filter", bound=Hashable)
Json = dict[str, Any]
HEARTBEAT = b": still here\n\n"
HEARTBEAT_S = 10.0
"""After so long without a frame a reader is told that the stream goes on."""


def event(name: str, data: Json, number: int | None = None) -> bytes:
    """A server-sent event (HTML Living Standard, section 9.2) with one object as its data."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    numbered = "" if number is None else f"id: {number}\n"
    return f"{numbered}event: {name}\ndata: {text}\n\n".encode()


class Subscription:
    """What one reader waits for."""

    def __init__(self, holder: Hashable = None) -> None:
        self.holder = holder
        self._ready = threading.Condition()
        self._frame: bytes | None = None
        self._closed = False
        self._wake: Callable[[], None] = _nothing

    def put(self, frame: bytes) -> bool:
        """False: the one before was not taken, and is lost."""
        with self._ready:
            is_lost, self._frame = self._frame is not None, frame
            self._ready.notify()
        self._wake()
        return not is_lost

    def close(self) -> None:
        with self._ready:
            self._closed = True
            self._ready.notify()
        self._wake()

    def listen(self, wake: Callable[[], None]) -> None:
        """As `Stream.listen`."""
        self._wake = wake

    def poll(self) -> bytes | None:
        """As `Stream.poll`. A closed stream has no last frame: its reader may not see it any more."""
        with self._ready:
            frame, self._frame = self._frame, None
            return None if self._closed else frame or b""

    def take(self, timeout_s: float) -> bytes | None:
        """The newest frame, a heartbeat when there was none in time, None when it is over."""
        with self._ready:
            self._ready.wait_for(lambda: self._frame is not None or self._closed, timeout_s)
            frame, self._frame = self._frame, None
            return None if self._closed else frame or HEARTBEAT


def _nothing() -> None:
    """Nobody listens."""


class Fanout(Generic[Filter]):
    """Subscriptions by filter. `most` bounds their number: each one is sent every frame."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._readers: dict[Filter, set[Subscription]] = {}
        self._count = 0
        self._closed = False

    def subscribe(self, chosen: Filter, holder: Hashable = None) -> Subscription:
        """Raises Unavailable when there are too many already."""
        with self._lock:
            if self._closed or self._count >= self._most:
                message = f"There are {self._count} live streams already; close one or poll instead."
                raise Unavailable(message, code="too-many-streams")
            self._count += 1
            found = Subscription(holder)
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

    def publish(
        self, encode: Callable[[Filter], bytes], encode_whole: Callable[[Filter], bytes] | None = None
    ) -> None:
        """Encode a frame for each filter that somebody reads; an empty frame is not sent. A reader who missed
        one, which said what changed, is given what `encode_whole` says instead."""
        for chosen in self.filters():
            frame = encode(chosen)
            with self._lock:
                readers = list(self._readers.get(chosen, ()))
            if frame:
                late = [reader for reader in readers if not reader.put(frame)]
                whole = encode_whole(chosen) if late and encode_whole is not None else b""
                for reader in late if whole else ():
                    reader.put(whole)

    def close(self) -> None:
        """End every stream."""
        with self._lock:
            self._closed = True
            readers = [reader for group in self._readers.values() for reader in group]
        for reader in readers:
            reader.close()

    def stream(self, chosen: Filter, first: bytes, holder: Hashable = None) -> Stream:
        """The frames of one reader, who goes on reading for as long as `holder` is permitted to."""
        reader = self.subscribe(chosen, holder)
        return Stream(first, reader, lambda: self.unsubscribe(chosen, reader))

    def close_refused(self, permitted: Callable[[Any], bool]) -> None:
        """End the streams of holders who are not permitted any more; each holder is asked about once."""
        with self._lock:
            readers = [reader for group in self._readers.values() for reader in group]
        refused = {holder for holder in {reader.holder for reader in readers} if not permitted(holder)}
        for reader in readers:
            if reader.holder in refused:
                reader.close()


class Stream:
    """What one reader gets. Iterating waits for each frame; a loop listens and polls instead."""

    heartbeat = HEARTBEAT

    def __init__(self, first: bytes, reader: Subscription, end: Callable[[], None]) -> None:
        self.first = first
        self._reader = reader
        self._end = end

    def __iter__(self) -> Iterator[bytes]:
        yield self.first
        while (frame := self._reader.take(HEARTBEAT_S)) is not None:
            yield frame

    def listen(self, wake: Callable[[], None]) -> None:
        """Call `wake`, from any thread, whenever there is something to `poll`."""
        self._reader.listen(wake)

    def poll(self) -> bytes | None:
        """The newest frame, `b""` when there is none yet, None when the stream is over."""
        return self._reader.poll()

    def close(self) -> None:
        """Give the place back."""
        self._end()

    def __del__(self) -> None:
        self._end()  # of an answer that failed before anybody could close it
