# SPDX-License-Identifier: Apache-2.0
"""`weir incidents` lists what began and shows one with what happened around it."""

from __future__ import annotations

from pathlib import Path

from click.testing import CliRunner, Result

from tests.http.world import Live, World
from weir.cli.main import main


def test_incidents_are_listed_and_one_is_shown(tmp_path: Path) -> None:
    with World(tmp_path) as world, Live(world) as live:
        env = {"WEIR_URL": live.url, "WEIR_TOKEN": world.token("read")}

        def weir(*arguments: str, code: int = 0) -> Result:
            done = CliRunner().invoke(main, arguments, env=env)
            assert done.exit_code == code, done.output
            return done

        assert "Nothing began since 2" in weir("incidents").output
        world.parts.stats.stop()  # it samples when it is told to
        world.parts.stats.tick()
        world.parts.service.failed_commits.append("A commit by admin failed: \x1b[31mno room")
        world.parts.stats.tick()
        listed = weir("incidents").output.splitlines()
        assert listed[0].split() == ["id", "at", "severity", "code", "subject", "times", "what"]
        assert "error" in listed[1] and "commit-failed" in listed[1] and "?[31mno room" in listed[1]
        shown = weir("incidents", "show", "1").output
        assert shown.startswith("error commit-failed 'configuration'\nA commit by admin failed: ?[31mno room")
        assert "still being recorded" in shown
        (row,) = [line for line in shown.splitlines() if line.startswith("lan0  receives")]
        assert row.split()[:3] == ["lan0", "receives", "0"]
        assert weir("incidents", "show", "1", "--json").output.count('"cores"') == 1
        assert "there is no incident 7" in weir("incidents", "show", "7", code=1).output
        assert weir("incidents", "show", "x", code=2).output
