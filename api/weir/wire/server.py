# SPDX-License-Identifier: Apache-2.0
"""The agent's end of the socket: who may speak, how much, how long, and to which handler.

Deny by default: the peer's uid comes from the kernel (SO_PEERCRED) and is checked before the first
byte is read; a method that is not in the table does not exist. Each connection has its own thread
and deadline, so a slow or garbled client costs one of a bounded number of threads and nothing else.
"""

from __future__ import annotations

import logging
import os
import socket
import struct
import threading
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeGuard

from weir.model.problem import Invalid, NotFound, Problem, Unavailable
from weir.wire.channel import Budget, Closed, LineReader, close_all, send_all
from weir.wire.protocol import (
    MAX_LINE_BYTES,
    Json,
    JsonObject,
    Lines,
    decode_line,
    encode_line,
    problem_to_json,
)

log = logging.getLogger(__name__)

MAX_CONNECTIONS = 32
MAX_LINES = 4_000_000
MESSAGE_TIMEOUT_S = 30.0
"""A message that has begun must be complete after this long, and an answer taken by the peer."""
SMALL_BYTES = 1 << 20
"""Buffers up to this size are always granted; larger ones share `MAX_LINE_BYTES`."""


@dataclass(slots=True)
class Peer:
    """One connection, as handlers see it; `state` is theirs (say, what was applied and not settled)."""

    connection_id: int
    pid: int
    uid: int
    gid: int
    state: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Answer:
    """A result with file descriptors; the server sends duplicates, the handler keeps its own unless the
    server `closes` them afterwards."""

    result: Json
    fds: tuple[int, ...] = ()
    closes: bool = False


Handler = Callable[[JsonObject, Peer], Any]


class AgentServer:
    """Serves `handlers` on a Unix socket to processes of `allowed_uids`."""

    def __init__(
        self,
        path: Path,
        handlers: Mapping[str, Handler],
        *,
        allowed_uids: Collection[int],
        socket_uid: int = -1,
        socket_gid: int = -1,
        socket_mode: int = 0o660,
        on_close: Callable[[Peer], None] | None = None,
        listener: socket.socket | None = None,
        message_timeout_s: float = MESSAGE_TIMEOUT_S,
        max_bytes: int = MAX_LINE_BYTES,
    ) -> None:
        self._path = path
        self._handlers = dict(handlers)
        self._allowed_uids = frozenset(allowed_uids)
        self._owner = (socket_uid, socket_gid, socket_mode)
        self._on_close = on_close
        self._given_listener = listener
        self._listener: socket.socket | None = None
        self._message_timeout_s = message_timeout_s
        self._max_bytes = max_bytes
        self._lock = threading.Lock()
        self._budget = Budget(max_bytes)
        self._connections: dict[int, tuple[socket.socket, threading.Thread]] = {}
        self._next_id = 0
        self._acceptor: threading.Thread | None = None

    def start(self) -> None:
        """Listen and return. Raises `Unavailable` when another agent listens, or the path is not ours."""
        self._listener = self._given_listener or listen(self._path, self._owner)
        self._acceptor = threading.Thread(target=self._accept, name="wire-accept", daemon=True)
        self._acceptor.start()

    def stop(self, timeout_s: float = 5.0) -> None:
        """Refuse new connections, close the open ones and wait for their handlers."""
        listener, self._listener = self._listener, None
        if listener is None:
            return
        listener.shutdown(socket.SHUT_RDWR)
        deadline = time.monotonic() + timeout_s
        if self._acceptor is not None:
            self._acceptor.join(timeout_s)
        listener.close()
        with self._lock:
            open_connections = list(self._connections.values())
        for connection, _ in open_connections:
            _shutdown(connection)
        for _, thread in open_connections:
            thread.join(max(deadline - time.monotonic(), 0.0))
        if self._given_listener is None:
            self._path.unlink(missing_ok=True)

    def _accept(self) -> None:
        while (listener := self._listener) is not None:
            try:
                connection, _ = listener.accept()
            except OSError as error:
                if self._listener is not None:
                    log.warning("accept: %s", error)
                    time.sleep(0.1)  # out of descriptors: let some go instead of spinning
                continue
            self._admit(connection)

    def _admit(self, connection: socket.socket) -> None:
        pid, uid, gid = peer_credentials(connection)
        if uid not in self._allowed_uids:
            log.warning("refused connection from uid %d (pid %d)", uid, pid)
            connection.close()
            return
        with self._lock:
            if len(self._connections) >= MAX_CONNECTIONS:
                log.warning("refused connection from pid %d: %d are open", pid, MAX_CONNECTIONS)
                connection.close()
                return
            self._next_id += 1
            peer = Peer(self._next_id, pid, uid, gid)
            thread = threading.Thread(
                target=self._serve, args=(connection, peer), name=f"wire-{peer.connection_id}", daemon=True
            )
            self._connections[peer.connection_id] = (connection, thread)
        try:
            thread.start()
        except RuntimeError as error:  # no further thread; who asks later must be heard
            log.warning("refused connection from pid %d: %s", pid, error)
            self._forget(peer)
            connection.close()

    def _serve(self, connection: socket.socket, peer: Peer) -> None:
        inbox = _Inbox(connection, self)
        try:
            while self._exchange(connection, inbox, peer):
                inbox.release()
        except (Closed, TimeoutError, OSError) as error:
            log.debug("connection %d: %s", peer.connection_id, error)
        finally:
            inbox.release()
            self._forget(peer)
            connection.close()
            self._closed(peer)

    def _forget(self, peer: Peer) -> None:
        with self._lock:
            self._connections.pop(peer.connection_id, None)

    def _exchange(self, connection: socket.socket, inbox: _Inbox, peer: Peer) -> bool:
        """One request and its answer, of which nothing is kept; False to hang up."""
        request_id: Json = None
        closed: list[int] = []
        try:
            head = decode_line(inbox.line(first=True))
            request_id = head.get("id")
            method, params, lines = _request(head, inbox)
            answer, fds, closed = self._answered(_plain_id(request_id), method, params, lines, peer)
            lines.finish()
            send_all(connection, answer, time.monotonic() + self._message_timeout_s, fds)
        except Problem as problem:  # out of step with this peer: tell it and hang up
            message = {"id": _plain_id(request_id), "problem": problem_to_json(problem)}
            send_all(connection, encode_line(message), time.monotonic() + self._message_timeout_s)
            return False
        finally:
            close_all(closed)
        return True

    def _closed(self, peer: Peer) -> None:
        if self._on_close is None:
            return
        try:
            self._on_close(peer)
        except Exception:
            log.exception("after connection %d closed", peer.connection_id)

    def _answered(
        self, request_id: Json, method: str, params: JsonObject, lines: Lines, peer: Peer
    ) -> tuple[bytes, tuple[int, ...], list[int]]:
        """The answer's line, the descriptors that go with it, and those to close then; of no use
        where `lines` failed."""
        fds: tuple[int, ...] = ()
        closed: list[int] = []
        try:
            handler = self._handlers.get(method)
            if handler is None:
                raise NotFound(f"the agent has no method {method[:100]!r}", code="no-such-method")
            result = handler(params, peer)
            if isinstance(result, Answer):
                closed = list(result.fds) if result.closes else []
                result, fds = result.result, result.fds
            line = encode_line({"id": request_id, "result": result})
        except Problem as problem:
            line = encode_line({"id": request_id, "problem": problem_to_json(problem)})
        except Exception as error:
            if error is not lines.failure:
                log.exception("method %s", method)
            broken = Problem(f"the agent failed inside {method!r}; its log has the details", code="internal")
            line = encode_line({"id": request_id, "problem": problem_to_json(broken)})
        return line, fds, closed

    def resize(self, old_bytes: int, new_bytes: int) -> bool:
        """Account for a connection's buffers against what all of them may hold together."""
        with self._lock:
            return self._budget.resize(_above_small(old_bytes), _above_small(new_bytes))

    @property
    def limits(self) -> tuple[int, float]:
        """Bytes per message, seconds per message."""
        return self._max_bytes, self._message_timeout_s


class _Inbox:
    """The messages of one connection, within the server's limits."""

    def __init__(self, connection: socket.socket, server: AgentServer) -> None:
        self._server = server
        self._max_bytes, self._timeout_s = server.limits
        self._reader = LineReader(connection, self._max_bytes)
        self._taken_bytes = 0
        self._granted_bytes = 0
        self._deadline: float | None = None
        self._given_at = 0.0

    def line(self, *, first: bool = False) -> bytes:
        """The next line; the clock of a message starts with its first byte, not while idle, and stands still
        while a line that has come is looked at."""
        if first:
            self._taken_bytes = 0
            self._deadline = self._after_timeout() if self._reader.buffered_bytes else None
        elif self._deadline is not None:
            self._deadline += time.monotonic() - self._given_at
        while (line := self._reader.take_line()) is None:
            self._reader.receive(self._deadline)
            if self._deadline is None:
                self._deadline = self._after_timeout()
            self._grant(self._taken_bytes + self._reader.buffered_bytes)
        self._taken_bytes += len(line)
        if self._deadline is None:
            self._deadline = self._after_timeout()
        self._given_at = time.monotonic()
        return line

    def release(self) -> None:
        self._server.resize(self._granted_bytes, 0)
        self._granted_bytes = 0

    def _after_timeout(self) -> float:
        return time.monotonic() + self._timeout_s

    def _grant(self, wanted_bytes: int) -> None:
        if wanted_bytes > self._max_bytes:
            raise Invalid(f"a message is longer than {self._max_bytes} bytes", code="too-large")
        if not self._server.resize(self._granted_bytes, wanted_bytes):
            raise Unavailable("too many large messages at once", code="too-large")
        self._granted_bytes = wanted_bytes


def listen(path: Path, owner: tuple[int, int, int]) -> socket.socket:
    """A listening socket at `path` with (uid, gid, mode); a socket nobody answers on is replaced."""
    if path.is_socket():
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
            probe.settimeout(1.0)
            try:
                probe.connect(str(path))
            except OSError:
                path.unlink(missing_ok=True)
            else:
                raise Unavailable(f"another agent already listens on {path}", code="socket-in-use")
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    old_mask = os.umask(0o177)  # nobody but us may connect before owner and mode are set
    try:
        listener.bind(str(path))
    except OSError as error:
        listener.close()
        raise Unavailable(f"cannot listen on {path}: {error.strerror or error}", code="socket") from error
    finally:
        os.umask(old_mask)
    uid, gid, mode = owner
    if (uid, gid) != (-1, -1):
        os.chown(path, uid, gid)
    path.chmod(mode)
    listener.listen(MAX_CONNECTIONS)
    return listener


def peer_credentials(connection: socket.socket) -> tuple[int, int, int]:
    """(pid, uid, gid) of the process that connected, as the kernel recorded them (unix(7))."""
    layout = struct.Struct("=iII")
    pid, uid, gid = layout.unpack(connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, layout.size))
    return pid, uid, gid


def _request(head: JsonObject, inbox: _Inbox) -> tuple[str, JsonObject, Lines]:
    """The method, its params, and those of them that are yet to come."""
    method, params, announced = head.get("method"), head.get("params", {}), head.get("lines")
    if not isinstance(method, str) or not isinstance(params, dict):
        raise Invalid("a request needs a method and an object of params", code="bad-request")
    if announced is None:
        return method, params, Lines(inbox.line, 0)
    param, count, each = _lines_of(announced)
    lines = params[param] = Lines(inbox.line, count, each)
    return method, params, lines


def _lines_of(value: Json) -> tuple[str, int, int]:
    if isinstance(value, dict):
        param, count, each = value.get("param"), value.get("count"), value.get("each", 0)
        if isinstance(param, str) and _is_count(count) and _is_count(each):
            return param, count, each
    raise Invalid(f"`lines` needs a param and a count of 0 to {MAX_LINES}", code="bad-request")


def _is_count(value: Json) -> TypeGuard[int]:
    return type(value) is int and 0 <= value <= MAX_LINES


def _plain_id(value: Json) -> int | str | None:
    return value if isinstance(value, int | str) else None


def _above_small(size: int) -> int:
    return size if size > SMALL_BYTES else 0


def _shutdown(connection: socket.socket) -> None:
    try:
        connection.shutdown(socket.SHUT_RDWR)
    except OSError as error:
        log.debug("shutdown: %s", error)
