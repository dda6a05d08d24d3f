# SPDX-License-Identifier: Apache-2.0
"""Rigs for the agent's tests: one per file, cleaned up also after a run that was killed."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from tests.agent.rig import Rig, running, sweep
from weir.http.app import open_parts
from weir.http.context import Context
from weir.http.settings import Settings


@pytest.fixture(scope="session", autouse=True)
def swept() -> None:
    if os.geteuid() != 0:
        pytest.fail("the agent's tests make network namespaces and must run as root")
    sweep()


@pytest.fixture(scope="module")
def rig() -> Iterator[Rig]:
    """A router with FRR and a running agent."""
    with running(frr=True) as made:
        yield made


@pytest.fixture(scope="module")
def parts(rig: Rig) -> Iterator[Context]:
    """The API's services beside the rig's agent, on the same store."""
    found = open_parts(Settings(rig.folder / "weir.db", rig.folder / "agent.sock"))
    try:
        yield found
    finally:
        found.stats.stop()
        found.service.close()
