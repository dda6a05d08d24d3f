# SPDX-License-Identifier: Apache-2.0
"""Asks the agent what the queues of HTB classes dropped, as often as that is cheap (docs/adr/0242)."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from weir.model.problem import Problem

if TYPE_CHECKING:
    from weir.stats.queues import QueueFigures
    from weir.wire.client import AgentClient

    Figures = Callable[[], QueueFigures]
    """Made when they are needed first: their modules take longer to read than the service takes to answer."""

MOST_COST = 0.01
"""Of the time: what an answer takes decides how often it is asked for."""
SELDOM_S = 10.0
"""But so often at least."""


class TreeDropsService:
    """`unseen`: why they are not known, "" where they are. One thread."""

    def __init__(self) -> None:
        self.unseen = ""
        self._due_s = 0.0

    def tick(self, agent: AgentClient, shapers: dict[str, Any], figures: Figures) -> None:
        """Once for each sample, before it."""
        now_s = time.monotonic()
        if not any(item.get("mode") == "htb" for item in shapers.values()):
            if self._due_s:
                figures().forget_tree_drops()
            self.unseen, self._due_s = "", 0.0
        elif now_s >= self._due_s:
            self._ask(agent, figures, now_s)

    def lose(self, reason: str, figures: Figures) -> None:
        """The agent is away."""
        if self._due_s and not self.unseen:
            figures().forget_tree_drops()
            self.unseen = reason

    def _ask(self, agent: AgentClient, figures: Figures, now_s: float) -> None:
        try:
            found = agent.call("tree_drops")
        except Problem as problem:
            self._due_s = now_s + SELDOM_S
            self.lose(problem.message, figures)
            return
        ended_s = time.monotonic()
        figures().note_tree_drops([tuple(item) for item in found["dropped"]], now_s)
        self.unseen, self._due_s = "", ended_s + min((ended_s - now_s) / MOST_COST, SELDOM_S)
