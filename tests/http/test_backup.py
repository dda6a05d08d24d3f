# SPDX-License-Identifier: Apache-2.0
"""A backup is the whole configuration without a secret; a restore is one revision or a refusal as a whole."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from tests.http.world import Client, World
from weir.http.app import attach


def fill(api: Client) -> None:
    for method, path, body in (
        ("POST", "/queues", {"name": "acme", "target": ["10.0.0.1"], "priority": {"upload": 1}}),
        ("POST", "/queues", {"name": "über \u2028 line", "target": ["10.0.0.2"]}),
        ("PUT", "/queue-types/mine", {"type": "pcq", "options": {"pcq-rate": "1M"}}),
        ("PUT", "/interfaces/wan0", {"role": "wan", "addresses": ["192.0.2.1/24"]}),
        ("POST", "/static-routes", {"destination": "10.0.0.0/8", "blackhole": True}),
    ):  # fmt: skip
        made = api(method, path, body)
        assert made.status_code == 201, made.json
    etag = api("GET", "/tuning").json["etag"]
    assert api("PUT", "/tuning", {"overrides": {"a": "b"}}, etag=etag).status_code in (200, 201)


def saved(api: Client) -> bytes:
    answer = api("GET", "/backup")
    assert answer.status_code == 200
    return bytes(answer.data)


def send(api: Client, path: str, data: bytes) -> Any:
    return api("POST", path, data=data, content_type="application/octet-stream")


@pytest.fixture
def other(tmp_path: Path) -> Any:
    """A second router, empty but for a queue of its own."""
    folder = tmp_path / "other"
    folder.mkdir()
    with World(folder) as found:
        api = found.client()
        assert api("POST", "/queues", {"name": "old", "target": ["10.9.9.9"]}).status_code == 201
        yield found


def test_a_file_makes_another_router_the_same(world: World, api: Client, other: World) -> None:
    attach(world.app, world.settings, world.parts)
    fill(api)
    data = saved(api)
    attach(world.app, other.settings, other.parts)
    there = other.client()
    report = send(there, "/backup/check", data).json
    # Both have a queue q1: it is changed, nothing of the other router stays.
    assert report["counts"] == {"added": 5, "changed": 1, "removed": 0}
    assert report["can_restore"] is True
    assert there("GET", "/queues").json["total"] == 1
    done = send(there, "/backup/restore", data)
    assert done.status_code == 200, done.json
    again = saved(there)
    assert again.split(b"\n", 1)[1] == data.split(b"\n", 1)[1]
    assert send(there, "/backup/check", data).json["counts"] == {"added": 0, "changed": 0, "removed": 0}
    assert there("GET", "/revisions/2").json["message"].startswith("restore the backup of ")


def test_what_the_file_does_not_name_goes_and_comes_back_with_the_revision(api: Client) -> None:
    empty = saved(api)
    fill(api)
    head = api("GET", "/revisions").json["items"][0]["revision"]
    assert send(api, "/backup/restore", empty).json["counts"]["removed"] == 6
    assert api("GET", "/queues").json["total"] == 0
    api("POST", f"/revisions/{head}/restore", {})
    assert api("GET", "/queues").json["total"] == 2


def test_a_restore_that_nobody_confirms_can_be_taken_back(api: Client) -> None:
    fill(api)
    data = saved(api)
    api("DELETE", "/queues/q1", etag=api("GET", "/queues/q1").json["etag"])
    done = send(api, "/backup/restore?confirm_within_s=60", data).json
    assert done["pending"]["seconds_left"] > 0


def test_no_secret_is_in_it(world: World, api: Client) -> None:
    fill(api)
    data = saved(api)
    assert world.password.encode() not in data and world.token().encode() not in data
    assert b"argon2" not in data and b"admin" not in data


def test_files_that_were_cut_changed_or_are_something_else_are_refused_as_a_whole(api: Client) -> None:
    fill(api)
    data = saved(api)
    head, rest = data.split(b"\n", 1)
    newer = json.loads(head) | {"version": 2}
    for wrong, code in (
        (b"", "backup-unknown"),
        (b"{}", "backup-unknown"),
        (b"\xff\xfe garbage", "backup-unknown"),
        (data[: len(data) // 2], "backup-damaged"),
        (head + b"\n" + rest.replace(b"acme", b"ACME"), "backup-damaged"),
        (json.dumps(newer).encode() + b"\n" + rest, "backup-version"),
    ):
        for path in ("/backup/check", "/backup/restore"):
            refused = send(api, path, wrong)
            assert (refused.status_code, refused.json["code"]) == (422, code), wrong[:80]


def test_an_object_that_this_release_cannot_accept_is_named_by_its_line(api: Client) -> None:
    fill(api)
    data = rewritten(saved(api), b'"type":"pcq"', b'"type":"xyz"')
    refused = send(api, "/backup/check", data)
    assert (refused.status_code, refused.json["code"]) == (422, "backup-refused")
    assert "line " in refused.json["detail"]


def rewritten(data: bytes, old: bytes, new: bytes) -> bytes:
    """As a tool that knows the format would do it: the digest fits."""
    head, rest = data.split(b"\n", 1)
    assert old in rest
    rest = rest.replace(old, new)
    fields = json.loads(head) | {"sha256": hashlib.sha256(rest).hexdigest()}
    return json.dumps(fields).encode() + b"\n" + rest


def test_readers_may_save_and_only_writers_restore(world: World, api: Client) -> None:
    data = saved(world.client("read"))
    assert send(world.client("read"), "/backup/check", data).status_code == 403
    assert send(world.client("read"), "/backup/restore", data).status_code == 403
    assert send(world.client("write"), "/backup/restore", data).status_code == 200
