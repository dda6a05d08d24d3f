# SPDX-License-Identifier: Apache-2.0
"""Tracked connections for people: how full the table is, who fills it, and who was refused new ones."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any

from weir.adapters import connection_limits, conntrack
from weir.adapters.connection_limits import NOTHING_REFUSED
from weir.loop import Loop
from weir.model.problem import Problem

log = logging.getLogger(__name__)

PERIOD_S = 10.0
MUCH = 0.8
"""Of the table: from here on it is said who has most of it."""
LISTED = 5


class Connections:
    """What `status` answers. What takes longer than a read of two numbers is looked at in the background."""

    def __init__(
        self,
        uncounted_reason: Callable[[], str],
        missing_helpers: Callable[[], Sequence[str]],
        period_s: float = PERIOD_S,
    ) -> None:
        self._uncounted_reason = uncounted_reason
        self._missing_helpers = missing_helpers
        self._refused = NOTHING_REFUSED
        self._holders: list[tuple[str, int]] = []
        self._fault = ""
        self._period_s = period_s
        self._loop = Loop("connections", self._watch, first_s=period_s, again_s=period_s)

    def start(self) -> None:
        self._loop.start()

    def stop(self) -> None:
        """Nothing more is looked at."""
        self._loop.end()

    def to_json(self) -> dict[str, Any] | None:
        """None where nothing is tracked. Lists are of the last look; `fault`: why there was none."""
        fill = conntrack.fill()
        if fill is None:
            return None
        refused = self._refused
        return {
            "count": fill[0],
            "max": fill[1],
            "much": is_much(fill),
            "uncounted_reason": self._uncounted_reason(),
            "missing_helpers": list(self._missing_helpers()),
            "refused_full_packets": refused.full,
            "refused_source_packets": refused.sources,
            "refused": [
                {"interface": ifname, "source": source, "packets": packets}
                for ifname, source, packets in refused.latest[:LISTED]
            ],
            "holders": [{"source": source, "count": count} for source, count in self._holders],
            "fault": self._fault,
        }

    def look(self) -> None:
        """Ask nftables and, of a table that is nearly full, who fills it."""
        try:
            self._refused = connection_limits.refused()
            fill = conntrack.fill()
            self._holders = conntrack.holders(LISTED) if fill and is_much(fill) else []
            self._fault = ""
        except Problem as problem:
            if problem.message != self._fault:
                log.warning("tracked connections: %s", problem.message)
            self._fault = problem.message

    def _watch(self) -> float:
        self.look()
        return self._period_s


def is_much(fill: tuple[int, int]) -> bool:
    return fill[0] >= MUCH * fill[1] > 0
