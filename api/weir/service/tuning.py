# SPDX-License-Identifier: Apache-2.0
"""The product's settings of kernel and cards, with their reasons and what the kernel holds."""

from __future__ import annotations

from typing import Any

from weir.accounts.permissions import requires
from weir.accounts.principal import Principal
from weir.wire.client import AgentClient


class TuningService:
    def __init__(self, agent: AgentClient) -> None:
        self._agent = agent

    @requires("config.read")
    def settings(self, _by: Principal) -> list[dict[str, Any]]:
        """Raises `Unavailable` when the agent does not answer."""
        found: list[dict[str, Any]] = self._agent.call("tuning")["value"]
        return found
