# SPDX-License-Identifier: Apache-2.0
"""The configuration as the agent sees it: through processes that have the rights of the files' owner.

Nothing that it answers is trusted more than the files are: objects go through the model's own parser, and
there are limits in bytes and in time.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, Protocol, cast

from weir.agent.store_process import ENDED, StoreProcesses
from weir.model.codec import from_json, parse_kind
from weir.model.document import Change, Document
from weir.model.objects import ConfigObject, Kind
from weir.model.problem import Problem, Unavailable
from weir.store import Damage, Pending
from weir.wire.channel import Closed
from weir.wire.protocol import Json, JsonObject, decode, problem_from_json


class Transaction(Protocol):
    """The write lock of the store is held."""

    @property
    def head(self) -> int: ...
    def pending(self) -> Pending | None: ...
    def roll_back_pending(self) -> int: ...


class StoreClient:
    """Thread-safe. The methods of `ConfigStore` that the agent needs, with their errors; also `Unavailable`
    (`store-process`) when the process ended or kept silent."""

    def __init__(self, processes: StoreProcesses) -> None:
        self._processes = processes

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
        return list(self.each_change(a, b))

    def each_change(self, a: int, b: int) -> Iterator[Change]:
        """As `changes_between`, made one at a time; nobody else reads the store until the last one."""
        return self._changes({}, since=a, until=b)

    def changes_since(self, revision: int) -> tuple[int, list[Change]]:
        answer: JsonObject = {}
        changes = list(self._changes(answer, since=revision, until=None))
        return _integer(answer, "head"), changes

    def pending(self) -> Pending | None:
        """While a change waits for its confirmation, the process that can undo it is there."""
        found = _pending(self._ask("pending", "pending"))
        writing = self._processes.of("write")
        if found is not None:
            writing.begin()
        elif writing.channels["write"].in_use.acquire(blocking=False):
            try:
                writing.close()
            finally:
                writing.channels["write"].in_use.release()
        return found

    def count(self, kind: Kind) -> int:
        return _integer(self._ask("read", "count", kind=kind), "count")

    def verify(self) -> list[Damage]:
        process = self._processes.of("verify")
        with process.channels["verify"].in_use:
            try:
                return _damage(self._ask("verify", "verify"))
            finally:
                process.close()

    @contextmanager
    def write(self) -> Iterator[Transaction]:
        """Hold the store's write lock; COMMIT on leaving, ROLLBACK on any exception."""
        with self._processes.of("write").channels["write"].in_use:
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

    def _changes(self, answer: JsonObject, **params: Json) -> Iterator[Change]:
        """An object that cannot be read is told after the last one: until then the connection is in use."""
        told: Problem | None = None
        for kind, object_id, old, new in self._stream("read", "changes", answer, **params):
            if told is None:
                try:
                    read = [_object(kind, object_id, body) for body in (old, new)]
                    change = Change(parse_kind(kind), object_id, *read)
                except Problem as problem:
                    told = problem
                else:
                    yield change
        if told is not None:
            raise Unavailable(told.message, code="store-damaged") from told

    def _ask(self, channel: str, method: str, **params: Json) -> JsonObject:
        answer: JsonObject = {}
        for _ in self._stream(channel, method, answer, **params):
            pass
        return answer

    def _stream(self, name: str, method: str, answer: JsonObject, **params: Json) -> Iterator[list[Any]]:
        """The lists of an answer; what ends it goes into `answer`."""
        process = self._processes.of(name)
        channel = process.channels[name]
        with channel.in_use:
            process.require(channel)
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
                    process.lose(channel)
        if "problem" in answer:
            raise problem_from_json(answer["problem"])


@dataclass(frozen=True, slots=True)
class _Transaction:
    client: StoreClient
    head: int
    found: Pending | None

    def pending(self) -> Pending | None:
        return self.found

    def roll_back_pending(self) -> int:
        return _integer(self.client._ask("write", "roll_back"), "number")


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
