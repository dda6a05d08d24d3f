# SPDX-License-Identifier: Apache-2.0
"""What was found different is told, on whatever occasion it was found."""

from __future__ import annotations

import pytest

from weir.agent.drift import DriftLog
from weir.agent.executor import Synced
from weir.parts.delta import Action, Step


@pytest.mark.parametrize(
    ("occasion", "action", "is_told"),
    [
        ("drift", "change", True),
        ("drift", "add", True),
        pytest.param("routes", "add", True, id="a link that was taken away just when routes changed"),
        pytest.param("routes", "change", False, id="the fast path follows the routes"),
        ("change", "add", False),
    ],
)
def test_a_port_that_was_taken_away_is_told_on_any_occasion(
    occasion: str, action: Action, is_told: bool
) -> None:
    drift = DriftLog()
    drift.note(Synced(repaired=[("ports", Step("shaping", action, "port", "lan0 edt"))]), occasion, ["ports"])
    assert [item["text"] for item in drift.to_json()] == ([f"{action} port lan0 edt"] if is_told else [])
