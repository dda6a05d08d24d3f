# SPDX-License-Identifier: Apache-2.0
"""The thread that keeps the router as configured: events, slow scans, time windows.

Nothing here needs the API: with it dead, drift is repaired, windows open and close, and an unconfirmed
change is undone (`weir.agent.rollback`).
"""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Callable
from datetime import datetime

from weir.adapters.events import Events, KernelTopic
from weir.agent.configuration import Configuration
from weir.agent.options import SCAN_S
from weir.agent.rollback import RollbackTimer
from weir.agent.routing import Routing
from weir.agent.sending import Sending
from weir.backends.backend import Topic
from weir.model.problem import Problem

log = logging.getLogger(__name__)

TABLES_SCAN_S = 300.0
HEAD_POLL_S = 2.0
SIZES_S = 5.0
REST_S = 5.0
LEASES_S = 1.0
RETRY_S = 5.0
FIRST_BACKOFF_S, LAST_BACKOFF_S = 0.2, 10.0
CHECK_AFTER_S = 60.0
"""When the router has started, all of the store is looked at."""
QUIET_S, BURST_LIMIT_S = 0.1, 1.0

ROUTED_BY: frozenset[KernelTopic] = frozenset(("links", "routes"))


class Reconciler:
    """Start it after the configuration; `stop` waits for it."""

    def __init__(
        self,
        configuration: Configuration,
        events: Events,
        *,
        scan_s: float,
        check_s: float,
        fit_sizes: Callable[[], None] = lambda: None,
        follow_leases: Callable[[], None] = lambda: None,
        keep_early: Callable[[], None] = lambda: None,
        routing: Routing | None = None,
        sending: Sending | None = None,
    ) -> None:
        self._configuration = configuration
        self._events = events
        self._scan_s, self._check_s = scan_s, check_s
        self._fit_sizes = fit_sizes
        self._follow_leases = follow_leases
        self._keep_early = keep_early
        self._routing = routing
        self._sending = sending
        self._stopping = threading.Event()
        self._lock = threading.Lock()
        self._asked: set[Topic] = set()
        self._backoff_s = FIRST_BACKOFF_S
        self._thread = threading.Thread(target=self._run, name="reconciler", daemon=True)
        self._rollback = RollbackTimer(configuration)
        now = time.monotonic()
        self._due: dict[str, float] = {
            "head": now,
            "scan": now + scan_s,
            "tables": now + TABLES_SCAN_S,
            "minute": now,
            "sizes": now,
            "rest": now,
            "leases": now,
            "early": now,
            "faults": math.inf,
            "routing": now,
            "neighbours": now,
            "copy": now,
            "check": now + min(CHECK_AFTER_S, check_s),
            "sending": now,
        }

    def start(self) -> None:
        self._rollback.start()
        self._thread.start()

    def wake(self) -> None:
        """Something may be due earlier than was thought (a revision was committed)."""
        self._due["head"] = self._due["early"] = self._due["copy"] = 0.0
        if self._configuration.following.damage:  # perhaps it is mended now
            self._due["check"] = 0.0
        self._events.wake()
        self._rollback.look()

    def look(self, topic: Topic) -> None:
        """Compare the parts that this concerns soon, from any thread."""
        with self._lock:
            self._asked.add(topic)
        self._events.wake()

    def stop(self) -> None:
        self._stopping.set()
        self._events.wake()
        self._thread.join()
        self._rollback.stop()

    def _run(self) -> None:
        while not self._stopping.is_set():
            try:
                self._round()
            except Problem as problem:
                log.warning("%s; trying again in %g s", problem.message, RETRY_S)
                self._stopping.wait(RETRY_S)
            except Exception:
                log.exception("the reconciler failed; it goes on in %g s", RETRY_S)
                self._stopping.wait(RETRY_S)

    def _round(self) -> None:
        topics = self._events.wait(max(min(self._due.values()) - time.monotonic(), 0.0))
        if self._stopping.is_set():
            return
        self._compare_asked()
        if not topics.isdisjoint(ROUTED_BY):
            self._look_at_routing()  # before it is waited for more: XDP must not send on as routes were
            self._due["routing"] = 0.0
        if topics:
            topics |= self._events.settle(QUIET_S, BURST_LIMIT_S)
            self._configuration.reconcile(self._configuration.executor.looking_at(*topics))
        tasks: dict[str, Callable[[], float]] = {
            "head": self._look_at_store,
            "scan": self._scan,
            "tables": self._scan_tables,
            "minute": self._pass_time,
            "sizes": self._look_at_sizes,
            "rest": self._rest,
            "leases": self._look_at_leases,
            "early": self._look_at_early,
            "faults": self._try_again,
            "routing": self._look_at_routing,
            "neighbours": self._look_at_neighbours,
            "copy": self._keep_copy,
            "check": self._check_store,
            "sending": self._look_at_sending,
        }
        for name, task in tasks.items():
            if time.monotonic() >= self._due[name]:
                self._due[name] = time.monotonic() + RETRY_S  # if it raises
                self._due[name] = time.monotonic() + task()
        self._plan_retry()

    def _compare_asked(self) -> None:
        with self._lock:
            asked, self._asked = self._asked, set()
        if asked:
            self._configuration.reconcile(self._configuration.executor.looking_at(*asked))

    def _try_again(self) -> float:
        self._configuration.reconcile(self._configuration.drift.faulty())
        self._backoff_s = min(self._backoff_s * 2, LAST_BACKOFF_S)
        return self._backoff_s

    def _plan_retry(self) -> None:
        """What cannot be brought in line is tried again after 0.2 s, then after twice as long each time."""
        if not self._configuration.drift.faulty():
            self._due["faults"], self._backoff_s = math.inf, FIRST_BACKOFF_S
        elif self._due["faults"] == math.inf:
            self._due["faults"] = time.monotonic() + self._backoff_s

    def _look_at_store(self) -> float:
        """Follow the store's head; seconds until the next look."""
        if self._configuration.open_store():
            self._configuration.follow_head()
        return HEAD_POLL_S

    def _scan(self) -> float:
        self._configuration.look_again()
        self._configuration.reconcile(self._configuration.executor.scanned())
        return self._scan_s

    def _scan_tables(self) -> float:
        if not self._configuration.tables_agree():
            self._configuration.reconcile(("tables",))
        return TABLES_SCAN_S

    def _look_at_sizes(self) -> float:
        self._fit_sizes()
        return SIZES_S

    def _look_at_leases(self) -> float:
        self._follow_leases()
        return LEASES_S

    def _look_at_early(self) -> float:
        self._keep_early()
        return HEAD_POLL_S

    def _look_at_routing(self) -> float:
        if self._routing is None:
            return SCAN_S
        return self._routing.follow(self._configuration.lock, self._configuration.follow_routing)

    def _look_at_sending(self) -> float:
        if self._sending is None:
            return SCAN_S
        return self._sending.look(self._configuration.lock, self._configuration.follow_routing)

    def _look_at_neighbours(self) -> float:
        return SCAN_S if self._routing is None else self._routing.confirm_used(self._configuration.lock)

    def _keep_copy(self) -> float:
        self._configuration.keep_last_good()
        return HEAD_POLL_S

    def _check_store(self) -> float:
        """In a thread of its own: a large store takes seconds, and nothing else may wait for them."""
        threading.Thread(target=self._configuration.check_store, name="check", daemon=True).start()
        return self._check_s

    def _rest(self) -> float:
        self._configuration.rest()
        return REST_S

    def _pass_time(self) -> float:
        """At every full minute, the resolution of time windows; a stepped clock is seen a minute later."""
        self._configuration.pass_time()
        now = datetime.now()
        return 60.0 - now.second - now.microsecond / 1e6 + 0.01
