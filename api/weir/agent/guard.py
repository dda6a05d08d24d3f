# SPDX-License-Identifier: Apache-2.0
"""The thread that sees within a moment when limits stop to hold, and does not wait for anybody to mend that.

BPF tells nobody when a program is detached, a map written or a pin removed. So five times a second all that
decides whether packets meet their classes is compared (`Datapath.guard`) and mended at once, beside the
configuration's lock: a long commit does not keep the guard waiting. What somebody else's rules must see
leaves the fast path as soon as the kernel tells of the rules. The reconciler finds out what is right instead.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import Any, Protocol

from weir.adapters.events import RuleEvents
from weir.agent.drift import DriftLog
from weir.backends.backend import Topic

log = logging.getLogger(__name__)


class Guarded(Protocol):
    """The part of `Datapath` that is called here."""

    def guard(self) -> tuple[str, str]: ...
    def hold_fast_path(self) -> None: ...


class Guard:
    """Start it after the configuration; `stop` waits for it, and must come before the datapath is closed."""

    def __init__(
        self,
        datapath: Guarded,
        rules: RuleEvents,
        drift: DriftLog,
        look: Callable[[Topic], None],
        *,
        period_s: float,
        mount_pins: Callable[[], None] = lambda: None,
        routing: Callable[[], object] = lambda: None,
    ) -> None:
        """`look` makes the reconciler compare soon what a topic concerns; `mount_pins` gives pins a file
        system again; `routing` is something that changes when the routing daemons are others than before."""
        self._datapath = datapath
        self._rules = rules
        self._drift = drift
        self._look = look
        self._mount_pins = mount_pins
        self._routing = routing
        self._period_s = period_s
        self._daemons: Any = None
        self._fault = ""
        self._stopping = False
        self._thread = threading.Thread(target=self._run, name="guard", daemon=True)

    def start(self) -> None:
        self._daemons = self._routing()
        self._thread.start()

    def stop(self) -> None:
        self._stopping = True
        self._rules.wake()
        self._thread.join()

    def _run(self) -> None:
        due_s = time.monotonic()
        while not self._stopping:
            try:
                if self._rules.foreign(max(due_s - time.monotonic(), 0.0)):
                    self._datapath.hold_fast_path()
                    self._look("firewall")
                if time.monotonic() >= due_s:
                    due_s = time.monotonic() + self._period_s
                    self._check()
            except Exception:
                log.exception("the guard failed; it goes on")
                due_s = time.monotonic() + self._period_s

    def _check(self) -> None:
        mended, fault = self._datapath.guard()
        if mended:
            self._drift.found("ports", f"mended: {mended}")
            self._look("hooks")
        if fault != self._fault:
            self._fault = fault
            self._drift.tell("guard", "ports", [fault] if fault else [])
        if fault:
            self._mount_pins()
        daemons = self._routing()
        if daemons != self._daemons:
            self._daemons = daemons
            self._look("daemons")
