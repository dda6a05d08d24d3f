# SPDX-License-Identifier: Apache-2.0
"""Queries that readers and the writer share; each takes a connection inside a transaction."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from typing import Any, cast

from weir.model.document import Change
from weir.model.objects import ConfigObject, Kind
from weir.model.problem import NotFound
from weir.store.retention import require_complete
from weir.store.rows import Event, Pending, Revision, Stored, decode, etag_of

REVISION_COLUMNS = (
    "revision.number, revision.kind, revision.author, revision.source, revision.message, "
    "revision.created_at_ms, revision.restores, revision.changes"
)
PENDING_COLUMNS = (
    "revision, base_revision, window_s, deadline_wall_ms, boot_id, deadline_boottime_ms, token_hash, "
    "author, created_at_ms"
)
HOLDS_AT = "from_revision <= :at AND (to_revision IS NULL OR to_revision > :at)"

CHANGES_BETWEEN = """
WITH touched AS (
    SELECT kind, id FROM object_version WHERE from_revision > :low AND from_revision <= :high
    UNION
    SELECT kind, id FROM object_version WHERE to_revision > :low AND to_revision <= :high
)
SELECT touched.kind, touched.id, old.body, new.body
FROM touched
LEFT JOIN object_version AS old ON old.kind = touched.kind AND old.id = touched.id
    AND old.from_revision <= :a AND (old.to_revision IS NULL OR old.to_revision > :a)
LEFT JOIN object_version AS new ON new.kind = touched.kind AND new.id = touched.id
    AND new.from_revision <= :b AND (new.to_revision IS NULL OR new.to_revision > :b)
WHERE old.body IS NOT new.body
ORDER BY touched.kind, touched.id
"""

EVENTS = f"""
WITH moment AS (
    SELECT from_revision AS at FROM object_version WHERE kind = :kind AND id = :id
    UNION
    SELECT to_revision FROM object_version WHERE kind = :kind AND id = :id AND to_revision IS NOT NULL
)
SELECT {REVISION_COLUMNS}, old.body, new.body
FROM moment
JOIN revision ON revision.number = moment.at
LEFT JOIN object_version AS old ON old.kind = :kind AND old.id = :id AND old.to_revision = moment.at
LEFT JOIN object_version AS new ON new.kind = :kind AND new.id = :id AND new.from_revision = moment.at
WHERE :before IS NULL OR moment.at < :before
ORDER BY moment.at DESC LIMIT :limit
"""


def head(connection: sqlite3.Connection) -> int:
    (number,) = connection.execute("SELECT max(number) FROM revision").fetchone()
    return int(number)


def revision(connection: sqlite3.Connection, number: int) -> Revision:
    row = connection.execute(
        f"SELECT {REVISION_COLUMNS} FROM revision WHERE number = ?", (_sqlite_integer(number),)
    ).fetchone()
    if row is None:
        raise NotFound(f"there is no revision {number}", path=f"revisions/{number}")
    return Revision(*row)


def revisions(connection: sqlite3.Connection, before: int | None, limit: int) -> list[Revision]:
    rows = connection.execute(
        f"SELECT {REVISION_COLUMNS} FROM revision WHERE ?1 IS NULL OR number < ?1 "
        "ORDER BY number DESC LIMIT ?2",
        (None if before is None else _sqlite_integer(before), limit),
    )
    return [Revision(*row) for row in rows]


def objects(connection: sqlite3.Connection, at: int | None) -> Iterator[ConfigObject]:
    holds = "to_revision IS NULL" if at is None else HOLDS_AT
    rows = connection.execute(f"SELECT kind, id, body FROM object_version WHERE {holds}", {"at": at})
    for kind, object_id, body in rows:
        yield decode(kind, object_id, body)


def stored(connection: sqlite3.Connection, kind: Kind, object_id: str) -> Stored | None:
    row = connection.execute(
        "SELECT body, from_revision FROM object_version WHERE kind = ? AND id = ? AND to_revision IS NULL",
        (kind, object_id),
    ).fetchone()
    return None if row is None else to_stored(kind, object_id, *row)


def to_stored(kind: str, object_id: str, body: str, from_revision: int) -> Stored:
    item = decode(kind, object_id, body)
    return Stored(cast(Kind, kind), object_id, item, etag_of(from_revision), from_revision)


def version_now(connection: sqlite3.Connection, kind: Kind, object_id: str) -> int | None:
    """The revision that made the object what it is; None when it does not exist."""
    row = connection.execute(
        "SELECT from_revision FROM object_version WHERE kind = ? AND id = ? AND to_revision IS NULL",
        (kind, object_id),
    ).fetchone()
    return None if row is None else int(row[0])


def changes_between(connection: sqlite3.Connection, a: int, b: int) -> list[Change]:
    for number in (a, b):
        revision(connection, number)
        require_complete(connection, number)
    rows = connection.execute(CHANGES_BETWEEN, {"low": min(a, b), "high": max(a, b), "a": a, "b": b})
    return [_change(*row) for row in rows]


def events(
    connection: sqlite3.Connection, kind: Kind, object_id: str, before: int | None, limit: int
) -> list[Event]:
    rows = connection.execute(
        EVENTS,
        {
            "kind": kind,
            "id": object_id,
            "before": None if before is None else _sqlite_integer(before),
            "limit": limit,
        },
    )
    found = []
    for *columns, old, new in rows:
        change = _change(kind, object_id, old, new)
        found.append(Event(Revision(*columns), change.old, change.new))
    return found


def pending(connection: sqlite3.Connection) -> Pending | None:
    row = connection.execute(f"SELECT {PENDING_COLUMNS} FROM pending_confirmation").fetchone()
    return None if row is None else Pending(*row)


def count(connection: sqlite3.Connection, kind: Kind) -> int:
    (found,) = connection.execute(
        "SELECT count(*) FROM object_version WHERE kind = ? AND to_revision IS NULL", (kind,)
    ).fetchone()
    return int(found)


def highest_number(connection: sqlite3.Connection, kind: Kind, prefix: str) -> int:
    rows = connection.execute(
        "SELECT max(CAST(substr(id, ?3) AS INTEGER)) FROM object_version "
        "WHERE kind = ?1 AND id GLOB ?2 || '[0-9]*' AND substr(id, ?3) NOT GLOB '*[^0-9]*' "
        "AND length(id) < 18",
        (kind, prefix, len(prefix) + 1),
    )
    (number,) = rows.fetchone()
    return number or 0


def _change(kind: str, object_id: str, old: str | None, new: str | None) -> Change:
    def read(body: str | None) -> Any:
        return None if body is None else decode(kind, object_id, body)

    return Change(cast(Kind, kind), object_id, read(old), read(new))


def _sqlite_integer(number: int) -> int:
    """A number from a request may be of any size; SQLite's integers have 64 bits."""
    return min(max(number, -1), (1 << 62))
