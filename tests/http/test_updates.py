# SPDX-License-Identifier: Apache-2.0
"""Updates by REST: who may, what is received, what is refused and leaves nothing behind."""

from __future__ import annotations

import errno
import os
import shutil
from typing import Any

import pytest

from tests.http.world import Client, World
from weir.model.bundle import MAX_BUNDLE_BYTES
from weir.model.problem import Invalid
from weir.service import updates

BUNDLE = b"1.2.0" + bytes(range(256)) * 5000


def send(api: Client, data: bytes, **options: Any) -> Any:
    return api("POST", "/system/update", data=data, content_type="application/octet-stream", **options)


def announced(length: int) -> dict[str, str]:
    return {"CONTENT_LENGTH": str(length)}


def left_over(world: World) -> list[str]:
    folder = world.database.parent / "uploads"
    return [path.name for path in folder.iterdir()] if folder.exists() else []


def test_a_bundle_reaches_the_agent_byte_for_byte_and_nothing_stays(world: World, api: Client) -> None:
    done = send(api, BUNDLE)
    assert done.status_code == 202, done.json
    assert world.agent.updates.taken == BUNDLE
    assert done.json["job"]["state"] == "installing"
    assert done.json["job"]["started_at"] == "1970-01-01T00:00:01.000Z"
    assert left_over(world) == []
    shown = api("GET", "/system/update").json
    assert (shown["booted"], [slot["name"] for slot in shown["slots"]]) == ("A", ["A", "B"])
    trail = api("GET", "/system/audit").json["items"]
    assert [item["subject"] for item in trail if item["action"] == "system.update"] == ["version 1.2.0"]


def test_what_the_agent_refuses_is_said_and_nothing_stays(world: World, api: Client) -> None:
    world.agent.updates.refusal = Invalid("not signed", code="bundle-untrusted")
    refused = send(api, BUNDLE)
    assert (refused.status_code, refused.json["code"]) == (422, "bundle-untrusted")
    assert left_over(world) == []


def test_an_empty_body_and_one_that_is_too_long_are_refused(api: Client) -> None:
    empty = send(api, b"")
    assert (empty.status_code, empty.json["code"]) == (422, "no-file")
    too_long = send(api, b"x", environ_overrides=announced(MAX_BUNDLE_BYTES + 1))
    assert too_long.status_code == 413


def test_an_upload_that_breaks_off_is_refused(world: World, api: Client) -> None:
    cut = send(api, BUNDLE[:100], environ_overrides=announced(len(BUNDLE)))
    assert cut.status_code == 400, cut.json
    assert world.agent.updates.taken == b""
    assert left_over(world) == []


def test_a_full_disk_is_said_before_anything_is_written(
    world: World, api: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = shutil.disk_usage("/")._replace(free=len(BUNDLE))
    monkeypatch.setattr(updates.shutil, "disk_usage", lambda _path: usage)
    refused = send(api, BUNDLE)
    assert (refused.status_code, refused.json["code"]) == (503, "disk-full")
    assert left_over(world) == []


@pytest.mark.parametrize(("number", "code"), [(errno.ENOSPC, "disk-full"), (errno.EIO, "upload")])
def test_a_disk_that_fails_while_the_bundle_comes_is_said(
    world: World, api: Client, monkeypatch: pytest.MonkeyPatch, number: int, code: str
) -> None:
    def fail(*_: object) -> int:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(updates, "_copy", fail)
    refused = send(api, BUNDLE)
    assert (refused.status_code, refused.json["code"]) == (503, code)
    assert left_over(world) == []


def test_what_a_killed_process_left_goes_with_the_next_upload(world: World, api: Client) -> None:
    folder = world.database.parent / "uploads"
    folder.mkdir()
    (folder / "dead.raucb").write_bytes(b"x")
    assert send(api, BUNDLE).status_code == 202
    assert left_over(world) == []


@pytest.mark.parametrize("scope", ["read", "write"])
def test_only_administrators_update_and_restart(world: World, scope: str) -> None:
    client = world.client(scope)
    assert client("GET", "/system/update").status_code == 200
    assert send(client, BUNDLE).status_code == 403
    assert client("POST", "/system/update/slot", {"slot": "B"}).status_code == 403
    assert client("POST", "/system/restart").status_code == 403
    assert world.agent.updates.restarts == 0


def test_a_slot_is_chosen_and_the_router_restarted(world: World, api: Client) -> None:
    assert api("POST", "/system/update/slot", {"slot": "B"}).json["next"] == "B"
    assert api("POST", "/system/update/slot", {"slot": "C"}).status_code == 422
    assert api("POST", "/system/restart").status_code == 202
    assert world.agent.updates.restarts == 1
