# SPDX-License-Identifier: Apache-2.0
"""The running configuration: read it, change it, confirm or revert a change."""

from __future__ import annotations

import hmac
import logging
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any

from weir.accounts.audit import AuditService, entry_of
from weir.accounts.permissions import requires
from weir.accounts.principal import Principal
from weir.kinds import DECLARED
from weir.kinds.ordering import changes_to_move, last_positions
from weir.model import codec, tree
from weir.model.document import Change, Document
from weir.model.objects import Kind, Queue
from weir.model.problem import Conflict, Finding, Forbidden, Invalid, Problem
from weir.service.commit import Committer, encoded, hash_of
from weir.service.edits import changes_of, expected_changes_of, require_expected
from weir.service.plans import require_own
from weir.service.request import Request
from weir.service.running_document import Running
from weir.service.types import ANYTHING, Committed, Edit, PendingView
from weir.store import ConfigStore, Listing, Page, Pending, ReadTransaction, Stored, WriteTransaction
from weir.store.clock import boot_id, boottime_ms, wall_ms
from weir.wire.client import AgentClient

log = logging.getLogger(__name__)

PREVIEW_TIMEOUT_S = 30.0
PREVIEW_TIMEOUT_PER_CHANGE_S = 0.0003
"""Thousands of changes are encoded while they are sent."""


class ConfigService:
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
        self._id_lock = threading.Lock()
        self._last_number: dict[Kind, int] = {}

    @requires("config.read")
    def revision(self, _by: Principal) -> int:
        """The running revision."""
        return self._store.head()

    @requires("config.read")
    def get(self, _by: Principal, kind: Kind, object_id: str) -> Stored:
        """Raises `NotFound`."""
        return self._store.get(kind, object_id)

    @requires("config.read")
    def get_many(self, _by: Principal, kind: Kind, ids: Collection[str]) -> list[Stored]:
        """In the order of `ids`; those that do not exist are left out."""
        found: dict[str, Stored] = {}
        wanted = list(dict.fromkeys(ids))
        for start in range(0, len(wanted), 1000):
            part = wanted[start : start + 1000]
            page = self._store.page(Listing(kind, limit=1000, sort="id", ids=part, counted=False))
            found.update((item.id, item) for item in page.items)
        return [found[object_id] for object_id in wanted if object_id in found]

    @requires("config.read")
    def page(self, _by: Principal, listing: Listing) -> Page:
        """Raises `Invalid` for a bad limit, sort, cursor or text."""
        return self._store.page(self._resolved(listing))

    @requires("config.read")
    def matching(self, _by: Principal, listing: Listing) -> set[str]:
        """Which of the listing's `ids` its filter lets through. Raises `Invalid` for a bad text."""
        return self._store.matching(self._resolved(listing))

    def _resolved(self, listing: Listing) -> Listing:
        """Without what could not be read when the configuration was, so that every page counts the same."""
        lacking = {item.id for item in self._running.damage if item.kind == listing.kind}
        if listing.warned is not None:
            listing = _restrict(listing, self._running.flagged_ids(listing.kind))
        if not lacking:
            return listing
        with self._running.document() as document:
            lacking -= document.of_kind(listing.kind).keys()
        return replace(listing, without_ids=[*listing.without_ids, *lacking])

    @requires("config.read")
    def findings(self, _by: Principal, kind: Kind, object_id: str) -> tuple[Finding, ...]:
        """What validation has to say about one object as it runs."""
        return self._running.findings(kind, object_id)

    @requires("config.read")
    def findings_by_id(self, _by: Principal, kind: Kind, ids: Sequence[str]) -> dict[str, list[Finding]]:
        """As `findings`, of a page of objects."""
        return self._running.findings_by_id(kind, ids)

    @requires("config.read")
    def warned_ids(self, _by: Principal, kind: Kind = "queue") -> list[str]:
        """The objects about which validation has something to say."""
        return sorted(self._running.flagged_ids(kind))

    @requires("config.read")
    def document(self, _by: Principal) -> AbstractContextManager[Document]:
        """The running document, locked while the context lasts: look, take copies, be quick."""
        return self._running.document()

    @requires("config.read")
    def at_head(self, _by: Principal) -> AbstractContextManager[tuple[int, Document]]:
        """As `document`, with the revision that it is."""
        return self._running.at_head()

    @requires("config.read")
    def end_position(self, _by: Principal, parent: str | None) -> int:
        """A position behind all queues below `parent`."""
        with self._running.document() as document:
            return document.next_position(parent)

    @requires("config.read")
    def positions(self, by: Principal, ids: Collection[str]) -> dict[str, int]:
        """Of those of the queues that there are."""
        found = (stored.object for stored in self.get_many(by, "queue", ids))
        return {queue.id: queue.position for queue in found if isinstance(queue, Queue)}

    @requires("config.write")
    def new_queue_id(self, by: Principal) -> str:
        """`q<N>`, never given before, not even to a queue that is gone."""
        return self.new_id(by, "queue")

    @requires("config.write")
    def new_id(self, _by: Principal, kind: Kind) -> str:
        """An id that no object of the kind ever had. Raises `Invalid` for kinds named by people."""
        return self.new_ids(_by, kind, 1)[0]

    @requires("config.write")
    def new_ids(self, _by: Principal, kind: Kind, count: int) -> list[str]:
        """As `new_id`, several at once."""
        prefix = codec.id_form(kind).assigned
        if not prefix:
            text = f"the id of a {kind.replace('-', ' ')} is chosen by people: give one"
            raise Invalid(text, code="bad-id", path=f"{kind}/?/id")
        with self._id_lock, self._running.document() as document:
            number = self._last_number.get(kind)
            if number is None:
                number = self._store.highest_number(kind, prefix)
            found: list[str] = []
            while len(found) < count:
                number += 1
                if document.get(kind, f"{prefix}{number}") is None:
                    found.append(f"{prefix}{number}")
            self._last_number[kind] = number
        return found

    @requires("plans.write")
    def commit(
        self,
        by: Principal,
        edits: Sequence[Edit],
        message: str = "",
        confirm_within_s: int | None = None,
        expected_head: int | None = None,
        audited_as: str = "",
    ) -> Committed:
        """Commit the edits together; with `expected_head` only on that revision (`Conflict`,
        `outdated`). Raises as `Committer.run` does; then nothing was changed. `audited_as`: see `Request`."""
        self._committer.require_room(edits)

        def produce(transaction: ReadTransaction) -> Sequence[Change]:
            with self._running.document_for(len(edits)) as document:
                return expected_changes_of(edits, document, transaction)

        return self._committer.run(
            by,
            Request(
                produce=produce,
                message=message,
                confirm_within_s=confirm_within_s,
                expected_head=expected_head,
                audited_as=audited_as,
                size=len(edits),
                state=lambda _: None,
            ),
        )

    @requires("config.read")
    def last_positions(self, _by: Principal, kind: Kind, items: Sequence[Mapping[str, Any]]) -> list[int]:
        """Positions for new objects of an ordered kind, given as JSON, in this order behind all others."""
        with self._running.document() as document:
            return last_positions(document, DECLARED[kind], items)

    @requires("config.write")
    def place(
        self, by: Principal, kind: Kind, object_id: str, before: str | None, after: str | None
    ) -> Committed:
        """Put an object of an ordered kind before or after another one of its list, or last with neither.
        Raises `NotFound`, `Invalid`."""

        def produce(_transaction: ReadTransaction) -> Sequence[Change]:
            with self._running.document() as document:
                return changes_to_move(document, DECLARED[kind], object_id, before, after)

        return self._committer.run(by, Request(produce=produce))

    @requires("config.write")
    def move(self, by: Principal, queue_id: str, before: str | None, expects: str = ANYTHING) -> Committed:
        """Put a queue before a sibling, or last with None. Raises `NotFound`, `Invalid`."""

        def produce(transaction: ReadTransaction) -> Sequence[Change]:
            with self._running.document() as document:
                queue = document.queue(queue_id)
                require_expected(Edit("queue", queue_id, queue, expects), True, transaction)
                return tree.changes_to_move(document, queue_id, before)

        return self._committer.run(by, Request(produce=produce))

    @requires("config.read")
    def check(
        self, _by: Principal, edits: Sequence[Edit], has_room: Callable[[], object] = lambda: None
    ) -> list[Finding]:
        """What validation would say after the edits, or that there is no room for them. Changes nothing.
        `has_room` is called before anything is validated, where there is room."""
        full = self._committer.why_no_room(edits)
        if full is not None:
            return [no_room(full)]
        has_room()
        return self._running.try_changes(lambda document: changes_of(edits, document)).findings

    @requires("config.read")
    def preview(self, _by: Principal, edits: Sequence[Edit]) -> dict[str, Any]:
        """What the edits would do to the kernel. Raises `Unavailable` when the agent is down."""
        with self._running.document_for(len(edits)) as document:
            changes = changes_of(edits, document)
        return ask_preview(self._agent, changes)

    @requires("config.read")
    def explain(self, _by: Principal, kind: Kind, object_id: str) -> dict[str, Any]:
        """What was asked, compiled, and what the system has. Raises `NotFound`, `Unavailable`."""
        return self._agent.call("explain", {"kind": kind, "id": object_id})

    @requires("config.read")
    def details(self, _by: Principal, queue_id: str) -> dict[str, Any]:
        """What the kernel knows of a queue beyond its counters. Raises `NotFound`, `Unavailable`."""
        self._store.get("queue", queue_id)
        return self._agent.call("details", {"queue_id": queue_id})

    @requires("config.read")
    def pending(self, _by: Principal) -> PendingView | None:
        """The revision that waits for its confirmation."""
        pending = self._store.pending()
        if pending is None:
            return None
        left_s = _seconds_left(pending)
        return PendingView(
            revision=pending.revision,
            base_revision=pending.base_revision,
            author=pending.author,
            message=self._store.revision(pending.revision).message,
            created_at_ms=pending.created_at_ms,
            deadline_at_ms=wall_ms() + int(left_s * 1000),
            window_s=pending.window_s,
            seconds_left=left_s,
        )

    @requires("plans.write")
    def confirm(self, by: Principal, revision: int, token: str | None = None) -> None:
        """Keep the pending revision.

        Takes the token that the commit returned, or a sign-in that happened after the commit: either
        proves that somebody who may decide reaches the router as it is now. Raises `Conflict`
        (`nothing-pending`, `other-revision`, `too-late`), `Forbidden` (`confirm-needs-proof`).
        """
        with self._store.write() as transaction:
            pending = transaction.pending()
            if pending is None:
                raise Conflict("no change is waiting for its confirmation", code="nothing-pending")
            if pending.revision != revision:
                raise Conflict(
                    f"revision {pending.revision} waits for its confirmation, not {revision}",
                    code="other-revision",
                )
            require_own(by, pending.author)
            _require_proof(by, pending, token)
            if _seconds_left(pending) <= 0:
                raise Conflict(f"revision {revision} is being rolled back", code="too-late")
            transaction.clear_pending()
        self._audit.note(entry_of(by, "config.confirm", f"revision {revision}"))
        self._disarm(revision)

    @requires("plans.write")
    def revert(self, by: Principal, message: str = "") -> Committed:
        """Roll the pending revision back now. Raises `Conflict` (`nothing-pending`), `Unavailable`."""
        pending = self._store.pending()
        if pending is None:
            raise Conflict("no change is waiting for its confirmation", code="nothing-pending")
        require_own(by, pending.author)
        wanted = pending.revision

        def produce(transaction: ReadTransaction) -> Sequence[Change]:
            found = transaction.pending()
            if found is None or found.revision != wanted:
                raise Conflict("the change has been confirmed or rolled back meanwhile", code="too-late")
            return transaction.changes_between(transaction.head, found.base_revision)

        return self._committer.run(
            by,
            Request(
                produce=produce,
                kind="rollback",
                message=message or f"revision {wanted} was reverted",
                restores=pending.base_revision,
                answers_pending=True,
                also=WriteTransaction.clear_pending,
                size=self._store.revision(wanted).changes,
            ),
        )

    def _disarm(self, revision: int) -> None:
        """Let the agent know at once; its timer asks the store again before it rolls back anyway."""
        try:
            self._agent.call("settle", {"revision": revision})
        except Problem as problem:
            log.warning("revision %d is confirmed, the agent was not told: %s", revision, problem)


def ask_preview(agent: AgentClient, changes: Sequence[Change]) -> dict[str, Any]:
    """The agent's `preview` of changes to the running document."""
    timeout_s = PREVIEW_TIMEOUT_S + len(changes) * PREVIEW_TIMEOUT_PER_CHANGE_S
    return agent.call("preview", {}, lines=("changes", encoded(changes)), timeout_s=timeout_s)


def _require_proof(by: Principal, pending: Pending, token: str | None) -> None:
    if token:
        if not hmac.compare_digest(hash_of(token), pending.token_hash):
            raise Forbidden("this is not the confirmation token of that revision", code="wrong-token")
        return
    if by.via == "session" and by.authenticated_at_ms > pending.created_at_ms:
        return
    raise Forbidden(
        "confirming needs the token that the commit returned, or sign in again and then confirm",
        code="confirm-needs-proof",
    )


def _seconds_left(pending: Pending) -> float:
    return pending.seconds_left(wall_ms(), boot_id(), boottime_ms())


def _restrict(listing: Listing, flagged: frozenset[str]) -> Listing:
    """The listing with ids in the place of `warned`."""
    if not listing.warned:
        return replace(listing, warned=None, without_ids=flagged)
    return replace(
        listing, warned=None, ids=flagged.intersection(flagged if listing.ids is None else listing.ids)
    )


def no_room(full: str) -> Finding:
    """What validation says where the router's tables would overflow."""
    return Finding("error", "too-many-queues", full, "queue", "")
