# SPDX-License-Identifier: Apache-2.0
"""The process that touches the configuration's files for the agent, with no more rights than their owner.

The API's user owns the files: it can put anything in their place, and shorten the shared memory that SQLite
maps, and SIGBUS ends the process that reads it. That is this process and not the agent (docs/adr/0024). A
request is a line; an answer is any number of lines that are lists, and a last one that is an object.

What is read is handed on as it is stored. The modules that make objects are more than all the rest, so they
are loaded only for who writes or looks through everything.
"""

from __future__ import annotations

import os
import socket
import sqlite3
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, suppress
from dataclasses import asdict
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from weir import memory
from weir.model.problem import Problem, Unavailable
from weir.store import reading
from weir.store.database import CONFIGURATION, DEFAULT_WAIT_S, Database, Series
from weir.store.rows import Damage, Pending
from weir.store.standin import explained
from weir.wire.channel import Closed, LineReader, send_all
from weir.wire.protocol import Json, JsonObject, decode_line, encode_line, problem_to_json

if TYPE_CHECKING:
    from weir.store.transaction import WriteTransaction

MAX_REQUEST_BYTES = 4096
SEND_TIMEOUT_S = 120.0
BATCH_BYTES = 1 << 18
LARGE_BYTES = 4 << 20
"""What SQLite sorted for such an answer leaves as much behind."""
LOADED_FOR = {"write": "weir.store.transaction", "verify": "weir.store.verifying"}
"""What a process with such a channel loads before somebody waits for it."""


def main(argv: Sequence[str]) -> None:
    """`DATABASE UID GID CHANNEL=FD...`: serve each descriptor, a connected socket, until it is closed."""
    memory.prepare()
    database, uid, gid, *channels = argv
    names, descriptors = zip(*(item.split("=") for item in channels), strict=True)
    series = CONFIGURATION.read()
    if int(uid) != os.geteuid():
        os.setgroups([])
        os.setresgid(int(gid), int(gid), int(gid))
        os.setresuid(int(uid), int(uid), int(uid))
    memory.keep_trimmed()
    for name in LOADED_FOR.keys() & set(names):
        import_module(LOADED_FOR[name])
    opened = _Opened(Path(database), series)
    threads = [
        threading.Thread(target=_Channel(opened, socket.socket(fileno=int(number))).serve)
        for number in descriptors
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    os._exit(0)  # closing the last connection removes the logs by name: by now perhaps another database's


class _Opened:
    """The database, opened again when another file has its name."""

    def __init__(self, path: Path, series: Series) -> None:
        self._path = path
        self._series = series
        self._lock = threading.Lock()
        self._database: Database | None = None
        self._identity: tuple[int, int] | None = None

    def database(self) -> Database:
        with self._lock:
            if self._database is None or self._identity != self._found():
                self._database, self._identity = None, self._found()  # readers of the old one finish with it
                try:
                    self._database = Database(self._path, self._series, create=False)
                except Unavailable as problem:
                    raise explained(self._path, problem) from problem
            return self._database

    def _found(self) -> tuple[int, int] | None:
        try:
            found = self._path.stat()
        except OSError:
            return None
        return found.st_dev, found.st_ino


class _Channel:
    """One connection; a transaction that was begun on it ends with it at the latest."""

    def __init__(self, opened: _Opened, connection: socket.socket) -> None:
        self._opened = opened
        self._connection = connection
        self._held = ExitStack()
        self._transaction: WriteTransaction | None = None
        self._methods: dict[str, Callable[[JsonObject], Iterator[Json]]] = {
            "look": self._look,
            "digest": self._digest,
            "load": self._load,
            "changes": self._changes,
            "pending": self._pending,
            "count": self._count,
            "verify": self._verify,
            "begin": self._begin,
            "roll_back": self._roll_back,
            "commit": self._commit,
            "abort": self._abort,
        }

    def serve(self) -> None:
        reader = LineReader(self._connection, MAX_REQUEST_BYTES)
        with self._held:
            while True:
                try:
                    self._answer(decode_line(reader.read_line(None)))
                except Closed:
                    if self._transaction is not None:
                        self._end(commit=False)
                    return

    def _answer(self, request: JsonObject) -> None:
        batch, sent = bytearray(), 0
        try:
            for item in self._methods[str(request.get("method"))](request):
                batch += encode_line(item)
                if len(batch) > BATCH_BYTES:
                    self._send(batch)
                    sent += len(batch)
                    batch.clear()
        except Problem as problem:
            batch += encode_line({"problem": problem_to_json(problem)})
        self._send(batch)
        if sent > LARGE_BYTES:
            memory.give_back_soon()

    def _send(self, data: bytes | bytearray) -> None:
        send_all(self._connection, bytes(data), time.monotonic() + SEND_TIMEOUT_S)

    def _reading(self) -> AbstractContextManager[sqlite3.Connection]:
        """A snapshot."""
        return self._opened.database().reading()

    def _look(self, _request: JsonObject) -> Iterator[Json]:
        """The head and its digest."""
        with self._reading() as connection:
            yield _head(connection, reading.head(connection))

    def _digest(self, request: JsonObject) -> Iterator[Json]:
        with self._reading() as connection:
            found = reading.digest(connection, request["revision"])
        yield {"digest": None if found is None else found.hex()}

    def _load(self, _request: JsonObject) -> Iterator[Json]:
        """Kind, id and body of each object that is not damaged."""
        damage: list[Damage] = []
        with self._reading() as connection:
            number = reading.head(connection)
            for kind, object_id, _, body, _ in reading.bodies(connection, None, damage):
                yield [kind, object_id, body]
            if (found := reading.damaged_revision(connection, number)) is not None:
                damage.append(found)
            yield {**_head(connection, number), "damage": [asdict(item) for item in damage]}

    def _changes(self, request: JsonObject) -> Iterator[Json]:
        """What turns revision `since` into `until` (None: the head)."""
        with self._reading() as connection:
            until = reading.head(connection) if request["until"] is None else request["until"]
            if until != request["since"]:
                yield from map(list, reading.bodies_between(connection, request["since"], until))
            yield _head(connection, until)

    def _pending(self, _request: JsonObject) -> Iterator[Json]:
        with self._reading() as connection:
            yield {"pending": _pending(reading.pending(connection))}

    def _count(self, request: JsonObject) -> Iterator[Json]:
        with self._reading() as connection:
            yield {"count": reading.count(connection, request["kind"])}

    def _verify(self, _request: JsonObject) -> Iterator[Json]:
        from weir.store.verifying import verify

        with self._reading() as connection:
            yield {"damage": [asdict(item) for item in verify(connection)]}

    def _begin(self, _request: JsonObject) -> Iterator[Json]:
        """Take the write lock until `commit` or `abort`."""
        from weir.store.transaction import WriteTransaction

        connection = self._held.enter_context(self._opened.database().writing(DEFAULT_WAIT_S))
        self._transaction = WriteTransaction(connection)
        yield {"head": self._transaction.head, "pending": _pending(self._transaction.pending())}

    def _roll_back(self, _request: JsonObject) -> Iterator[Json]:
        assert self._transaction is not None
        yield {"number": self._transaction.roll_back_pending()}

    def _commit(self, _request: JsonObject) -> Iterator[Json]:
        self._end(commit=True)
        yield {}

    def _abort(self, _request: JsonObject) -> Iterator[Json]:
        self._end(commit=False)
        yield {}

    def _end(self, *, commit: bool) -> None:
        held, self._transaction = self._held.pop_all(), None
        if commit:
            held.close()
        else:
            with suppress(_Aborted):
                held.__exit__(_Aborted, _Aborted(), None)


class _Aborted(Exception):
    """Leaves a transaction without its COMMIT."""


def _head(connection: sqlite3.Connection, number: int) -> JsonObject:
    return {"head": number, "digest": (reading.digest(connection, number) or b"").hex()}


def _pending(pending: Pending | None) -> JsonObject | None:
    return None if pending is None else {**asdict(pending), "token_hash": pending.token_hash.hex()}


if __name__ == "__main__":
    main(sys.argv[1:])
