# SPDX-License-Identifier: Apache-2.0
"""Candidates: each user's collected changes, to be compared, validated and committed together.

A candidate does not go stale when others commit: only an object that somebody else changed since it
was staged is a conflict, and the owner says whose version stays.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from sqlite3 import Connection
from typing import Any, Literal

from weir.accounts.audit import AuditService, entry_of
from weir.accounts.permissions import requires
from weir.accounts.principal import Principal
from weir.kinds import DECLARED
from weir.kinds.ordering import changes_to_move, last_positions
from weir.model import tree
from weir.model.document import POSITION_STEP, Change, Document
from weir.model.objects import Kind
from weir.model.problem import NotFound, PreconditionFailed, Unavailable
from weir.service.commit import Committer
from weir.service.configuration import ask_preview, no_room
from weir.service.edits import changes_of, changes_to
from weir.service.effects import Effects, Newest, PutOff
from weir.service.plans import only_plans, require_plans
from weir.service.request import Request
from weir.service.running_document import MANY, Running
from weir.service.staging import (
    check_expected,
    drop_empty,
    no_candidate,
    not_staged,
    only_adds,
    refuse_conflicts,
    staged_edits,
)
from weir.service.types import (
    ANYTHING,
    CandidateDiff,
    CandidateView,
    Committed,
    Diff,
    Edit,
    Effect,
    ObjectDiff,
)
from weir.store import ConfigStore, ReadTransaction, Stored, WriteTransaction, candidates, reading
from weir.store.clock import wall_ms
from weir.wire.client import AgentClient


class CandidateService:
    def __init__(
        self,
        store: ConfigStore,
        running: Running,
        agent: AgentClient,
        committer: Committer,
        audit: AuditService,
    ) -> None:
        self._audit = audit
        self._store = store
        self._running = running
        self._agent = agent
        self._committer = committer
        self._effects = Effects()
        self._summaries = Newest[candidates.Summary]()
        self._objects = candidates.Objects()

    @requires("config.read")
    def get(self, by: Principal) -> CandidateView | None:
        """The caller's candidate, or None."""
        with self._store.snapshot() as connection:
            found = candidates.get(connection, by.username)
            return None if found is None else _view(found, self._summary(connection, found)[1])

    @requires("plans.write")
    def open(self, by: Principal) -> CandidateView:
        """Begin one on the running revision; one that is open stays as it is."""
        with self._store.write() as transaction:
            connection = transaction.connection
            new = candidates.get(connection, by.username) is None
            found = candidates.create(connection, by.username, transaction.head, wall_ms())
            view = self._view_of(transaction, by)
        if new:
            self._note(by, "open", f"on revision {found.base_revision}")
        return view

    @requires("plans.write")
    def discard(self, by: Principal) -> None:
        """Raises `NotFound` when there is none."""
        with self._store.write() as transaction:
            staged = candidates.count(transaction.connection, by.username)
            if not candidates.discard(transaction.connection, by.username):
                raise no_candidate()
        self._objects.forget()
        self._note(by, "discard", _changes_in_words(staged))

    @requires("plans.write")
    def stage(self, by: Principal, edits: Sequence[Edit]) -> CandidateView:
        """Add changes, opening a candidate if there is none. `expects` is checked against the object as
        the candidate sees it. Raises `PreconditionFailed`, `Conflict` (`exists`), `NotFound`."""
        if only_plans(by):
            with self._running.document_for(len(edits)) as document:
                require_plans(by, changes_of(edits, document))
        with self._store.write() as transaction:
            connection = transaction.connection
            found = candidates.create(connection, by.username, transaction.head, wall_ms())
            before = self._summary_before(found, transaction.head)
            known = candidates.known_of(connection, by.username, edits)
            for edit in edits:
                check_expected(edit, known[edit.kind, edit.id])
            staged = (
                (edit.kind, edit.id, edit.new, known[edit.kind, edit.id].running_revision) for edit in edits
            )
            candidates.stage(connection, found, staged, wall_ms(), self._objects)
            drop_empty(connection, by.username, [edit for edit in edits if edit.new is None])
            if before is not None and only_adds(edits, known):
                summary = before.with_added(edit.kind for edit in edits)
            else:
                summary = candidates.summary(connection, found.owner)
            found = candidates.create(connection, by.username, transaction.head, wall_ms())
            view = _view(found, summary)
        self._summaries.put(found.owner, found.state(transaction.head), summary)
        self._note(
            by,
            "stage",
            f"{edits[0].kind}/{edits[0].id}" if len(edits) == 1 else _changes_in_words(len(edits)),
        )
        return view

    @requires("config.write")
    def place(
        self, by: Principal, kind: Kind, object_id: str, before: str | None, after: str | None
    ) -> CandidateView:
        """As `ConfigService.place`, as the candidate sees the list."""
        with self._as_staged(by) as document:
            changes = changes_to_move(document, DECLARED[kind], object_id, before, after)
        return self.stage(by, [Edit(change.kind, change.id, change.new) for change in changes])

    @requires("config.read")
    def last_positions(self, by: Principal, kind: Kind, items: Sequence[Mapping[str, Any]]) -> list[int]:
        """As `ConfigService.last_positions`, behind what is staged, too."""
        with self._as_staged(by) as document:
            return last_positions(document, DECLARED[kind], items)

    @requires("config.read")
    def end_position(self, by: Principal, parent: str | None) -> int:
        """As `ConfigService.end_position`, behind what is staged, too."""
        with self._store.snapshot() as connection:
            staged = candidates.last_position(connection, by.username, parent)
        with self._running.document() as document:
            end = document.next_position(parent)
        return end if staged is None else max(end, staged + POSITION_STEP)

    @requires("config.read")
    def positions(self, by: Principal, ids: Collection[str]) -> dict[str, int]:
        """As `ConfigService.positions`, as the candidate sees the queues."""
        with self._store.snapshot() as connection:
            staged = candidates.positions(connection, by.username, ids)
        with self._running.document() as document:
            running = {queue_id: queue.position for queue_id in ids if (queue := document.queue(queue_id))}
        found = {**running, **staged}
        return {queue_id: position for queue_id, position in found.items() if position is not None}

    @contextmanager
    def _as_staged(self, by: Principal) -> Iterator[Document]:
        """The running document with the candidate's changes, while the context lasts."""
        with self._store.snapshot() as connection:
            edits = staged_edits(connection, by.username, self._objects)
        with self._running.document_for(len(edits)) as document:
            staged = changes_of(edits, document)
            document.apply(staged)
            try:
                yield document
            finally:
                document.revert(staged)

    @requires("config.read")
    def as_staged(self, by: Principal) -> AbstractContextManager[tuple[int, Document, frozenset[Kind]]]:
        """The running document with the caller's candidate in it, its revision, and the kinds of what is
        staged. Raises `NotFound` when there is no candidate."""
        return self._with_kinds(by)

    @contextmanager
    def _with_kinds(self, by: Principal) -> Iterator[tuple[int, Document, frozenset[Kind]]]:
        with self._store.snapshot() as connection:
            if candidates.get(connection, by.username) is None:
                raise no_candidate()
            edits = staged_edits(connection, by.username, self._objects)
        with self._running.at_head() as (revision, _), self._as_staged(by) as document:
            yield revision, document, frozenset(edit.kind for edit in edits)

    @requires("config.write")
    def move(self, by: Principal, queue_id: str, before: str | None) -> CandidateView:
        """Stage what puts a queue before a sibling, or last with None, as the candidate sees the list."""
        with self._as_staged(by) as document:
            changes = tree.changes_to_move(document, queue_id, before)
        return self.stage(by, [Edit(change.kind, change.id, change.new) for change in changes])

    @requires("plans.write")
    def unstage(self, by: Principal, kind: Kind, object_id: str) -> CandidateView:
        """Take one object's change out. Raises `NotFound`."""
        with self._store.write() as transaction:
            found = candidates.get(transaction.connection, by.username)
            if found is None:
                raise no_candidate()
            if not candidates.unstage(transaction.connection, by.username, kind, object_id):
                raise not_staged(kind, object_id)
            view = self._view_of(transaction, by)
        self._note(by, "unstage", f"{kind}/{object_id}")
        return view

    @requires("plans.write")
    def unstage_all(self, by: Principal, edits: Sequence[Edit]) -> CandidateView:
        """Take the changes of these objects out, all or none; `expects` is the version of the staged change.
        Raises `NotFound`, `PreconditionFailed`."""
        with self._store.write() as transaction:
            connection = transaction.connection
            if candidates.get(connection, by.username) is None:
                raise no_candidate()
            known = candidates.known_of(connection, by.username, edits)
            for edit in edits:
                found = known[edit.kind, edit.id]
                if found.serial is None:
                    raise not_staged(edit.kind, edit.id)
                if edit.expects not in (ANYTHING, found.etag):
                    raise PreconditionFailed(
                        f"{edit.kind} {edit.id!r} was changed meanwhile", path=f"{edit.kind}/{edit.id}"
                    )
            for edit in edits:
                candidates.unstage(connection, by.username, edit.kind, edit.id)
            view = self._view_of(transaction, by)
        self._note(by, "unstage", _changes_in_words(len(edits)))
        return view

    @requires("config.read")
    def stored(self, by: Principal, kind: Kind, object_id: str) -> Stored:
        """The object as the caller's candidate has it. Raises `NotFound`."""
        with self._store.snapshot() as connection:
            row = candidates.row(connection, by.username, kind, object_id)
        if row is None:
            return self._store.get(kind, object_id)
        if row.new is None:
            raise NotFound(f"your candidate deletes {kind} {object_id!r}", path=f"{kind}/{object_id}")
        return Stored(kind, object_id, row.new, row.etag, row.running_revision or 0)

    @requires("config.read")
    def others(self, by: Principal, kind: Kind, object_id: str) -> Sequence[candidates.Other]:
        """Who else has staged a change of the object, the newest first."""
        with self._store.snapshot() as connection:
            return candidates.others(connection, by.username, kind, object_id)

    @requires("config.read")
    def diff(
        self,
        by: Principal,
        after: int = 0,
        limit: int = 1000,
        wait_s: float = 0.0,
        *,
        with_effect: bool = True,
    ) -> CandidateDiff:
        """A page of changes against the running configuration, and the effect of them all.

        `after` is where the page before ended. Counts, and the effect of more than `MANY` changes, are worked
        out once for a state of the candidate and a revision; the effect takes seconds, and is left out of
        the answer while it takes longer than `wait_s`. Without `with_effect` nobody works it out. Raises
        `NotFound` when there is no candidate.
        """
        with self._store.snapshot() as connection:
            found = candidates.get(connection, by.username)
            if found is None:
                raise no_candidate()
            key, summary = self._summary(connection, found)
            changes, following = candidates.changes(connection, by.username, after, limit)
        objects = [ObjectDiff(item.change, item.etag, item.staged_at_ms or None) for item in changes]
        diff = Diff(summary.counts, objects, following)
        count = sum(summary.kinds.values())
        effect = self._effect_of(by, key, count, wait_s) if with_effect else None
        return CandidateDiff(found.base_revision, key[2], diff, effect)

    def _summary(
        self, connection: Connection, found: candidates.Candidate
    ) -> tuple[tuple[int, int, int], candidates.Summary]:
        """What names the candidate's state and the revision, and what is in it, of a snapshot."""
        key = found.state(reading.head(connection))
        return key, self._summaries.get(found.owner, key, lambda: candidates.summary(connection, found.owner))

    def _summary_before(self, found: candidates.Candidate, head: int) -> candidates.Summary | None:
        """What is in a candidate, if that need not be counted."""
        return (
            self._summaries.known(found.owner, found.state(head)) if found.last_serial else candidates.NOTHING
        )

    def _effect_of(self, by: Principal, key: Hashable, count: int, wait_s: float) -> Effect | None:
        if count <= MANY:
            return self._work_out(by)
        future = self._effects.of(by.username, key, lambda wanted: self._work_out(by, wanted=wanted))
        try:
            return future.result(max(wait_s, 0.0))
        except (TimeoutError, PutOff):
            return None

    def _work_out(
        self, by: Principal, most: int | None = None, wanted: Callable[[], None] = lambda: None
    ) -> Effect:
        """Validation, and what the agent would do; the agent is not asked where validation finds errors, and
        not about more than `most` changes. `wanted` raises when nobody needs it any more."""
        with self._store.snapshot() as connection:
            if candidates.get(connection, by.username) is None:
                raise no_candidate()
            edits = staged_edits(connection, by.username, self._objects)
        full = self._committer.why_no_room(edits)
        if full is not None:
            return Effect(None, [no_room(full)], "Validation finds errors.")
        wanted()
        trial = self._running.try_changes(partial(changes_of, edits))
        count, changes, findings = len(edits), trial.changes, trial.findings
        is_valid = all(finding.severity != "error" for finding in findings)
        your_way = self._committer.own_way.judged(by, trial) if is_valid else None
        del edits, trial  # another document of thousands of queues: not while the agent works
        wanted()
        preview = reason = None
        if not is_valid:
            reason = "Validation finds errors."
        elif most is not None and count > most:
            reason = "So many changes take a while; the candidate's diff says what they do."
        else:
            try:
                preview = ask_preview(self._agent, changes)
            except Unavailable:
                preview = None
        return Effect(preview, findings, reason, your_way)

    @requires("config.read")
    def validate(self, by: Principal) -> Effect:
        """What validation says about the configuration with the candidate's changes; of a few also what
        the agent would do."""
        return self._work_out(by, most=MANY)

    @requires("plans.write")
    def resolve(self, by: Principal, keep: Literal["mine", "theirs"]) -> CandidateView:
        """Settle conflicts: `mine` will replace what others committed, `theirs` drops my changes."""
        with self._store.write() as transaction:
            connection = transaction.connection
            if candidates.get(connection, by.username) is None:
                raise no_candidate()
            for row in candidates.rows(connection, by.username):
                if not row.conflict:
                    continue
                if keep == "mine":
                    candidates.see_running(connection, by.username, row)
                else:
                    candidates.unstage(connection, by.username, row.kind, row.id)
            candidates.set_base(connection, by.username, transaction.head)
            view = self._view_of(transaction, by)
        self._note(by, "resolve", f"keep {keep}")
        return view

    @requires("plans.write")
    def commit(self, by: Principal, message: str, confirm_within_s: int | None = None) -> Committed:
        """Commit the candidate and discard it. Raises `Conflict` (`candidate-conflict`) with a finding
        for each object that somebody else changed; else as `Committer.run`."""

        def produce(transaction: ReadTransaction) -> Sequence[Change]:
            found = candidates.get(transaction.connection, by.username)
            if found is None:
                raise no_candidate()
            refuse_conflicts(candidates.conflicts(transaction.connection, by.username))
            staged = candidates.new_objects(transaction.connection, by.username, self._objects)
            with self._running.document_for(size) as document:
                return changes_to(document, staged, size)

        def state(transaction: ReadTransaction) -> object:
            return candidates.get(transaction.connection, by.username)

        with self._store.snapshot() as connection:
            size = candidates.count(connection, by.username)

        def discard(transaction: WriteTransaction) -> None:
            candidates.discard(transaction.connection, by.username)

        asked = Request(produce, "commit", message, confirm_within_s, also=discard, size=size, state=state)
        with self._effects.put_off(by.username):
            committed = self._committer.run(by, asked)
        self._objects.forget()
        return committed

    def forget(self, username: str) -> None:
        """Discard the candidate of a user who is being deleted."""
        with self._store.write() as transaction:
            candidates.discard(transaction.connection, username)

    def _note(self, by: Principal, what: str, detail: str) -> None:
        self._audit.note(entry_of(by, f"candidate.{what}", by.username, detail=detail))

    @staticmethod
    def _view_of(transaction: WriteTransaction, by: Principal) -> CandidateView:
        found = candidates.get(transaction.connection, by.username)
        assert found is not None
        return _view(found, candidates.summary(transaction.connection, found.owner))


def _view(found: candidates.Candidate, summary: candidates.Summary) -> CandidateView:
    return CandidateView(found.owner, found.base_revision, found.created_at_ms, summary)


def _changes_in_words(count: int) -> str:
    return "1 change" if count == 1 else f"{count} changes"
