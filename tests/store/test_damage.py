# SPDX-License-Identifier: Apache-2.0
"""What changed on the disk is found and named; what an older release wrote gets its sums."""

from __future__ import annotations

import random
import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest

from tests.store.objects import commit, content, create, new_store, queue
from weir.model.document import Change
from weir.model.objects import Pair, Queue
from weir.model.problem import Unavailable
from weir.store import ConfigStore, Damage, Pending, candidates
from weir.store.database import MIGRATIONS

CHANGES = 1000


def customer(number: int, rate_bps: int = 20_000_000) -> Queue:
    target = (f"10.0.{number // 250}.{number % 250}/32",)
    return queue(f"q{number}", target=target, max_limit_bps=Pair(rate_bps // 4, rate_bps))


def change_row(folder: Path, statement: str) -> None:
    with sqlite3.connect(folder / "weir.db") as connection:
        assert connection.execute(statement).rowcount == 1
    connection.close()


def written(folder: Path) -> Path:
    """A folder with a store of 300 queues, of which 100 were changed."""
    folder.mkdir(exist_ok=True)
    store = new_store(folder)
    commit(store, create(*map(customer, range(300))))
    commit(store, [Change("queue", f"q{n}", customer(n), customer(n, 30_000_000)) for n in range(100)])
    store.close()
    return folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return written(tmp_path)


def outcomes(folder: Path, changed_in: Path) -> dict[str, int]:
    """Of `CHANGES` changes of one bit, how many files were refused, had damage named, were loaded as they
    were, and as another configuration."""
    changed_in.mkdir(exist_ok=True)
    data = (folder / "weir.db").read_bytes()
    store = ConfigStore.open(folder / "weir.db")
    good = content(store)
    store.close()
    path = changed_in / "weir.db"
    chance, found = random.Random(14), {"refused": 0, "named": 0, "same": 0, "another": 0}
    for _ in range(CHANGES):
        changed = bytearray(data)
        changed[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
        path.write_bytes(changed)
        damage: list[Damage] = []
        try:
            store = ConfigStore.open(path)
            try:
                revision, document = store.load(damage)
            finally:
                store.close()
        except Unavailable:
            found["refused"] += 1
            continue
        same = (revision, {(item.kind, item.id): item for item in document}) == (2, good)
        found["named" if damage else "same" if same else "another"] += 1
    return found


def test_of_a_thousand_single_byte_changes_none_is_loaded_as_another_configuration(
    folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Loaded unnoticed is only what is still exactly what was written."""
    found = outcomes(folder, tmp_path_factory.mktemp("changed"))
    assert found.pop("another") == 0, found
    assert min(found.values()) > 10, found


def test_one_flipped_digit_of_a_rate_is_found_and_the_rest_is_read(folder: Path) -> None:
    change_row(
        folder,
        "UPDATE object_version SET body = replace(body, '30000000', '90000000') "
        "WHERE id = 'q7' AND to_revision IS NULL",
    )
    store, damage = ConfigStore.open(folder / "weir.db"), list[Damage]()
    _, document = store.load(damage)
    assert [(item.kind, item.id) for item in damage] == [("queue", "q7")]
    assert len(document) == 299 and document.get("queue", "q7") is None
    with pytest.raises(Unavailable, match="queue q7 is damaged on the disk") as caught:
        store.get("queue", "q7")
    assert caught.value.code == "store-damaged"
    with pytest.raises(Unavailable, match="queue q7"):
        store.load()
    assert store.verify() == [*damage, *store.verify()[1:]]
    store.close()


@pytest.mark.parametrize(
    ("statement", "named"),
    [
        ("DELETE FROM object_version WHERE id = 'q9' AND to_revision IS NULL", "revision 2 is not whole"),
        ("UPDATE object_version SET to_revision = 2 WHERE id = 'q200'", "revision 2 is not whole"),
        ("DELETE FROM object_version WHERE id = 'q9' AND to_revision = 2", "revision 1 is not whole"),
        ("UPDATE revision SET author = 'eve' WHERE number = 1", "noted of revision 1 is damaged"),
        ("UPDATE object_version SET position = 7 WHERE id = 'q200'", "lists show of queue q200 is damaged"),
        ("UPDATE object_version SET sum = sum + 1 WHERE id = 'q200'", "queue q200 is damaged"),
    ],
)
def test_a_whole_look_names_what_loading_cannot_see(folder: Path, statement: str, named: str) -> None:
    change_row(folder, statement)
    store = ConfigStore.open(folder / "weir.db")
    assert named in " ".join(item.message for item in store.verify())
    store.close()


def test_a_whole_store_has_nothing_to_name(folder: Path) -> None:
    store = ConfigStore.open(folder / "weir.db")
    commit(store, [Change("queue", "q5", customer(5, 30_000_000), None)])
    commit(store, create(replace(customer(5), comment="again")))
    assert store.verify() == []
    store.close()


def test_a_staged_change_and_the_pending_confirmation_have_sums_too(folder: Path) -> None:
    store = ConfigStore.open(folder / "weir.db")
    with store.write() as transaction:
        candidate = candidates.create(transaction.connection, "anna", 2, 1)
        candidates.stage(transaction.connection, candidate, [("queue", "q1", customer(1, 40_000_000), 2)], 1)
        transaction.set_pending(Pending(2, 1, 60, 1, "boot", 1, b"hash", "anna", 1))
    store.close()
    change_row(folder, "UPDATE pending_confirmation SET base_revision = 0")
    change_row(folder, "UPDATE candidate_change SET body = replace(body, '40000000', '48000000')")
    store = ConfigStore.open(folder / "weir.db")
    with pytest.raises(Unavailable, match="waits for its confirmation is damaged"):
        store.pending()
    with store.snapshot() as connection, pytest.raises(Unavailable, match="staged for queue 'q1' is damaged"):
        candidates.rows(connection, "anna")
    store.close()


def test_a_store_of_the_release_before_gets_its_sums(tmp_path: Path) -> None:
    """Its first two migrations, with rows as that release wrote them; revision 1 is no longer kept."""
    with sqlite3.connect(tmp_path / "weir.db") as old:
        for number in (1, 2):
            old.executescript((MIGRATIONS / f"configuration-000{number}.sql").read_text(encoding="utf-8"))
        old.executemany(
            "INSERT INTO revision VALUES (?, 'commit', 'anna', '', '', 1, NULL, 1)", [(1,), (2,), (3,)]
        )
        body = (
            '{{"name":"customer","target":["10.0.0.1/32"],"max_limit_bps":{{"upload":{0},"download":{0}}}}}'
        )
        old.executemany(
            "INSERT INTO object_version (kind, id, from_revision, to_revision, name, parent, position, "
            "disabled, max_limit_upload_bps, max_limit_download_bps, search, body) "
            "VALUES ('queue', 'q1', ?, ?, 'customer', NULL, 0, 0, ?, ?, ?, ?)",
            [
                (since, until, rate, rate, "q1\ncustomer\n\n10.0.0.1/32", body.format(rate))
                for since, until, rate in ((1, 2, 1000), (2, 3, 2000), (3, None, 3000))
            ],
        )
        old.execute("UPDATE history SET complete_from = 2")
        old.execute("INSERT INTO candidate VALUES ('anna', 3, 1, 1)")
        old.execute("INSERT INTO candidate_change VALUES ('anna', 'queue', 'q1', 1, 3, NULL)")
        old.execute("PRAGMA user_version = 2")
        old.execute("PRAGMA application_id = 0x57656972")
    old.close()
    store = new_store(tmp_path)
    assert store.verify() == []
    (item,) = store.objects(2)
    assert isinstance(item, Queue) and item.max_limit_bps.upload == 2000
    with store.snapshot() as connection:
        assert [row.id for row in candidates.rows(connection, "anna")] == ["q1"]
    commit(store, create(queue("q2")))
    assert store.verify() == []
    store.close()
