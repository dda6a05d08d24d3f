# SPDX-License-Identifier: Apache-2.0
"""Files that are no database of ours, or not any more, are named and left exactly as they are."""

from __future__ import annotations

import os
import shutil
import sqlite3
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tests.store.objects import commit, content, create, new_store, queue
from weir.model.problem import Unavailable
from weir.store import ConfigStore
from weir.store.accounts import AccountStore
from weir.store.database import CONFIGURATION


def refused(path: Path, code: str, *, create: bool = True) -> str:
    with pytest.raises(Unavailable) as caught:
        ConfigStore.open(path, create=create).check()
    assert caught.value.code == code
    assert path.name in caught.value.message
    return caught.value.message


def test_a_new_store_is_empty_and_only_for_its_owner(tmp_path: Path) -> None:
    store = new_store(tmp_path / "data")
    assert (store.head(), content(store), store.pending()) == (0, {}, None)
    assert stat.S_IMODE((tmp_path / "data" / "weir.db").stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "data").stat().st_mode) == 0o700
    store.close()


def test_a_missing_file_is_only_made_when_asked(tmp_path: Path) -> None:
    refused(tmp_path / "weir.db", "store-missing", create=False)
    assert not (tmp_path / "weir.db").exists()


@pytest.mark.parametrize("prepare", [True, False])
def test_an_emptied_file_is_refused_and_its_log_stays(tmp_path: Path, prepare: bool) -> None:
    """SQLite takes it for a new database and deletes the log, which may hold all that there is."""
    commit(new_store(tmp_path), create(queue("q1")))
    (tmp_path / "copy").mkdir()
    log = tmp_path / "copy" / "weir.db-wal"
    shutil.copy(tmp_path / "weir.db-wal", log)
    (tmp_path / "copy" / "weir.db").touch()
    before = log.read_bytes()
    assert "is empty" in refused(tmp_path / "copy" / "weir.db", "store-empty", create=prepare)
    assert (tmp_path / "copy" / "weir.db").read_bytes() == b"" and log.read_bytes() == before


def test_a_database_without_anything_in_it_is_not_taken_for_a_new_one(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "weir.db") as other:
        other.execute("VACUUM")
    other.close()
    before = (tmp_path / "weir.db").read_bytes()
    refused(tmp_path / "weir.db", "store-not-weir" if before else "store-empty")
    assert (tmp_path / "weir.db").read_bytes() == before


@pytest.mark.parametrize(
    "data", [b"precious text\n" * 400, os.urandom(8192), b"SQLite format 3\0" + b"x" * 5000]
)
def test_a_file_that_is_no_database_is_left_alone(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "weir.db"
    path.write_bytes(data)
    refused(path, "store-corrupt")
    assert path.read_bytes() == data


def test_another_programs_database_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "weir.db"
    with sqlite3.connect(path) as other:
        other.execute("CREATE TABLE song (title TEXT)")
    other.close()
    before = path.read_bytes()
    refused(path, "store-not-weir")
    assert path.read_bytes() == before


def test_the_accounts_file_is_not_taken_for_the_configuration(tmp_path: Path) -> None:
    AccountStore.open(tmp_path / "weir.db").close()
    refused(tmp_path / "weir.db", "store-not-weir")


def test_a_newer_weirs_database_is_left_alone(tmp_path: Path) -> None:
    new_store(tmp_path).close()
    with sqlite3.connect(tmp_path / "weir.db") as newer:
        newer.execute("PRAGMA user_version = 99")
    newer.close()
    message = refused(tmp_path / "weir.db", "store-version")
    assert "newer" in message and "99" in message
    refused(tmp_path / "weir.db", "store-version", create=False)


def test_a_damaged_page_is_reported_not_read(tmp_path: Path) -> None:
    store = new_store(tmp_path)
    commit(store, create(*(queue(f"q{number}") for number in range(2000))))
    store.close()
    path = tmp_path / "weir.db"
    damaged = bytearray(path.read_bytes())
    for start in range(8 * 4096, len(damaged), 3 * 4096):
        damaged[start : start + 64] = os.urandom(64)
    path.write_bytes(damaged)
    refused(path, "store-corrupt")


def test_a_folder_or_a_forbidden_place_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "weir.db").mkdir()
    with pytest.raises(Unavailable):
        ConfigStore.open(tmp_path / "weir.db", create=True)
    (tmp_path / "file").touch()
    with pytest.raises(Unavailable):
        ConfigStore.open(tmp_path / "file" / "weir.db", create=True)


def test_two_that_create_at_once_get_the_same_store(tmp_path: Path) -> None:
    opened: list[ConfigStore] = []
    failed: list[Exception] = []

    def start() -> None:
        try:
            opened.append(new_store(tmp_path))
        except Unavailable as problem:
            failed.append(problem)

    threads = [threading.Thread(target=start) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed and {store.head() for store in opened} == {0}
    for store in opened:
        store.close()


def test_a_full_disk_changes_nothing(tmp_path: Path) -> None:
    store = new_store(tmp_path)
    commit(store, create(queue("q1")))
    before = content(store)
    writer = store._database._writer
    (pages,) = writer.execute("PRAGMA page_count").fetchone()
    writer.execute(f"PRAGMA max_page_count = {pages + 4}")
    with pytest.raises(Unavailable) as caught:
        commit(store, create(*(queue(f"n{number}", comment="x" * 500) for number in range(1000))))
    assert caught.value.code == "store-full"
    assert (store.head(), content(store)) == (1, before)
    writer.execute("PRAGMA max_page_count = 1000000")
    assert commit(store, create(queue("q2"))) == 2
    store.close()


FILL = """
import resource, sys
from pathlib import Path
sys.path.insert(0, {root!r})
from tests.store.objects import commit, content, create, queue
from weir.model.problem import Unavailable
from weir.store import ConfigStore
import signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
store = ConfigStore.open(Path({path!r}))
resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, 400_000))
try:
    commit(store, create(*(queue(f"n{{number}}", comment="x" * 500) for number in range(3000))))
except Unavailable as problem:
    print(problem.code, store.head(), len(content(store)))
"""


def test_a_file_that_cannot_grow_changes_nothing(tmp_path: Path) -> None:
    store = new_store(tmp_path)
    commit(store, create(queue("q1")))
    script = FILL.format(root=str(Path.cwd()), path=str(tmp_path / "weir.db"))
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.stdout.split()[1:] == ["1", "1"], done.stderr
    assert done.stdout.split()[0] in ("store-io", "store-full")
    assert store.head() == 1
    store.close()


def test_a_held_lock_is_given_up_after_the_timeout(tmp_path: Path) -> None:
    store, other = new_store(tmp_path), ConfigStore.open(tmp_path / "weir.db")
    with other.write() as transaction:
        with pytest.raises(Unavailable) as caught, store.write(timeout_s=0.1):
            pass
        assert caught.value.code == "store-busy"
        assert store.head() == 0, "readers never wait"
        transaction.append(kind="commit", author="a", message="", changes=create(queue("q1")))
        assert store.head() == 0, "and see whole revisions only"
    assert store.head() == 1
    store.close()
    other.close()


def test_the_store_is_written_in_wal_with_full_synchronisation(tmp_path: Path) -> None:
    store = new_store(tmp_path)
    with store.write() as transaction:
        pragma = transaction.connection.execute
        assert pragma("PRAGMA journal_mode").fetchone() == ("wal",)
        assert pragma("PRAGMA synchronous").fetchone() == (2,)
        assert pragma("PRAGMA foreign_keys").fetchone() == (1,)
        assert pragma("PRAGMA trusted_schema").fetchone() == (0,)
    store.close()


def test_migrations_continue_where_an_older_file_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = new_store(tmp_path)
    commit(store, create(queue("q1")))
    store.close()
    migrations = tmp_path / "migrations"
    shutil.copytree(
        Path(sys.modules["weir.store.database"].__file__ or "").with_name("migrations"), migrations
    )
    monkeypatch.setattr("weir.store.database.MIGRATIONS", migrations)
    number = len(CONFIGURATION.migrations) + 1
    (migrations / f"configuration-{number:04}.sql").write_text(
        "-- adds a table\nCREATE TABLE extra (a TEXT) STRICT;\nINSERT INTO extra VALUES ('a;b');\n"
    )
    refused(tmp_path / "weir.db", "store-version", create=False)
    store = new_store(tmp_path)
    with store.snapshot() as connection:
        assert connection.execute("SELECT a FROM extra").fetchall() == [("a;b",)]
        assert connection.execute("PRAGMA user_version").fetchone() == (number,)
    assert store.head() == 1
    store.close()


def test_a_migration_that_fails_leaves_the_file_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = new_store(tmp_path)
    commit(store, create(queue("q1")))
    store.close()
    migrations = tmp_path / "migrations"
    shutil.copytree(
        Path(sys.modules["weir.store.database"].__file__ or "").with_name("migrations"), migrations
    )
    number = len(CONFIGURATION.migrations) + 1
    broken = "CREATE TABLE extra (a TEXT) STRICT;\nINSERT INTO nowhere VALUES (1);\n"
    (migrations / f"configuration-{number:04}.sql").write_text(broken)
    with monkeypatch.context() as patched:
        patched.setattr("weir.store.database.MIGRATIONS", migrations)
        with pytest.raises(Unavailable):
            new_store(tmp_path)
    store = ConfigStore.open(tmp_path / "weir.db")
    assert store.head() == 1
    with store.snapshot() as connection:
        assert not connection.execute("SELECT 1 FROM sqlite_schema WHERE name = 'extra'").fetchall()
    store.close()
