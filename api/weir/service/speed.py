# SPDX-License-Identifier: Apache-2.0
"""Runs of the speed test: one at a time, each with its own time, and counted here."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import Any, Literal

from weir.accounts.audit import AuditService
from weir.accounts.permissions import requires
from weir.accounts.principal import Principal
from weir.model import tree
from weir.model.problem import Conflict, NotFound, Problem
from weir.service.configuration import ConfigService
from weir.store.clock import wall_ms
from weir.tools.speed import SPEED, STREAMS
from weir.wire.client import AgentClient

Json = dict[str, Any]
Way = Literal["download", "upload"]
UNKNOWN_WAY = "The interface and the queues between the client and the router are not known"
UNKNOWN_QUEUE = "The queues of this address are not known: it may be in a VRF"


@dataclass(frozen=True, slots=True)
class Path:
    """The way between the client and the router, as far as it is known; `unknown` says what of it is not, as
    a sentence without its stop. `queue` is the one with the lowest limit that a download to this address
    has, `limit_bps`."""

    address: str
    interface: str | None = None
    queue: tuple[str, str] | None = None
    limit_bps: int | None = None
    unknown: str | None = None

    def to_json(self) -> Json:
        queue = None
        if self.queue is not None:
            queue = {"id": self.queue[0], "name": self.queue[1], "limit_bps": self.limit_bps}
        return {
            "address": self.address,
            "interface": self.interface,
            "queue": queue,
            "unknown": self.unknown,
        }


@dataclass(slots=True)
class SpeedRun:
    """Bytes of both directions, seen from the router. Over when its time is, or earlier. Thread-safe."""

    id: str
    by: Principal
    path: Path
    lasts_s: float
    started_at_ms: int
    over: threading.Event = field(default_factory=threading.Event)
    begun_s: float = field(default_factory=time.monotonic)
    stopped: bool = False
    sent_bytes: int = 0
    received_bytes: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def is_over(self) -> bool:
        return self.over.is_set() or self.age_s() >= self.lasts_s

    def age_s(self) -> float:
        return time.monotonic() - self.begun_s

    def count(self, sent: int = 0, received: int = 0) -> None:
        with self._lock:
            self.sent_bytes += sent
            self.received_bytes += received

    def told(self) -> Json:
        """As the agent tells the runs of its tools."""
        return {
            "id": self.id,
            "tool": SPEED.name,
            "subject": f"speed test with {self.path.address}",
            "by": self.by.username,
            "started_at": self.started_at_ms,
        }


class SpeedTests:
    """At most `STREAMS` requests transfer at once in each direction, of all runs: so few threads read."""

    def __init__(self, agent: AgentClient, config: ConfigService, audit: AuditService) -> None:
        self._agent = agent
        self._config = config
        self._audit = audit
        self._lock = threading.Lock()
        self._count = 0
        self._run: SpeedRun | None = None
        self._streams: dict[Way, int] = {"download": 0, "upload": 0}

    def running(self) -> list[Json]:
        with self._lock:
            run = self._run
        return [] if run is None or run.is_over else [run.told()]

    @requires("tools.run")
    def start(self, by: Principal, body: Json) -> SpeedRun:
        """Begin a run with `by.source`. Raises `Invalid`, or `Conflict` (`tool-busy`)."""
        arguments = SPEED.read(body)
        subject = f"speed test with {by.source}"
        detail = json.dumps(SPEED.to_json(arguments), separators=(",", ":"))
        path = self._path(by)
        try:
            run = self._admit(by, path, SPEED.seconds(arguments))
        except Conflict as problem:
            self._audit.record(by, "tool.run", subject, problem.code, detail)
            raise
        self._audit.record(by, "tool.run", subject, detail=detail)
        return run

    def _admit(self, by: Principal, path: Path, lasts_s: float) -> SpeedRun:
        with self._lock:
            other = self._run
            if other is not None and not other.is_over:
                what = f"{other.by.username} has been running a {other.told()['subject']}"
                raise Conflict(f"{what} for {other.age_s():.0f} s; one at a time", code="tool-busy")
            self._count += 1
            self._run = SpeedRun(f"s{self._count}", by, path, lasts_s, wall_ms())
            return self._run

    def end(self, run: SpeedRun) -> None:
        """It is over, however it came to that."""
        run.over.set()
        with self._lock:
            if self._run is run:
                self._run = None

    def stop(self, by: Principal, run_id: str) -> Json | None:
        """End a run of anybody; None: no such run is under way. The caller has asked whether `by` may."""
        with self._lock:
            run = self._run
        if run is None or run.id != run_id or run.is_over:
            return None
        run.stopped = True
        self.end(run)
        self._audit.record(by, "tool.stop", run.told()["subject"], detail=f"started by {run.by.username}")
        return run.told()

    @requires("tools.run")
    def of(self, by: Principal, run_id: str) -> SpeedRun:
        """A run under way that was begun with the same credential. Raises `NotFound`."""
        with self._lock:
            run = self._run
        if run is None or run.id != run_id or run.is_over or _credential(run.by) != _credential(by):
            raise NotFound(f"no speed test {run_id!r} of yours is under way", code="no-such-run")
        return run

    def enter(self, way: Way) -> None:
        """Another request transfers; `leave` follows. Raises `Conflict` (`tool-busy`)."""
        with self._lock:
            if self._streams[way] >= STREAMS:
                raise Conflict(f"{STREAMS} requests {way} already; no more at once", code="tool-busy")
            self._streams[way] += 1

    def leave(self, way: Way) -> None:
        with self._lock:
            self._streams[way] -= 1

    @contextmanager
    def transferring(self, way: Way) -> Iterator[None]:
        self.enter(way)
        try:
            yield
        finally:
            self.leave(way)

    def _path(self, by: Principal) -> Path:
        """What the agent knows of the client's address; a test goes on without it."""
        try:
            told = self._agent.call("customer_line", {"address": by.source})
        except Problem as problem:
            return Path(by.source, unknown=f"{UNKNOWN_WAY}: {problem.message}")
        if told["access"] is None:
            is_here = ip_address(by.source).is_loopback
            why = "the client is on the router itself" if is_here else "no route leads to this address"
            return Path(by.source, unknown=f"{UNKNOWN_WAY}: {why}")
        interface = told["access"]["interface"]
        if told["queue_id"] is None:
            unknown = UNKNOWN_QUEUE if told["may_be_in_vrf"] else None
            return Path(by.source, interface, unknown=unknown)
        with self._config.document(by) as document:
            tightest = tree.tightest_download(document, document.queue(told["queue_id"]))
        if tightest is None:
            return Path(by.source, interface)
        return Path(by.source, interface, (tightest.id, tightest.name), tightest.max_limit_bps.download)


def _credential(by: Principal) -> tuple[int, str, str]:
    return by.user_id, by.via, by.credential_id
