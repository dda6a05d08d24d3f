# SPDX-License-Identifier: Apache-2.0
"""Runs of tools: who may start which, and what they leave in the audit trail."""

from __future__ import annotations

import json
import os
import select
from dataclasses import dataclass
from typing import Any

from weir.accounts.audit import AuditService
from weir.accounts.permissions import Action, authorize, requires
from weir.accounts.principal import Principal
from weir.model.problem import Problem, Unavailable
from weir.model.scope import Scope
from weir.service.speed import SpeedTests
from weir.stats.fanout import event
from weir.tools import TOOLS, Tool
from weir.tools.tool import LINES
from weir.wire.client import AgentClient

ACTIONS: dict[Scope, Action] = {
    "read": "config.read",
    "support": "tools.run",
    "write": "config.write",
    "admin": "system.manage",
}
READ_BYTES = 65_536
FIRST_S = 5.0
"""Within this time a file has begun: nothing in the network is waited for."""
LATE = f"It did not begin within {FIRST_S:.0f} s. If the router is busy, try again later."
LOST = "It ended without saying why; the agent may have been restarted."


@dataclass(frozen=True, slots=True)
class Run:
    """`note` says what the tool cannot see; "" where that is nothing. `output` belongs to who has this."""

    id: str
    tool: Tool
    note: str
    output: int
    begun: bytes = b""
    """What of a file was read already."""


class ToolService:
    """Those that the agent runs, and the list of all."""

    def __init__(self, agent: AgentClient, audit: AuditService, speed: SpeedTests) -> None:
        self._agent = agent
        self._audit = audit
        self._speed = speed

    @requires("config.read")
    def running(self, _by: Principal) -> list[dict[str, Any]]:
        """What runs now. Raises `Unavailable`."""
        found: list[dict[str, Any]] = self._agent.call("tools")["value"]
        return [*found, *self._speed.running()]

    @requires("config.read")
    def start(self, by: Principal, tool: Tool, body: dict[str, Any]) -> Run:
        """Begin a run. Raises `Forbidden`, `Invalid`, `Conflict` (`tool-busy`) or `Unavailable`."""
        authorize(by, ACTIONS[tool.scope])
        arguments = tool.read(body)
        asked, subject = tool.to_json(arguments), tool.subject_of(arguments)
        params = {"tool": tool.name, "arguments": asked, "by": by.username}
        detail = json.dumps(asked, separators=(",", ":"), ensure_ascii=False)
        try:
            answer, (output,) = self._agent.call_for_fds("tool_start", params)
            begun = b"" if tool.answers == LINES else _begun(output)
        except Problem as problem:
            self._audit.record(by, "tool.run", subject, problem.code, detail)
            raise
        self._audit.record(by, "tool.run", subject, detail=detail)
        return Run(answer["id"], tool, answer["note"], output, begun)

    @requires("config.write")
    def stop(self, by: Principal, run_id: str) -> dict[str, Any]:
        """End a run. Raises `NotFound`, `Forbidden` for one of a tool that they may not start, or
        `Unavailable`."""
        if (speed := self._speed.stop(by, run_id)) is not None:
            return speed
        for run in self.running(by):
            if run["id"] == run_id:
                authorize(by, ACTIONS[TOOLS[run["tool"]].scope])
        found = self._agent.call("tool_stop", {"id": run_id})
        self._audit.record(by, "tool.stop", found["subject"], detail=f"started by {found['by']}")
        return found


def _begun(output: int) -> bytes:
    """How a file begins. Raises `Unavailable` when there will be none, with the reason."""
    is_late = not select.select([output], [], [], FIRST_S)[0]
    data = b"" if is_late else os.read(output, READ_BYTES)
    if data[:1] not in (b"", b"{"):
        return data
    os.close(output)
    reason = json.loads(data)["message"] if data else LATE if is_late else LOST
    raise Unavailable(reason, code="tool-failed")


class Events:
    """What a run writes, as frames of a stream. For one reader."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._rest = b""
        self._unsent, self._tail = run.begun, b""
        self._is_over = False
        self._ended = False
        """Whether the tool has said how it ended."""

    def frame(self) -> bytes | None:
        """What there is now; `b""`: nothing yet, None: it is over. Raises `EOFError`: cut short."""
        if self._run.tool.answers != LINES:
            return self._part()
        if self._is_over or not select.select([self._run.output], [], [], 0)[0]:
            return None if self._is_over else b""
        data = os.read(self._run.output, READ_BYTES)
        self._is_over = not data
        *lines, self._rest = (self._rest + data).split(b"\n")
        found = b"".join(map(self._event, lines))
        if self._is_over and not self._ended:
            found += self._event(json.dumps({"event": "end", "reason": "lost", "message": LOST}).encode())
        return found or (None if self._is_over else b"")

    def _part(self) -> bytes | None:
        """Of a file, the same."""
        data, self._unsent = self._unsent, b""
        if not data:
            if not select.select([self._run.output], [], [], 0)[0]:
                return b""
            data = os.read(self._run.output, READ_BYTES)
        tool = self._run.tool
        self._tail = (self._tail + data)[-tool.tail_bytes :]
        if not data and not tool.is_whole(self._tail):
            raise EOFError(f"{tool.name} was cut short")
        return data or None

    def _event(self, line: bytes) -> bytes:
        values = json.loads(line)
        name = values.pop("event")
        self._ended = self._ended or name == "end"
        return event(name, values)
