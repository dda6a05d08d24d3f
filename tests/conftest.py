# SPDX-License-Identifier: Apache-2.0
"""The `router` of the tests that send real traffic: one lab for all, no queues when a test starts.

Property tests draw new examples on every developer's run; where CI is set they draw the same ones each time,
so that a change is judged by what it changed.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if not os.environ.get("WEIR_IN_VM"):
    # No test there draws examples, and loading this takes seconds on emulated processors.
    from hypothesis import settings

    settings.register_profile("busy", deadline=None)  # machines do other things at the same time
    settings.register_profile("ci", derandomize=True, deadline=None, print_blob=True)
    settings.load_profile("ci" if os.environ.get("CI") else "busy")

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
