# SPDX-License-Identifier: Apache-2.0
"""What the agent holds while it applies thousands of changes, and where it is when they fail."""

from __future__ import annotations

import gc
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from weir.adapters.share_controller import ShareState
from weir.agent.engine import Engine
from weir.agent.following import Following
from weir.agent.handlers import changes_of
from weir.agent.kernel import Kernel, Synced, Timing
from weir.agent.sharing import Sharing
from weir.backends.tables import PackedTables
from weir.compiler import Compiled, Plan
from weir.model.document import Change, Document
from weir.model.objects import Queue
from weir.model.problem import ApplyFailed, Invalid
from weir.store import ConfigStore
from weir.wire.protocol import Lines

MANY = 6000
FEW_OBJECTS = 1500
"""The thousand queues that a packed document remembers, and some."""


class NoKernel(Kernel):
    """Takes every plan, and counts the queues that exist as objects meanwhile."""

    def __init__(self) -> None:
        self.tables: Any = SimpleNamespace(read_keys=dict)
        self.refuse = False
        self.living: list[int] = []

    def execute(self, plan: Plan, before: Compiled, packed: PackedTables | None = None) -> Timing:
        self.living.append(sum(isinstance(item, Queue) for item in gc.get_objects()))
        if self.refuse:
            raise ApplyFailed("the kernel refused")
        return Timing(0.0, 0.0)

    def refuse_missing(self, plan: Plan) -> None:
        pass

    def sync(self, wanted: Compiled, parts: object = ()) -> Synced:
        return Synced()


class NoBursts:
    def set_burst(self, *_burst: object) -> None:
        pass

    def state(self) -> ShareState:
        raise NotImplementedError


@pytest.fixture
def kernel() -> NoKernel:
    return NoKernel()


@pytest.fixture
def engine(tmp_path: Path, kernel: NoKernel) -> Iterator[Engine]:
    ConfigStore.open(tmp_path / "weir.db", create=True).close()
    store = ConfigStore.open(tmp_path / "weir.db")
    engine = Engine(kernel, Sharing(NoBursts()), Following(store, None), 2 * MANY)
    assert engine.open_store()
    yield engine
    store.close()


def asked(count: int, **fields: object) -> Any:
    lines = [
        {
            "kind": "queue",
            "id": f"q{n}",
            "new": {"name": f"customer {n}", "target": [f"10.{n >> 8}.{n & 255}.1/32"], **fields},
        }
        for n in range(count)
    ]
    return changes_of({"changes": Lines([json.dumps(line).encode() for line in lines])})


def commit(engine: Engine, changes: Sequence[Change]) -> None:
    """Apply and settle, as the API does."""
    store = engine.following.store
    assert isinstance(store, ConfigStore)
    with store.write() as transaction:
        engine.apply(transaction.head, transaction.head + 1, changes)
        number = transaction.append(kind="commit", author="anna", message="", changes=changes)
    engine.settle(number)


def queues(document: Document) -> list[str]:
    return sorted(document.of_kind("queue"))


def test_thousands_of_changes_are_never_objects_all_at_once(engine: Engine, kernel: NoKernel) -> None:
    engine.apply(0, 1, asked(MANY))
    assert kernel.living[0] < FEW_OBJECTS
    assert len(queues(engine.document)) == MANY
    assert len(engine.compiled.shaping.prefixes) == MANY


def test_a_document_stays_when_thousands_of_changes_are_refused(engine: Engine, kernel: NoKernel) -> None:
    commit(engine, asked(3))
    kernel.refuse = True
    with pytest.raises(ApplyFailed):
        engine.apply(1, 2, asked(MANY))
    with pytest.raises(Invalid, match="which does not exist"):
        engine.apply(1, 2, asked(MANY, parent="nobody"))
    assert queues(engine.document) == ["q0", "q1", "q2"]
    assert (engine.revision, len(engine.compiled.shaping.prefixes)) == (1, 3)


def test_a_preview_of_thousands_of_changes_leaves_all_as_it_is(engine: Engine) -> None:
    commit(engine, asked(3))
    assert engine.preview(asked(MANY))["counts"]["added"] == 2 * (MANY - 3)
    assert queues(engine.document) == ["q0", "q1", "q2"]


def test_thousands_of_changes_that_were_never_settled_are_undone(engine: Engine) -> None:
    engine.apply(0, 1, asked(MANY))
    engine.abandoned(1)
    assert (engine.revision, queues(engine.document)) == (0, [])
    assert len(engine.compiled.shaping.prefixes) == 0


def test_an_object_that_thousands_of_changes_name_twice_is_refused(engine: Engine) -> None:
    twice = json.dumps({"kind": "queue", "id": "q1", "new": None}).encode()
    lines = Lines(
        [json.dumps({"kind": "queue", "id": f"q{n}", "new": None}).encode() for n in range(MANY)] + [twice]
    )
    with pytest.raises(Invalid, match="changed twice"):
        engine.apply(0, 1, changes_of({"changes": lines}))
