# SPDX-License-Identifier: Apache-2.0
"""What may be done while holding the write lock: the next revision and the pending confirmation."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from weir.model.document import Change
from weir.model.objects import ConfigObject, Kind
from weir.model.problem import Conflict
from weir.store import reading, retention
from weir.store.clock import wall_ms
from weir.store.prefixes import TargetMoves
from weir.store.rows import Pending, RevisionKind, Stored, columns, encode

INSERT_REVISION = (
    "INSERT INTO revision VALUES (:number, :kind, :author, :source, :message, :at, :restores, :n)"
)
END_VERSION = "UPDATE object_version SET to_revision = ? WHERE kind = ? AND id = ? AND to_revision IS NULL"
INSERT_VERSION = (
    "INSERT INTO object_version (kind, id, from_revision, name, parent, position, disabled, "
    "max_limit_upload_bps, max_limit_download_bps, search, body) VALUES (?,?,?,?,?,?,?,?,?,?,?)"
)
INSERT_PENDING = (
    f"INSERT INTO pending_confirmation (only_one, {reading.PENDING_COLUMNS}) VALUES (1,?,?,?,?,?,?,?,?,?)"
)


ROLLBACK_TIMER = "rollback timer"
"""The author of a revision that nobody asked for."""


class WriteTransaction:
    """Valid inside `ConfigStore.write()` only."""

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
        ended, targets = [], TargetMoves()
        for change in changes:
            if change.old is not None:
                ended.append((number, change.kind, change.id))
            targets.note(change.id, change.old, change.new)
        if self.connection.executemany(END_VERSION, ended).rowcount not in (len(ended), -1):
            raise Conflict("the store does not hold what was to be changed", code="base-mismatch")
        self.connection.executemany(
            INSERT_VERSION, (_row(change.new, number) for change in changes if change.new is not None)
        )
        targets.write(self.connection)
        self.head = number
        retention.prune(self.connection, number)
        return number

    def set_pending(self, pending: Pending) -> None:
        self.connection.execute(
            INSERT_PENDING,
            (
                pending.revision,
                pending.base_revision,
                pending.window_s,
                pending.deadline_wall_ms,
                pending.boot_id,
                pending.deadline_boottime_ms,
                pending.token_hash,
                pending.author,
                pending.created_at_ms,
            ),
        )

    def clear_pending(self) -> None:
        self.connection.execute("DELETE FROM pending_confirmation")

    def roll_back_pending(
        self, author: str = ROLLBACK_TIMER, message: str = "", source: str = ""
    ) -> tuple[int, list[Change]]:
        """Write the revision that undoes the pending one. Raises `Conflict` when nothing is pending."""
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
        return number, changes


def _row(item: ConfigObject, number: int) -> tuple[object, ...]:
    return (item.kind, item.id, number, *columns(item), encode(item))
