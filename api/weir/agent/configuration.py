# SPDX-License-Identifier: Apache-2.0
"""The running configuration follows the store, from revision to revision.

Commit protocol (docs/adr/0040): the API holds the store's write lock, sends `apply`, commits, then sends
`settle`. Between apply and settle this process is ahead of the store; if the connection goes away in that
time, the store's head decides. Lock order everywhere: the store's write lock, then `Configuration.lock`.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from datetime import datetime
from typing import Any

from weir.agent.differences import differences, merged
from weir.agent.executor import Executor
from weir.agent.following import Following
from weir.agent.last_good import Mark
from weir.agent.preparing import Preparing
from weir.agent.running import Done, completed, steps_json
from weir.agent.sharing import Sharing
from weir.agent.undoing import Unsettled
from weir.compiler import SlotAllocation, compile_document
from weir.memory import give_back_soon
from weir.model.document import Change, Document
from weir.model.problem import Conflict, Invalid, NotFound, Problem, Unavailable, Unsupported
from weir.store import Pending

log = logging.getLogger(__name__)


class Configuration(Preparing):
    """Thread-safe. `state` and `revision` may be read without the lock."""

    def __init__(
        self,
        executor: Executor,
        sharing: Sharing,
        following: Following,
        capacity: int,
        now_local: Callable[[], datetime] = datetime.now,
        refusing: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> None:
        super().__init__(executor, sharing, following, capacity, now_local, refusing)
        self.started_at_ms = time.time_ns() // 1_000_000

    @property
    def state(self) -> str:
        """`starting`, `applying`, `held` (the store is not followed, the last good configuration runs), or as
        the drift log has it."""
        return (
            "held" if self._loaded and self.following.is_held and self._state != "applying" else self._state
        )

    # -- the store ---------------------------------------------------------------------------------------

    def open_store(self) -> bool:
        """Follow the store if it is there by now and knows what ran; at first bring the kernel to its head.

        False: it is not followed. Then the last good configuration runs, if there is one.
        """
        with self.lock:
            if self._loaded and not self.following.is_held:
                return True
            try:
                head = self.following.judge(self._settled_at or self.following.remembered)
                if self._loaded and self._unsettled is None and head == self._settled_at:
                    pass
                elif self._loaded:
                    self.resync()
                else:
                    revision, document = self.following.load()
                    mark = Mark(revision, head.digest if revision == head.revision else b"")
                    if not self._load_returned(mark, document):
                        self._load(mark, document)
            except Problem as problem:
                if isinstance(problem, Unsupported):
                    log.warning("what is stored cannot run: %s", problem.message)
                self._go_on_with_last_good()
                return False
            return True

    def adopt(self, revision: int, digest: bytes) -> None:
        """A person decided: the store is obeyed from its head on, which must be this one.

        Raises `Conflict` (`outdated`) when it is another by now, `Unavailable` when it cannot be read.
        """
        with self.lock:
            head = self.following.judge(None)
            if head != Mark(revision, digest):
                self.following.reason = "the database changed while it was looked at"
                raise Conflict(
                    f"the database has revision {head.revision} by now; look again", code="outdated"
                )
            log.warning("revision %d of the database is accepted as it is", revision)
            if self._loaded:
                self._take_over(head)
            else:
                self._load(head, self.following.load()[1])

    def _go_on_with_last_good(self) -> None:
        copy = self.following.last_good
        if self._loaded or copy is None or copy.mark is None or copy.mark.revision == 0:
            return
        mark, document = copy.mark, copy.load()
        if document is not None:
            log.warning("going on with revision %d, the last that ran", mark.revision)
            self._load(mark, document)

    def _take_over(self, head: Mark) -> None:
        """From what runs to what the store has, whatever lies between."""
        self._back_to_settled()
        revision, document = self.following.load()
        changes = differences(self.document, document)
        if changes:
            self._advance(changes, strict=False)
            log.info("brought to revision %d, the store's head", revision)
        self.revision = revision
        self._settled_at = head if head.revision == revision else Mark(revision, b"")
        self._tidy(changes)

    def _back_to_settled(self) -> None:
        if self._unsettled is not None:
            back = [change.inverse for change in reversed(self._unsettled.changes)]
            self._unsettled = None
            self._advance(back, strict=False)

    def keep_last_good(self) -> None:
        """Called now and then: the copy of what runs follows. Not what waits to be settled."""
        with self.lock:
            mark = self._settled_at
            if not self._loaded or self.following.is_held or mark is None or not mark.digest:
                return
        if self.following.lags(mark) and self.pending() is None:  # good is what is confirmed
            self.following.keep(mark, lambda: self._document_at(mark))

    def check_store(self) -> None:
        """Look through the whole store for damage; seconds, without holding up anything."""
        if self._loaded and not self.following.is_held:
            self.following.check()

    def running(self) -> tuple[int, Document]:
        """The last revision that ran and that the store had, and a document of one's own of what it is."""
        with self.lock:
            if not self._loaded or self._unsettled is not None:
                raise Unavailable("the agent has nothing to give yet; try again", code="starting")
            return self._settled_number, self.document.copy()

    def _document_at(self, mark: Mark) -> Document | None:
        with self.lock:
            return self.document.copy() if self._settled_at == mark and self._unsettled is None else None

    def pending(self) -> Pending | None:
        """The change that waits for its confirmation, as the store has it now."""
        return None if self.following.is_held else self.following.store.pending()

    def _load(self, mark: Mark, document: Document) -> None:
        """First start: slots are recovered from the kernel, so that running classes stay where they are."""
        self._state = "starting"
        self.forget()
        recovered = dict(self.executor.tables.read_keys())
        allocation = SlotAllocation(self._capacity, recovered)
        with self._refusing():
            self.compiled = compile_document(
                document, allocation, self._now_local(), self.executor.registered
            )
        self.document, self.revision, self._settled_at = document, mark.revision, mark
        self._loaded = True
        self.slot_log.reset()
        self.executor.pass_time(self.compiled)
        synced = self._sync(None, "start")
        self.sharing.reset(self.compiled)
        give_back_soon()
        log.info("revision %d is running: %d entries brought in line", mark.revision, len(synced.repaired))

    # -- changes -----------------------------------------------------------------------------------------

    def apply(self, base: int, revision: int, changes: Sequence[Change], by: object = None) -> dict[str, Any]:
        """Validate, compile, apply, read back, verify; on any failure everything is as before. `by` is the
        connection, on whose word it stays until it is settled.

        Raises `Conflict` (`base-mismatch`), `Invalid` with findings, `NotFound`, `Unavailable`,
        `ApplyFailed`, `Unsupported`.
        """
        with self.lock:
            self._require_next(base, revision)
            changes = completed(changes, self.document)
            with self._refusing():
                done = self._advance(changes, strict=True)
            return self._applied(revision, changes, done, by)

    def apply_prepared(self, base: int, revision: int, token: str, by: object = None) -> dict[str, Any]:
        """As `apply`, of what was prepared; raises also `Conflict` (`not-prepared`)."""
        with self.lock:
            self._require_next(base, revision)
            changes, done = self._advance_prepared(token)
            return self._applied(revision, changes, done, by)

    def _applied(self, revision: int, changes: Sequence[Change], done: Done, by: object) -> dict[str, Any]:
        plan, timing, effects = done
        self.revision = revision
        if self.returned is None:
            self._unsettled = Unsettled(revision, changes, self._before, by)
        self._before = None
        return {
            "revision": revision,
            "steps": steps_json(plan),
            "counts": plan.counts()._asdict(),
            "effects": effects,
            "apply_ms": round(timing.apply_ms, 3),
            "verify_ms": round(timing.verify_ms, 3),
        }

    def settle(self, revision: int) -> None:
        """The store has committed `revision`."""
        with self.lock:
            if self.revision != revision:
                self.resync()
                return
            self._settled(Mark(revision, b""))

    def abandoned(self, by: object) -> None:
        """The connection is gone: what it applied stays only if the store has it."""
        with self.lock:
            if self._unsettled is not None and self._unsettled.by is by:
                log.warning(
                    "revision %d was applied and not settled; asking the store", self._unsettled.revision
                )
                self.resync()

    def resync(self) -> None:
        """Bring document and kernel to the store's head. Raises `Unavailable` without a store."""
        with self.lock:
            store = self._require_store()
            if self._stays_returned():
                return
            try:
                found = self.following.judge(self._settled_at)
            except Problem:
                self._back_to_settled()
                self._back_in_number()
                raise
            if self._unsettled is not None and found.revision == self._unsettled.revision:
                self.revision = found.revision
                self._settled(found)
                return
            back = self._unsettled.changes if self._unsettled else ()
            try:
                head, forward = store.changes_since(self._settled_number)
            except NotFound:  # it was too long ago
                self._take_over(found)
                return
            changes = merged([*(change.inverse for change in reversed(back)), *forward])
            if changes:
                self._advance(changes, strict=False)
                log.info("brought to revision %d, the store's head", head)
            self.revision = head
            self._settled_at = found if found.revision == head else Mark(head, b"")
            self._unsettled = None
            self._tidy(changes)

    def _back_in_number(self) -> None:
        self.revision = self._settled_number

    def follow_head(self) -> None:
        """Notice a commit whose `settle` was lost. Not while a revision waits to be settled."""
        self._require_store()
        with self.lock:
            if self._unsettled is not None:
                return
            found = self.following.judge(self._settled_at)
            if found.revision != self._settled_number:
                self.resync()
            else:
                self._settled_at = found

    def _settled(self, mark: Mark) -> None:
        changes = () if self._unsettled is None else self._unsettled.changes
        self._settled_at, self._last, self._unsettled = mark, self._unsettled, None
        if self.returned is not None:
            self.returned = self._last = None
        self._tidy(changes)

    def _require_next(self, base: int, revision: int) -> None:
        self._require_base(base)
        if revision <= base:
            raise Invalid(f"revision {revision} does not follow {base}", code="bad-revision")

    def _require_base(self, base: int) -> None:
        if not self.open_store():
            raise self._not_followed()
        if self._stays_returned() and base == self._settled_number:
            return
        if self._unsettled is not None or base != self.revision:
            self.resync()
        if base != self.revision:
            raise Conflict(
                f"the change is based on revision {base}, the store's head is {self.revision}",
                code="base-mismatch",
            )
