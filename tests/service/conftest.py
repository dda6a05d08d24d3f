# SPDX-License-Identifier: Apache-2.0
"""A service with an agent that has no kernel, and people who use it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.service.fake_agent import FakeAgent
from tests.service.router import Router
from weir.service import Service


@pytest.fixture
def router(tmp_path: Path) -> Iterator[Router]:
    database, socket = tmp_path / "weir.db", tmp_path / "agent.sock"
    service = Service.open(database, socket)
    with FakeAgent(socket, database) as agent:
        yield Router(service, agent, database)
    service.close()
