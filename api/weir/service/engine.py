# SPDX-License-Identifier: Apache-2.0
"""The commit: one at a time, through the store and the agent, all or nothing.

    connect to the agent                       down: refused before anything is written
    take the store's write lock
        catch up, check what was expected, validate
        write the revision                     still invisible to everybody else
        agent: apply                           a refusal or a timeout rolls the store back;
                                               thousands of changes are applied while they are written
    COMMIT                                     from here on the revision is the truth
    agent: settle                              without it the agent goes by the store when it wakes up

Whatever dies in between, the store holds the old or the new revision, and the agent, seeing its
connection drop before `settle`, brings the kernel to what the store holds.
"""

from __future__ import annotations

import hashlib
import json
import logging
import secrets
import threading
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from weir.model.document import Change
from weir.model.problem import (
    Conflict,
    Invalid,
    NotFound,
    PreconditionFailed,
    Problem,
    Unavailable,
)
from weir.service.audit import AuditService, entry_of
from weir.service.packed_edits import PackedEdits
from weir.service.running import MANY, Running, Trial, require_valid
from weir.service.values import ABSENT, ANYTHING, Committed, Confirmation, Edit, Principal
from weir.store import ConfigStore, Pending, WriteTransaction
from weir.store.clock import boot_id, boottime_ms, wall_ms
from weir.store.rows import RevisionKind, encode, etag_of
from weir.wire.client import AgentClient, AgentConnection

log = logging.getLogger(__name__)

MIN_CONFIRM_S = 1
MAX_CONFIRM_S = 3600
MAX_MESSAGE_CHARS = 2000
APPLY_TIMEOUT_S = 60.0
APPLY_TIMEOUT_PER_CHANGE_S = 0.002
SETTLE_TIMEOUT_S = 5.0
LOCK_TIMEOUT_S = 10.0

Produce = Callable[[WriteTransaction], Sequence[Change]]


@dataclass(frozen=True, slots=True)
class Request:
    """What to commit and how. `produce` runs under the write lock and says what changes."""

    produce: Produce
    kind: RevisionKind = "commit"
    message: str = ""
    confirm_within_s: int | None = None
    restores: int | None = None
    answers_pending: bool = False
    expected_head: int | None = None
    also: Callable[[WriteTransaction], None] | None = None
    audited_as: str = ""
    """What the audit trail calls it, `config.` before it; without it the revision's kind."""


@dataclass(slots=True)
class _Timing:
    started: float = field(default_factory=time.perf_counter)
    spent_ms: dict[str, float] = field(default_factory=dict)

    def mark(self, name: str) -> None:
        now = time.perf_counter()
        self.spent_ms[name] = (now - self.started) * 1000.0
        self.started = now


@dataclass(frozen=True, slots=True)
class _Written:
    base: int
    revision: int
    trial: Trial
    applied: dict[str, Any]
    confirm: Confirmation | None


class Engine:
    def __init__(self, store: ConfigStore, running: Running, agent: AgentClient, audit: AuditService) -> None:
        self._store = store
        self._running = running
        self._agent = agent
        self._audit = audit
        self._turn = threading.Lock()

    def run(self, by: Principal, request: Request) -> Committed:
        """Commit or raise; whatever is raised, nothing was changed.

        `Unavailable` (agent or store), `Invalid` (findings), `Conflict` (a confirmation is pending),
        `PreconditionFailed`, `NotFound`, `ApplyFailed` (the kernel refused).
        """
        _check_request(request)
        timing = _Timing()
        with self._my_turn(), self._agent.connection() as link:
            with self._store.write(LOCK_TIMEOUT_S) as transaction:
                timing.mark("lock")
                written = self._write(by, request, transaction, link, timing)
            timing.mark("commit")
            if written.revision != written.base:
                self._running.moved(written.base, written.revision, written.trial)
                written.applied["settled"] = _settle(link, written.revision)
                timing.mark("settle")
        if written.revision != written.base:
            self._record(by, request, written)
            timing.mark("audit")
        return Committed(
            revision=written.revision,
            changes=written.trial.changes,
            findings=written.trial.findings,
            applied=written.applied,
            confirm=written.confirm,
            timing_ms=timing.spent_ms,
        )

    def why_no_room(self, edits: Sequence[Edit]) -> str | None:
        """A sentence when the router's tables hold fewer queues than there would be after many edits.

        Counted first, as validating and applying so many takes a minute. None where there is room, where the
        agent does not say, and for few edits, which the agent refuses quickly.
        """
        if len(edits) <= MANY:
            return None
        with self._running.document() as document:
            present = document.of_kind("queue")
            queues = len(present) + sum(_growth(edit, edit.id in present) for edit in edits)
        try:
            room = self._agent.call("status").get("class_capacity")
        except Problem:
            return None
        if room is None or queues <= room:
            return None
        return f"There would be {queues} queues, and this router has room for {room}. Nothing was changed."

    @contextmanager
    def _my_turn(self) -> Iterator[None]:
        """Commits of this process queue here, without holding connections to the agent meanwhile."""
        if not self._turn.acquire(timeout=LOCK_TIMEOUT_S):
            raise Unavailable("another change is being made; try again", code="store-busy")
        try:
            yield
        finally:
            self._turn.release()

    def _record(self, by: Principal, request: Request, written: _Written) -> None:
        count = len(written.trial.changes)
        detail = "1 change" if count == 1 else f"{count} changes"
        if request.confirm_within_s is not None:
            detail += f", to be confirmed within {request.confirm_within_s} s"
        subject = f"revision {written.revision}"
        self._audit.note(entry_of(by, f"config.{request.audited_as or request.kind}", subject, detail=detail))

    def _write(
        self,
        by: Principal,
        request: Request,
        transaction: WriteTransaction,
        link: AgentConnection,
        timing: _Timing,
    ) -> _Written:
        if not request.answers_pending:
            refuse_while_pending(transaction)
        base = transaction.head
        if request.expected_head not in (None, base):
            raise Conflict(
                f"this was made for revision {request.expected_head}, and revision {base} runs now",
                code="outdated",
            )
        changes = request.produce(transaction)
        trial = self._running.try_changes(lambda _: changes)
        if request.kind != "rollback":
            require_valid(trial.findings, trial.changes)
        timing.mark("validate")
        if request.also is not None:
            request.also(transaction)
        if not changes and not request.answers_pending:
            return _Written(base, base, trial, {}, None)
        revision = base + 1
        with self._applying(link, base, revision, changes) as applied:
            transaction.append(
                kind=request.kind,
                author=by.username,
                source=by.source,
                message=request.message,
                changes=changes,
                restores=request.restores,
            )
            confirm = _arm(by, request.confirm_within_s, base, revision, transaction)
            timing.mark("write")
            answer = applied()
        timing.mark("apply")
        return _Written(base, revision, trial, answer, confirm)

    @contextmanager
    def _applying(
        self, link: AgentConnection, base: int, revision: int, changes: Sequence[Change]
    ) -> Iterator[Callable[[], dict[str, Any]]]:
        """The agent's answer to the changes. It works on thousands while they are written, for seconds.

        Should writing fail, the agent finds its connection closed and goes by the store, as ever.
        """
        ask = partial(
            link.call,
            "apply",
            {"base": base, "revision": revision},
            lines=("changes", _EncodedChanges(changes)),
            timeout_s=APPLY_TIMEOUT_S + APPLY_TIMEOUT_PER_CHANGE_S * len(changes),
        )
        if len(changes) <= MANY:
            yield ask
            return
        with ThreadPoolExecutor(1, thread_name_prefix="apply") as helper:
            yield helper.submit(ask).result

    def changes_of(self, edits: Sequence[Edit], transaction: WriteTransaction) -> Sequence[Change]:
        """What the edits come down to at the head; edits that change nothing are left out.

        Raises `PreconditionFailed`, `Conflict` (`exists`), `NotFound`, `Invalid` (`edited-twice`).
        """
        seen: set[tuple[str, str]] = set()
        with self._running.document() as document:
            for edit in edits:
                if (edit.kind, edit.id) in seen:
                    path = f"{edit.kind}/{edit.id}"
                    raise Invalid(f"{path} is changed twice at once", code="edited-twice", path=path)
                seen.add((edit.kind, edit.id))
                _check_expected(edit, document.get(edit.kind, edit.id) is not None, transaction)
            if isinstance(edits, PackedEdits):
                return edits.changes(document)
            changes = (
                Change(edit.kind, edit.id, document.get(edit.kind, edit.id), edit.new) for edit in edits
            )
            return [change for change in changes if change.old != change.new]


def _growth(edit: Edit, exists: bool) -> int:
    return 0 if edit.kind != "queue" else (edit.new is not None) - exists


def refuse_while_pending(transaction: WriteTransaction) -> None:
    """Raises `Conflict` while a revision waits for its confirmation."""
    pending = transaction.pending()
    if pending is not None:
        raise Conflict(
            f"revision {pending.revision} waits for its confirmation; confirm or revert it first",
            code="confirmation-pending",
            path="config/pending",
        )


def hash_of(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()


def _check_request(request: Request) -> None:
    window_s = request.confirm_within_s
    if window_s is not None and not MIN_CONFIRM_S <= window_s <= MAX_CONFIRM_S:
        raise Invalid(f"confirm_within_s must be {MIN_CONFIRM_S} to {MAX_CONFIRM_S}", path="confirm_within_s")
    if len(request.message) > MAX_MESSAGE_CHARS:
        raise Invalid(f"the message is longer than {MAX_MESSAGE_CHARS} characters", path="message")


def _check_expected(edit: Edit, exists: bool, transaction: WriteTransaction) -> None:
    path = f"{edit.kind}/{edit.id}"
    if edit.expects == ABSENT:
        if exists:
            raise Conflict(f"there is already a {edit.kind} {edit.id!r}", code="exists", path=path)
    elif edit.expects == ANYTHING:
        if not exists and edit.new is None:
            raise NotFound(f"there is no {edit.kind} {edit.id!r}", path=path)
    else:
        version = transaction.version_now(edit.kind, edit.id)
        if version is None:
            raise NotFound(f"there is no {edit.kind} {edit.id!r} any more", path=path)
        if etag_of(version) != edit.expects:
            raise PreconditionFailed(f"{edit.kind} {edit.id!r} was changed by somebody else", path=path)


def _arm(
    by: Principal, window_s: int | None, base: int, revision: int, transaction: WriteTransaction
) -> Confirmation | None:
    """Write down that the revision is undone after `window_s` unless it is confirmed with the token."""
    if window_s is None:
        return None
    token = secrets.token_urlsafe(24)
    now_wall, now_boot = wall_ms(), boottime_ms()
    transaction.set_pending(
        Pending(
            revision=revision,
            base_revision=base,
            window_s=window_s,
            deadline_wall_ms=now_wall + window_s * 1000,
            boot_id=boot_id(),
            deadline_boottime_ms=now_boot + window_s * 1000,
            token_hash=hash_of(token),
            author=by.username,
            created_at_ms=now_wall,
        )
    )
    return Confirmation(revision, base, token, float(window_s))


def _settle(link: AgentConnection, revision: int) -> bool:
    """Tell the agent that the revision is durable; if it went away it finds out by itself."""
    try:
        link.call("settle", {"revision": revision}, timeout_s=SETTLE_TIMEOUT_S)
    except Problem as problem:
        link.close()
        log.warning("revision %d is committed, the agent did not settle it: %s", revision, problem)
        return False
    return True


class _EncodedChanges(Collection[bytes]):
    """The changes as lines, encoded one by one while they are sent."""

    def __init__(self, changes: Sequence[Change]) -> None:
        self._changes = changes

    def __len__(self) -> int:
        return len(self._changes)

    def __iter__(self) -> Iterator[bytes]:
        for change in self._changes:
            new = "null" if change.new is None else encode(change.new)
            head = f'{{"kind":{json.dumps(change.kind)},"id":{json.dumps(change.id)},"new":'
            yield f"{head}{new}}}".encode()

    def __contains__(self, line: object) -> bool:
        return any(line == own for own in self)


def encoded(changes: Sequence[Change]) -> Collection[bytes]:
    """Lines for the agent: `{"kind", "id", "new"}`, `new` without the fields that hold their default."""
    return _EncodedChanges(changes)
