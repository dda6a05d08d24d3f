# SPDX-License-Identifier: Apache-2.0
"""What happens to the store does not happen to the router: the last good configuration goes on running."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.agent.copies import kept_in
from tests.agent.rig import Rig, client_queue, lan, queue, wan
from tests.polling import until
from weir.model.objects import Queue
from weir.model.problem import Conflict, Unavailable
from weir.store import ConfigStore


@pytest.fixture
def rig() -> Iterator[Rig]:
    made = Rig()
    try:
        made.start_agent()
        made.commit(lan(), wan(), client_queue())
        until("the copy is kept", lambda: kept_in(made.folder) == 1)
        yield made
    finally:
        print(made.agent_log())
        made.close()


def exchange(rig: Rig, database: Path | None) -> None:
    """Another database (None: an empty file) in the place of the router's."""
    rig.store.close()
    for path in rig.folder.glob("weir.db*"):
        path.unlink()
    target = rig.folder / "weir.db"
    target.touch() if database is None else shutil.copy(database, target)
    rig.store = ConfigStore.open(target) if database is not None else rig.store


def still_limits(rig: Rig) -> bool:
    return rig.addresses("lan0") >= {"10.64.0.1/24"} and 0 < rig.arriving() < 50


def is_held(rig: Rig) -> bool:
    return bool(rig.status()["state"] == "held")


def store_servers(rig: Rig) -> list[Path]:
    """The processes that touch the database for its agent, by their folders in /proc."""
    words = {b"weir.agent.store_server", bytes(rig.folder / "weir.db")}
    found = []
    for path in Path("/proc").glob("[1-9]*/cmdline"):
        with suppress(OSError):  # it has ended
            if words <= set(path.read_bytes().split(b"\0")):
                found.append(path.parent)
    return found


@pytest.mark.parametrize("restarted", [False, True])
def test_an_empty_database_does_not_wipe_the_router(rig: Rig, restarted: bool) -> None:
    if restarted:
        rig.kill_agent()
    exchange(rig, None)
    if restarted:
        rig.spawn_agent()
    until("the agent says so", lambda: is_held(rig))
    store = rig.status()["store"]
    assert (store["ok"], rig.status()["revision"]) == (False, 1)
    assert "is empty" in store["reason"]
    assert still_limits(rig)
    with pytest.raises(Unavailable, match=r"is empty.*revision 1 goes on running"):
        rig.agent.call("apply", {"base": 0, "revision": 1, "changes": []})


@pytest.mark.parametrize("restarted", [False, True])
def test_a_database_that_lost_its_log_is_not_obeyed_until_a_person_says_so(
    rig: Rig, tmp_path: Path, restarted: bool
) -> None:
    """As after the log was deleted: acknowledged revisions are missing, and all else is well."""
    with rig.store.snapshot() as connection:
        connection.execute("ROLLBACK")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        connection.execute("BEGIN")
    shutil.copy(rig.folder / "weir.db", tmp_path / "old.db")
    rig.commit(queue(1), Queue("client", "client", disabled=True, target=("10.64.0.2/32",)))
    rig.commit(client_queue(200_000))
    until("the copy is kept", lambda: kept_in(rig.folder) == 3)
    if restarted:
        rig.kill_agent()
    exchange(rig, tmp_path / "old.db")
    if restarted:
        rig.spawn_agent()
    until("the agent says so", lambda: is_held(rig))
    store = rig.status()["store"]
    assert "ran revision 3, and the database has only 1" in store["reason"]
    assert rig.explain("client")["kernel"]["class"]["upload"]["rate_bps"] == 200_000
    with pytest.raises(Unavailable, match="ran revision 3"):
        rig.commit(queue(2))
    with pytest.raises(Conflict, match="look again"):
        rig.agent.call("adopt", {"revision": 1, "digest": "00" * 16})
    rig.agent.call("adopt", store["stored"])
    assert (rig.status()["state"], rig.status()["revision"]) == ("ok", 1)
    assert rig.explain("client")["kernel"]["class"]["upload"]["rate_bps"] == 100_000
    rig.commit(queue(3))
    until("the copy follows", lambda: kept_in(rig.folder) == 2)


def test_the_process_of_a_killed_agent_removes_no_files(rig: Rig) -> None:
    """It ends a moment later; by then the logs may be those of another database."""
    rig.store.close()
    rig.kill_agent()
    until("the process ended", lambda: not store_servers(rig))
    assert (rig.folder / "weir.db-wal").exists()


def test_another_database_with_as_many_revisions_is_not_obeyed(rig: Rig, tmp_path: Path) -> None:
    other = ConfigStore.open(tmp_path / "other.db", create=True)
    with other.write() as transaction:
        transaction.append(kind="commit", author="test", message="", changes=[])
        transaction.append(kind="commit", author="test", message="", changes=[])
    other.close()
    exchange(rig, tmp_path / "other.db")
    until("the agent says so", lambda: is_held(rig))
    assert "it is another one" in rig.status()["store"]["reason"]
    assert still_limits(rig)


def test_when_the_right_database_is_back_it_is_followed_without_a_word(rig: Rig, tmp_path: Path) -> None:
    rig.stop_agent()
    rig.store.close()
    shutil.copy(rig.folder / "weir.db", tmp_path / "right.db")
    rig.spawn_agent()
    until("it follows", lambda: rig.status()["state"] == "ok")
    exchange(rig, None)
    until("the agent says so", lambda: is_held(rig))
    exchange(rig, tmp_path / "right.db")
    until("it follows again", lambda: rig.status()["state"] == "ok")
    rig.commit(queue(1))


def test_one_damaged_object_is_named_and_goes_on_as_it_ran_last(rig: Rig) -> None:
    rig.kill_agent()
    with rig.store.write() as transaction:
        transaction.connection.execute("UPDATE object_version SET body = replace(body, '100000', '900000')")
    rig.spawn_agent()
    until("it runs", lambda: rig.status()["state"] == "ok")
    (damaged,) = rig.status()["store"]["damaged"]
    assert (damaged["kind"], damaged["id"]) == ("queue", "client")
    assert rig.explain("client")["kernel"]["class"]["upload"]["rate_bps"] == 100_000
    assert still_limits(rig)
    assert rig.commit(queue(5))["revision"] == 2


def test_damage_that_comes_while_it_runs_is_found_by_the_daily_look_and_named(rig: Rig) -> None:
    """In a past revision, which nobody loads. The day is a second here."""
    rig.stop_agent()
    rig.start_agent("--check-interval-s", "1")
    rig.commit(client_queue(200_000))
    assert rig.status()["store"]["damaged"] == []
    with rig.store.write() as transaction:
        changed = transaction.connection.execute(
            "UPDATE object_version SET body = replace(body, '100000', '900000') WHERE to_revision IS NOT NULL"
        )
        assert changed.rowcount == 1
    (damaged,) = until("it is named", lambda: rig.status()["store"]["damaged"], 20.0)
    assert (damaged["kind"], damaged["id"]) == ("queue", "client")
    assert rig.explain("client")["kernel"]["class"]["upload"]["rate_bps"] == 200_000


def test_without_a_copy_the_rest_runs(rig: Rig) -> None:
    rig.kill_agent()
    for path in rig.folder.glob("last-good.db*"):
        path.unlink()
    with rig.store.write() as transaction:
        transaction.connection.execute("UPDATE object_version SET body = replace(body, '100000', '900000')")
    rig.spawn_agent()
    until("it runs", lambda: rig.status()["state"] == "ok")
    assert rig.addresses("lan0") >= {"10.64.0.1/24"}
    assert "client" not in rig.agent.call("slots", {"since": 0})["slots"]


def test_shared_memory_cut_by_the_files_owner_does_not_end_the_agent(rig: Rig) -> None:
    """SQLite maps it, and SIGBUS ends a process that reads a page that is gone."""
    assert rig.agent_process is not None
    rig.store.close()
    for _ in range(3):
        os.truncate(rig.folder / "weir.db-shm", 0)
        until("the agent has looked and goes on", lambda: rig.status()["store"]["ok"])
    assert rig.agent_process.poll() is None
    rig.store = ConfigStore.open(rig.folder / "weir.db")
    assert rig.commit(queue(1))["revision"] == 2


def test_the_files_are_read_by_a_process_of_the_user_that_the_option_names(rig: Rig) -> None:
    """Whatever the files say: root's own are not opened for that user."""
    rig.kill_agent()
    rig.spawn_agent("--api-uid", "64711")
    until("it cannot be read", lambda: not rig.status()["store"]["ok"])
    assert still_limits(rig)
    rig.store.close()
    rig.give_files_to(64711)
    until("the process of that user reads it", lambda: rig.status()["state"] == "ok")
    assert {process.stat().st_uid for process in store_servers(rig)} == {64711}
