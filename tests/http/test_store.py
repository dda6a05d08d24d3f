# SPDX-License-Identifier: Apache-2.0
"""A database that is damaged, or not what ran last: said by health and command line, decided by a person."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.http.world import Client, Live, World
from weir.cli.main import main

REASON = "the router ran revision 3, and the database has only 1"
DIGEST = "ab" * 16


def weir(world: World, live: Live, *arguments: str) -> str:
    env = {"WEIR_URL": live.url, "WEIR_TOKEN": world.token()}
    result = CliRunner().invoke(main, [*arguments], env=env)
    assert result.exit_code == 0, (result.output, result.exception)
    return result.output


def store_check(world: World) -> list[tuple[str, str]]:
    world.parts.stats.tick()
    checks = world.client()("GET", "/system").json["checks"]
    return [(check["state"], check["message"]) for check in checks if check["id"] == "store"]


def test_a_database_that_is_not_followed_is_said_and_accepted_by_an_administrator(tmp_path: Path) -> None:
    with World(tmp_path) as world, Live(world) as live:
        world.parts.stats.stop()
        assert store_check(world) == []
        head = {"revision": 1, "digest": DIGEST}
        world.agent.state = "held"
        world.agent.store = {"ok": False, "reason": REASON, "stored": head, "damaged": []}
        ((state, message),) = store_check(world)
        assert state == "failed" and REASON[4:] in message
        assert REASON in weir(world, live, "store", "show")
        assert world.client("write")("POST", "/system/store/accept", head).status_code == 403
        other = {"revision": 1, "digest": "cd" * 16}
        assert world.client()("POST", "/system/store/accept", other).json["code"] == "outdated"
        assert "not followed" not in weir(world, live, "store", "accept", "1")
        entries = world.client()("GET", "/system/audit").json["items"]
        assert ("config.accept", "revision 1") in [(item["action"], item["subject"]) for item in entries]
        assert store_check(world) == []


@pytest.fixture
def damaged(tmp_path: Path) -> Path:
    """A folder whose database has one queue in three with another rate than was written."""
    with World(tmp_path) as world:
        for name in ("q1", "q2", "q3"):
            limits = {"upload": 1_000_000, "download": 2_000_000}
            body = {"id": name, "name": name, "target": [f"10.0.0.{name[1:]}/32"], "max_limit_bps": limits}
            assert world.client()("POST", "/queues", body).status_code == 201
    with sqlite3.connect(tmp_path / "weir.db") as connection:
        changed = "UPDATE object_version SET body = replace(body, '2000000', '9000000') WHERE id = 'q2'"
        assert connection.execute(changed).rowcount == 1
    connection.close()
    return tmp_path


def test_one_damaged_object_does_not_stop_the_api_and_is_restored_from_what_runs(damaged: Path) -> None:
    with World(damaged) as world, Live(world) as live:
        api = world.client()
        assert pages(api) == [(2, "q1"), (2, "q3")]
        assert api("GET", "/queues?sort=-rate_upload").json["total"] == 2
        answer = api("GET", "/queues/q2")
        assert (answer.status_code, answer.json["code"]) == (503, "store-damaged")
        assert "queue q2 is damaged on the disk" in weir(world, live, "store", "show")
        assert "`weir store restore` writes what runs" in store_check(world)[0][1]
        assert api("PATCH", "/queues/q1", {"comment": "goes on"}, headers=etag(api, "q1")).status_code == 200
        ran = world.agent.kernel["queue", "q1"]
        world.agent.kernel["queue", "q2"] = type(ran)(
            "q2", "q2", target=("10.0.0.2/32", "10.0.1.2/32"), max_limit_bps=ran.max_limit_bps
        )
        preview = api("GET", "/system/store/restore").json
        assert (preview["total"], preview["counts"]["added"], preview["next_cursor"]) == (1, 1, None)
        change = preview["changes"][0]
        assert (change["kind"], change["id"], change["action"]) == ("queue", "q2", "add")
        assert change["new"]["max_limit_bps"] == {"upload": 1_000_000, "download": 2_000_000}
        assert "queue q2: q2" in weir(world, live, "store", "restore", "--dry-run")
        assert api("GET", "/queues/q2").status_code == 503
        assert "holds what runs" in weir(world, live, "store", "restore")
        assert api("GET", "/system/store/restore").json["total"] == 0
        for address in ("10.0.0.2", "10.0.1.2"):
            assert [item["id"] for item in api("GET", f"/queues?q={address}").json["items"]] == ["q2"]
        assert api("GET", "/queues/q2").json["max_limit_bps"] == {"upload": 1_000_000, "download": 2_000_000}
        assert "damaged" not in weir(world, live, "store", "show")
        assert api("GET", "/queues").json["total"] == 3


def pages(api: Client) -> list[tuple[int, str]]:
    """The total that each page of one queue has, and the queue on it."""
    found, cursor = [], ""
    while True:
        page = api("GET", f"/queues?limit=1{cursor}").json
        found += [(page["total"], item["id"]) for item in page["items"]]
        if page["next_cursor"] is None:
            return found
        cursor = f"&cursor={page['next_cursor']}"


def test_damage_that_nobody_knew_is_neither_listed_nor_counted_once_it_was_read(tmp_path: Path) -> None:
    with World(tmp_path) as world:
        api = world.client()
        for number in range(1, 5):
            body = {"id": f"q{number}", "name": f"q{number}", "comment": f"number {number}"}
            assert api("POST", "/queues", body).status_code == 201
        with sqlite3.connect(tmp_path / "weir.db") as connection:
            connection.execute("UPDATE object_version SET body = replace(body, 'number 2', 'number 9')")
        connection.close()
        page = api("GET", "/queues").json
        assert (page["total"], [item["id"] for item in page["items"]]) == (3, ["q1", "q3", "q4"])
        assert pages(api) == [(3, "q1"), (3, "q3"), (3, "q4")]
        assert api("GET", "/queues?q=number").json["total"] == 3


def etag(api: Client, name: str) -> dict[str, str]:
    return {"If-Match": api("GET", f"/queues/{name}").headers["ETag"]}


def test_damage_that_comes_later_is_found_by_the_daily_look_and_named(tmp_path: Path) -> None:
    """Also in an older revision, which nobody reads; no request waits for the look."""
    with World(tmp_path) as world:
        world.parts.stats.stop()
        api = world.client()
        assert api("POST", "/queues", {"id": "q1", "name": "q1", "comment": "old"}).status_code == 201
        assert api("PATCH", "/queues/q1", {"comment": "new"}, headers=etag(api, "q1")).status_code == 200
        daily = world.parts.service.daily
        daily.look()
        assert daily.damage == []
        with sqlite3.connect(tmp_path / "weir.db") as connection:
            connection.execute("UPDATE object_version SET body = replace(body, 'old', 'odd')")
        connection.close()
        assert store_check(world) == []
        daily.look()
        ((state, message),) = store_check(world)
        assert state == "failed" and "ueue q1 is damaged on the disk (revision 1)" in message
        assert "`weir store restore` has nothing to write" in message, "what runs is whole"
        named = api("GET", "/system/store").json["damaged"]
        assert (named[0]["kind"], named[0]["id"]) == ("queue", "q1")


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        ("UPDATE user SET scope = 'admin' WHERE username = 'eve'", "account eve is damaged on the disk"),
        ("UPDATE token SET scope = 'admin' WHERE name = 'meter'", "token meter is damaged on the disk"),
        (
            "INSERT INTO session (secret_hash, public_id, user_id, created_at_ms, last_seen_at_ms, "
            "expires_at_ms, source, user_agent) SELECT randomblob(32), 's', id, 0, 0, 1 << 60, '', '' "
            "FROM user LIMIT 1",
            "a session of account",
        ),
    ],
    ids=["account", "token", "session"],
)
def test_damaged_accounts_are_found_by_the_daily_look_and_named(
    tmp_path: Path, damage: str, said: str
) -> None:
    """A user who tries one is refused; without the look only he would hear of it."""
    with World(tmp_path) as world:
        world.parts.stats.stop()
        api = world.client()
        eve = {"username": "eve", "password": "a long enough phrase", "scope": "read"}
        assert api("POST", "/users", eve).status_code == 201
        assert api("POST", "/tokens", {"name": "meter", "scope": "read"}).status_code == 201
        daily = world.parts.service.daily
        daily.look()
        assert daily.damage == []
        with sqlite3.connect(tmp_path / "weir-accounts.db") as connection:
            assert connection.execute(damage).rowcount > 0
        connection.close()
        daily.look()
        assert [said in item.message for item in daily.damage or ()] == [True]
        assert said in api("GET", "/system/store").json["damaged"][0]["message"]


def test_what_the_api_knows_is_said_while_the_agent_is_away(damaged: Path) -> None:
    with World(damaged) as world, Live(world) as live:
        world.parts.stats.stop()
        world.agent.__exit__()
        found = world.client()("GET", "/system/store")
        assert found.status_code == 200
        assert (found.json["followed"], found.json["running_revision"]) == (None, None)
        assert "the agent" in found.json["reason"] and found.json["damaged"][0]["id"] == "q2"
        shown = weir(world, live, "store", "show")
        assert "not known whether the database is followed" in shown and "queue q2 is damaged" in shown
        assert "ueue q2 is damaged" in store_check(world)[0][1]
        (agent,) = [c for c in world.client()("GET", "/system").json["checks"] if c["id"] == "agent"]
        assert agent["message"].count("does not answer") == 1
