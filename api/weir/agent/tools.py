# SPDX-License-Identifier: Apache-2.0
"""Runs of tools: one of each at a time, each a process that ends alone, with its reader or with the agent."""

from __future__ import annotations

import json
import logging
import queue
import socket
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

from weir.adapters.probes import END_S, Probe
from weir.agent.torch import Seat
from weir.model.problem import Conflict, Invalid, NotFound, Problem
from weir.store.clock import wall_ms
from weir.tools import TOOLS, Tool
from weir.wire.server import Answer, Handler, Peer

log = logging.getLogger(__name__)

MARGIN_S = 5.0
"""Beyond its own time a run is not believed to end by itself."""
START_S = 10.0
ENDING_S = 1.0
"""So long the next run waits for the one before, whose reader sees its end before its process is gone."""


@dataclass(slots=True)
class _Run:
    id: str
    tool: str
    subject: str
    by: str
    started_at_ms: int
    """The time of day, for people."""
    begun_s: float = field(default_factory=time.monotonic)
    probe: Probe | None = None


class Tools:
    """Thread-safe."""

    def __init__(self, seats: Mapping[str, Callable[[Any], Seat]] | None = None) -> None:
        """`seats`: of the tools that ask the agent, by name."""
        self._seats = seats or {}
        self._lock = threading.Condition()
        self._runs: dict[str, _Run] = {}
        """By tool."""
        self._count = 0

    def table(self) -> Mapping[str, Handler]:
        return {"tools": self._list, "tool_start": self._start, "tool_stop": self._stop}

    def stop(self) -> None:
        """End all runs; the agent stops."""
        with self._lock:
            probes = [run.probe for run in self._runs.values() if run.probe is not None]
        for probe in probes:
            probe.stop()

    def _list(self, _params: dict[str, Any], _peer: Peer) -> list[dict[str, Any]]:
        with self._lock:
            return [_told(run) for run in self._runs.values()]

    def _start(self, params: dict[str, Any], _peer: Peer) -> Answer:
        """A run, with the descriptor at which its output is read. Raises `Invalid`, `Conflict` (`tool-busy`)
        or `Unavailable`."""
        tool, body = TOOLS.get(str(params.get("tool"))), params.get("arguments")
        if tool is None or not isinstance(body, dict):
            raise Invalid("a tool and its arguments are needed", code="bad-request")
        arguments = tool.read(body)
        run = self._admit(tool, arguments, str(params.get("by", "")))
        started: queue.SimpleQueue[tuple[Probe, str] | Problem] = queue.SimpleQueue()
        work = (tool, arguments, run, started)
        threading.Thread(target=self._follow, args=work, name=f"tool-{tool.name}", daemon=True).start()
        begun = started.get(timeout=START_S)
        if isinstance(begun, Problem):
            raise begun
        probe, note = begun
        return Answer({**_told(run), "note": note}, fds=(probe.output,), closes=True)

    def _admit(self, tool: Tool, arguments: Any, by: str) -> _Run:
        with self._lock:
            self._lock.wait_for(lambda: tool.name not in self._runs, ENDING_S)
            other = self._runs.get(tool.name)
            if other is not None:
                since_s = time.monotonic() - other.begun_s
                text = f"{other.by} has been running {other.subject} for {since_s:.0f} s; one at a time"
                raise Conflict(text, code="tool-busy")
            self._count += 1
            run = _Run(f"r{self._count}", tool.name, tool.subject_of(arguments), by, wall_ms())
            self._runs[tool.name] = run
            return run

    def _follow(
        self,
        tool: Tool,
        arguments: Any,
        run: _Run,
        started: queue.SimpleQueue[tuple[Probe, str] | Problem],
    ) -> None:
        """One thread for each run: the kernel ends the process with it."""
        try:
            with ExitStack() as stack:
                seat = stack.enter_context(self._seats[tool.name](arguments)) if tool.asks_agent else None
                note = seat.note if seat else ""
                probe = run.probe = _begun(tool, arguments, note, seat)
                started.put((probe, note))
                said = probe.wait(tool.seconds(arguments) + MARGIN_S)
            if said:
                log.warning("%s: %s", run.subject, said)
        except Problem as problem:
            started.put(problem)
        finally:
            with self._lock:
                del self._runs[tool.name]
                self._lock.notify_all()
            log.info("%s ended after %.1f s", run.subject, time.monotonic() - run.begun_s)

    def _stop(self, params: dict[str, Any], _peer: Peer) -> dict[str, Any]:
        """Raises `NotFound` when it has ended."""
        run_id = params.get("id")
        with self._lock:
            run = next((run for run in self._runs.values() if run.id == run_id), None)
        if run is None or run.probe is None:
            raise NotFound(f"no run {run_id!r} is under way", code="no-such-run")
        run.probe.stop()
        threading.Timer(END_S, run.probe.kill).start()
        return _told(run)


def _begun(tool: Tool, arguments: Any, note: str, seat: Seat | None) -> Probe:
    body = json.dumps(tool.to_json(arguments))
    if seat is None:
        return Probe(tool.name, body, note)
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs, ExitStack() as opened:
        opened.enter_context(ours)
        probe = Probe(tool.name, body, note, theirs.fileno())
        threading.Thread(target=seat.serve, args=(ours,), name="tool-names", daemon=True).start()
        opened.pop_all()
    return probe


def _told(run: _Run) -> dict[str, Any]:
    return {
        "id": run.id,
        "tool": run.tool,
        "subject": run.subject,
        "by": run.by,
        "started_at": run.started_at_ms,
    }
