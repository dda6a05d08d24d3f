# SPDX-License-Identifier: Apache-2.0
"""A router that has a kind of the test's own for as long as the test runs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

from click.testing import CliRunner

from tests.http.world import Client, Live, World
from weir.cli import kinds as commands
from weir.cli.main import main
from weir.kinds import DECLARED
from weir.kinds.declaration import Declaration


@contextmanager
def declared(*kinds: Declaration) -> Iterator[None]:
    """All that is asked of a declaration: its line in `DECLARED`, and its verbs among the commands."""
    with (
        mock.patch.dict(DECLARED, {declaration.kind: declaration for declaration in kinds}),
        mock.patch.dict(main.commands),
    ):
        commands.register(main)
        yield


class Toy:
    """`api` speaks REST to the router, `weir` is its command line."""

    def __init__(self, folder: Path, world: World, live: Live) -> None:
        self.world = world
        self.folder = folder
        self.api: Client = world.client()
        self._env = {"WEIR_URL": live.url, "WEIR_TOKEN": world.token(), "XDG_CONFIG_HOME": str(folder)}

    def weir(self, *arguments: str, code: int = 0, stdin: str | None = None) -> str:
        """What a command says, on standard output and error."""
        result = CliRunner().invoke(main, list(arguments), input=stdin, env=self._env)
        assert result.exit_code == code, (arguments, result.exit_code, result.output, result.exception)
        return result.output

    def weir_json(self, *arguments: str) -> Any:
        return json.loads(self.weir(*arguments, "--json"))


@contextmanager
def toy(folder: Path, *kinds: Declaration) -> Iterator[Toy]:
    """A whole router with these kinds beside its own, over the store and a fake agent on a real socket."""
    with declared(*kinds), World(folder) as world, Live(world) as live:
        yield Toy(folder, world, live)
