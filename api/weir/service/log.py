# SPDX-License-Identifier: Apache-2.0
"""What the router's processes logged, as the agent reads it from the journal (docs/adr/0221)."""

from __future__ import annotations

import threading
from dataclasses import asdict, dataclass
from typing import Any

from weir.accounts.permissions import requires
from weir.accounts.principal import Principal
from weir.model.problem import Unavailable
from weir.wire.client import AgentClient

READ_S = 20.0
WAIT_S = 5.0


@dataclass(frozen=True, slots=True)
class Wanted:
    """`severity` is the least severe that is told. `after` is the cursor of an earlier answer."""

    source: str
    severity: str
    text: str
    since_ms: int | None
    after: str
    limit: int


class LogService:
    """One reading at a time: of the few connections to the agent a slow disk takes one. Thread-safe."""

    def __init__(self, agent: AgentClient) -> None:
        self._agent = agent
        self._lock = threading.Lock()

    @requires("log.read")
    def lines(self, _by: Principal, wanted: Wanted) -> dict[str, Any]:
        """The agent's answer. Raises `Unavailable`, also (`log-busy`) while others are reading."""
        if not self._lock.acquire(timeout=WAIT_S):
            raise Unavailable("the log is being read for others; try again", code="log-busy")
        try:
            return self._agent.call("log_lines", asdict(wanted), timeout_s=READ_S)
        finally:
            self._lock.release()
