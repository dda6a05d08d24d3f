# SPDX-License-Identifier: Apache-2.0
"""The API's end of the socket: a few connections, each lent to one caller at a time.

A caller that needs two requests to belong together (`apply`, then `settle`) holds a connection;
if it lets go by an exception the connection is closed, which tells the agent that it was left
alone and must bring the kernel to what the store says.
"""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from weir.model.problem import Unavailable
from weir.wire.channel import Closed, LineReader, close_all, send_all
from weir.wire.protocol import MAX_LINE_BYTES, JsonObject, decode_line, encode_line, problem_from_json

DEFAULT_TIMEOUT_S = 5.0
BATCH_BYTES = 1 << 18


class Arrays(Collection[bytes]):
    """`count` values in lines that are JSON arrays of `each`, made while they are sent."""

    def __init__(self, count: int, each: int, lines: Callable[[], Iterator[bytes]]) -> None:
        self._count = count
        self.each = each
        self._lines = lines

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[bytes]:
        return self._lines()

    def __contains__(self, line: object) -> bool:
        return any(line == own for own in self)


class AgentConnection:
    """One connection. Not for two threads at once; after any failure of the transport it is dead."""

    def __init__(self, path: Path, timeout_s: float) -> None:
        self._path = path
        self._timeout_s = timeout_s
        self._next_id = 0
        self.usable = True
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.settimeout(timeout_s)
        try:
            self._socket.connect(str(path))
        except OSError as error:
            self.close()
            reason = error.strerror or str(error)
            raise Unavailable(f"the agent does not answer on {path}: {reason}", code="agent-down") from error
        self._reader = LineReader(self._socket, MAX_LINE_BYTES, expect_fds=True)

    def call(
        self,
        method: str,
        params: JsonObject | None = None,
        *,
        timeout_s: float | None = None,
        lines: tuple[str, Collection[bytes]] | None = None,
    ) -> JsonObject:
        """Ask and wait; `lines` is (parameter, JSON texts), sent as a line each; or `Arrays` of them.

        Raises the agent's own problem, or `Unavailable` (`agent-down`, `agent-timeout`).
        """
        result = self._call(method, params or {}, timeout_s, lines)
        close_all(self._reader.take_fds())
        return result

    def call_for_fds(
        self, method: str, params: JsonObject | None = None, *, timeout_s: float | None = None
    ) -> tuple[JsonObject, list[int]]:
        """As `call`; also the file descriptors that came with the answer. The caller closes them."""
        result = self._call(method, params or {}, timeout_s, None)
        return result, self._reader.take_fds()

    def alive(self) -> bool:
        """False when the agent has closed its end (or says something nobody asked for)."""
        if not self.usable:
            return False
        try:
            self._socket.setblocking(False)
            self._socket.recv(1, socket.MSG_PEEK)
        except BlockingIOError:
            return True
        except OSError:
            return False
        return False

    def close(self) -> None:
        self.usable = False
        self._socket.close()

    def _call(
        self,
        method: str,
        params: JsonObject,
        timeout_s: float | None,
        lines: tuple[str, Collection[bytes]] | None,
    ) -> JsonObject:
        deadline = time.monotonic() + (self._timeout_s if timeout_s is None else timeout_s)
        self._next_id += 1
        head: JsonObject = {"id": self._next_id, "method": method, "params": params}
        if lines is not None:
            head["lines"] = {"param": lines[0], "count": len(lines[1])}
            if isinstance(lines[1], Arrays):
                head["lines"]["each"] = lines[1].each
        finished = False
        try:
            for data in _batches(head, lines[1] if lines is not None else ()):
                send_all(self._socket, data, deadline)
            answer = decode_line(self._reader.read_line(deadline))
            finished = True
        except TimeoutError as error:
            raise Unavailable(f"the agent did not answer {method!r} in time", code="agent-timeout") from error
        except Closed as error:
            raise Unavailable(f"the agent went away during {method!r}", code="agent-down") from error
        except OSError as error:
            raise Unavailable(f"the agent's connection failed: {error}", code="agent-down") from error
        finally:
            if not finished:
                close_all(self._reader.take_fds())
                self.close()
        return self._result(answer)

    def _result(self, answer: JsonObject) -> JsonObject:
        problem = answer.get("problem")
        if answer.get("id") != self._next_id:
            self.close()
            if problem is not None:  # it could not even read the request's id
                raise problem_from_json(problem)
            raise Unavailable("the agent answered another request", code="bad-answer")
        if problem is not None:
            raise problem_from_json(problem)
        result = answer.get("result")
        return result if isinstance(result, dict) else {"value": result}


class AgentClient:
    """Thread-safe. Connects when first needed and again whenever the agent has been restarted."""

    def __init__(self, path: Path, timeout_s: float = DEFAULT_TIMEOUT_S, connections: int = 4) -> None:
        self._path = path
        self._timeout_s = timeout_s
        self._lock = threading.Lock()
        self._idle: list[AgentConnection] = []
        self._permits = threading.BoundedSemaphore(connections)

    def call(
        self,
        method: str,
        params: JsonObject | None = None,
        *,
        timeout_s: float | None = None,
        lines: tuple[str, Collection[bytes]] | None = None,
    ) -> JsonObject:
        """See `AgentConnection.call`. A result that is no object comes as `{"value": result}`."""
        with self.connection() as connection:
            return connection.call(method, params, timeout_s=timeout_s, lines=lines)

    def call_for_fds(
        self, method: str, params: JsonObject | None = None, *, timeout_s: float | None = None
    ) -> tuple[JsonObject, list[int]]:
        with self.connection() as connection:
            return connection.call_for_fds(method, params, timeout_s=timeout_s)

    @contextmanager
    def connection(self) -> Iterator[AgentConnection]:
        """Hold one connection; it is closed when the block ends by an exception."""
        if not self._permits.acquire(timeout=self._timeout_s):
            raise Unavailable("all connections to the agent are in use", code="agent-busy")
        try:
            connection = self._take()
            try:
                yield connection
            except BaseException:
                connection.close()
                raise
            self._give_back(connection)
        finally:
            self._permits.release()

    def close(self) -> None:
        with self._lock:
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    def _take(self) -> AgentConnection:
        while True:
            with self._lock:
                connection = self._idle.pop() if self._idle else None
            if connection is None:
                return AgentConnection(self._path, self._timeout_s)
            if connection.alive():
                return connection
            connection.close()

    def _give_back(self, connection: AgentConnection) -> None:
        if connection.usable:
            with self._lock:
                self._idle.append(connection)


def _batches(head: JsonObject, lines: Iterable[bytes]) -> Iterator[bytes]:
    """The head and its lines in pieces of a quarter of a megabyte: few system calls, little memory, and who
    reads begins soon."""
    batch = bytearray(encode_line(head))
    for line in lines:
        batch += line + b"\n"
        if len(batch) >= BATCH_BYTES:
            yield bytes(batch)
            batch.clear()
    yield bytes(batch)
