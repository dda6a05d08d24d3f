# SPDX-License-Identifier: Apache-2.0
"""`weir figures` shows the past of the system's own figures, and what was marked in it."""

from __future__ import annotations

import json
import time
from pathlib import Path

from click.testing import CliRunner, Result

from tests.http.world import Live, World
from weir.cli.figures import COLUMNS, _past
from weir.cli.main import main


def test_figures_are_shown_with_their_past_and_marks(tmp_path: Path) -> None:
    with World(tmp_path) as world, Live(world) as live:
        env = {"WEIR_URL": live.url, "WEIR_TOKEN": world.token("read")}
        world.parts.stats.stop()  # it takes what it is given
        book, minute = world.parts.stats.figures._book(), time.time() // 60 * 60
        for ago in range(3, 0, -1):
            book.take(minute - 60 * ago, {"cores": 0.25, "core/1": 0.5, "dropped": 7.0}, {"cores": 0.75})
        book.take(minute, {})
        assert world.client()("POST", "/queues", {"name": "acme"}).status_code == 201

        def weir(*arguments: str, code: int = 0) -> Result:
            done = CliRunner().invoke(main, arguments, env=env)
            assert done.exit_code == code, done.output
            return done

        lines = weir("figures", "--minutes", "4").output.splitlines()
        assert lines[0].endswith("Z, 4 minutes.")
        (cores,) = [line for line in lines if line.startswith("cores")]
        assert cores.split() == ["cores", "25.0%", "25.0%", "75.0%", "25.0%", "·███"]
        (dropped,) = [line for line in lines if line.startswith("dropped")]
        assert dropped.split()[:6] == ["dropped", "7", "21", "in", "all", "7"]
        assert any("commit   Revision 1 was committed by" in line for line in lines)
        assert not any(line.startswith("core ") for line in lines)
        assert "core    1   50.0%" in weir("figures", "core").output
        found = json.loads(weir("figures", "core", "--json").output)
        assert (len(found["items"][0]["values"]), found["marks"][0]["revision"]) == (1440, 1)
        assert "Must be some of" in weir("figures", "lamps", code=1).output


def test_the_past_is_drawn_with_gaps_where_nothing_was_measured() -> None:
    assert _past([None, 0.0, 1.0, 2.0]) == "·▁▅█"
    assert _past([0.0] * 3) == "▁▁▁" and _past([None]) == "·"
    day = _past([None] * 720 + [float(number) for number in range(720)])
    assert len(day) == COLUMNS and day.startswith("·" * 24) and day.endswith("█")
