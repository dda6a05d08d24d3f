# SPDX-License-Identifier: Apache-2.0
"""Candidates, commits with confirmation, revisions, by REST."""

from __future__ import annotations

import time
from datetime import datetime
from typing import Any

from tests.http.world import Client, World

QUEUE = {"name": "acme", "target": ["10.0.0.1/32"]}


def stage(api: Client, name: str = "acme", **fields: Any) -> Any:
    answer = api("POST", "/queues?candidate=1", {"name": name, **fields})
    assert answer.status_code == 202, answer.json
    return answer.json


def test_a_candidate_is_staged_compared_validated_and_committed(api: Client) -> None:
    assert api("GET", "/candidate").json == {"candidate": None}
    staged = stage(api, target=["10.0.0.1/32"])
    assert staged["candidate"]["kinds"] == {"queue": 1}
    queue_id = staged["ids"][0]
    assert api("GET", f"/queues/{queue_id}").status_code == 404
    assert api("GET", f"/queues/{queue_id}?candidate=1").json["name"] == "acme"

    diff = api("GET", "/candidate/diff").json
    assert diff["counts"] == {"added": 1, "changed": 0, "removed": 0}
    assert diff["changes"][0]["action"] == "add"
    assert diff["kernel"]["available"] is True
    assert api("POST", "/candidate/validate").json["valid"] is True

    done = api("POST", "/candidate/commit", {"message": "why"})
    assert done.status_code == 200, done.json
    assert done.json["counts"]["added"] == 1
    assert done.json["pending"] is None
    assert api("GET", "/candidate").json == {"candidate": None}
    assert api("GET", f"/queues/{queue_id}").status_code == 200


def places(api: Client) -> dict[str, int]:
    """Positions of the staged queues by name."""
    changes = api("GET", "/candidate/diff").json["changes"]
    return {change["new"]["name"]: change["new"]["position"] for change in changes}


def test_queues_that_are_staged_one_by_one_stand_in_that_order(api: Client) -> None:
    """Each was put behind what runs, so all of them had the same place and were ordered by id."""
    running = api("POST", "/queues", {"name": "runs"}).json["position"]
    for name in ("c", "b"):
        stage(api, name)
    assert api("PUT", "/queues/a?candidate=1", {"name": "a"}).status_code == 202
    assert (
        api("POST", "/queues/bulk?candidate=1", {"upsert": [{"name": "z"}, {"name": "y"}]}).status_code == 202
    )
    by_hand = [{"kind": "queue", "id": name, "new": {"name": name}} for name in ("x", "w")]
    assert api("PUT", "/candidate/changes", {"changes": by_hand}).status_code == 200
    assert places(api) == {name: running + 10 * n for n, name in enumerate("cbazyxw", start=1)}

    again = [{"kind": "queue", "id": "a", "new": {"name": "a", "comment": "stays"}}]
    assert api("PUT", "/candidate/changes", {"changes": again}).status_code == 200
    bulk = {"upsert": [{"id": "x", "name": "x", "comment": "stays"}]}
    assert api("POST", "/queues/bulk?candidate=1", bulk).status_code == 202
    assert sorted(places(api).items(), key=lambda item: item[1])[2::3] == [
        ("a", running + 30),
        ("x", running + 60),
    ]
    below = stage(api, "below", parent="a")["ids"][0]
    assert api("GET", f"/queues/{below}?candidate=1").json["position"] == 10


def test_candidates_belong_to_their_user(world: World, api: Client) -> None:
    made = api("POST", "/users", {"username": "ops", "scope": "write", "password": "a long pass phrase"}).json
    assert made["user"]["username"] == "ops"
    session = world.app.test_client()
    body = {"username": "ops", "password": "a long pass phrase"}
    csrf = session.post("/api/v1/auth/sign-in", json=body).json["csrf_token"]
    answer = session.post("/api/v1/queues?candidate=1", json=QUEUE, headers={"X-CSRF-Token": csrf})
    assert answer.status_code == 202
    assert api("GET", "/candidate").json == {"candidate": None}


def test_edits_of_the_candidate_follow_its_etags(api: Client) -> None:
    made = api("POST", "/queues", QUEUE).json
    path = f"/queues/{made['id']}?candidate=1"
    assert api("PATCH", path, {"comment": "1"}, etag=made["etag"]).status_code == 202
    staged = api("GET", path).json
    assert staged["etag"] != made["etag"]
    assert api("PATCH", path, {"comment": "2"}, etag=made["etag"]).status_code == 412
    assert api("PATCH", path, {"comment": "2"}, etag=staged["etag"]).status_code == 202
    fields = api("GET", "/candidate/diff").json["changes"][0]["fields"]
    assert fields == [{"field": "comment", "old": "", "new": "2"}]
    assert api("DELETE", f"/candidate/changes/queue/{made['id']}").json["candidate"]["change_count"] == 0
    assert api("DELETE", "/candidate").status_code == 204
    assert api("DELETE", "/candidate").status_code == 404


def test_a_staged_change_replaces_the_version_that_it_was_made_on(api: Client) -> None:
    """Two windows of one account overwrote each other's staged change without a word."""
    made = api("POST", "/queues", QUEUE).json

    def put(comment: str, base: str | None) -> int:
        change = {"kind": "queue", "id": made["id"], "new": {**QUEUE, "comment": comment}, "base": base}
        return int(api("PUT", "/candidate/changes", {"changes": [change]}).status_code)

    def staged() -> dict[str, Any]:
        (found,) = api("GET", "/candidate/diff").json["changes"]
        return dict(found)

    assert put("first window", made["etag"]) == 200
    first = staged()
    assert abs(datetime.fromisoformat(first["staged_at"]).timestamp() - time.time()) < 60
    assert put("second window", made["etag"]) == 412
    assert put("second window", "none") == 409
    assert staged() == first
    assert put("second window", first["etag"]) == 200
    assert staged()["new"]["comment"] == "second window"
    assert put("first window", first["etag"]) == 412
    assert put("whatever there is", None) == 200
    api("DELETE", f"/candidate/changes/queue/{made['id']}")
    assert put("of one that was withdrawn", first["etag"]) == 412


def test_a_conflict_is_shown_and_resolved(api: Client) -> None:
    made = api("POST", "/queues", QUEUE).json
    api("PATCH", f"/queues/{made['id']}?candidate=1", {"comment": "mine"}, etag=made["etag"])
    api("PATCH", f"/queues/{made['id']}", {"comment": "theirs"}, etag=made["etag"])
    candidate = api("GET", "/candidate").json["candidate"]
    (conflict,) = candidate["conflicts"]
    assert (conflict["kind"], conflict["id"], conflict["author"]) == (
        "queue",
        made["id"],
        candidate["author"],
    )
    assert abs(datetime.fromisoformat(conflict["changed_at"]).timestamp() - time.time()) < 60
    refused = api("POST", "/candidate/commit", {})
    assert (refused.status_code, refused.json["code"]) == (409, "candidate-conflict")
    assert api("POST", "/candidate/resolve", {"keep": "mine"}).json["candidate"]["conflict_count"] == 0
    assert api("POST", "/candidate/commit", {}).status_code == 200
    assert api("GET", f"/queues/{made['id']}").json["comment"] == "mine"


def test_many_changes_are_taken_out_at_once_or_none_of_them(api: Client) -> None:
    names = [f"many-{number}" for number in range(30)]
    staged = [{"kind": "queue", "id": name, "new": {**QUEUE, "name": name}} for name in names]
    api("PUT", "/candidate/changes", {"changes": staged})
    found = api("GET", "/candidate/diff").json["changes"]
    wanted = [{"kind": "queue", "id": change["id"], "base": change["etag"]} for change in found]

    def unstage(changes: list[dict[str, Any]]) -> Any:
        return api("POST", "/candidate/unstage", {"changes": changes})

    api("PUT", "/candidate/changes", {"changes": [{**staged[7], "new": {**QUEUE, "name": "newer"}}]})
    refused = unstage(wanted)
    assert (refused.status_code, refused.json["path"]) == (412, "queue/many-7")
    assert unstage([*wanted[:3], {"kind": "queue", "id": "not-staged"}]).status_code == 404
    assert api("GET", "/candidate").json["candidate"]["change_count"] == 30
    others = [change for change in wanted if change["id"] != "many-7"]
    assert unstage(others).json["candidate"]["change_count"] == 1
    assert unstage([{"kind": "queue", "id": "many-7"}]).json["candidate"]["change_count"] == 0


def test_who_else_has_staged_a_change_of_an_object_is_told(api: Client) -> None:
    made = api("POST", "/queues", QUEUE).json
    api("PATCH", f"/queues/{made['id']}?candidate=1", {"comment": "mine"}, etag=made["etag"])
    assert api("GET", f"/candidate/others?kind=queue&id={made['id']}").json == {"items": []}
    assert api("GET", "/candidate/others?kind=nothing&id=q1").status_code == 422
    assert api("GET", "/candidate/others?kind=queue").status_code == 422


def test_changes_of_several_kinds_are_staged_in_one_request(api: Client) -> None:
    body = {
        "changes": [
            {"kind": "queue", "id": None, "new": QUEUE},
            {"kind": "queue-type", "id": "small", "new": {"type": "pfifo"}},
            {"kind": "interface", "id": "wan0", "new": {"role": "wan"}},
        ]
    }
    answer = api("PUT", "/candidate/changes", body)
    assert answer.json["candidate"]["kinds"] == {"queue": 1, "queue-type": 1, "interface": 1}
    bad = api("PUT", "/candidate/changes", {"changes": [{"kind": "queue", "id": None, "new": {"name": 5}}]})
    assert bad.status_code == 422


def test_a_commit_waits_for_its_confirmation(api: Client) -> None:
    stage(api)
    done = api("POST", "/candidate/commit", {"confirm_within_s": 300}).json
    pending = done["pending"]
    assert 290 < pending["seconds_left"] <= 300
    shown = api("GET", "/config/pending").json
    assert shown["pending"]["revision"] == done["revision"]
    assert shown["pending"]["token"] is None
    blocked = api("POST", "/queues", {"name": "other"})
    assert blocked.status_code == 409
    assert api("GET", "/revisions").json["items"][0]["state"] == "pending"

    assert api("POST", "/config/confirm", {"revision": 99}).status_code == 409
    assert api("POST", "/config/confirm", {"revision": done["revision"]}).status_code == 403
    kept = api("POST", "/config/confirm", {"revision": done["revision"], "token": pending["token"]})
    assert kept.json == {"pending": None, "revision": done["revision"]}
    assert api("POST", "/queues", {"name": "other"}).status_code == 201


def test_a_pending_commit_is_reverted_at_once(api: Client) -> None:
    stage(api)
    api("POST", "/candidate/commit", {"confirm_within_s": 300})
    assert api("POST", "/config/revert").status_code == 200
    assert api("GET", "/queues").json["total"] == 0
    assert api("POST", "/config/revert").status_code == 409


def test_revisions_are_listed_compared_and_restored(api: Client) -> None:
    made = api("POST", "/queues", QUEUE).json
    api("PATCH", f"/queues/{made['id']}", {"comment": "x"}, etag=made["etag"])
    items = api("GET", "/revisions").json["items"]
    assert [item["revision"] for item in items[:2]] == [2, 1]
    assert items[0]["state"] == "running"
    assert api("GET", "/revisions/2").json["changes"][0]["fields"][0]["field"] == "comment"
    diff = api("GET", "/revisions/0/diff/2").json
    assert diff["counts"]["added"] == 1
    restored = api("POST", "/revisions/1/restore", {"message": "back"}).json
    assert restored["revision"] == 3
    assert api("GET", f"/queues/{made['id']}").json["comment"] == ""
    assert api("GET", "/revisions/3").json["restores"] == 1
    assert api("GET", "/revisions/99").status_code == 404
    assert api("GET", "/revisions/99999999999999999999").status_code == 404
    first = api("GET", "/revisions?limit=2").json
    rest = api("GET", f"/revisions?limit=2&cursor={first['next_cursor']}").json
    assert [item["revision"] for item in rest["items"]] == [1, 0]


def test_a_long_diff_is_paged(api: Client) -> None:
    body = {"upsert": [{"name": f"q{index}"} for index in range(25)]}
    assert api("POST", "/queues/bulk?candidate=1", body).status_code == 202
    first = api("GET", "/candidate/diff?limit=20").json
    rest = api("GET", f"/candidate/diff?limit=20&cursor={first['next_cursor']}").json
    assert (len(first["changes"]), len(rest["changes"]), first["total"]) == (20, 5, 25)


def test_an_id_that_people_choose_is_not_made_up(api: Client) -> None:
    for kind, new in (("interface", {}), ("queue-type", {"type": "pfifo"}), ("firewall", {}), ("tuning", {})):
        refused = api("PUT", "/candidate/changes", {"changes": [{"kind": kind, "id": None, "new": new}]})
        assert (refused.status_code, refused.json["code"]) == (422, "bad-id"), kind
        assert "give one" in refused.json["detail"]
    assert api("GET", "/candidate").json["candidate"] is None
