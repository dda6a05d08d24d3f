# SPDX-License-Identifier: Apache-2.0
"""The router's log by REST: who may read it, what is told of it, and what no search finds."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.http.world import Client, World
from tests.readable import readable_folder, shell_script

CURSOR = "s={0};i={1:x};b={0};m={1:x};t={1:x};x={1:x}"
SECRET = "hook-s3cret"
TARGET = {"type": "webhook", "url": "https://c.example.net/", "token": SECRET}


@pytest.fixture
def folder() -> Iterator[Path]:
    with readable_folder("log") as made:
        yield made


def entry(number: int, text: str, unit: str = "weir-agent.service", severity: int = 6) -> dict[str, Any]:
    return {
        "__CURSOR": CURSOR.format("0" * 32, number),
        "__REALTIME_TIMESTAMP": str((1_800_000_000 + number) * 1_000_000),
        "_SYSTEMD_UNIT": unit,
        "SYSLOG_IDENTIFIER": unit.removesuffix(".service"),
        "_PID": "7",
        "PRIORITY": str(severity),
        "MESSAGE": text,
    }


def keep_journal(world: World, folder: Path, *entries: dict[str, Any]) -> None:
    """The journal's reader tells these, whatever it is asked for, the newest first."""
    lines = "".join(json.dumps(item) + "\n" for item in reversed(entries))
    (folder / "entries").write_text(lines)
    script = f'case "$*" in *--field=*) echo weir-agent.service;; *) exec cat {folder}/entries;; esac'
    world.agent.journal_reader = shell_script(folder, script)


def test_lines_are_told_with_time_severity_and_source(api: Client, world: World, folder: Path) -> None:
    keep_journal(world, folder, entry(1, "it begins"), entry(2, "<script>\x1b[31m", severity=4))
    found = api("GET", "/diagnosis/log").json
    assert [line["text"] for line in found["items"]] == ["it begins", "<script>\x1b[31m"]
    assert found["items"][1] == {
        "cursor": CURSOR.format("0" * 32, 2), "at": "2027-01-15T08:00:02.000Z", "severity": "warning",
        "source": "weir-agent", "process": "weir-agent", "pid": "7", "text": "<script>\x1b[31m",
    }  # fmt: skip
    assert found["cursor"] == CURSOR.format("0" * 32, 2) and found["sources"] == ["kernel", "weir-agent"]
    assert (found["more"], found["looked_at"]) == (False, 2)
    assert api("GET", "/diagnosis/log?since=2026-01-31T08:00:00%2B01:00").json == found
    assert found["looked_from"] == "2027-01-15T08:00:01.000Z"


def test_a_secret_is_neither_told_nor_found_by_a_search(api: Client, world: World, folder: Path) -> None:
    assert api("PUT", "/alert-targets/chat", TARGET).status_code == 201
    keep_journal(world, folder, entry(1, f"a receiver said {SECRET} twice: {SECRET}"))
    found = api("GET", "/diagnosis/log")
    assert SECRET not in found.text and found.json["items"][0]["text"] == "a receiver said *** twice: ***"
    assert len(api("GET", "/diagnosis/log?q=RECEIVER").json["items"]) == 1
    for part in (SECRET, SECRET[:4], SECRET[3:]):
        answer = api("GET", f"/diagnosis/log?q={part}").json
        assert answer["items"] == [] and answer["looked_at"] == 1


def test_the_support_desk_reads_it_and_a_reader_does_not(world: World, folder: Path) -> None:
    keep_journal(world, folder, entry(1, "it begins"))
    for scope, status in (("read", 403), ("support", 200), ("write", 200)):
        assert world.client(scope)("GET", "/diagnosis/log").status_code == status


def test_what_cannot_be_read_is_not_said_to_be_empty(api: Client, world: World) -> None:
    world.agent.journal_reader = "false"
    answer = api("GET", "/diagnosis/log")
    assert (answer.status_code, answer.json["code"]) == (503, "no-journal")
    world.agent.__exit__(None, None, None)
    answer = api("GET", "/diagnosis/log")
    assert (answer.status_code, answer.json["code"]) == (503, "agent-down")


@pytest.mark.parametrize(
    ("query", "named"),
    [
        ("source=ssh", "ssh"), ("source=../etc", "etc"), ("severity=loud", "severity"), ("limit=0", "limit"),
        ("limit=1001", "limit"), ("since=yesterday", "since"), ("since=2026-01-31", "since"),
        ("after=--merge", "cursor"), ("q=%00", "q"), ("lines=1", "lines"),
    ],
)  # fmt: skip
def test_what_cannot_be_asked_is_refused_by_name(
    api: Client, world: World, folder: Path, query: str, named: str
) -> None:
    keep_journal(world, folder)
    answer = api("GET", f"/diagnosis/log?{query}")
    assert answer.status_code == 422 and named in answer.text, answer.text
