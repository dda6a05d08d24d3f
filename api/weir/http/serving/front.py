# SPDX-License-Identifier: Apache-2.0
"""The loop that owns every connection: it reads whole requests, sends answers, and waits for nobody.

A client that is slow, silent or gone costs a file descriptor and what it has sent, until its deadline. A
thread gets a request when its head and a small body are there, and is done when the answer is written, not
when it was taken. Event streams have no thread at all.
"""

from __future__ import annotations

import logging
import os
import select
import socket
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from gunicorn.http.body import LengthReader
from gunicorn.http.errors import NoMoreData, ParseException
from gunicorn.http.message import Request

from weir.http.refusals import BODY_TOO_LATE, BUSY, HEAD_TOO_LARGE, Refusal, refusal_of
from weir.http.serving import SMALL_BODY_BYTES
from weir.http.serving.connection import SILENCE_S, Connection, Frames, LargeBody, Phase, Source
from weir.stats.fanout import HEARTBEAT_S

log = logging.getLogger("weir.http")

REQUEST_S = 10.0
"""For all of a request's head, and once more for all of a small body."""
IDLE_S = 12.0
"""Between two requests. More than nginx keeps a connection to us (board/overlay/etc/nginx/nginx.conf)."""
TAKE_S = 15.0
"""For taking the last answer of a connection, unless somebody who is signed in goes on taking it."""
LINGER_S = 2.0
MAX_HEAD_BYTES = 65_536
MAX_HELD_BYTES = 64 << 20
"""Of unfinished requests and unsent answers together; above it the largest of strangers go."""
SWEEP_S = 0.5
ACCEPTS_AT_ONCE = 64
LAST_CHUNK = b"0\r\n\r\n"
"""Tells a reader that nothing is missing (RFC 9112, 7.1)."""
IN, OUT = select.EPOLLIN, select.EPOLLOUT


class Front:
    """`serve` takes a connection with a whole request, or says False when it has no room."""

    def __init__(
        self, listeners: Sequence[socket.socket], cfg: Any, most: int, serve: Callable[[Connection], bool]
    ) -> None:
        self._cfg = cfg
        self._most = most
        self._serve = serve
        self._connections: dict[int, Connection] = {}
        self._reading: dict[bool, dict[Connection, None]] = {False: {}, True: {}}
        """Who is between requests or sending one, by `known`, the longest waiting first."""
        self._woken: set[Connection] = set()
        self._done: list[tuple[Connection, Callable[[], None]]] = []
        self._lock = threading.Lock()
        self._epoll = select.epoll()
        self._bell = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self._epoll.register(self._bell, IN)
        self._listeners = {listener.fileno(): listener for listener in listeners}
        for number in self._listeners:
            self._epoll.register(number, IN)
        self._swept_at = 0.0

    # --- for any thread ---

    def finished(self, conn: Connection, keep: bool) -> None:
        """The answer is written; `keep` says whether another request may follow."""
        self._soon(conn, partial(self._send_rest, conn, keep))

    def stream(self, conn: Connection, frames: Frames, chunked: bool, after: Callable[[], None]) -> None:
        """The head of the answer is written; its body is `frames`. `after` is called when it has ended."""
        conn.after_stream = after
        self._soon(conn, partial(self._begin_stream, conn, frames, chunked))

    def _soon(self, conn: Connection, what: Callable[[], None]) -> None:
        with self._lock:
            self._done.append((conn, what))
        os.eventfd_write(self._bell, 1)

    def _wake(self, conn: Connection) -> None:
        with self._lock:
            first = not self._woken
            self._woken.add(conn)
        if first:
            os.eventfd_write(self._bell, 1)

    # --- the loop ---

    def turn(self, timeout_s: float = SWEEP_S) -> None:
        """One round: whatever is ready now, and twice a second the deadlines."""
        accepting = []
        for number, events in self._epoll.poll(timeout_s):
            if number == self._bell:
                with suppress(BlockingIOError):
                    os.eventfd_read(self._bell)
            elif number in self._listeners:
                accepting.append(self._listeners[number])
            elif (conn := self._connections.get(number)) is not None:
                self._guarded(conn, partial(self._ready, conn, events))
        with self._lock:
            done, self._done = self._done, []
            woken, self._woken = self._woken, set()
        done += [(conn, partial(self._flush, conn)) for conn in woken]
        for conn, what in done:
            self._guarded(conn, what)
        # Last: a number that was closed above may be given out again, and its old events are done with.
        for listener in accepting:
            self._accept(listener)
        if time.monotonic() - self._swept_at >= SWEEP_S:
            self._sweep()

    def _guarded(self, conn: Connection, what: Callable[[], None]) -> None:
        """A defect that one connection meets ends that connection, not the loop."""
        if self._connections.get(conn.fd) is not conn:
            conn.end_stream()
            return
        try:
            what()
        except Exception:
            log.exception("a connection failed")
            self._close(conn)

    def busy(self) -> int:
        """How many connections have an answer under way, streams not counted."""
        return sum(conn.phase in (Phase.WORKING, Phase.SENDING) for conn in self._connections.values())

    def stop_accepting(self) -> None:
        """No new connection, and no stream goes on."""
        for number in self._listeners:
            self._epoll.unregister(number)
        self._listeners = {}
        for conn in list(self._connections.values()):
            if conn.phase in (Phase.STREAMING, Phase.READING):
                self._close(conn)

    def close(self) -> None:
        for conn in list(self._connections.values()):
            self._close(conn)
        self._epoll.close()
        os.close(self._bell)

    def _accept(self, listener: socket.socket) -> None:
        for _ in range(ACCEPTS_AT_ONCE):
            if len(self._connections) >= self._most and not self._make_room():
                return
            try:
                sock, peer = listener.accept()
            except BlockingIOError:
                return
            except OSError as error:
                log.warning("a connection was not accepted: %s", error)
                return
            sock.setblocking(False)
            with suppress(OSError):
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            conn = Connection(sock, peer, self._wake, time.monotonic() + REQUEST_S)
            self._connections[conn.fd] = conn
            self._reading[False][conn] = None
            conn.events = IN
            self._epoll.register(conn.fd, IN)

    def _make_room(self) -> bool:
        """End who has been idle or slow for longest, strangers first."""
        for known in (False, True):
            for conn in self._reading[known]:
                self._close(conn)
                return True
        return False

    def _ready(self, conn: Connection, events: int) -> None:
        if events & (select.EPOLLERR | select.EPOLLHUP):
            self._close(conn)
            return
        if events & OUT:
            self._flush(conn)
        if events & IN and conn.fd in self._connections:
            data = conn.receive()
            if data is None:
                return
            if not data or conn.phase is Phase.STREAMING:
                self._close(conn)
            elif conn.phase is Phase.READING:
                conn.incoming += data
                self._advance(conn)

    # --- requests ---

    def _advance(self, conn: Connection) -> None:
        """Go on with what has come of a request."""
        if conn.request is None and not self._read_head(conn):
            return
        if len(conn.incoming) < conn.body_bytes:
            self._listen(conn, IN)
            return
        assert conn.source is not None
        conn.source.unread(bytes(conn.incoming[: conn.body_bytes]))
        del conn.incoming[: conn.body_bytes]
        self._leave_reading(conn)
        conn.phase, conn.until = Phase.WORKING, float("inf")
        self._listen(conn, 0)
        if not self._serve(conn):
            self.refuse(conn, BUSY)

    def _read_head(self, conn: Connection) -> bool:
        """Whether a head is there and was understood; the body's deadline begins."""
        if not conn.begun and conn.incoming:
            conn.begun, conn.until = True, time.monotonic() + REQUEST_S
        end = conn.incoming.find(b"\r\n\r\n") + 4
        if end < 4 or end > MAX_HEAD_BYTES:
            if len(conn.incoming) > MAX_HEAD_BYTES:
                self.refuse(conn, HEAD_TOO_LARGE)
            return False
        conn.source = Source(bytes(conn.incoming[:end]))
        del conn.incoming[:end]
        conn.requests += 1
        try:
            conn.request = Request(self._cfg, conn.source, conn.peer, conn.requests)
        except (ParseException, NoMoreData, StopIteration, ValueError) as error:
            self.refuse(conn, refusal_of(error))
            return False
        reader = conn.request.body.reader
        conn.body_bytes = reader.length if type(reader) is LengthReader else SMALL_BODY_BYTES + 1
        conn.until = time.monotonic() + REQUEST_S
        if conn.body_bytes > SMALL_BODY_BYTES:
            self._leave_body_to_thread(conn)
        elif len(conn.incoming) < conn.body_bytes:
            _answer_expectation(conn)
        return True

    @staticmethod
    def _leave_body_to_thread(conn: Connection) -> None:
        assert conn.source is not None and conn.request is not None
        if type(conn.request.body.reader) is LengthReader:
            conn.request.body = LargeBody(conn.source, conn.body_bytes)
        conn.body_bytes = len(conn.incoming)
        conn.source.more = conn.receive_more
        conn.request.force_close()

    def refuse(self, conn: Connection, refusal: Refusal) -> None:
        """Answer without asking the application, and end the connection."""
        self._leave_reading(conn)
        with suppress(BrokenPipeError):
            conn.output.sendall(refusal.answer())
        self._send_rest(conn, False)

    # --- answers ---

    def _send_rest(self, conn: Connection, keep: bool) -> None:
        conn.phase, conn.keep = Phase.SENDING, keep
        conn.until = float("inf") if conn.known else time.monotonic() + TAKE_S
        self._flush(conn)

    def _begin_stream(self, conn: Connection, frames: Frames, chunked: bool) -> None:
        conn.phase, conn.frames, conn.chunked = Phase.STREAMING, frames, chunked
        conn.until = float("inf")
        with suppress(BrokenPipeError):
            conn.output.sendall(conn.frame(frames.first))
        frames.listen(conn.wake)
        self._flush(conn)

    def _flush(self, conn: Connection) -> None:
        """Send what can be sent; when all is, go on to what comes next."""
        if not conn.output.flush():
            self._close(conn)
            return
        if not len(conn.output):
            if conn.phase is Phase.STREAMING:
                self._next_frame(conn)
            elif conn.phase is Phase.SENDING:
                self._next_request(conn)
        if self._connections.get(conn.fd) is conn:
            reads = IN if conn.phase in (Phase.READING, Phase.STREAMING, Phase.LINGERING) else 0
            self._listen(conn, reads | (OUT if len(conn.output) else 0))

    def _next_frame(self, conn: Connection) -> None:
        assert conn.frames is not None
        try:
            frame = conn.frames.poll()
        except EOFError as error:
            log.warning("%s", error)
            self._close(conn)
            return
        if frame is None:
            conn.end_stream()
            if conn.chunked:
                conn.output.sendall(LAST_CHUNK)
            self._send_rest(conn, False)
        elif frame or time.monotonic() - conn.output.moved_at >= HEARTBEAT_S:
            conn.output.sendall(conn.frame(frame or conn.frames.heartbeat))

    def _next_request(self, conn: Connection) -> None:
        if not conn.keep:
            conn.phase, conn.until = Phase.LINGERING, time.monotonic() + LINGER_S
            with suppress(OSError):
                conn.sock.shutdown(socket.SHUT_WR)
            return
        conn.phase, conn.begun = Phase.READING, False
        conn.until = time.monotonic() + IDLE_S
        conn.request = conn.source = None
        self._reading[conn.known][conn] = None
        if conn.incoming:
            self._advance(conn)

    # --- deadlines ---

    def _sweep(self) -> None:
        now = self._swept_at = time.monotonic()
        held = 0
        for conn in list(self._connections.values()):
            held += conn.held_bytes()
            if now >= conn.until:
                self._guarded(conn, partial(self._expire, conn))
            elif len(conn.output) and now - conn.output.moved_at >= SILENCE_S:
                self._close(conn)
            elif conn.phase is Phase.STREAMING:
                self._guarded(conn, partial(self._flush, conn))
        if held > MAX_HELD_BYTES:
            self._shed(held)

    def _expire(self, conn: Connection) -> None:
        begun = conn.phase is Phase.READING and conn.begun and (conn.incoming or conn.request)
        if begun:
            self.refuse(conn, BODY_TOO_LATE)
        else:
            self._close(conn)

    def _shed(self, held: int) -> None:
        strangers = [conn for conn in self._connections.values() if not conn.known]
        for conn in sorted(strangers, key=Connection.held_bytes, reverse=True):
            if held <= MAX_HELD_BYTES:
                return
            held -= conn.held_bytes()
            self._close(conn)

    # --- bookkeeping ---

    def _leave_reading(self, conn: Connection) -> None:
        for group in self._reading.values():
            group.pop(conn, None)

    def _listen(self, conn: Connection, events: int) -> None:
        if events != conn.events:
            conn.events = events
            self._epoll.modify(conn.fd, events)

    def _close(self, conn: Connection) -> None:
        if self._connections.pop(conn.fd, None) is None:
            return
        self._leave_reading(conn)
        self._epoll.unregister(conn.fd)
        conn.output.close()
        conn.end_stream()


def _answer_expectation(conn: Connection) -> None:
    """`Expect: 100-continue` is answered here; gunicorn would say it again when the body is there."""
    assert conn.request is not None
    headers = conn.request.headers
    if any(name == "EXPECT" and value.lower() == "100-continue" for name, value in headers):
        conn.request.headers = [header for header in headers if header[0] != "EXPECT"]
        with suppress(BrokenPipeError):
            conn.output.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
