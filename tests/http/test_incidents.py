# SPDX-License-Identifier: Apache-2.0
"""Incidents by REST: the list, one of them with its figures, and in the support file."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.http.world import Client, World, still_world


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with still_world(tmp_path) as found:
        found.parts.stats.tick()
        yield found


def refuse(world: World, api: Client) -> dict[str, Any]:
    """A commit that the kernel does not take; its incident."""
    world.agent.refuse = "wan0 takes no more classes"
    answer = api("POST", "/queues", {"name": "refused"})
    world.agent.refuse = None
    assert answer.status_code == 502, answer.text
    world.parts.stats.tick()
    found: dict[str, Any] = api("GET", "/diagnosis/incidents").json["items"][0]
    return found


def test_nothing_began_is_said_with_since_when(api: Client) -> None:
    found = api("GET", "/diagnosis/incidents").json
    assert (found["items"], found["problems"], found["kept"], found["around_s"]) == ([], [], 200, 120)
    assert found["since"].endswith("Z")


def test_a_commit_that_the_kernel_refuses_is_an_incident_with_figures(world: World, api: Client) -> None:
    queue_id = api("POST", "/queues", {"name": "acme"}).json["id"]
    for _ in range(2):
        world.parts.stats.tick()
    world.agent.maps.count(queue_id, 1, bytes=125_000, packets=100)
    head = refuse(world, api)
    assert (head["code"], head["subject"], head["severity"]) == ("commit-failed", "configuration", "error")
    assert (head["times"], head["state"], head["at"]) == (1, "recording", head["recorded_until"])
    assert head["sentence"].startswith("A commit by ") and "wan0 takes no more classes" in head["sentence"]
    found = api("GET", f"/diagnosis/incidents/{head['id']}").json
    assert {name: found[name] for name in head} == head
    assert {item["id"] for item in found["interfaces"]} == {"lan0", "wan0"}
    (queue,) = found["queues"]
    assert (queue["id"], queue["name"]) == (queue_id, "acme")
    assert any(queue["download"]["rate_bps"][118:]) and not any(queue["upload"]["rate_bps"])
    assert len(found["cores"]) == len(found["interfaces"][0]["rx"]["rate_bps"]) == 240
    assert found["events"][-1] | {"at": ""} == {
        "at": "", "code": "commit-failed", "subject": "configuration", "severity": "error",
        "sentence": head["sentence"], "begins": True,
    }  # fmt: skip


def test_what_is_not_there_or_damaged_is_refused_with_its_name(
    world: World, api: Client, tmp_path: Path
) -> None:
    head = refuse(world, api)
    gone = api("GET", "/diagnosis/incidents/77")
    assert (gone.status_code, gone.json["code"]) == (404, "no-incident")
    for wrong in ("0x1", "-1", "1.5", "x", "9" * 40, "%00"):
        assert api("GET", f"/diagnosis/incidents/{wrong}").status_code == 404, wrong
    path = tmp_path / "weir-statistics-incidents" / f"{head['id']}.incident"
    path.write_bytes(path.read_bytes()[:200])
    damaged = api("GET", f"/diagnosis/incidents/{head['id']}")
    assert (damaged.status_code, damaged.json["code"]) == (503, "incident-damaged")
    found = api("GET", "/diagnosis/incidents").json
    assert found["items"] == [] and path.name in found["problems"][0]


@pytest.mark.parametrize("scope", ["read", "support", "write"])
def test_who_may_read_findings_may_read_incidents(world: World, scope: str) -> None:
    head = refuse(world, world.client())
    assert world.client(scope)("GET", "/diagnosis/incidents").json["items"][0]["id"] == head["id"]
    assert world.client(scope)("GET", f"/diagnosis/incidents/{head['id']}").status_code == 200
    for path in ("/diagnosis/incidents", f"/diagnosis/incidents/{head['id']}"):
        assert world.client(None)("GET", path).status_code == 401


def test_the_support_file_has_them(world: World, api: Client) -> None:
    head = refuse(world, api)
    with zipfile.ZipFile(io.BytesIO(api("GET", "/diagnosis/support-file").data)) as archive:
        found = json.loads(archive.read("incidents.json"))
    assert [item["id"] for item in found["items"]] == [head["id"]]
    assert found["with_figures"][0]["sentence"] == head["sentence"]
    assert len(found["with_figures"][0]["cores"]) == 240
