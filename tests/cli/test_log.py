# SPDX-License-Identifier: Apache-2.0
"""`weir log` against a live server: lines for people, whatever is in them, and why there are none."""

from __future__ import annotations

from pathlib import Path

from click.testing import CliRunner, Result

from tests.http.test_log import entry, keep_journal
from tests.http.world import Live, World
from tests.readable import readable_folder
from weir.cli.main import main


def test_lines_are_shown_for_people_and_what_is_no_text_does_no_harm(tmp_path: Path) -> None:
    with World(tmp_path) as world, Live(world) as live, readable_folder("log-cli") as folder:

        def weir(*arguments: str) -> Result:
            env = {"WEIR_URL": live.url, "WEIR_TOKEN": world.token("support")}
            return CliRunner().invoke(main, ("log", *arguments), env=env)

        keep_journal(
            world, folder, entry(1, "up\x1b[2J\N{RIGHT-TO-LEFT OVERRIDE}"), entry(2, "it is slow", severity=4)
        )
        shown = weir()
        assert shown.exit_code == 0, shown.output
        assert shown.output.splitlines() == [
            "2027-01-15T08:00:01.000Z info    weir-agent weir-agent[7]: up?[2J?",
            "2027-01-15T08:00:02.000Z warning weir-agent weir-agent[7]: it is slow",
        ]
        assert weir("--search", "slow", "--json").output.count('"text"') == 1
        assert "Nothing was logged that fits." in weir("--search", "fast").output
        world.agent.journal_reader = "false"
        gone = weir()
        assert gone.exit_code == 1 and "the journal cannot be read" in gone.output
