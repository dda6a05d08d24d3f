# SPDX-License-Identifier: Apache-2.0
"""What jobs did comes into the audit trail: the agent, which does them, has no accounts to write to."""

from __future__ import annotations

from dataclasses import replace

from weir.accounts.audit import AuditService, entry
from weir.loop import Loop
from weir.wire.client import AgentClient

FIRST_S, AGAIN_S = 10.0, 60.0


class JobTrail:
    def __init__(self, agent: AgentClient, audit: AuditService) -> None:
        self._agent = agent
        self._audit = audit
        self._loop = Loop("job-trail", self.take, first_s=FIRST_S, again_s=AGAIN_S)

    def start(self) -> None:
        self._loop.start()

    def stop(self) -> None:
        self._loop.stop()

    def take(self) -> float:
        """Note what is not in the trail yet. Raises a `Problem` where the agent does not answer."""
        runs = self._agent.call("job_runs")["runs"]
        for run in runs:
            outcome = "ok" if run["result"] in ("started", "done") else run["result"]
            detail = ": ".join(filter(None, (run["result"], run["detail"])))
            made = entry("job", "agent", "", f"job.{run['action']}", run["job"], outcome, detail)
            self._audit.note(replace(made, at_ms=run["at_ms"]))
        if runs:
            self._agent.call("job_runs_told", {"number": runs[-1]["number"]})
        return AGAIN_S
