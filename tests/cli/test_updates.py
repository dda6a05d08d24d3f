# SPDX-License-Identifier: Apache-2.0
"""`weir update` against a live server whose agent tells of two slots."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from tests.http.world import Live, World
from weir.cli import updates
from weir.cli.main import main
from weir.model.problem import Invalid


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with World(tmp_path) as found:
        yield found


@pytest.fixture
def weir(world: World, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.setattr(updates, "POLL_S", 0.01)
    with Live(world) as live:

        def call(*arguments: str, code: int = 0) -> Result:
            env = {"WEIR_URL": live.url, "WEIR_TOKEN": world.token()}
            result = CliRunner().invoke(main, list(arguments), env=env)
            assert result.exit_code == code, (result.output, result.exception)
            return result

        yield call


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    path = tmp_path / "weir.raucb"
    path.write_bytes(b"1.2.0" + bytes(3_000_000))
    return path


def finish(world: World, **fields: Any) -> None:
    """Let the installation end as soon as the agent took the bundle."""

    def end() -> None:
        while world.agent.updates.job["state"] != "installing":
            threading.Event().wait(0.01)
        world.agent.updates.job |= {"percent": 60, "what": "Copying image"}
        world.agent.updates.job |= fields

    threading.Thread(target=end, daemon=True).start()


def test_an_installation_is_followed_to_its_end(world: World, weir: Any, bundle: Path) -> None:
    finish(world, state="installed", percent=100)
    done = weir("update", "install", str(bundle))
    assert "Version 1.2.0 is installed" in done.output
    assert len(world.agent.updates.taken) == bundle.stat().st_size


def test_a_failure_is_told_and_is_the_exit_code(world: World, weir: Any, bundle: Path) -> None:
    finish(world, state="failed", code="bundle-corrupt", message="the content is not what was signed")
    done = weir("update", "install", str(bundle), code=1)
    assert "not what was signed" in done.output


def test_a_bundle_that_is_refused_at_once_is_told(world: World, weir: Any, bundle: Path) -> None:
    world.agent.updates.refusal = Invalid(
        "the bundle is not signed by anybody we trust", code="bundle-untrusted"
    )
    assert "not signed by anybody" in weir("update", "install", str(bundle), code=1).output


def test_slots_are_shown_and_chosen(world: World, weir: Any) -> None:
    assert "1.0.0" in weir("update", "show").output
    weir("update", "slot", "B")
    assert world.agent.updates.next == "B"
    weir("restart", "--yes")
    assert world.agent.updates.restarts == 1
