# SPDX-License-Identifier: Apache-2.0
"""One router for many modules: on emulated processors an agent's start takes a minute or more.

A module configures it, and undoes what it did in the namespaces by hand; its objects are deleted for it.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.agent.rig import Rig, running


@pytest.fixture(scope="session")
def standing_rig() -> Iterator[Rig]:
    with running("--probe-after-s", "0", frr=True) as made:
        yield made


@pytest.fixture(scope="module")
def bare_rig(standing_rig: Rig) -> Iterator[Rig]:
    """With FRR, and nothing is configured."""
    yield standing_rig
    standing_rig.clear()
