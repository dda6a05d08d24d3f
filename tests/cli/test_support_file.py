# SPDX-License-Identifier: Apache-2.0
"""`weir support-file` against a live server: the whole archive, or no file."""

from __future__ import annotations

import zipfile
from pathlib import Path

from click.testing import CliRunner, Result

from tests.http.world import Live, World
from weir.cli.main import main


def test_the_archive_is_whole_or_there_is_none(tmp_path: Path) -> None:
    with World(tmp_path) as world, Live(world) as live:

        def weir(target: Path, scope: str = "admin") -> Result:
            env = {"WEIR_URL": live.url, "WEIR_TOKEN": world.token(scope)}
            return CliRunner().invoke(main, ("support-file", str(target)), env=env)

        folder = tmp_path / "taken"
        folder.mkdir()
        done = weir(folder / "router.zip")
        assert done.exit_code == 0 and "No passwords" in done.output, done.output
        with zipfile.ZipFile(folder / "router.zip") as archive:
            assert archive.testzip() is None and "contents.json" in archive.namelist()
        refused = weir(folder / "other.zip", "write")
        assert refused.exit_code != 0 and "admin" in refused.output
        assert [path.name for path in folder.iterdir()] == ["router.zip"]
