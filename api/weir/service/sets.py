# SPDX-License-Identifier: Apache-2.0
"""Fetching what is in a set now."""

from __future__ import annotations

from dataclasses import dataclass

from weir.accounts.audit import AuditService
from weir.accounts.permissions import requires
from weir.accounts.principal import Principal
from weir.model.problem import Problem
from weir.wire.client import AgentClient

REFRESH_S = 100.0
"""Somewhat longer than the agent's one try takes, with what it brings to the kernel."""


@dataclass(frozen=True, slots=True)
class Refreshed:
    """`answer` says in one line what became of it; `entries` is what the set has now."""

    fetched: bool
    answer: str
    entries: int
    took_ms: int


class SetService:
    def __init__(self, agent: AgentClient, audit: AuditService) -> None:
        self._agent = agent
        self._audit = audit

    @requires("config.write")
    def refresh(self, by: Principal, set_id: str) -> Refreshed:
        """Fetch one that is in force. Raises `Conflict` (`set-off`, `refresh-busy`) or `Unavailable`."""
        subject = f"set/{set_id}"
        try:
            found = self._agent.call("set_refresh", {"id": set_id}, timeout_s=REFRESH_S)
        except Problem as problem:
            self._audit.record(by, "set.refresh", subject, problem.code)
            raise
        done = Refreshed(found["fetched"], found["answer"], found["entries"], found["took_ms"])
        self._audit.record(by, "set.refresh", subject, "ok" if done.fetched else "failed", done.answer)
        return done
