# SPDX-License-Identifier: Apache-2.0
"""The processes with the rights of the files' owner (`weir.agent.store_server`), and connections to them.

Little is imported here: the agent starts the first of them first, and loads its own modules beside it.
"""

from __future__ import annotations

import logging
import pwd
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from weir.model.problem import Unavailable
from weir.wire.channel import Closed, LineReader, send_all
from weir.wire.protocol import Json, JsonObject, decode, encode_line

log = logging.getLogger(__name__)

STANDING, WRITING, VERIFYING = ("read", "pending"), ("write",), ("verify",)
"""The channels of each process. Requests of one channel wait for each other; a status must not wait for a
rollback or a whole look, and the rollback timer for nothing."""
MAX_LINE_BYTES = 16 << 20
MAX_ANSWER_BYTES = 1 << 30
TIMEOUT_S = 120.0
ENDED = "store-process"
RESTART_AFTER_S = 0.5


class StoreProcesses:
    """Thread-safe. One process stays. Who writes, or looks through everything, needs twice the memory, so
    those two run only when they are needed."""

    def __init__(self, database: Path, uid: int) -> None:
        """`uid`: whose the files are, whatever the files say. Nothing is started."""
        self._all = tuple(StoreProcess(database, uid, names) for names in (STANDING, WRITING, VERIFYING))
        self._of = {name: process for process in self._all for name in process.channels}

    def of(self, channel: str) -> StoreProcess:
        return self._of[channel]

    def begin(self) -> None:
        """Start the one that stays before the first request."""
        self._all[0].begin()

    def close(self) -> None:
        for process in self._all:
            process.close()


class StoreProcess:
    """Thread-safe. When it ends, whatever the cause, the next request starts another one."""

    def __init__(self, database: Path, uid: int, channels: Sequence[str]) -> None:
        self._database = database
        self._uid = uid
        self._lock = threading.Lock()
        self.channels = {name: Channel() for name in channels}
        self._process: subprocess.Popen[bytes] | None = None
        self._started_at = -RESTART_AFTER_S

    @property
    def pid(self) -> int | None:
        return None if self._process is None else self._process.pid

    def begin(self) -> None:
        """Start it before the first request. Why it cannot be started is said to that request."""
        with suppress(Unavailable):
            self.require(next(iter(self.channels.values())))

    def close(self) -> None:
        """It is not needed any more; a request starts it again."""
        with self._lock:
            self._end()
            self._started_at = -RESTART_AFTER_S

    def require(self, channel: Channel) -> None:
        """Start the process unless it runs. Raises `Unavailable` when it has just been started."""
        with self._lock:
            if channel.connected:
                return
            self._end()
            if time.monotonic() - self._started_at < RESTART_AFTER_S:
                raise Unavailable("the process that reads the configuration keeps ending", code=ENDED)
            self._started_at = time.monotonic()
            self._start()

    def lose(self, channel: Channel) -> None:
        """An answer was broken off: nothing that follows on its connection can be understood."""
        with self._lock:
            if channel.connected:
                self._end()

    def _start(self) -> None:
        theirs = [channel.connect() for channel in self.channels.values()]
        numbers = [end.fileno() for end in theirs]
        named = [f"{name}={number}" for name, number in zip(self.channels, numbers, strict=True)]
        command = [sys.executable, "-m", "weir.agent.store_server", str(self._database)]
        try:
            self._process = subprocess.Popen(
                [*command, str(self._uid), str(_gid(self._uid)), *named],
                pass_fds=numbers,
                stdin=subprocess.DEVNULL,
                cwd="/",
            )
        except OSError as error:
            raise Unavailable(f"the configuration cannot be read: {error}", code=ENDED) from error
        finally:
            for end in theirs:
                end.close()

    def _end(self) -> None:
        for channel in self.channels.values():
            channel.disconnect()
        if self._process is not None:
            self._process.kill()
            log.debug("the process that reads the configuration ended (%d)", self._process.wait())
            self._process = None


class Channel:
    """One connection to the process."""

    def __init__(self) -> None:
        self.in_use = threading.RLock()
        self._socket: socket.socket | None = None
        self._reader: LineReader | None = None

    @property
    def connected(self) -> bool:
        return self._socket is not None

    def connect(self) -> socket.socket:
        """The other end."""
        self._socket, theirs = socket.socketpair()
        self._reader = LineReader(self._socket, MAX_LINE_BYTES)
        return theirs

    def disconnect(self) -> None:
        if self._socket is not None:
            with suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)  # wakes the thread that waits for an answer
            self._socket = self._reader = None

    def send(self, request: JsonObject) -> None:
        if self._socket is None:
            raise Closed(clean=False)
        send_all(self._socket, encode_line(request), time.monotonic() + TIMEOUT_S)

    def lines(self) -> Iterator[Json]:
        reader, deadline, received_bytes = self._reader, time.monotonic() + TIMEOUT_S, 0
        while reader is not None:
            line = reader.read_line(deadline)
            received_bytes += len(line)
            if received_bytes > MAX_ANSWER_BYTES:
                raise OSError("an answer without end")
            found = decode(line)
            if not isinstance(found, list | dict):
                raise OSError("an answer that is none")
            yield found
        raise Closed(clean=False)


def _gid(uid: int) -> int:
    """The user's own group; the same number where nobody has that id."""
    try:
        return pwd.getpwuid(uid).pw_gid
    except KeyError:
        return uid
