# SPDX-License-Identifier: Apache-2.0
"""Is the router all right: the store, the agent, and whether they agree."""

from __future__ import annotations

from typing import Any

from weir.model.problem import Problem
from weir.service.permissions import requires
from weir.service.values import Principal
from weir.store import ConfigStore
from weir.wire.client import AgentClient

STATUS_TIMEOUT_S = 2.0


class HealthService:
    def __init__(self, store: ConfigStore, agent: AgentClient) -> None:
        self._store = store
        self._agent = agent

    @requires("config.read")
    def get(self, _by: Principal) -> dict[str, Any]:
        """`{store: {ok, reason, revision}, agent: {ok, reason, status}, agreement}`; never raises.

        `agreement` is None when one of the two does not answer.
        """
        store: dict[str, Any] = {"ok": True, "reason": None, "revision": None}
        try:
            store["revision"] = self._store.head()
        except Problem as problem:
            store.update(ok=False, reason=problem.message)
        agent: dict[str, Any] = {"ok": True, "reason": None, "status": None}
        try:
            agent["status"] = self._agent.call("status", timeout_s=STATUS_TIMEOUT_S)
        except Problem as problem:
            agent.update(ok=False, reason=problem.message)
        agreement = None
        if store["ok"] and agent["ok"]:
            status = agent["status"]
            agreement = status.get("revision") == store["revision"] and status.get("state") == "ok"
        return {"store": store, "agent": agent, "agreement": agreement}
