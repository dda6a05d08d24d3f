# SPDX-License-Identifier: Apache-2.0
"""One client's connection: what has come, what waits to be sent, and until when that may take."""

from __future__ import annotations

import select
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from enum import Enum, auto
from typing import Any, Protocol

from gunicorn.http.message import Request
from gunicorn.http.unreader import Unreader
from werkzeug.exceptions import RequestTimeout

SILENCE_S = 20.0
"""Of a client that sends a large body or takes an answer."""
BODY_GRACE_S = 30.0
MIN_BODY_BYTES_PER_S = 4096
"""A large body is from somebody who is signed in; after the grace it comes at this rate or is given up."""
MOST_UNSENT_BYTES = 2 << 20
"""A thread waits when its client has not taken this much."""
RECEIVE_BYTES = 65_536


class Phase(Enum):
    READING = auto()
    WORKING = auto()
    SENDING = auto()
    """The answer is written; the client has not taken all of it."""
    STREAMING = auto()
    LINGERING = auto()
    """All is sent; what still comes is discarded, so that the answer is not lost to a reset."""


class Frames(Protocol):
    """A stream of frames that come when they come; `weir.stats.fanout.Stream` is one."""

    first: bytes
    heartbeat: bytes
    """Sent where nothing else was for long; empty: the stream has no such thing."""

    def listen(self, wake: Callable[[], None]) -> None:
        """Call `wake`, from any thread, whenever there is something to `poll`."""

    def poll(self) -> bytes | None:
        """The newest frame, `b""` when there is none yet, None when the stream is over. Raises
        `EOFError` when it ended before its end: a reader is not told that it is whole."""


class Source(Unreader):  # type: ignore[misc]  # gunicorn has no types
    """What gunicorn's parser reads: bytes that have come, and for a large body those still to come."""

    def __init__(self, head: bytes) -> None:
        super().__init__()
        self.more: Callable[[], bytes] | None = None
        self.unread(head)

    def chunk(self) -> bytes:
        return self.more() if self.more is not None else b""


class LargeBody:
    """A body of known length, piece by piece as it comes. gunicorn's own is read by 1,024 bytes, and copies
    all that waits for each."""

    def __init__(self, source: Source, length: int) -> None:
        self._source = source
        self._left = length
        self._piece = memoryview(b"")

    def read(self, size: int = -1) -> bytes:
        """At most `size` bytes, fewer when fewer have come; `b""` at the end, all of it without a size.
        Raises RequestTimeout."""
        if size < 0:
            return b"".join(iter(lambda: self.read(RECEIVE_BYTES), b""))
        if not self._piece and self._left:
            self._piece = memoryview(self._source.read())[: self._left]
            self._left -= len(self._piece)
        found, self._piece = self._piece[:size], self._piece[size:]
        return bytes(found)


class Output:
    """What gunicorn's response writes to. What the socket does not take at once the front sends later."""

    def __init__(self, sock: socket.socket, wake: Callable[[], None]) -> None:
        self._sock = sock
        self._wake = wake
        self._room = threading.Condition()
        self._buffer = bytearray()
        self._closed = False
        self.moved_at = time.monotonic()
        """When the client last took something, or the first byte began to wait."""

    def __len__(self) -> int:
        return len(self._buffer)

    def sendall(self, data: bytes) -> None:
        """Raises BrokenPipeError when the connection has ended; waits while too much is unsent."""
        with self._room:
            self._room.wait_for(lambda: self._closed or len(self._buffer) < MOST_UNSENT_BYTES)
            if self._closed:
                raise BrokenPipeError("the client is gone")
            if not self._buffer:
                data = data[self._send(data) :]
                self.moved_at = time.monotonic()
            self._buffer += data
            waiting = bool(self._buffer)
        if waiting:
            self._wake()

    def send(self, data: bytes) -> int:
        self.sendall(data)
        return len(data)

    def flush(self) -> bool:
        """Send what the socket takes now; False when the client is gone. The front's thread calls it."""
        with self._room:
            if self._closed:
                return False
            try:
                sent = self._send(self._buffer)
            except OSError:
                return False
            if sent:
                self.moved_at = time.monotonic()
                del self._buffer[:sent]
                self._room.notify_all()
            return True

    def close(self) -> None:
        """The front's thread closes the socket here, so that no thread writes to its successor's number."""
        with self._room:
            self._closed = True
            self._wake = _nobody  # a method of the connection, which would wait for a collection
            self._buffer.clear()
            self._room.notify_all()
            with suppress(OSError):
                self._sock.close()

    def _send(self, data: bytes | bytearray) -> int:
        try:
            return self._sock.send(data) if data else 0
        except BlockingIOError:
            return 0


class Connection:
    """Only the front's thread changes it, but for `output` and what `receive_more` reads."""

    def __init__(
        self, sock: socket.socket, peer: Any, wake: Callable[[Connection], None], until: float
    ) -> None:
        self.sock = sock
        self.fd = sock.fileno()
        self.peer = peer
        self.phase = Phase.READING
        self.begun = True
        """Whether the present deadline is that of a request; between two requests it is not."""
        self.until = until
        self.incoming = bytearray()
        self.source: Source | None = None
        self.request: Request | None = None
        self.body_bytes = 0
        self.requests = 0
        self.keep = False
        self.known = False
        """Whether its last request was from somebody who is signed in."""
        self.events = 0
        self.frames: Frames | None = None
        self.chunked = False
        self.after_stream: Callable[[], None] | None = None
        self._wake = wake
        self._body_began = 0.0
        self._body_came = 0
        self.output = Output(sock, self.wake)

    def wake(self) -> None:
        """Have the front look at it soon; any thread."""
        self._wake(self)

    def held_bytes(self) -> int:
        return len(self.incoming) + len(self.output)

    def receive(self) -> bytes | None:
        """What has come; None when nothing has yet, `b""` at the end."""
        try:
            return self.sock.recv(RECEIVE_BYTES)
        except BlockingIOError:
            return None
        except OSError:
            return b""

    def receive_more(self) -> bytes:
        """More of a large body, for the thread that reads it. Raises RequestTimeout."""
        now = time.monotonic()
        self._body_began = self._body_began or now
        late_s = now - self._body_began - BODY_GRACE_S
        if late_s > 0 and self._body_came < late_s * MIN_BODY_BYTES_PER_S:
            raise RequestTimeout("The body comes too slowly.")
        poll = select.poll()
        poll.register(self.fd, select.POLLIN)
        if not poll.poll(SILENCE_S * 1000):
            raise RequestTimeout(f"Nothing of the body came for {SILENCE_S:.0f} s.")
        data = self.receive() or b""
        self._body_came += len(data)
        return data

    def end_stream(self) -> None:
        """Let go of the stream's source, once."""
        after, self.after_stream = self.after_stream, None
        if after is not None:
            after()

    def frame(self, data: bytes) -> bytes:
        """A frame of the stream as this client's HTTP version wants it."""
        return b"%X\r\n%s\r\n" % (len(data), data) if self.chunked and data else data


def _nobody() -> None:
    """Looks after what is closed."""
