# SPDX-License-Identifier: Apache-2.0
"""Trying whether an alert target takes what is sent to it."""

from __future__ import annotations

from dataclasses import dataclass

from weir.accounts.audit import AuditService
from weir.accounts.permissions import requires
from weir.accounts.principal import Principal
from weir.model.problem import Problem
from weir.wire.client import AgentClient

TEST_S = 25.0
"""Somewhat longer than the agent's one attempt takes at most."""


@dataclass(frozen=True, slots=True)
class Tested:
    """`answer` is the server's own, or what went wrong, in one line."""

    delivered: bool
    answer: str
    took_ms: int


class AlertService:
    def __init__(self, agent: AgentClient, audit: AuditService) -> None:
        self._agent = agent
        self._audit = audit

    @requires("config.write")
    def test(self, by: Principal, target_id: str) -> Tested:
        """Send one message to a target that is in force. Raises `Conflict` (`target-off`, `test-busy`) or
        `Unavailable`."""
        subject = f"alert-target/{target_id}"
        try:
            found = self._agent.call("alert_test", {"id": target_id, "by": by.username}, timeout_s=TEST_S)
        except Problem as problem:
            self._audit.record(by, "alert.test", subject, problem.code)
            raise
        tested = Tested(found["delivered"], found["answer"], found["took_ms"])
        self._audit.record(by, "alert.test", subject, "ok" if tested.delivered else "failed", tested.answer)
        return tested
