# SPDX-License-Identifier: Apache-2.0
"""A fresh API per test, or one per module for tests that change nothing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.http.world import Client, World
from weir.http.app import attach


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with World(tmp_path) as found:
        yield found


@pytest.fixture
def api(world: World) -> Client:
    return world.client()


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with World(tmp_path_factory.mktemp("shared")) as found:
        yield found


@pytest.fixture
def shared_api(shared: World) -> Client:
    """For tests that leave nothing behind. The application serves this world again."""
    attach(shared.app, shared.settings, shared.parts)
    return shared.client()
