# SPDX-License-Identifier: Apache-2.0
"""The API's description is worked out once, however many ask for it at the same time."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, Event
from typing import Any

from weir.service.lazy import once

ASKING = 4


def test_who_comes_meanwhile_waits_for_the_first() -> None:
    together = Barrier(ASKING)
    others = Event()
    begun: list[dict[str, Any]] = []

    def work() -> dict[str, Any]:
        begun.append({})
        others.wait(0.2)  # time for the others to begin as well, if they could
        return begun[-1]

    known = once(work)

    def ask() -> dict[str, Any]:
        together.wait(10)
        return known()

    with ThreadPoolExecutor(ASKING) as pool:
        answers = [asked.result() for asked in [pool.submit(ask) for _ in range(ASKING)]]
    assert len(begun) == 1
    assert all(answer is begun[0] for answer in answers)
