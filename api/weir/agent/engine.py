# SPDX-License-Identifier: Apache-2.0
"""The running configuration: moved from revision to revision, always equal to what the kernel holds.

Commit protocol (docs/adr/0040): the API holds the store's write lock, sends `apply`, commits, then sends
`settle`. Between apply and settle this process is ahead of the store; if the connection goes away in that
time, the store's head decides. Lock order everywhere: the store's write lock, then `Engine.lock`.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Any

from weir.agent.dhcp_client import Lease
from weir.agent.differences import differences, merged
from weir.agent.drift import DriftLog
from weir.agent.kernel import PARTS, Kernel, Part, Synced, Timing, touched
from weir.agent.sharing import Sharing
from weir.agent.slots import SlotLog
from weir.compiler import (
    Plan,
    SlotAllocation,
    compile_document,
    nothing_compiled,
    update,
)
from weir.memory import give_back_soon
from weir.model.document import Change, Document
from weir.model.packed_changes import PackedChanges
from weir.model.problem import Conflict, Invalid, NotFound, Problem, Unavailable
from weir.model.rules import is_much, validate
from weir.store import ConfigStore, Pending

log = logging.getLogger(__name__)

MAX_STEPS = 1000
LEASED: tuple[Part, ...] = ("network", "routes")
SLICE = 500
"""Entries compared in one hold of the lock: about 5 ms."""
PAUSE_S = 0.002
"""Between two holds; a lock is not fair, and whoever waits must get it."""
MANY_CHANGES = 5000


@dataclass(frozen=True, slots=True)
class Unsettled:
    """An applied revision that the store has not committed yet, and the way back."""

    revision: int
    changes: Sequence[Change]


class Engine:
    """Thread-safe. `state` and `revision` may be read without the lock."""

    def __init__(
        self,
        kernel: Kernel,
        sharing: Sharing,
        database: Path,
        capacity: int,
        now_local: Callable[[], datetime] = datetime.now,
        refusing: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> None:
        """`now_local` gives the router's local time, without a zone: what time windows are compared with.
        What is raised within `refusing()` may be given more words."""
        self.kernel = kernel
        self.sharing = sharing
        self.lock = threading.RLock()
        self.state = "starting"
        self.revision = 0
        self.started_at_ms = time.time_ns() // 1_000_000
        self.drift = DriftLog()
        self.store: ConfigStore | None = None
        self.store_reason = "the store was not opened yet"
        self._database = database
        self._now_local = now_local
        self._capacity = capacity
        self._refusing = refusing
        self.document = Document()
        self.compiled = nothing_compiled(SlotAllocation(capacity), self._now_local())
        self.slot_log = SlotLog()
        self._unsettled: Unsettled | None = None
        self._settled_revision = 0
        self._loaded = False

    # -- the store ---------------------------------------------------------------------------------------

    def open_store(self) -> bool:
        """Open the store if it is there by now and bring the kernel to its head. False: not yet."""
        with self.lock:
            if self.store is None:
                try:
                    self.store = ConfigStore.open(self._database)
                except Problem as problem:
                    if problem.message != self.store_reason:
                        log.warning("no configuration yet: %s", problem.message)
                    self.store_reason = problem.message
                    return False
                self.store_reason = ""
            if not self._loaded:
                self._load(self.store)
            return True

    @property
    def loaded(self) -> bool:
        """Whether the document is the store's."""
        return self._loaded

    def pending(self) -> Pending | None:
        """The change that waits for its confirmation, as the store has it now."""
        return None if self.store is None else self.store.pending()

    def _load(self, store: ConfigStore) -> None:
        """First start: slots are recovered from the kernel, so that running classes stay where they are."""
        self.state = "starting"
        revision, document = store.load()
        recovered = dict(self.kernel.tables.read_keys())
        allocation = SlotAllocation(self._capacity, recovered)
        self.compiled = compile_document(document, allocation, self._now_local())
        self.document, self.revision, self._settled_revision = document, revision, revision
        self._loaded = True
        self.slot_log.reset(self.compiled.slots())
        synced = self.kernel.sync(self.compiled)
        self.sharing.reset(self.compiled)
        self._note(synced, "start")
        give_back_soon()
        log.info("revision %d is running: %d entries brought in line", revision, len(synced.repaired))

    # -- changes -----------------------------------------------------------------------------------------

    def apply(self, base: int, revision: int, changes: Sequence[Change]) -> dict[str, Any]:
        """Validate, compile, apply, read back, verify; on any failure everything is as before.

        Raises `Conflict` (`base-mismatch`), `Invalid` with findings, `NotFound`, `Unavailable`,
        `ApplyFailed`, `Unsupported`.
        """
        with self.lock:
            self._require_base(base)
            if revision <= base:
                raise Invalid(f"revision {revision} does not follow {base}", code="bad-revision")
            changes = self._completed(changes)
            with self._refusing():
                plan, timing = self._advance(changes, strict=True)
            self.revision = revision
            self._unsettled = Unsettled(revision, changes)
            return {
                "revision": revision,
                "steps": steps_json(plan),
                "counts": plan.counts()._asdict(),
                "apply_ms": round(timing.apply_ms, 3),
                "verify_ms": round(timing.verify_ms, 3),
            }

    def settle(self, revision: int) -> None:
        """The store has committed `revision`."""
        with self.lock:
            if self.revision != revision:
                self.resync()
                return
            self._settled(revision)

    def abandoned(self, revision: int) -> None:
        """The connection that applied `revision` is gone: only if the store has it does it stay."""
        with self.lock:
            if self._unsettled is not None and self._unsettled.revision == revision:
                log.warning("revision %d was applied and not settled; asking the store", revision)
                self.resync()

    def resync(self) -> None:
        """Bring document and kernel to the store's head. Raises `Unavailable` without a store."""
        with self.lock:
            store = self._require_store()
            back = self._unsettled.changes if self._unsettled else ()
            if self._unsettled is not None and store.head() == self._unsettled.revision:
                self._settled(self._unsettled.revision)
                return
            try:
                head, forward = store.changes_since(self._settled_revision)
                changes = merged([*(change.inverse for change in reversed(back)), *forward])
            except NotFound:  # the store knows nothing of our revision: it is another, or an older copy
                head, document = store.load()
                changes = differences(self.document, document)
            if changes:
                self._advance(changes, strict=False)
                log.info("brought to revision %d, the store's head", head)
            self.revision = self._settled_revision = head
            self._unsettled = None
            self._tidy(changes)

    def follow_head(self) -> None:
        """Notice a commit whose `settle` was lost. Not while a revision waits to be settled."""
        store = self._require_store()
        with self.lock:
            if self._unsettled is None and store.head() != self._settled_revision:
                self.resync()

    def roll_back(self, expected: Pending) -> int | None:
        """Undo a change nobody confirmed, in store and kernel; its new revision, or None if it was
        confirmed meanwhile. Raises `Unavailable` when the store cannot be written."""
        store = self._require_store()
        with store.write() as transaction:
            pending = transaction.pending()
            if pending is None or pending != expected:
                return None
            with self.lock:
                if self._unsettled is not None or self._settled_revision != transaction.head:
                    self.resync()
                number, changes = transaction.roll_back_pending()
                self._advance(changes, strict=False)
                self.revision = number
                self._unsettled = Unsettled(number, changes)
        self.settle(number)
        log.warning("revision %d was not confirmed; %d restores what was before", pending.revision, number)
        return number

    def pass_time(self) -> None:
        """Open and close time windows: those whose edge has passed since the last plan."""
        with self.lock:
            if self._loaded:
                self._advance((), strict=False)

    def reconcile(self, parts: Iterable[Part] = PARTS) -> Synced:
        """Compare the kernel with what is wanted and repair it; what was found is in the drift log."""
        with self.lock:
            if not self._loaded:
                return Synced()
            synced = self.kernel.sync(self.compiled, parts)
            self._note(synced, "drift", parts)
            return synced

    def take_lease(self, ifname: str, lease: Lease | None) -> None:
        """A DHCP server gave or refused an address: bring it to the kernel. That is no drift."""
        with self.lock:
            if self.kernel.leases.note(ifname, lease) and self._loaded:
                self._note(self.kernel.sync(self.compiled, LEASED), "lease", LEASED)

    def tables_agree(self) -> bool:
        """Compare all classes and prefixes in short holds of the lock, so that no change has to wait.

        What changes meanwhile may make a prefix look wrong: False means "compare as a whole".
        """
        tables = self.kernel.tables
        for first in range(1, self._capacity, SLICE):
            with self.lock:
                slots = range(first, min(first + SLICE, self._capacity))
                if not tables.agrees(self.compiled.shaping, slots):
                    return False
            time.sleep(PAUSE_S)
        with self.lock:
            held, count = tables.read().prefixes(), 0
        while part := list(islice(held, SLICE)):
            count += len(part)
            with self.lock:
                wanted = self.compiled.shaping.prefixes
                if any(wanted.get(key) != slot for key, slot in part):
                    return False
            time.sleep(PAUSE_S)
        with self.lock:
            return count == len(self.compiled.shaping.prefixes)

    def rest(self) -> None:
        """Called now and then: hold no mapping that was not used since."""
        with self.lock:
            self.kernel.tables.rest()

    # -- looking -----------------------------------------------------------------------------------------

    def preview(self, changes: Sequence[Change]) -> dict[str, Any]:
        """What changes would do: steps, counts and errors; nothing is done."""
        with self.lock:
            changes = self._completed(changes)
            after = self._document_after(changes)
            try:
                errors = validate(after, changes, errors_only=True)
                with self._refusing():
                    plan = update(self.compiled, after, changes, self._now_local())
            finally:
                self._take_back(after, changes)
            return {
                "steps": steps_json(plan),
                "counts": plan.counts()._asdict(),
                "findings": [finding.to_json() for finding in errors],
            }

    # -- inside ------------------------------------------------------------------------------------------

    def _advance(self, changes: Sequence[Change], *, strict: bool) -> tuple[Plan, Timing]:
        """Move document, compiled state and kernel over `changes`.

        Strict: refuse and restore on any failure. Not strict (the store has it already): what the
        kernel refuses is a fault that is tried again, and the rest is done.
        """
        self.state = "applying"
        after = self._document_after(changes)
        try:
            if strict:
                _refuse_invalid(after, changes)
            plan = update(self.compiled, after, changes, self._now_local())
            timing = self._execute(plan, strict)
        except BaseException:
            self._take_back(after, changes)
            self.state = self.drift.state
            raise
        self.document = after
        self.slot_log.note(plan)
        self.compiled.accept(plan)
        self.sharing.follow(plan)
        if timing is None:
            self._note(self.kernel.sync(self.compiled, touched(plan)), "change", touched(plan))
        self.state = self.drift.state
        return plan, timing or Timing(0.0, 0.0)

    def _document_after(self, changes: Sequence[Change]) -> Document:
        """The document after the changes: the same one, or of much of it another one beside it."""
        if len(changes) > MANY_CHANGES and is_much(self.document, changes):
            return self.document.after(changes)
        self.document.apply(changes)
        return self.document

    def _take_back(self, after: Document, changes: Sequence[Change]) -> None:
        """The document as before `_document_after`."""
        if after is self.document:
            self.document.revert(changes)
        if len(changes) > MANY_CHANGES:
            give_back_soon()

    def _execute(self, plan: Plan, strict: bool) -> Timing | None:
        """None when not everything could be done (lenient only): the parts must then be compared whole."""
        try:
            if strict:
                self.kernel.refuse_missing(plan)
            return self.kernel.execute(plan, self.compiled)
        except Exception as error:
            if not strict and isinstance(error, Problem):
                log.warning("not everything could be applied: %s", error.message)
                return None
            log.warning("apply failed, restoring: %s", error)
            self._note(self.kernel.sync(self.compiled, touched(plan)), "restore", touched(plan))
            raise

    def _settled(self, revision: int) -> None:
        changes = () if self._unsettled is None else self._unsettled.changes
        self._settled_revision, self._unsettled = revision, None
        self._tidy(changes)

    def _tidy(self, changes: Sequence[Change]) -> None:
        """After thousands of changes: pack the document, and give back what they took."""
        if len(changes) > MANY_CHANGES:
            self.document.pack()
            give_back_soon()

    def _completed(self, changes: Sequence[Change]) -> Sequence[Change]:
        """Changes with the `old` that this process holds; the sender's is not asked for."""
        seen: set[tuple[str, str]] = set()
        for change in changes:
            if (change.kind, change.id) in seen:
                raise Invalid(
                    f"{change.kind} {change.id} is changed twice",
                    code="twice",
                    path=f"{change.kind}/{change.id}",
                )
            seen.add((change.kind, change.id))
        if isinstance(changes, PackedChanges):
            return changes.against(self.document.copy())
        held = self.document.get
        completed = (Change(item.kind, item.id, held(item.kind, item.id), item.new) for item in changes)
        return [change for change in completed if change.old is not None or change.new is not None]

    def _require_base(self, base: int) -> None:
        if not self.open_store():
            raise Unavailable(f"the agent has no configuration yet: {self.store_reason}", code="starting")
        if self._unsettled is not None or base != self.revision:
            self.resync()
        if base != self.revision:
            raise Conflict(
                f"the change is based on revision {base}, the store's head is {self.revision}",
                code="base-mismatch",
            )

    def _require_store(self) -> ConfigStore:
        if self.store is None or not self._loaded:
            raise Unavailable(f"the agent has no configuration yet: {self.store_reason}", code="starting")
        return self.store

    def _note(self, synced: Synced, occasion: str, parts: Iterable[Part] = PARTS) -> None:
        self.drift.note(synced, occasion, parts)
        self.state = self.drift.state


def _refuse_invalid(after: Document, changes: Sequence[Change]) -> None:
    errors = [f for f in validate(after, changes, errors_only=True) if f.severity == "error"]
    if errors:
        first = errors[0]
        raise Invalid(first.message, code=first.code, path=first.path, findings=errors[:100])


def steps_json(plan: Plan) -> list[dict[str, str]]:
    return [
        {"backend": step.backend, "action": step.action, "what": f"{step.what} {step.text}"}
        for step in islice(plan.steps(), MAX_STEPS)
    ]
