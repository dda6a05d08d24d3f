# SPDX-License-Identifier: Apache-2.0
"""The configuration as the agent sees it: through a process that has the rights of the files' owner.

Nothing that it answers is trusted more than the files are: objects go through the model's own parser, and
there are limits in bytes and in time. When it ends, whatever the cause, the next request starts another one.
"""

from __future__ import annotations

import logging
import pwd
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, cast

from weir.model.codec import from_json, parse_kind
from weir.model.document import Change, Document
from weir.model.objects import ConfigObject, Kind
from weir.model.problem import Problem, Unavailable
from weir.store import Damage, Pending
from weir.wire.channel import Closed, LineReader, send_all
from weir.wire.protocol import Json, JsonObject, decode, encode_line, problem_from_json

log = logging.getLogger(__name__)

CHANNELS = ("read", "write", "verify", "pending")
"""Requests of one channel wait for each other; a status must not wait for a rollback or a whole look, and the
rollback timer for nothing."""
MAX_LINE_BYTES = 16 << 20
MAX_ANSWER_BYTES = 1 << 30
TIMEOUT_S = 120.0
ENDED = "store-process"
RESTART_AFTER_S = 0.5


class Transaction(Protocol):
    """The write lock of the store is held."""

    @property
    def head(self) -> int: ...
    def pending(self) -> Pending | None: ...
    def roll_back_pending(self) -> int: ...


class StoreClient:
    """Thread-safe. The methods of `ConfigStore` that the agent needs, with their errors; also `Unavailable`
    (`store-process`) when the process ended or kept silent."""

    def __init__(self, database: Path, uid: int) -> None:
        """`uid`: whose the files are, whatever the files say."""
        self._database = database
        self._uid = uid
        self._lock = threading.Lock()
        self._channels = {name: _Channel() for name in CHANNELS}
        self._process: subprocess.Popen[bytes] | None = None
        self._started_at = 0.0

    def close(self) -> None:
        with self._lock:
            self._end()

    def look(self) -> tuple[int, bytes]:
        """The head and its digest."""
        answer = self._ask("read", "look")
        return _integer(answer, "head"), _bytes(answer, "digest")

    def digest(self, revision: int) -> bytes | None:
        answer = self._ask("read", "digest", revision=revision)
        return None if answer.get("digest") is None else _bytes(answer, "digest")

    def head(self) -> int:
        return self.look()[0]

    def load(self, damage: list[Damage]) -> tuple[int, Document]:
        answer: JsonObject = {}
        document = Document.packed(self._loaded(answer, damage))
        damage.extend(_damage(answer))
        return _integer(answer, "head"), document

    def changes_between(self, a: int, b: int) -> list[Change]:
        return self._changes("read", "changes", {}, since=a, until=b)

    def changes_since(self, revision: int) -> tuple[int, list[Change]]:
        answer: JsonObject = {}
        changes = self._changes("read", "changes", answer, since=revision, until=None)
        return _integer(answer, "head"), changes

    def pending(self) -> Pending | None:
        return _pending(self._ask("pending", "pending"))

    def count(self, kind: Kind) -> int:
        return _integer(self._ask("read", "count", kind=kind), "count")

    def verify(self) -> list[Damage]:
        return _damage(self._ask("verify", "verify"))

    @contextmanager
    def write(self) -> Iterator[Transaction]:
        """Hold the store's write lock; COMMIT on leaving, ROLLBACK on any exception."""
        with self._channels["write"].in_use:
            begun = self._ask("write", "begin")
            try:
                yield _Transaction(self, _integer(begun, "head"), _pending(begun))
            except BaseException:
                with suppress(Problem):
                    self._ask("write", "abort")
                raise
            self._ask("write", "commit")

    def _loaded(self, answer: JsonObject, damage: list[Damage]) -> Iterator[ConfigObject]:
        seen = set()
        for kind, object_id, body in self._stream("read", "load", answer):
            try:
                item = _object(kind, object_id, body)
            except Problem as problem:
                damage.append(Damage(str(kind), str(object_id), problem.message))
                continue
            if item is not None and (kind, object_id) not in seen:
                seen.add((kind, object_id))
                yield item

    def _changes(self, channel: str, method: str, answer: JsonObject, **params: Json) -> list[Change]:
        return [
            Change(parse_kind(kind), object_id, _object(kind, object_id, old), _object(kind, object_id, new))
            for kind, object_id, old, new in self._stream(channel, method, answer, **params)
        ]

    def _ask(self, channel: str, method: str, **params: Json) -> JsonObject:
        answer: JsonObject = {}
        for _ in self._stream(channel, method, answer, **params):
            pass
        return answer

    def _stream(self, name: str, method: str, answer: JsonObject, **params: Json) -> Iterator[list[Any]]:
        """The lists of an answer; what ends it goes into `answer`."""
        channel = self._channels[name]
        with channel.in_use:
            self._require_process(channel)
            finished = False
            try:
                channel.send({"method": method, **params})
                for item in channel.lines():
                    if isinstance(item, list):
                        yield item
                    else:
                        answer.update(item)
                        break
                finished = True
            except (OSError, Closed) as error:
                raise Unavailable(
                    "the process that reads the configuration ended or does not answer", code=ENDED
                ) from error
            finally:
                if not finished:
                    self._lose(channel)
        if "problem" in answer:
            raise problem_from_json(answer["problem"])

    def _require_process(self, channel: _Channel) -> None:
        """Start the process unless it runs. Raises `Unavailable` when it has just been started."""
        with self._lock:
            if channel.connected:
                return
            self._end()
            if time.monotonic() - self._started_at < RESTART_AFTER_S:
                raise Unavailable("the process that reads the configuration keeps ending", code=ENDED)
            self._started_at = time.monotonic()
            self._start()

    def _start(self) -> None:
        theirs = [channel.connect() for channel in self._channels.values()]
        numbers = [end.fileno() for end in theirs]
        command = [sys.executable, "-m", "weir.agent.store_server", str(self._database)]
        try:
            self._process = subprocess.Popen(
                [*command, str(self._uid), str(_gid(self._uid)), *map(str, numbers)],
                pass_fds=numbers,
                stdin=subprocess.DEVNULL,
                cwd="/",
            )
        except OSError as error:
            raise Unavailable(f"the configuration cannot be read: {error}", code=ENDED) from error
        finally:
            for end in theirs:
                end.close()

    def _lose(self, channel: _Channel) -> None:
        """An answer was broken off: nothing that follows on its connection can be understood."""
        with self._lock:
            if channel.connected:
                self._end()

    def _end(self) -> None:
        for channel in self._channels.values():
            channel.disconnect()
        if self._process is not None:
            self._process.kill()
            log.debug("the process that reads the configuration ended (%d)", self._process.wait())
            self._process = None


class _Channel:
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


@dataclass(frozen=True, slots=True)
class _Transaction:
    client: StoreClient
    head: int
    found: Pending | None

    def pending(self) -> Pending | None:
        return self.found

    def roll_back_pending(self) -> int:
        return _integer(self.client._ask("write", "roll_back"), "number")


def _gid(uid: int) -> int:
    """The user's own group; the same number where nobody has that id."""
    try:
        return pwd.getpwuid(uid).pw_gid
    except KeyError:
        return uid


def _object(kind: object, object_id: object, body: object) -> ConfigObject | None:
    """Raises `Problem`, also for a body that is no JSON."""
    if body is None:
        return None
    if not (isinstance(kind, str) and isinstance(object_id, str) and isinstance(body, str)):
        raise Unavailable("an object of the store has no name", code="store-damaged")
    return from_json(
        parse_kind(kind), decode(body.encode("utf-8", "surrogatepass")), object_id, is_stored=True
    )


def _integer(answer: JsonObject, name: str) -> int:
    value = answer.get(name)
    if type(value) is not int:
        raise Unavailable(f"the store's {name} is no number", code=ENDED)
    return value


def _bytes(answer: JsonObject, name: str) -> bytes:
    try:
        return bytes.fromhex(str(answer.get(name)))
    except ValueError as error:
        raise Unavailable(f"the store's {name} cannot be read", code=ENDED) from error


def _damage(answer: JsonObject) -> list[Damage]:
    found = answer.get("damage")
    return [Damage(**item) for item in cast(list[dict[str, str]], found)] if isinstance(found, list) else []


def _pending(answer: JsonObject) -> Pending | None:
    found = answer.get("pending")
    if not isinstance(found, dict):
        return None
    return Pending(**{**found, "token_hash": bytes.fromhex(found["token_hash"])})
