# SPDX-License-Identifier: Apache-2.0
"""History within bounds: old versions go, revisions stay listed, and what is not kept is said by name."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.store.objects import commit, content, create, new_store, queue
from weir.model.document import Change
from weir.model.problem import NotFound
from weir.store import ConfigStore, retention


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ConfigStore:
    monkeypatch.setattr(retention, "MAX_REVISIONS", 20)
    monkeypatch.setattr(retention, "MIN_REVISIONS", 4)
    monkeypatch.setattr(retention, "EVERY_REVISIONS", 1)
    return new_store(tmp_path)


def change_often(store: ConfigStore, times: int) -> None:
    for number in range(times):
        old = store.get("queue", "q1").object
        commit(store, [Change("queue", "q1", old, replace(old, comment=f"comment {number}"))])


def ended(store: ConfigStore) -> int:
    with store.snapshot() as connection:
        (count,) = connection.execute(
            "SELECT count(*) FROM object_version WHERE to_revision IS NOT NULL"
        ).fetchone()
    return int(count)


def test_the_newest_revisions_can_be_read_and_older_ones_are_refused_by_name(store: ConfigStore) -> None:
    commit(store, create(queue("q1"), queue("q2")))
    change_often(store, 49)
    assert (store.head(), ended(store)) == (50, 20)
    assert content(store, 30)["queue", "q1"].comment == "comment 28"
    with pytest.raises(NotFound, match="revision 29 is no longer kept; the oldest that can be read is 30"):
        content(store, 29)
    with pytest.raises(NotFound, match="revision 1 "):
        store.changes_between(50, 1)
    assert len(store.changes_between(50, 30)) == 1
    assert [store.revision(number).changes for number in (1, 2)] == [2, 1]
    assert store.get("queue", "q2").revision == 1


def test_many_versions_make_fewer_revisions_but_never_fewer_than_the_least(
    store: ConfigStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retention, "MAX_ENDED_VERSIONS", 10)
    commit(store, create(queue("q1")))
    change_often(store, 15)
    assert (store.head(), ended(store)) == (16, 10)
    monkeypatch.setattr(retention, "MAX_ENDED_VERSIONS", 1)
    change_often(store, 1)
    assert ended(store) == 4
    assert content(store, 13)["queue", "q1"].comment == "comment 11"


def test_much_is_removed_a_part_at_a_time(store: ConfigStore, monkeypatch: pytest.MonkeyPatch) -> None:
    commit(store, create(queue("q1")))
    monkeypatch.setattr(retention, "AT_ONCE", 1)
    monkeypatch.setattr(retention, "MAX_REVISIONS", 5)
    change_often(store, 20)
    monkeypatch.setattr(retention, "AT_ONCE", 100)
    change_often(store, 1)
    assert ended(store) == 5
