# SPDX-License-Identifier: Apache-2.0
"""The machine as a whole: factory reset and power."""

from __future__ import annotations

from typing import Any, Literal

from weir.accounts.audit import AuditService, entry_of
from weir.accounts.permissions import requires
from weir.accounts.principal import Principal
from weir.wire.client import AgentClient

TIMEOUT_S = 150.0
"""A damaged partition is formatted before the agent answers."""


class ApplianceService:
    def __init__(self, agent: AgentClient, audit: AuditService) -> None:
        self._agent = agent
        self._audit = audit

    @requires("system.manage")
    def factory_reset(self, by: Principal, mode: Literal["keep", "wipe"]) -> dict[str, Any]:
        """Restart as a new router. Raises `Unsupported` (`no-image`), `Conflict` (`data-damaged`,
        `no-data-partition`, `update-running`)."""
        self._audit.note(entry_of(by, "system.factory-reset", mode))
        return self._agent.call("factory_reset", {"mode": mode}, timeout_s=TIMEOUT_S)

    @requires("system.manage")
    def power_off(self, by: Principal) -> dict[str, Any]:
        """Raises `Unsupported` (`no-image`), `Conflict` (`update-running`)."""
        self._audit.note(entry_of(by, "system.power-off", ""))
        return self._agent.call("power_off", timeout_s=TIMEOUT_S)
