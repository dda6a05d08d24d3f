# SPDX-License-Identifier: Apache-2.0
"""Rates measured by a clock, on machines that do other things at the same time."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")
TIMES = 3


def nearest(
    wanted_bps: float, measure: Callable[[], T], rate_bps: Callable[[T], float], rel: float = 0.02
) -> T:
    """What `measure` gives first within `rel` of the rate wanted, or the nearest of three times.

    A busy machine may starve the sender, which no limit can repair. A limit that does not hold fails all
    three.
    """
    found: list[T] = []
    for _ in range(TIMES):
        found.append(measure())
        if abs(rate_bps(found[-1]) - wanted_bps) < rel * wanted_bps:
            break
    return min(found, key=lambda one: abs(rate_bps(one) - wanted_bps))
