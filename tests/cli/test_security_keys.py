# SPDX-License-Identifier: Apache-2.0
"""Security keys at the command line: seen and removed there, added in the browser."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.test_commands import Weir
from tests.http.test_security_keys import add, browser, named
from tests.http.world import Live, World
from tests.service.soft_key import ORIGIN, soft


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with World(tmp_path) as found:
        yield found


@pytest.fixture
def weir(world: World, tmp_path: Path) -> Iterator[Weir]:
    with Live(world) as live:
        yield Weir(live, world.token(), tmp_path / "config")


def test_keys_are_listed_and_those_of_others_removed(weir: Weir, world: World) -> None:
    named(world)
    admin = browser(world)
    codes = add(admin, soft()).json["recovery_codes"]
    (key,) = weir.json("user", "keys", "admin")["items"]
    assert (key["name"], key["origin"]) == ("blue", ORIGIN)
    assert key["id"] in weir("user", "keys", "admin").output
    assert "with your password" in weir("user", "remove-key", "admin", key["id"], code=4).output
    weir("login", "-u", "admin", stdin=f"{admin.password}\n{codes[0]}\n", WEIR_TOKEN=None)
    made = weir.json("user", "add", "ops")
    ops = browser(world, password=made["one_time_password"], name="ops")
    add(ops, soft(number=1))
    (key,) = weir.json("user", "keys", "ops")["items"]
    assert "Removed." in weir("user", "remove-key", "ops", key["id"]).output
    assert weir.json("user", "keys", "ops")["items"] == []
