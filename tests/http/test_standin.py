# SPDX-License-Identifier: Apache-2.0
"""A full or read-only disk, and databases that cannot be used, at the start of the API and later.

It serves what can be read, says why changes are refused, and takes the file again by itself.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.http.world import Client, World
from tests.polling import until
from tests.small_disk import SmallDisk
from weir.model.codec import from_json
from weir.store import ConfigStore

PASSWORD = "only for the tests of a full disk"
QUEUES = ("q1", "q2", "q3")
REVISIONS = [6, 5, 4, 3, 2, 1, 0]


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[SmallDisk]:
    with SmallDisk(tmp_path / "disk") as disk:
        yield disk


class Killed:
    """What an API leaves that was killed: six revisions that are in the log only, and an administrator."""

    def __init__(self, folder: Path, run: Path) -> None:
        self.folder = folder
        self.database = folder / "weir.db"
        self._socket = run / "agent.sock"
        with World(folder, socket=self._socket) as world:
            api = world.client()
            for name in QUEUES:
                assert api("POST", "/queues", {"id": name, "name": name}).status_code == 201
            for name in QUEUES:
                etag = api("GET", f"/queues/{name}").json["etag"]
                assert api("PATCH", f"/queues/{name}", {"comment": "newest"}, etag=etag).status_code == 200
            self._change_password(world)
            self._token = world.token()
            files = {path: path.read_bytes() for path in folder.glob("weir*.db*")}
        for path, data in files.items():
            path.write_bytes(data)
        self.forget_shared_memory()
        assert (folder / "weir.db-wal").stat().st_size > 6 * 4096

    def forget_shared_memory(self) -> None:
        for path in self.folder.glob("*-shm"):
            path.unlink()

    def start(self) -> World:
        """An API over these files; the agent runs what was committed last."""
        world = World(self.folder, socket=self._socket, tokens={"admin": self._token})
        world.agent.revision = REVISIONS[0]
        for name in QUEUES:
            world.agent.kernel["queue", name] = from_json("queue", {"name": name, "comment": "newest"}, name)
        return world

    @staticmethod
    def _change_password(world: World) -> None:
        assert world.password is not None
        signed = world.parts.service.auth.sign_in("admin", world.password, "192.0.2.1")
        world.parts.service.auth.change_password(signed.principal, world.password, PASSWORD)


@pytest.fixture
def killed(disk: SmallDisk, tmp_path: Path) -> Killed:
    return Killed(disk.folder, tmp_path)


def writing(world: World) -> str:
    """What the router's health says of writing; nothing while all is well."""
    world.parts.stats.tick()
    answer = world.client()("GET", "/system")
    assert answer.status_code == 200
    checks = [check for check in answer.json["checks"] if check["id"] == "writing"]
    assert not checks or answer.json["health"] == checks[0]["state"] == "failed"
    return checks[0]["message"] if checks else ""


def revisions(api: Client) -> list[int]:
    return [item["revision"] for item in api("GET", "/revisions").json["items"]]


def change(api: Client, text: str, name: str = "q1") -> Any:
    etag = api("GET", f"/queues/{name}").json["etag"]
    return api("PATCH", f"/queues/{name}", {"comment": text}, etag=etag)


def comments(api: Client) -> dict[str, str]:
    return {item["id"]: item["comment"] for item in api("GET", "/queues").json["items"]}


class Browser:
    """Somebody who signs in by name and password."""

    def __init__(self, world: World) -> None:
        self._client = Client(world.app.test_client(), None)
        self.signed = self._client("POST", "/auth/sign-in", {"username": "admin", "password": PASSWORD})

    def __call__(self, method: str, path: str, body: Any = None) -> Any:
        return self._client(method, path, body, headers={"X-CSRF-Token": self.signed.json["csrf_token"]})


HANDS: dict[str, tuple[Callable[[SmallDisk], None], str, str]] = {
    "full": (SmallDisk.fill, "store-full", "No space left on device (ENOSPC). Free space"),
    "read-only": (SmallDisk.forbid, "store-read-only", "Read-only file system (EROFS). Its disk is mounted"),
}


@pytest.mark.parametrize("hand", HANDS)
def test_a_full_or_read_only_disk_at_start_is_read_and_said(
    disk: SmallDisk, killed: Killed, hand: str
) -> None:
    take_away, code, reason = HANDS[hand]
    take_away(disk)
    with killed.start() as world:
        api = world.client()
        assert comments(api) == dict.fromkeys(QUEUES, "newest"), "what is in the log only is seen"
        assert revisions(api) == REVISIONS
        refused = change(api, "refused")
        assert (refused.status_code, refused.json["code"]) == (503, code)
        for sentence in (refused.json["detail"], writing(world)):
            assert f"{killed.database} cannot be written: {reason}" in sentence
        user = {"username": "other", "scope": "read", "password": PASSWORD}
        assert api("POST", "/users", user).json["code"] == code
        assert api("POST", "/queues", {"id": "q9", "name": "q9"}).status_code == 503
        assert api("POST", "/candidate").status_code == 503
        assert comments(api) == dict.fromkeys(QUEUES, "newest")
        disk.free()
        until("the file is taken again", lambda: change(api, "written").status_code == 200)
        assert writing(world) == ""
        assert revisions(api) == [7, *REVISIONS]
    assert head_of(killed.database) == 7


def head_of(database: Path) -> int:
    store = ConfigStore.open(database)
    try:
        return store.head()
    finally:
        store.close()


def test_a_disk_that_is_full_only_for_new_pages_is_found_at_start(disk: SmallDisk, killed: Killed) -> None:
    """With the shared memory of a process that runs the file can be opened, and not be written."""
    other = ConfigStore.open(killed.database)
    try:
        disk.fill()
        with killed.start() as world:
            assert "(ENOSPC)" in writing(world)
            assert comments(world.client()) == dict.fromkeys(QUEUES, "newest")
            disk.free()
            until("it is written again", lambda: writing(world) == "")
    finally:
        other.close()


@pytest.mark.parametrize("hand", HANDS)
def test_signing_in_works_meanwhile_and_is_kept_afterwards(
    disk: SmallDisk, killed: Killed, hand: str
) -> None:
    HANDS[hand][0](disk)
    with killed.start() as world:
        first, second = Browser(world), Browser(world)
        assert (first.signed.status_code, second.signed.status_code) == (200, 200)
        assert first("GET", "/queues").status_code == 200
        assert second("POST", "/auth/sign-out").status_code == 204
        wrong = world.client(None)("POST", "/auth/sign-in", {"username": "admin", "password": "guess"})
        assert wrong.status_code == 401
        disk.free()
        until("the accounts are written again", lambda: writing(world) == "")
        assert first("GET", "/queues").status_code == 200
        assert second("GET", "/queues").status_code == 401, "who signed out stays so"
    with killed.start() as world:
        trail = world.client()("GET", "/system/audit").json["items"]
        told = [(item["action"], item["outcome"]) for item in trail][:4]
        assert told == [("sign-in", "refused"), ("sign-out", "ok"), ("sign-in", "ok"), ("sign-in", "ok")]


def test_a_disk_that_fills_up_later_refuses_changes_and_lets_people_in(
    disk: SmallDisk, killed: Killed
) -> None:
    with killed.start() as world:
        api = world.client()
        assert change(api, "before").status_code == 200
        disk.fill()
        until("it is found without a change", lambda: "(ENOSPC)" in writing(world))
        refused = change(api, "refused")
        assert (refused.status_code, refused.json["code"]) == (503, "store-full")
        assert str(killed.database) in refused.json["detail"]
        assert Browser(world).signed.status_code == 200
        assert comments(api)["q1"] == "before"
        disk.free()
        until("changes are taken again", lambda: change(api, "after").status_code == 200)


def test_a_sign_in_is_taken_before_the_full_disk_was_noticed(disk: SmallDisk, killed: Killed) -> None:
    with killed.start() as world:
        disk.fill()
        assert [Browser(world).signed.status_code for _ in range(3)] == [200, 200, 200]


def text(path: Path) -> None:
    path.write_bytes(b"this is no database, it is somebody's file" * 500)


def other_database(path: Path) -> None:
    path.unlink()
    with sqlite3.connect(path) as other:
        other.execute("CREATE TABLE song (title TEXT)")
    other.close()


def newer(path: Path) -> None:
    with sqlite3.connect(path) as other:
        other.execute("PRAGMA user_version = 99")
    other.close()


def damaged(path: Path) -> None:
    """All pages but the first few are noise."""
    with sqlite3.connect(path) as own:
        own.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    own.close()
    data = bytearray(path.read_bytes())
    data[8192:] = os.urandom(len(data) - 8192)
    path.write_bytes(data)


FOREIGN: dict[str, tuple[Callable[[Path], None], str]] = {
    "empty": (lambda path: path.write_bytes(b""), "store-empty"),
    "text": (text, "store-corrupt"),
    "other": (other_database, "store-not-weir"),
    "newer": (newer, "store-version"),
    "damaged": (damaged, "store-corrupt"),
}


@pytest.mark.parametrize("hand", FOREIGN)
def test_a_file_that_cannot_be_used_is_left_as_it_is_and_what_runs_is_shown(
    killed: Killed, hand: str
) -> None:
    right = {path: path.read_bytes() for path in killed.folder.glob("weir.db*")}
    spoil, code = FOREIGN[hand]
    for path in killed.folder.glob("weir.db-*"):
        path.unlink() if hand not in ("newer", "damaged") else None
    spoil(killed.database)
    before = killed.database.read_bytes()
    with killed.start() as world:
        api = world.client()
        until("what runs is shown", lambda: api("GET", "/queues").status_code == 200)
        assert comments(api) == dict.fromkeys(QUEUES, "newest")
        assert revisions(api)[0] == 6
        refused = change(api, "refused")
        assert (refused.status_code, refused.json["code"]) == (503, code)
        assert "weir.db" in refused.json["detail"] and "weir.db" in writing(world)
        assert killed.database.read_bytes() == before
        for path in killed.folder.glob("weir.db-*"):
            path.unlink()
        for path, data in right.items():
            path.with_name(f"{path.name}.new").write_bytes(data)
            path.with_name(f"{path.name}.new").rename(path)
        until("the right one is taken", lambda: change(api, "written").status_code == 200)
        assert revisions(api) == [7, *REVISIONS]


def test_until_the_agent_comes_nothing_is_made_up(killed: Killed) -> None:
    killed.database.write_bytes(b"")
    world = killed.start()
    api = world.client()
    answer = api("GET", "/queues")
    assert (answer.status_code, answer.json["code"]) == (503, "store-empty")
    system = api("GET", "/system").json
    assert (system["revision"], system["queue_count"], system["warning_count"]) == (None, None, None)
    assert "weir.db is empty" in writing(world)
    with world:
        until("what runs is shown", lambda: api("GET", "/queues").status_code == 200)
        assert comments(api) == dict.fromkeys(QUEUES, "newest")


def test_accounts_that_cannot_be_read_open_no_door(killed: Killed) -> None:
    accounts = killed.folder / "weir-accounts.db"
    for path in killed.folder.glob("weir-accounts.db-*"):
        path.unlink()
    accounts.write_bytes(b"")
    with World(killed.folder, socket=killed._socket, tokens={}, first_setup=True) as world:
        stranger = world.client(None)
        for answer in (
            stranger("POST", "/auth/sign-in", {"username": "admin", "password": PASSWORD}),
            stranger("GET", "/setup"),
        ):
            assert (answer.status_code, answer.json["code"]) == (503, "store-empty")
            assert "weir-accounts.db is empty" in answer.json["detail"]
        assert stranger("GET", "/system/live").status_code == 200
    assert accounts.read_bytes() == b""


def test_a_file_that_vanished_is_not_replaced_by_an_empty_one(disk: SmallDisk, killed: Killed) -> None:
    disk.forbid()
    with killed.start() as world:
        disk.free()
        for path in killed.folder.glob("weir.db*"):
            path.unlink()
        until("it is missed", lambda: "is gone" in writing(world) or "cannot" not in writing(world))
        assert comments(world.client()) == dict.fromkeys(QUEUES, "newest")
        assert not killed.database.exists()


def test_a_file_that_is_deleted_in_use_is_said_and_no_change_is_lost_with_it(killed: Killed) -> None:
    files, away = sorted(killed.folder.glob("weir.db*")), killed.folder / "away"
    with killed.start() as world:
        api = world.client()
        before = comments(api)
        away.mkdir()
        for path in files:
            if path.exists():
                path.rename(away / path.name)
        refused = change(api, "lost with the file?")
        assert (refused.status_code, refused.json["code"]) == (503, "store-missing")
        assert f"{killed.database} was there and is gone; put it back" in refused.json["detail"]
        assert comments(api) == before, "reading goes on"
        assert any(check["id"] == "writing" for check in api("GET", "/system").json["checks"])
        until("the look names it as well", lambda: api("GET", "/system/store").json["refused"])
        for path in away.iterdir():
            path.rename(killed.folder / path.name)
        until("it is taken back", lambda: change(api, "kept").status_code == 200)
        assert comments(api)["q1"] == "kept"


def test_a_deletion_is_noticed_without_a_change(killed: Killed) -> None:
    with killed.start() as world:
        api = world.client()
        killed.database.unlink()
        until("it is said", lambda: api("GET", "/system/store").json["refused"])
        assert not killed.database.exists(), "no empty one takes its place"
