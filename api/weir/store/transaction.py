# SPDX-License-Identifier: Apache-2.0
"""What may be done while holding the write lock: the next revision and the pending confirmation."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import astuple
from functools import partial

from weir.model.document import Change
from weir.model.objects import Kind
from weir.model.problem import Conflict, Unavailable
from weir.store import decoding, reading, retention
from weir.store.clock import wall_ms
from weir.store.database import MANY_ROWS, large_cache
from weir.store.prefixes import forget
from weir.store.rows import Pending, RevisionKind, Stored
from weir.store.sums import wrapped
from weir.store.versions import ChangedVersions, end_versions

INSERT_REVISION = (
    "INSERT INTO revision (number, kind, author, source, message, created_at_ms, restores, changes) "
    "VALUES (:number, :kind, :author, :source, :message, :at, :restores, :n)"
)
INSERT_PENDING = (
    f"INSERT INTO pending_confirmation (only_one, {reading.PENDING_COLUMNS}, sum) "
    "VALUES (1,?,?,?,?,?,?,?,?,?,?)"
)


ENDED_NOW = (
    "SELECT coalesce(sum(sum >> 32), 0), coalesce(sum(sum & 0xFFFFFFFF), 0), "
    f"coalesce(sum({retention.SIZE_BYTES}), 0) FROM object_version WHERE to_revision = ?"
)
"""The total of sums in two halves: SQLite's integers have 64 bits."""

SUMS_NOW = "SELECT sum FROM object_version WHERE to_revision IS NULL"
MAX_RETIRED = 2000
"""Larger commits are imports, of which no object was there before."""

ROLLBACK_TIMER = "rollback timer"
"""The author of a revision that nobody asked for."""


class ReadTransaction:
    """Valid inside `ConfigStore.reading()` only: one revision, whatever is written meanwhile."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection
        self.head = reading.head(connection)

    def stored(self, kind: Kind, object_id: str) -> Stored | None:
        return decoding.stored(self.connection, kind, object_id)

    def version_now(self, kind: Kind, object_id: str) -> int | None:
        return reading.version_now(self.connection, kind, object_id)

    def changes_between(self, a: int, b: int) -> list[Change]:
        return decoding.changes_between(self.connection, a, b)

    def pending(self) -> Pending | None:
        return reading.pending(self.connection)


@contextmanager
def _beside(versions: ChangedVersions, number: int) -> Iterator[Callable[[], Sequence[int]]]:
    """The sums of what begins with a revision. Of thousands they are made while SQLite works, which does not
    need the interpreter."""
    make = partial(versions.sums, number)
    if versions.count <= MANY_ROWS:
        yield make
        return
    with ThreadPoolExecutor(1, thread_name_prefix="sums") as helper:
        yield helper.submit(make).result


class WriteTransaction(ReadTransaction):
    """Valid inside `ConfigStore.write()` only."""

    def append(
        self,
        *,
        kind: RevisionKind,
        author: str,
        message: str,
        changes: Sequence[Change],
        source: str = "",
        restores: int | None = None,
        versions: ChangedVersions | None = None,
    ) -> int:
        """Write the next revision; the changes' `old` is what holds at the head. Returns its number.

        Writes one row per new object, and closes the span of each version that ends. `versions` are the
        changes' if they were encoded before: then thousands of changes are not looked at again.
        """
        number = self.head + 1
        self.connection.execute(
            INSERT_REVISION,
            {
                "number": number,
                "kind": kind,
                "author": author,
                "source": source,
                "message": message,
                "at": wall_ms(),
                "restores": restores,
                "n": len(changes),
            },
        )
        versions = versions or ChangedVersions(changes)
        with large_cache(self.connection, len(changes)), _beside(versions, number) as summed:
            content = self._end_versions(changes, versions, number)
            sums = summed()
            versions.begin(self.connection, number, sums)
            content += sum(sums)
        self._seal(number, wrapped(content))
        self.head = number
        retention.prune(self.connection, number, len(changes))
        return number

    def _end_versions(self, changes: Sequence[Change], versions: ChangedVersions, number: int) -> int:
        """Close the spans of what changes; the content that then still holds of the revision before."""
        if versions.end(self.connection, number) != versions.ended:
            raise Conflict("the store does not hold what was to be changed", code="base-mismatch")
        retired = self._retire_damaged(changes, number)
        high, low, size_bytes = self.connection.execute(ENDED_NOW, (number,)).fetchone()
        content: int = reading.content(self.connection, number - 1) - (high << 32) - low
        if retired:  # the sums of what was damaged may be so themselves
            content = sum(row[0] for row in self.connection.execute(SUMS_NOW))
        retention.note_ended(self.connection, size_bytes)
        return content

    def _retire_damaged(self, changes: Sequence[Change], number: int) -> bool:
        """Close the spans of damaged versions of what begins: nobody could read them, so nobody ends them."""
        found = [
            change
            for change in (changes if len(changes) <= MAX_RETIRED else ())
            if change.old is None and self._is_damaged(change.kind, change.id)
        ]
        for item in found:
            end_versions(self.connection, number, item.kind, [item.id])
        forget(self.connection, [item.id for item in found if item.kind == "queue"])
        return bool(found)

    def _is_damaged(self, kind: Kind, object_id: str) -> bool:
        try:
            decoding.stored(self.connection, kind, object_id)
        except Unavailable:
            return True
        return False

    def _seal(self, number: int, content: int) -> None:
        """Write the content of a revision and the digest that continues the one before."""
        self.connection.execute("UPDATE revision SET content = ? WHERE number = ?", (content, number))
        self.connection.execute(
            "UPDATE revision SET digest = ? WHERE number = ?",
            (reading.computed_digest(self.connection, number), number),
        )

    def set_pending(self, pending: Pending) -> None:
        self.connection.execute(INSERT_PENDING, (*astuple(pending), reading.pending_sum(pending)))

    def clear_pending(self) -> None:
        self.connection.execute("DELETE FROM pending_confirmation")

    def roll_back_pending(self, author: str = ROLLBACK_TIMER, message: str = "", source: str = "") -> int:
        """Write the revision that undoes the pending one; its number.

        Raises `Conflict` when nothing is pending.
        """
        pending = self.pending()
        if pending is None:
            raise Conflict("no change is waiting for its confirmation", code="nothing-pending")
        changes = self.changes_between(self.head, pending.base_revision)
        number = self.append(
            kind="rollback",
            author=author,
            message=message or f"revision {pending.revision} was not confirmed",
            changes=changes,
            source=source,
            restores=pending.base_revision,
        )
        self.clear_pending()
        return number
