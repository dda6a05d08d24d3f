# SPDX-License-Identifier: Apache-2.0
"""`weir why` names the culprit, what is ruled out and what is not known, and exits with 1 for a culprit."""

from __future__ import annotations

from pathlib import Path

from click.testing import CliRunner, Result

from tests.http.test_why import M, seconds, with_customers
from tests.http.world import Live, World
from tests.polling import until
from weir.cli.main import main


def test_a_customer_is_named_by_queue_or_address(tmp_path: Path) -> None:
    with World(tmp_path) as world, Live(world) as live:
        with_customers(world.client(), world)
        seconds(world, 12, acme=(M, 5 * M))
        env = {"WEIR_URL": live.url, "WEIR_TOKEN": world.token()}

        def weir(*arguments: str) -> Result:
            return CliRunner().invoke(main, arguments, env=env)

        until("its ports were read twice", lambda: "not read twice" not in weir("why", "Acme").output)
        well = weir("why", "Acme")
        assert well.exit_code == 0, well.output
        assert well.output.startswith("10.64.0.2, queue Acme, towards 1.1.1.1\nIt is not this router.")
        assert "ruled out queue    Acme is within its limits" in well.output
        assert "not known internet" in well.output
        seconds(world, 12, acme=(M, 49 * M))
        full = weir("why", "10.64.0.2")
        assert full.exit_code == 1
        assert "CULPRIT   queue    Acme is at its limit: download 49" in full.output
        assert "[weir queue raise acme UP/DOWN --for 1h]" in full.output
        assert "upload   after  Not known: no TCP with timestamps was seen" in full.output
        assert "download before 0 % of its TCP is lost behind the gateway" in full.output
        assert weir("why", "nobody").exit_code != 0
