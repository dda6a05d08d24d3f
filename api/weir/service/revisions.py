# SPDX-License-Identifier: Apache-2.0
"""History: list, compare and restore revisions, and follow one object through them."""

from __future__ import annotations

import builtins

from weir.accounts.permissions import requires
from weir.accounts.principal import Principal
from weir.model.document import Change
from weir.model.objects import Kind
from weir.service.commit import Committer
from weir.service.request import Request
from weir.service.types import Committed, Diff, HistoryEntry, ObjectDiff
from weir.store import ConfigStore, Revision


class RevisionService:
    def __init__(self, store: ConfigStore, committer: Committer) -> None:
        self._store = store
        self._committer = committer

    @requires("config.read")
    def list(self, _by: Principal, before: int | None = None, limit: int = 100) -> builtins.list[Revision]:
        """Newest first, those older than `before`."""
        return self._store.revisions(before, limit)

    @requires("config.read")
    def get(self, _by: Principal, number: int) -> Revision:
        """Raises `NotFound`."""
        return self._store.revision(number)

    @requires("config.read")
    def diff(self, _by: Principal, a: int, b: int, start: int = 0, limit: int = 1000) -> Diff:
        """What turns revision `a` into `b`, from index `start` on. Raises `NotFound`."""
        counts, changes = self._store.compare(a, b, start, limit)
        following = start + limit if start + limit < counts.total else None
        return Diff(counts, [ObjectDiff(change) for change in changes], following)

    @requires("config.write")
    def restore(
        self, by: Principal, number: int, message: str = "", confirm_within_s: int | None = None
    ) -> Committed:
        """Commit an old revision's content as a new one. Raises `NotFound`; else as `Committer.run`."""
        return self._committer.run(
            by,
            Request(
                produce=lambda transaction: transaction.changes_between(transaction.head, number),
                kind="restore",
                message=message or f"restore revision {number}",
                confirm_within_s=confirm_within_s,
                restores=number,
                size=self._store.compare(number, self._store.head(), 0, 0)[0].total,
            ),
        )

    @requires("config.read")
    def history(
        self, _by: Principal, kind: Kind, object_id: str, limit: int = 100, before: int | None = None
    ) -> builtins.list[HistoryEntry]:
        """What each revision older than `before` did to one object, newest first.

        An object that never existed has no history; that is no error.
        """
        return [
            HistoryEntry(event.revision, ObjectDiff(Change(kind, object_id, event.old, event.new)))
            for event in self._store.events(kind, object_id, before, limit)
        ]
