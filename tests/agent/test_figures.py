# SPDX-License-Identifier: Apache-2.0
"""A router in namespaces remembers what its own cores, memory, tables and sockets did."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from typing import Any

import pytest

from tests.agent.rig import Rig, lan, running, wan
from tests.agent.test_diagnosis import READS_NOT, SENDS, program
from tests.polling import until
from weir.http.context import Context

FASTER = 60.0
"""A minute passes in a second, so that the test need not wait for it."""
WANTED = (
    "cores", "memory", "load", "core", "core-packets", "listeners", "socket-drops", "listen-overflows",
    "woken-late", "neighbours-v4",
)  # fmt: skip


@pytest.fixture(scope="module")
def rig() -> Iterator[Rig]:
    with running("--look-interval-s", "0.1") as made:
        made.commit(lan(), wan())
        yield made


def remembered(parts: Context) -> dict[str, Any]:
    found = parts.stats.figures.answer(WANTED, 2)["items"]
    return {
        item["figure"] + (f"/{item['subject']}" if item["subject"] else ""): item
        for item in found
        if item["values"][-1] is not None
    }


def lost(parts: Context) -> float:
    return float(remembered(parts).get("socket-drops", {"values": [0]})["values"][-1])


def test_the_figures_of_a_router_are_kept_by_the_minute(
    rig: Rig, parts: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    figures, begun = parts.stats.figures, time.time()
    monkeypatch.setattr(figures, "_clock", lambda: (time.time() - begun) * FASTER)
    monkeypatch.setattr(figures, "_wall", lambda: begun + (time.time() - begun) * FASTER)
    monkeypatch.setattr(figures, "_due", 0.0)  # by that clock, and not by the machine's
    seen: dict[str, Any] = {}

    def all_seen() -> bool:
        seen.update(remembered(parts))
        return {"cores", "memory", "listeners", "woken-late", "core-packets/0", "socket-drops"} <= set(seen)

    until("the figures are there", all_seen)
    assert 0 < seen["memory"]["values"][-1] < 1 and 0 <= seen["cores"]["values"][-1] <= 1
    assert {f"core/{number}" for number in range(os.cpu_count() or 1)} <= set(seen)
    until("there is a core that worked", lambda: remembered(parts).get("core/0", {}).get("most", [0])[-1])
    unseen = {item["id"] for item in figures.answer(WANTED, 2)["unseen"]}
    assert ("neighbours-v4" in seen) != ("neighbours-v4" in unseen), "it is measured, or it is said why not"
    with program(rig, READS_NOT), program(rig, SENDS):
        until("lost packets are told", lambda: lost(parts))
    rig.kill_agent()
    until("no more is measured", lambda: not remembered(parts))
