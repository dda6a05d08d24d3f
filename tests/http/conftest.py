# SPDX-License-Identifier: Apache-2.0
"""A fresh API per test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.http.world import Client, World


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with World(tmp_path) as found:
        yield found


@pytest.fixture
def api(world: World) -> Client:
    return world.client()
