# SPDX-License-Identifier: Apache-2.0
"""What a change costs is in the diff, in the validation and in the answer of a commit, object by object."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from tests.http.world import Client, Live, World
from weir.cli.main import main
from weir.parts.effect import Effect, Sessions, by_object

DROPS = Effect("queue", "b", "drops-sessions", "lan0 goes down", None, Sessions(3, False)).to_json()


def stage(api: Client, *names: str) -> None:
    for name in names:
        answer = api("POST", "/queues?candidate=1", {"id": name, "name": name})
        assert answer.status_code == 202, answer.json


def test_each_object_of_a_diff_says_what_it_costs(world: World, api: Client) -> None:
    world.agent.effects = [DROPS]
    stage(api, "a", "b")
    diff = api("GET", "/candidate/diff").json
    assert diff["kernel"]["effect"] == "drops-sessions"
    assert diff["kernel"]["effects"] == [DROPS]
    assert {change["id"]: change["effect"]["effect"] for change in diff["changes"]} == {
        "a": "hitless",
        "b": "drops-sessions",
    }
    assert next(change["effect"] for change in diff["changes"] if change["id"] == "b") == DROPS
    assert api("POST", "/candidate/validate").json["kernel"]["effects"] == [DROPS]


def test_what_is_hitless_is_said_so(world: World, api: Client) -> None:
    world.agent.effects = []
    stage(api, "a")
    kernel = api("POST", "/candidate/validate").json["kernel"]
    assert (kernel["available"], kernel["effect"], kernel["effects"]) == (True, "hitless", [])


def test_what_nobody_knows_is_never_called_hitless(world: World, api: Client) -> None:
    world.agent.effects = None
    stage(api, "a")
    diff = api("GET", "/candidate/diff").json
    assert diff["kernel"]["effect"] is None
    assert diff["changes"][0]["effect"] is None


def test_a_candidate_with_errors_says_why_nothing_is_known(api: Client) -> None:
    body = {"id": "a", "name": "a", "parent": "nobody"}
    assert api("POST", "/queues?candidate=1", body).status_code == 202
    answer = api("POST", "/candidate/validate").json
    assert answer["valid"] is False
    assert (answer["kernel"]["available"], answer["kernel"]["reason"]) == (False, "Validation finds errors.")


def test_the_answer_of_a_commit_says_it_too(world: World, api: Client) -> None:
    world.agent.effects = [DROPS]
    stage(api, "b")
    done = api("POST", "/candidate/commit", {"message": "why"}).json
    assert done["kernel"]["effects"] == [DROPS]


def test_the_command_line_says_it_before_and_after(tmp_path: Path) -> None:
    with World(tmp_path) as world, Live(world) as live:
        env = {"WEIR_URL": live.url, "WEIR_TOKEN": world.token()}

        def weir(*arguments: str) -> str:
            result = CliRunner().invoke(main, arguments, env=env)
            assert result.exit_code == 0, (result.output, result.exception)
            return result.output

        world.agent.effects = [{**DROPS, "kind": "static-route"}]
        weir("route", "add", "10.0.0.0/8", "--blackhole", "--id", "b", "--candidate")
        words = "drops sessions (at least 3): lan0 goes down"
        assert words in weir("diff")
        assert f"static-route b {words}" in weir("commit")
        world.agent.effects = []
        weir("route", "rm", "b", "--candidate")
        assert "Effect: hitless" in weir("diff")


@pytest.mark.parametrize(
    ("effects", "merged"),
    [
        pytest.param([("hitless", None, None)], None, id="hitless is left out"),
        pytest.param([("resets", 5, None), ("resets", 9, None)], ("resets", 9, None), id="the longest"),
        pytest.param(
            [("resets", 5, None), ("resets", None, None)], ("resets", None, None), id="one is not known"
        ),
        pytest.param(
            [("resets", 5, None), ("drops-sessions", None, Sessions(2, True))],
            ("drops-sessions", 5, Sessions(2, True)),
            id="the worst",
        ),
        pytest.param(
            [("drops-sessions", None, Sessions(2, True)), ("drops-sessions", None, Sessions(4, False))],
            ("drops-sessions", None, Sessions(4, False)),
            id="the most",
        ),
    ],
)
def test_several_effects_of_one_object_become_one(effects: Any, merged: Any) -> None:
    found = by_object(Effect("queue", "a", *words[:1], "text", *words[1:]) for words in effects)
    assert [(e.severity, e.lasts_ms, e.sessions) for e in found.values()] == ([merged] if merged else [])
