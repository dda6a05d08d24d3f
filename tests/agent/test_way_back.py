# SPDX-License-Identifier: Apache-2.0
"""The way back from a change of thousands is worked out before the deadline, and leads where it should."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.agent.rig import pending_of
from tests.agent.test_large_changes import NoBursts, NoKernel
from tests.wire.serving import arrived
from weir.agent import running, undoing
from weir.agent.configuration import Configuration
from weir.agent.following import Following
from weir.agent.handlers import changes_of
from weir.agent.sharing import Sharing
from weir.backends.tables import PackedTables
from weir.compiler import Compiled, Plan, SlotAllocation, compile_document, difference
from weir.model.document import Document
from weir.store import ConfigStore, Pending

MANY = 1500


class Recording(NoKernel):
    """Says whether the tables were packed before, and asks `meanwhile` when it is changed."""

    def __init__(self) -> None:
        super().__init__()
        self.packed: list[PackedTables | None] = []
        self.heads: list[int] = []
        self.store: ConfigStore | None = None

    def execute(self, plan: Plan, before: Compiled, packed: PackedTables | None = None) -> Any:
        self.packed.append(packed)
        self.heads.append(self.store.head() if self.store else 0)
        return super().execute(plan, before)


@pytest.fixture
def kernel() -> Recording:
    return Recording()


@pytest.fixture
def store(tmp_path: Path) -> Iterator[ConfigStore]:
    store = ConfigStore.open(tmp_path / "weir.db", create=True)
    yield store
    store.close()


def started(store: ConfigStore, kernel: Recording) -> Configuration:
    kernel.store = store
    configuration = Configuration(kernel, Sharing(NoBursts()), Following(store, None), 3 * MANY)
    assert configuration.open_store()
    return configuration


def queues(numbers: range, **fields: object) -> list[bytes]:
    return [
        json.dumps(
            {"kind": "queue", "id": f"q{n}",
             "new": {"name": f"customer {n}", "target": [f"10.{n >> 8}.{n & 255}.1/32"], **fields}}
        ).encode()
        for n in numbers
    ]  # fmt: skip


def gone(numbers: range) -> list[bytes]:
    return [json.dumps({"kind": "queue", "id": f"q{n}", "new": None}).encode() for n in numbers]


def commit(
    configuration: Configuration, store: ConfigStore, lines: list[bytes], window_s: int | None = None
) -> None:
    changes = changes_of({"changes": arrived(lines)})
    with store.write() as transaction:
        base = transaction.head
        configuration.apply(base, base + 1, changes)
        completed = configuration._unsettled.changes if configuration._unsettled else ()
        transaction.append(kind="commit", author="anna", message="", changes=completed)
        if window_s is not None:
            transaction.set_pending(pending_of(base, base + 1, window_s))
    configuration.settle(base + 1)


def changed(configuration: Configuration, store: ConfigStore) -> Pending:
    """A change of all queues: some go, some come, the others get another rate; it waits."""
    commit(configuration, store, queues(range(MANY)))
    limit = {"max_limit_bps": {"upload": 5_000_000, "download": 5_000_000}}
    lines = [*gone(range(200)), *queues(range(200, MANY), **limit), *queues(range(MANY, MANY + 300))]
    commit(configuration, store, lines, window_s=60)
    pending = store.pending()
    assert pending is not None
    configuration.await_confirmation(pending)
    return pending


def agrees(configuration: Configuration, store: ConfigStore, revision: int) -> bool:
    """Document and compiled state are those of a revision, each queue in the slot that it had."""
    document = Document(store.objects(revision))
    keys = {spec.slot: spec.key for spec in configuration.compiled.shaping.classes.values()}
    allocation = SlotAllocation(3 * MANY, keys)
    wanted = compile_document(document, allocation, configuration.compiled.now_local)
    return not difference(configuration.compiled, wanted) and {i.id for i in document} == {
        i.id for i in configuration.document
    }


def test_nothing_is_compiled_or_packed_at_the_deadline(
    store: ConfigStore, kernel: Recording, monkeypatch: pytest.MonkeyPatch
) -> None:
    configuration = started(store, kernel)
    pending = changed(configuration, store)
    slots = configuration.compiled.slots()
    configuration.prepare_way_back(pending)

    def refuse(*_: object, **__: object) -> Any:
        raise AssertionError("it was to be ready")

    for module in (running, undoing):
        monkeypatch.setattr(module, "update", refuse)
    monkeypatch.setattr(PackedTables, "of", refuse)
    monkeypatch.setattr(configuration, "tables_agree", lambda: True)
    configuration.pass_time = refuse  # type: ignore[method-assign]
    assert configuration.roll_back(pending) == 3
    assert kernel.heads[-1] == 2, "the kernel goes back first"
    assert kernel.packed[-1] is not None
    assert agrees(configuration, store, 1) and (configuration.revision, configuration.returned) == (3, None)
    kept = configuration.compiled.slots()
    assert all(kept[name] == slots[name] for name in kept.keys() & slots.keys())


def test_a_minute_that_passes_does_not_spoil_what_was_prepared(
    store: ConfigStore, kernel: Recording, monkeypatch: pytest.MonkeyPatch
) -> None:
    configuration = started(store, kernel)
    pending = changed(configuration, store)
    configuration.prepare_way_back(pending)
    configuration.pass_time()
    assert configuration._is_prepared(pending)


@pytest.mark.parametrize("restarted", [False, True])
def test_the_way_back_leads_where_it_should(
    store: ConfigStore, kernel: Recording, monkeypatch: pytest.MonkeyPatch, restarted: bool
) -> None:
    configuration = started(store, kernel)
    pending = changed(configuration, store)
    if restarted:
        configuration = started(store, kernel)
        assert configuration.returned is None
    configuration.prepare_way_back(pending)
    assert configuration._is_prepared(pending)
    monkeypatch.setattr(configuration, "tables_agree", lambda: True)
    assert configuration.roll_back(pending) == 3
    assert agrees(configuration, store, 1)
    commit(configuration, store, queues(range(2 * MANY, 2 * MANY + 50)))
    assert agrees(configuration, store, 4)


def test_an_agent_that_starts_after_the_deadline_begins_with_what_was_before(
    store: ConfigStore, kernel: Recording, monkeypatch: pytest.MonkeyPatch
) -> None:
    pending = changed(started(store, kernel), store)
    monkeypatch.setattr(Pending, "seconds_left", lambda *_: 0.0)
    configuration = started(store, kernel)
    assert configuration.returned == pending and store.head() == 2
    assert agrees(configuration, store, 1)
    assert configuration.roll_back(pending) == 3
    assert (configuration.revision, configuration.returned, store.pending()) == (3, None, None)


def test_the_copy_of_what_runs_waits_until_a_change_is_confirmed(
    store: ConfigStore, kernel: Recording, tmp_path: Path
) -> None:
    from weir.agent.last_good import LastGood

    copy = LastGood(tmp_path / "last-good.db")
    configuration = started(store, kernel)
    configuration.following.last_good = copy
    changed(configuration, store)
    configuration.follow_head()
    configuration.keep_last_good()
    assert copy.mark is None
    with store.write() as transaction:
        transaction.clear_pending()
    configuration.keep_last_good()
    assert copy.mark is not None and copy.mark.revision == 2
    copy.close()
