# SPDX-License-Identifier: Apache-2.0
"""The `router` of the tests that send real traffic: one lab for all, no queues when a test starts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.router import Router


@pytest.fixture(scope="session")
def standing_router() -> Iterator[Router]:
    from tests.router import running_router

    with running_router() as router:
        yield router


@pytest.fixture
def router(standing_router: Router) -> Iterator[Router]:
    yield standing_router
    standing_router.clear_queues()
