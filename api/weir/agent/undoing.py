# SPDX-License-Identifier: Apache-2.0
"""Undoing a change that nobody confirmed in time: the kernel first, then the store.

Between the two the kernel runs what was before the change (`returned`), and the store still has the change
as its head and as the one that waits for its confirmation. An agent that starts then finds that its time is
over, and begins with what was before. So whatever dies in between, both meet at the old configuration.
"""

from __future__ import annotations

import logging
from abc import abstractmethod
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from datetime import datetime

from weir.agent.executor import Executor
from weir.agent.following import HELD, Following, Store
from weir.agent.last_good import Mark
from weir.agent.running import MANY_CHANGES, RunningConfiguration, after_beside
from weir.agent.sharing import Sharing
from weir.agent.way_back import Before, WayBack
from weir.compiler import update
from weir.model.document import Change, Document
from weir.model.packed_changes import PackedChanges
from weir.model.problem import Problem, Unavailable
from weir.model.rules import rewrites_queues
from weir.store import Pending
from weir.store.clock import boot_id, boottime_ms, wall_ms

log = logging.getLogger(__name__)

FEW_CHANGES = 1000
"""Their way back is worked out within 0.1 s."""


@dataclass(frozen=True, slots=True)
class Unsettled:
    """An applied revision that the store has not committed yet, and what ran before it."""

    revision: int
    changes: Sequence[Change]
    before: Before | None = None
    by: object = None
    """The connection that applied it. The number says too little: after a commit that came to nothing,
    the next one has the same."""


class Undoing(RunningConfiguration):
    """Thread-safe. `revision` and `returned` may be read without the lock."""

    def __init__(
        self,
        executor: Executor,
        sharing: Sharing,
        following: Following,
        capacity: int,
        now_local: Callable[[], datetime],
        refusing: Callable[[], AbstractContextManager[None]],
    ) -> None:
        super().__init__(executor, sharing, capacity, now_local, refusing)
        self.following = following
        self.revision = 0
        self.returned: Pending | None = None
        """The change that was not confirmed in time: the kernel is back, and the store is to follow."""
        self._unsettled: Unsettled | None = None
        self._settled_at: Mark | None = None
        """The last revision that ran and that the store has. Its digest may be asked for later: b""."""
        self._last: Unsettled | None = None
        """What was settled last, until it is known whether it waits for a confirmation."""
        self._way: WayBack | None = None

    @abstractmethod
    def resync(self) -> None:
        """Bring document and kernel to the store's head. Raises `Unavailable` without a store."""

    @abstractmethod
    def _settled(self, mark: Mark) -> None:
        """The store has what was applied last."""

    def await_confirmation(self, pending: Pending | None) -> None:
        """What the store says now: the way back from anything else is given up."""
        with self.lock:
            if pending is None or (self._last is not None and self._last.revision != pending.revision):
                self._last = None
            if pending is None:
                self._way = None
            if self.returned is not None and self.returned != pending:
                self.resync()

    def prepare_way_back(self, pending: Pending) -> None:
        """Work out what is to be done should nobody confirm. Thousands of changes take seconds, but nobody
        waits meanwhile. Raises `Unavailable`."""
        with self.lock:
            if self.returned == pending or self._is_prepared(pending):
                return
            last, self._last = self._last, None
            way = None
            if last is not None and last.revision == pending.revision:
                way = WayBack.over(pending.revision, last.changes, last.before, self.compiled)
        if way is None or (way.plan is None and len(way.changes) > FEW_CHANGES):
            way = self._compiled_way(pending)
        if way.plan is not None:
            way = replace(way, tables=self.executor.prepared(way.plan))
        with self.lock:
            self._way = way

    def _is_prepared(self, pending: Pending) -> bool:
        way = self._way
        if way is None or way.revision != pending.revision:
            return False
        return len(way.changes) <= FEW_CHANGES or way.holds(self.compiled)

    def _compiled_way(self, pending: Pending) -> WayBack:
        """By what the store says, beside everything else that happens; an agent that started has no other."""
        with self.lock:
            document = self.document.copy()
        changes = PackedChanges(self._changes_back(pending)).against(document)
        if len(changes) <= FEW_CHANGES:
            return WayBack(pending.revision, changes)
        after = after_beside(document, changes)
        try:
            plan = update(self.compiled, after, changes, self._now_local())
        except RuntimeError:  # it was changed in place meanwhile
            return WayBack(pending.revision, changes)
        return WayBack(pending.revision, changes, after, plan)

    def _changes_back(self, pending: Pending) -> Sequence[Change]:
        return self._require_store().changes_between(pending.revision, pending.base_revision)

    def roll_back(self, expected: Pending) -> int | None:
        """Undo a change nobody confirmed, in the kernel and then in the store; its new revision, or None if
        it was confirmed meanwhile, or is being reverted by a person.

        Raises `Unavailable` when the store cannot be written; the kernel is back then (`returned`).
        """
        store = self._require_store()
        if not self._return(expected):
            return None
        with store.write() as transaction:
            pending = transaction.pending()
            number = transaction.roll_back_pending() if pending == expected else None
        with self.lock:
            if self.returned == expected and number is not None:
                self.revision = number
                self._settled(Mark(number, b""))
            elif self.returned == expected:
                self.resync()
        if number is not None:
            log.warning(
                "revision %d was not confirmed; %d restores what was before", expected.revision, number
            )
        return number

    def _return(self, expected: Pending) -> bool:
        """The kernel goes back, whatever the store can do at the moment. False: it is not to."""
        if self.returned == expected:
            return True
        if self.following.store.pending() != expected:
            return False
        with self.lock:
            if self._unsettled is not None and self._unsettled.revision == expected.revision + 1:
                return False  # while one change waits, nothing but its undoing follows it
            if self._unsettled is not None or self._settled_number != expected.revision:
                self.resync()
            way, self._way = self._way, None
            if way is None or way.revision != expected.revision:
                way = self._compiled_way(expected)
            self._go(way)
            self._is_back(expected, way.changes)
        if way.tables is not None and not self.tables_agree():
            self.reconcile(("tables",))
        return True

    def _is_back(self, pending: Pending, changes: Sequence[Change]) -> None:
        self.returned = pending
        self._unsettled = Unsettled(pending.revision + 1, changes)
        self.revision = pending.base_revision
        log.warning(
            "revision %d was not confirmed in time: the kernel is back at revision %d",
            pending.revision,
            pending.base_revision,
        )

    def _load_returned(self, mark: Mark, document: Document) -> bool:
        """At a start after the deadline: begin with what was before the change that waits. False when there
        is no such change."""
        try:
            pending = self.following.store.pending()
        except Problem as problem:
            log.warning("%s", problem.message)
            return False
        if pending is None or pending.revision != mark.revision:
            return False
        if pending.seconds_left(wall_ms(), boot_id(), boottime_ms()) > 0:
            return False
        changes = self.following.store.changes_between(pending.revision, pending.base_revision)
        if len(changes) > MANY_CHANGES and rewrites_queues(document, changes):
            document = document.after(changes)
        else:
            document.apply(changes)
        self._load(mark, document)
        self._is_back(pending, changes)
        return True

    @abstractmethod
    def _load(self, mark: Mark, document: Document) -> None:
        """First start: bring the kernel to a document."""

    def _stays_returned(self) -> bool:
        """Whether the store still has to follow the kernel back."""
        if self.returned is None:
            return False
        if self.following.store.pending() != self.returned:
            self.returned = None
            return False
        self.revision = self.returned.base_revision
        return True

    @property
    def _settled_number(self) -> int:
        return 0 if self._settled_at is None else self._settled_at.revision

    def _require_store(self) -> Store:
        if self.following.is_held or not self._loaded:
            raise self._not_followed()
        return self.following.store

    def _not_followed(self) -> Unavailable:
        reason = self.following.reason
        if not self._loaded:
            return Unavailable(f"the agent has no configuration yet: {reason}", code="starting")
        return Unavailable(f"{reason}; revision {self.revision} goes on running", code=HELD)
