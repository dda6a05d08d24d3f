# SPDX-License-Identifier: Apache-2.0
"""History within bounds: old versions go, revisions stay listed, and what is not kept is said by name."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.polling import until
from tests.store.objects import commit, content, create, new_store, queue
from weir.model.document import Change
from weir.model.objects import Queue
from weir.model.problem import NotFound
from weir.store import ConfigStore, Pending, checkpoint, retention

FRAME_BYTES = 4096 + 24


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ConfigStore:
    monkeypatch.setattr(retention, "MAX_REVISIONS", 20)
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
    with store.snapshot() as connection:
        (counted,) = connection.execute("SELECT ended_bytes FROM history").fetchone()
        measured = connection.execute(
            f"SELECT sum({retention.SIZE_BYTES}) FROM object_version WHERE to_revision IS NOT NULL"
        ).fetchone()
    assert (counted,) == measured
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
    """Versions of this queue take about 260 bytes each."""
    monkeypatch.setattr(retention, "MAX_ENDED_BYTES", 2700)
    commit(store, create(queue("q1")))
    change_often(store, 15)
    assert (store.head(), ended(store)) == (16, 10)
    monkeypatch.setattr(retention, "MAX_ENDED_BYTES", 0)
    change_often(store, 1)
    assert ended(store) == 1
    assert content(store, 16)["queue", "q1"].comment == "comment 14"


def test_what_an_unconfirmed_change_goes_back_to_is_kept(
    store: ConfigStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retention, "MAX_ENDED_BYTES", 0)
    commit(store, create(queue("q1")))
    with store.write() as transaction:
        transaction.set_pending(Pending(1, 1, 60, 1, "boot", 1, b"hash", "anna", 1))
    change_often(store, 3)
    assert content(store, 1)["queue", "q1"] == queue("q1")


def test_a_hundred_nights_in_which_every_queue_changes_are_bounded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A hundredth of 100,000 queues, with a hundredth of the limit, in a hundredth of 500 MB."""
    monkeypatch.setattr(retention, "MAX_ENDED_BYTES", retention.MAX_ENDED_BYTES // 100)
    store, largest_bytes = new_store(tmp_path), 0
    log, longest_bytes = tmp_path / "weir.db-wal", checkpoint.LONG_LOG_FRAMES * FRAME_BYTES
    olds: list[Queue | None] = [None] * 1000
    for night in range(100):
        news = [
            queue(f"q{number}", target=(f"10.0.{number // 250}.{number % 250}/32",), comment=f"night {night}")
            for number in range(1000)
        ]
        pairs = zip(olds, news, strict=True)
        commit(store, [Change("queue", new.id, old, new) for old, new in pairs])
        olds = list(news)
        # It is emptied beside the commits, by a thread that may have to wait for a processor.
        until("the log is short", lambda: log.stat().st_size < longest_bytes)
        largest_bytes = max(largest_bytes, sum(path.stat().st_size for path in tmp_path.iterdir()))
    assert store.head() == 100
    assert 2_000_000 < largest_bytes < 5_000_000 + longest_bytes
    assert (tmp_path / "weir.db").stat().st_size < 5_000_000
    assert len(store.changes_between(100, 98)) == 1000
    store.close()


def test_the_log_of_a_large_commit_is_given_back(tmp_path: Path) -> None:
    store = new_store(tmp_path)
    commit(store, create(*(queue(f"q{number}", comment="x" * 2000) for number in range(10_000))))
    log = tmp_path / "weir.db-wal"
    until("the log is empty", lambda: log.stat().st_size == 0)
    store.close()


def test_much_is_removed_a_part_at_a_time(store: ConfigStore, monkeypatch: pytest.MonkeyPatch) -> None:
    commit(store, create(queue("q1")))
    monkeypatch.setattr(retention, "AT_ONCE", 1)
    monkeypatch.setattr(retention, "MAX_REVISIONS", 5)
    change_often(store, 20)
    monkeypatch.setattr(retention, "AT_ONCE", 100)
    change_often(store, 1)
    assert ended(store) == 5
