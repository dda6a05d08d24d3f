# SPDX-License-Identifier: Apache-2.0
"""What the agent holds while it applies thousands of changes, and where it is when they fail."""

from __future__ import annotations

import gc
import json
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.store.objects import commit as store_objects
from tests.store.objects import create, queue
from tests.wire.serving import arrived
from weir.adapters.share_controller import ShareState
from weir.agent.capacity import Capacity
from weir.agent.configuration import Configuration
from weir.agent.executor import Executor, Synced, Timing
from weir.agent.following import Following
from weir.agent.handlers import changes_of
from weir.agent.sharing import Sharing
from weir.backends.tables import PackedTables
from weir.compiler import Compiled, Plan
from weir.model.document import Change, Document
from weir.model.objects import Queue
from weir.model.problem import ApplyFailed, Invalid
from weir.parts.registry import PARTS
from weir.store import ConfigStore

MANY = 6000
FEW_OBJECTS = 1500
"""The thousand queues that a packed document remembers, and some."""


def queue_objects() -> int:
    return sum(isinstance(item, Queue) for item in gc.get_objects())


class NoKernel(Executor):
    """Takes every plan, and counts the queues that exist as objects meanwhile."""

    def __init__(self) -> None:
        self.tables: Any = SimpleNamespace(read_keys=dict, verify=self._verify)
        self.refuse = self.is_wrong = False
        self.registered, self.stages = PARTS, {}
        self.living: list[int] = []
        gc.collect()
        self.others = queue_objects()

    def execute(self, plan: Plan, before: Compiled, packed: PackedTables | None = None) -> Timing:
        self.living.append(queue_objects() - self.others)
        if self.refuse:
            raise ApplyFailed("the kernel refused")
        return Timing(0.0, 0.0)

    def pass_time(self, _wanted: object) -> tuple[str, ...]:
        return ()

    def read_once(self) -> AbstractContextManager[None]:
        return nullcontext()

    def _verify(self, difference: object) -> None:
        if self.is_wrong:
            raise ApplyFailed("slot 7 holds something else")

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
def configuration(tmp_path: Path, kernel: NoKernel) -> Iterator[Configuration]:
    ConfigStore.open(tmp_path / "weir.db", create=True).close()
    store = ConfigStore.open(tmp_path / "weir.db")
    configuration = Configuration(kernel, Sharing(NoBursts()), Following(store, None), 2 * MANY)
    assert configuration.open_store()
    yield configuration
    store.close()


def test_what_a_start_has_no_room_for_fits_after_the_next(
    tmp_path: Path, kernel: NoKernel, caplog: pytest.LogCaptureFixture
) -> None:
    stored = ConfigStore.open(tmp_path / "weir.db", create=True)
    store_objects(stored, create(*(queue(f"q{n}") for n in range(16))))
    stored.close()
    store, capacity = ConfigStore.open(tmp_path / "weir.db"), Capacity(tmp_path / "agent", 0, 1 << 30)
    refusing = partial(capacity.explaining, 16)
    configuration = Configuration(kernel, Sharing(NoBursts()), Following(store, None), 16, refusing=refusing)
    assert not configuration.open_store()
    assert not configuration.loaded
    assert "holds 15 queues and is full; restart the router, and it has room for 131071" in caplog.text
    assert capacity.slots(lambda: 0, lambda: 0) == capacity.most
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
    return changes_of({"changes": arrived([json.dumps(line).encode() for line in lines])})


def commit(configuration: Configuration, changes: Sequence[Change]) -> None:
    """Apply and settle, as the API does."""
    store = configuration.following.store
    assert isinstance(store, ConfigStore)
    with store.write() as transaction:
        configuration.apply(transaction.head, transaction.head + 1, changes)
        number = transaction.append(kind="commit", author="anna", message="", changes=changes)
    configuration.settle(number)


def queues(document: Document) -> list[str]:
    return sorted(document.of_kind("queue"))


def test_thousands_of_changes_are_never_objects_all_at_once(
    configuration: Configuration, kernel: NoKernel
) -> None:
    configuration.apply(0, 1, asked(MANY))
    assert kernel.living[0] < FEW_OBJECTS
    assert len(queues(configuration.document)) == MANY
    assert len(configuration.compiled.shaping.prefixes) == MANY


def test_a_document_stays_when_thousands_of_changes_are_refused(
    configuration: Configuration, kernel: NoKernel
) -> None:
    commit(configuration, asked(3))
    kernel.refuse = True
    with pytest.raises(ApplyFailed):
        configuration.apply(1, 2, asked(MANY))
    with pytest.raises(Invalid, match="which does not exist"):
        configuration.apply(1, 2, asked(MANY, parent="nobody"))
    assert queues(configuration.document) == ["q0", "q1", "q2"]
    assert (configuration.revision, len(configuration.compiled.shaping.prefixes)) == (1, 3)


def test_a_preview_of_thousands_of_changes_leaves_all_as_it_is(configuration: Configuration) -> None:
    commit(configuration, asked(3))
    assert configuration.preview(asked(MANY))["counts"]["added"] == 2 * (MANY - 3)
    assert queues(configuration.document) == ["q0", "q1", "q2"]


def test_thousands_of_changes_that_were_never_settled_are_undone(configuration: Configuration) -> None:
    configuration.apply(0, 1, asked(MANY))
    configuration.abandoned(None)
    assert (configuration.revision, queues(configuration.document)) == (0, [])
    assert len(configuration.compiled.shaping.prefixes) == 0


def test_an_object_that_thousands_of_changes_name_twice_is_refused(configuration: Configuration) -> None:
    twice = json.dumps({"kind": "queue", "id": "q1", "new": None}).encode()
    lines = arrived(
        [json.dumps({"kind": "queue", "id": f"q{n}", "new": None}).encode() for n in range(MANY)] + [twice]
    )
    with pytest.raises(Invalid, match="changed twice"):
        configuration.apply(0, 1, changes_of({"changes": lines}))
