# SPDX-License-Identifier: Apache-2.0
"""`weir doctor` says what ails the router, what is not known, and exits by the worst of it."""

from __future__ import annotations

from pathlib import Path

from click.testing import CliRunner, Result

from tests.http.test_diagnosis import sick
from tests.http.world import Live, World
from weir.cli.doctor import WARNED
from weir.cli.main import main


def test_the_exit_code_is_of_the_worst_and_a_remedy_is_applied_on_trial(tmp_path: Path) -> None:
    with World(tmp_path) as world, Live(world) as live:
        env = {"WEIR_URL": live.url, "WEIR_TOKEN": world.token()}

        def weir(*arguments: str) -> Result:
            return CliRunner().invoke(main, arguments, env=env)

        world.parts.stats.tick()
        healthy = weir("doctor")
        assert healthy.exit_code == 0, healthy.output
        assert "unknown  chains (listening sockets of each address): not looked at, because" in healthy.output
        world.agent.findings = sick()
        warned = weir("doctor")
        assert warned.exit_code == WARNED
        assert "one-core-works 'core 0': core 0 spends 95 % of its time on packets" in warned.output
        assert "softirq_share 95 % (threshold 80 %)" in warned.output
        applied = weir("doctor", "apply", "one-core-works", "core 0", "threaded-napi")
        assert applied.exit_code == 0, applied.output
        assert "It is measured again" in applied.output and "unless you confirm" in applied.output
        for finding in world.agent.findings["findings"]:
            finding["severity"] = "error"
        assert weir("doctor").exit_code == 1
