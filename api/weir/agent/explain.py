# SPDX-License-Identifier: Apache-2.0
"""One object of any kind but a queue: what was asked, what it became, and what the system has at this moment.

Every part that is made of the object's kind says so itself; nothing is taken to agree that was not read.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

from weir.agent.configuration import Configuration
from weir.agent.running import RunningConfiguration
from weir.backends.backend import TOLD
from weir.backends.tables import record_of
from weir.compiler import explain as explained
from weir.kinds import DECLARED
from weir.model.document import Document, users_of_type
from weir.model.objects import ConfigObject, Kind, Queue, QueueType
from weir.model.problem import NotFound
from weir.parts.explained import Line, agreement
from weir.store.clock import wall_ms

SHAPING = "shaping"
_USED_BY_ALL = "default-small"


def explain_object(configuration: Configuration, kind: Kind, object_id: str) -> dict[str, Any]:
    """The answer of the method `explain`. Raises `NotFound` for an object that does not run."""
    with configuration.lock:
        item = _running(configuration.document, kind, object_id)
        told = list(configuration.executor.explain(configuration.compiled, item))
        if isinstance(item, QueueType):
            told += [(SHAPING, line) for line in _queues_of(configuration, item)]
        revision = configuration.revision
    asked = DECLARED[kind].to_json(item)
    parts = {part for part, _ in told}
    return {
        "at_ms": wall_ms(),
        "revision": revision,
        "asked": asked,
        "lines": [
            {"part": part, "asked": _words(asked.get(line.field)), **line._asdict()} for part, line in told
        ],
        "agrees": agreement(line for _, line in told),
        "drift": [entry for entry in configuration.drift.to_json() if entry["part"] in parts],
    }


def _running(document: Document, kind: Kind, object_id: str) -> ConfigObject:
    declaration = DECLARED.get(kind)
    if declaration is None:
        raise NotFound(f"there is no kind {kind!r}", path="kind")
    if declaration.is_single:
        return document.single(declaration.of)
    found = document.queue_type(object_id) if kind == "queue-type" else document.get(kind, object_id)
    if found is None:
        raise NotFound(
            f"the router does not run {declaration.short} {object_id!r}", path=f"{kind}/{object_id}"
        )
    return found


def _queues_of(configuration: RunningConfiguration, item: QueueType) -> Iterator[Line]:
    """How packets wait in the first queues that name a type: it is held nowhere else."""
    document, compiled, executor = configuration.document, configuration.compiled, configuration.executor
    users = _users(document, item.id)
    for queue in islice(users, TOLD):
        spec = compiled.class_of(queue.id)
        if spec is None:
            continue
        record, wanted = executor.tables.read_class(spec.slot), record_of(spec)
        meant = {line.field: line.compiled for line in explained(compiled, document, queue.id).lines}
        for way in ("upload", "download"):
            if getattr(queue.queue_type, way) == item.id:
                held, agrees = executor.waits(compiled, spec, way)
                same = record is not None and record.line(way) == wanted.line(way)
                words = held or "no port limits it"
                words += "" if same else "; its class in the kernel is another"
                name = f"{way} of queue {queue.name}"
                yield Line(name, meant.get(f"queue_type.{way}") or "", words, agrees and same)
    if next(users, None) is not None:
        yield Line("more queues", "", f"only the first {TOLD} queues of this type were read", None)


def _users(document: Document, type_id: str) -> Iterator[Queue]:
    """Those of the type that nearly all queues have are not counted first."""
    if type_id == _USED_BY_ALL:
        return (queue for queue in document.queues() if type_id in queue.queue_type)
    names = sorted(users_of_type(document, type_id))
    return (queue for name in names if (queue := document.queue(name)) is not None)


def _words(value: Any) -> str:
    """A field's value as a person reads it in a table."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        return ", ".join(map(_words, value))
    if isinstance(value, dict):
        return ", ".join(f"{name} {_words(text)}" for name, text in value.items())
    return str(value)
