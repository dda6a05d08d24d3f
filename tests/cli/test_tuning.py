# SPDX-License-Identifier: Apache-2.0
"""`weir tuning` against a live server."""

from __future__ import annotations

from pathlib import Path

from click.testing import CliRunner

from tests.http.world import Live, World
from weir.cli.main import main


def test_settings_are_shown_overridden_and_taken_back(tmp_path: Path) -> None:
    with World(tmp_path) as world, Live(world) as live:
        env = {"WEIR_URL": live.url, "WEIR_TOKEN": world.token()}

        def weir(*arguments: str) -> str:
            result = CliRunner().invoke(main, ["tuning", *arguments], env=env)
            assert result.exit_code == 0, (result.output, result.exception)
            return result.output

        assert "softirq-budget" in weir("show")
        weir("set", "softirq-budget", "4000")
        assert dict(world.agent.kernel["tuning", "tuning"].overrides) == {"softirq-budget": "4000"}
        assert "no such setting" in weir("set", "unheard-of", "1")
        weir("reset", "unheard-of")
        weir("reset", "softirq-budget")
        assert world.agent.kernel["tuning", "tuning"].overrides == ()
