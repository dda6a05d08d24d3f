# SPDX-License-Identifier: Apache-2.0
"""Figures by the minute and marks by REST, and in the support file."""

from __future__ import annotations

import io
import json
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import pytest

from tests.http.world import Client, World, still_world


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with still_world(tmp_path) as found:
        yield found


def pass_minutes(world: World, minutes: int) -> None:
    """A sample each ten seconds, of minutes that end now."""
    figures, now = world.parts.stats.figures, time.time()
    with mock.patch.object(figures, "_clock", lambda: figures._wall()):
        for second in range(-60 * minutes, 61, 10):
            with mock.patch.object(figures, "_wall", lambda at=second: now + at):
                world.agent.look = {
                    "clock_s": 1e6 + second,
                    "gauges": {"connections": 40},
                    "counters": {"core-squeezed/0": 1000 + second},
                    "unseen": {"neighbours": "none here"},
                }
                world.parts.stats.tick()


def test_figures_are_given_by_the_minute(world: World, api: Client) -> None:
    pass_minutes(world, 3)
    found = api("GET", "/diagnosis/figures?minutes=5").json
    assert (found["step_s"], found["minutes"], found["start"] % 60) == (60, 5, 0)
    items = {item["figure"]: item for item in found["items"]}
    assert items["connections"]["values"][-3:] == [40.0] * 3 and items["connections"]["values"][0] is None
    assert items["connections"]["most"][-1] == 40.0 and not items["connections"]["adds_up"]
    assert {"cores", "memory", "load"} <= set(items) and "core" not in items
    assert {item["id"] for item in found["unseen"]} == {
        "neighbours-v4", "neighbours-v4-refused", "neighbours-v6", "neighbours-v6-refused"
    }  # fmt: skip
    assert found["problems"] == []


def test_the_figures_that_are_wanted_are_named(world: World, api: Client) -> None:
    pass_minutes(world, 2)
    found = api("GET", "/diagnosis/figures?figures=core-squeezed,core&minutes=2").json
    assert [(item["figure"], item["subject"]) for item in found["items"]] == [
        ("core-squeezed", "0"), ("core", "0"), ("core", "1")
    ]  # fmt: skip
    squeezed = found["items"][0]
    assert (squeezed["adds_up"], squeezed["most"], squeezed["of"]) == (True, None, "core")
    assert squeezed["values"][-1] == 60.0
    for wrong in ("figures=lamps", "minutes=0", "minutes=1441", "minutes=x", "figures=" + "core," * 99):
        answer = api("GET", f"/diagnosis/figures?{wrong}")
        assert answer.status_code == 422, wrong
        assert wrong.partition("=")[0] in str(answer.json), wrong


def test_marks_are_commits_and_incidents(world: World, api: Client) -> None:
    world.parts.stats.tick()
    assert api("POST", "/queues", {"name": "acme"}).status_code == 201
    world.agent.refuse = "wan0 takes no more classes"
    assert api("POST", "/queues", {"name": "refused"}).status_code == 502
    world.parts.stats.tick()
    found = api("GET", "/diagnosis/marks?minutes=5").json
    assert [(item["kind"], item["revision"], item["incident"]) for item in found["items"]] == [
        ("commit", 1, None), ("incident", None, 1)
    ]  # fmt: skip
    assert found["items"][0]["at"].endswith("Z") and found["whole_since"] < found["items"][0]["at"]
    assert api("GET", "/diagnosis/marks?minutes=43201").status_code == 422


def test_a_full_or_damaged_disk_is_told(world: World, api: Client, tmp_path: Path) -> None:
    path = tmp_path / "weir-statistics-figures.db"
    path.unlink(missing_ok=True)
    path.mkdir()
    pass_minutes(world, 2)
    found = api("GET", "/diagnosis/figures").json
    assert "weir-statistics-figures.db" in found["problems"][0]
    assert next(item for item in found["items"] if item["figure"] == "cores")["values"][-1] is not None


@pytest.mark.parametrize("path", ["/diagnosis/figures", "/diagnosis/marks"])
def test_who_may_read_findings_may_read_them(world: World, path: str) -> None:
    assert world.client("read")("GET", path).status_code == 200
    assert world.client(None)("GET", path).status_code == 401


def test_the_support_file_has_a_day_of_them(world: World, api: Client) -> None:
    pass_minutes(world, 2)
    with zipfile.ZipFile(io.BytesIO(api("GET", "/diagnosis/support-file").data)) as archive:
        found = json.loads(archive.read("figures.json"))
    items = {(item["figure"], item["subject"]): item for item in found["items"]}
    assert len(items["cores", None]["values"]) == found["minutes"] == 1440
    assert items["cores", None]["most"] and "most" not in items["core", "0"]
    assert items["core-squeezed", "0"]["values"][-1] == 60.0
