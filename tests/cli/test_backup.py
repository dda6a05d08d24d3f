# SPDX-License-Identifier: Apache-2.0
"""`weir backup` against a live server."""

from __future__ import annotations

from pathlib import Path

from click.testing import CliRunner

from tests.http.world import Live, World
from weir.cli.main import main


def test_a_backup_is_saved_looked_at_and_restored(tmp_path: Path) -> None:
    with World(tmp_path) as world, Live(world) as live:
        env = {"WEIR_URL": live.url, "WEIR_TOKEN": world.token()}

        def weir(*arguments: str, code: int = 0) -> str:
            result = CliRunner().invoke(main, list(arguments), env=env)
            assert result.exit_code == code, (result.output, result.exception)
            return result.output

        weir("queue", "add", "acme", "--max-limit", "10M/50M", "--target", "10.64.1.7")
        file = tmp_path / "router.backup"
        weir("backup", "save", str(file))
        weir("queue", "rm", "acme")
        assert "1 added" in weir("backup", "restore", str(file), "--dry-run")
        assert ("queue", "q1") not in world.agent.kernel
        weir("backup", "restore", str(file), "--yes")
        assert ("queue", "q1") in world.agent.kernel
        file.write_bytes(file.read_bytes()[:-10])
        assert "cut" in weir("backup", "restore", str(file), "--yes", code=1)
