# SPDX-License-Identifier: Apache-2.0
"""What several learners know of interfaces."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from weir.agent.links import together
from weir.model.problem import Unavailable


def test_a_learner_that_fails_takes_nothing_of_the_others_along() -> None:
    def fails(_ids: Collection[str] | None) -> dict[str, dict[str, Any]]:
        raise Unavailable("the kernel does not answer")

    learn = together(lambda _: {"a": {"x": 1}}, fails, lambda _: {"a": {"y": 2}})
    assert learn(None) == {"a": {"x": 1, "y": 2}}
