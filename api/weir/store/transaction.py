# SPDX-License-Identifier: Apache-2.0
"""What may be done while holding the write lock: the next revision and the pending confirmation."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import astuple, dataclass
from typing import Any

from weir.model.document import Change
from weir.model.objects import ConfigObject, Kind
from weir.model.problem import Conflict, Unavailable
from weir.store import reading, retention
from weir.store.clock import wall_ms
from weir.store.prefixes import TargetMoves, forget
from weir.store.rows import Pending, RevisionKind, Stored, columns, encode
from weir.store.sums import row_sum, wrapped

INSERT_REVISION = (
    "INSERT INTO revision (number, kind, author, source, message, created_at_ms, restores, changes) "
    "VALUES (:number, :kind, :author, :source, :message, :at, :restores, :n)"
)
END_VERSION = "UPDATE object_version SET to_revision = ? WHERE kind = ? AND id = ? AND to_revision IS NULL"
INSERT_VERSION = (
    "INSERT INTO object_version (kind, id, from_revision, name, parent, position, disabled, "
    "max_limit_upload_bps, max_limit_download_bps, search, body, sum) VALUES (?,?,?,?,?,?,?,?,?,?,?,?)"
)
INSERT_PENDING = (
    f"INSERT INTO pending_confirmation (only_one, {reading.PENDING_COLUMNS}, sum) "
    "VALUES (1,?,?,?,?,?,?,?,?,?,?)"
)


ENDED_NOW = f"SELECT sum, {retention.SIZE_BYTES} FROM object_version WHERE to_revision = ?"

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
        return reading.stored(self.connection, kind, object_id)

    def version_now(self, kind: Kind, object_id: str) -> int | None:
        return reading.version_now(self.connection, kind, object_id)

    def changes_between(self, a: int, b: int) -> list[Change]:
        return reading.changes_between(self.connection, a, b)

    def pending(self) -> Pending | None:
        return reading.pending(self.connection)


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
    ) -> int:
        """Write the next revision; the changes' `old` is what holds at the head. Returns its number.

        Writes one row per new object, and closes the span of each version that ends.
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
        content, targets = self._end_versions(changes, number), TargetMoves()
        for change in changes:
            targets.note(change.id, change.old, change.new)
        self.connection.executemany(INSERT_VERSION, self._new_rows(changes, number, content))
        targets.write(self.connection)
        self._seal(number, wrapped(content.total))
        self.head = number
        retention.prune(self.connection, number, len(changes))
        return number

    def _end_versions(self, changes: Sequence[Change], number: int) -> _Content:
        """Close the spans of what changes; what then still holds of the content before."""
        ended = [(number, change.kind, change.id) for change in changes if change.old is not None]
        if self.connection.executemany(END_VERSION, ended).rowcount not in (len(ended), -1):
            raise Conflict("the store does not hold what was to be changed", code="base-mismatch")
        retired = self._retire_damaged(changes, number)
        gone, size_bytes = self.connection.execute(ENDED_NOW, (number,)), 0
        content = _Content(reading.content(self.connection, number - 1))
        for row_sum_, row_bytes in gone:
            content.total -= row_sum_
            size_bytes += row_bytes
        if retired:  # the sums of what was damaged may be so themselves
            content.total = sum(row[0] for row in self.connection.execute(SUMS_NOW))
        retention.note_ended(self.connection, size_bytes)
        return content

    def _retire_damaged(self, changes: Sequence[Change], number: int) -> bool:
        """Close the spans of damaged versions of what begins: nobody could read them, so nobody ends them."""
        found = [
            change
            for change in (changes if len(changes) <= MAX_RETIRED else ())
            if change.old is None and self._is_damaged(change.kind, change.id)
        ]
        self.connection.executemany(END_VERSION, [(number, item.kind, item.id) for item in found])
        forget(self.connection, [item.id for item in found if item.kind == "queue"])
        return bool(found)

    def _is_damaged(self, kind: Kind, object_id: str) -> bool:
        try:
            reading.stored(self.connection, kind, object_id)
        except Unavailable:
            return True
        return False

    def _new_rows(
        self, changes: Sequence[Change], number: int, content: _Content
    ) -> Iterator[tuple[object, ...]]:
        """The versions that begin; their sums are added to the content."""
        for change in changes:
            if change.new is not None:
                row = _row(change.new, number)
                content.total += row[-1]
                yield row

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


@dataclass(slots=True)
class _Content:
    """A total of sums that moves."""

    total: int


def _row(item: ConfigObject, number: int) -> tuple[Any, ...]:
    body = encode(item)
    return (item.kind, item.id, number, *columns(item), body, row_sum(item.kind, item.id, number, body))
