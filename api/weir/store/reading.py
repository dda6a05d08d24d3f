# SPDX-License-Identifier: Apache-2.0
"""Queries that readers and the writer share; each takes a connection inside a transaction.

Objects are made of what they find in `weir.store.decoding`: this module loads no kinds."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from dataclasses import astuple
from typing import TYPE_CHECKING, Any

from weir.model.problem import NotFound, Unavailable
from weir.store.retention import complete_from, require_complete
from weir.store.rows import ChangeCounts, Damage, Pending, Revision
from weir.store.sums import DIGESTED, revision_digest, row_sum, wrapped

if TYPE_CHECKING:
    from weir.model.objects import Kind

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
SELECT touched.kind, touched.id, old.from_revision, old.body AS old, old.sum,
    new.from_revision, new.body AS new, new.sum
FROM touched
LEFT JOIN object_version AS old ON old.kind = touched.kind AND old.id = touched.id
    AND old.from_revision <= :a AND (old.to_revision IS NULL OR old.to_revision > :a)
LEFT JOIN object_version AS new ON new.kind = touched.kind AND new.id = touched.id
    AND new.from_revision <= :b AND (new.to_revision IS NULL OR new.to_revision > :b)
WHERE old.body IS NOT new.body
ORDER BY touched.kind, touched.id
"""

COUNT_BETWEEN = (
    "SELECT sum(old IS NULL), sum(old IS NOT NULL AND new IS NOT NULL), sum(new IS NULL) "
    f"FROM ({CHANGES_BETWEEN})"
)


def head(connection: sqlite3.Connection) -> int:
    (number,) = connection.execute("SELECT max(number) FROM revision").fetchone()
    return int(number)


def revision(connection: sqlite3.Connection, number: int) -> Revision:
    row = connection.execute(
        f"SELECT {REVISION_COLUMNS} FROM revision WHERE number = ?", (sqlite_integer(number),)
    ).fetchone()
    if row is None:
        raise NotFound(f"there is no revision {number}", path=f"revisions/{number}")
    return Revision(*row)


def revisions(connection: sqlite3.Connection, before: int | None, limit: int) -> list[Revision]:
    rows = connection.execute(
        f"SELECT {REVISION_COLUMNS} FROM revision WHERE ?1 IS NULL OR number < ?1 "
        "ORDER BY number DESC LIMIT ?2",
        (None if before is None else sqlite_integer(before), limit),
    )
    return [Revision(*row) for row in rows]


def bodies(
    connection: sqlite3.Connection, at: int | None, damage: list[Damage] | None = None
) -> Iterator[tuple[str, str, int, str, int]]:
    """What holds at a revision (None: now): kind, id, since when, body and sum of each object.

    With `damage`, what is damaged is left out and noted there; without, it raises `Unavailable`
    (`store-damaged`).
    """
    number = head(connection) if at is None else at
    holds = "to_revision IS NULL" if at is None else HOLDS_AT
    rows = connection.execute(
        f"SELECT kind, id, from_revision, body, sum FROM object_version WHERE {holds}", {"at": at}
    )
    noted: list[Damage] = []
    total = 0
    for kind, object_id, since, body, number_sum in rows:
        total += number_sum if isinstance(number_sum, int) else 0
        if row_sum(kind, object_id, since, body) == number_sum:
            yield kind, object_id, since, body, number_sum
        else:
            noted.append(Damage(*named(kind, object_id), damaged(kind, object_id, since).message))
    if number >= complete_from(connection) and wrapped(total) != content(connection, number):
        noted.append(Damage("", "", f"revision {number} is not whole: an object is missing, or one too many"))
    if damage is not None:
        damage.extend(noted)
    elif noted:
        raise Unavailable(noted[0].message, code="store-damaged")


def damaged(kind: object, object_id: object, since: object) -> Unavailable:
    """What to say of a row that is not as it was written."""
    name = " ".join(filter(None, named(kind, object_id))) or "an object"
    return Unavailable(
        f"{name} is damaged on the disk (revision {since})", code="store-damaged", path=f"{kind}/{object_id}"
    )


def named(kind: object, object_id: object) -> tuple[str, str]:
    """Kind and id of a damaged row, if that can be what they were."""
    from weir.kinds import DECLARED  # seldom needed, and large

    if kind in DECLARED and isinstance(object_id, str) and object_id.isprintable():
        return str(kind), object_id
    return "", ""


def content(connection: sqlite3.Connection, number: int) -> int:
    """The sum of the sums of what holds at a revision, as it was written down."""
    row = connection.execute("SELECT content FROM revision WHERE number = ?", (number,)).fetchone()
    return 0 if row is None or not isinstance(row[0], int) else row[0]


def digest(connection: sqlite3.Connection, number: int) -> bytes | None:
    """What a revision and all before it come down to, as it was written down; None without the revision."""
    row = connection.execute(
        "SELECT digest FROM revision WHERE number = ?", (sqlite_integer(number),)
    ).fetchone()
    return None if row is None else bytes(row[0])


def damaged_revision(connection: sqlite3.Connection, number: int) -> Damage | None:
    """What is wrong with the row of a revision."""
    if computed_digest(connection, number) == digest(connection, number):
        return None
    return Damage("", "", f"what is noted of revision {number} is damaged on the disk")


def computed_digest(connection: sqlite3.Connection, number: int) -> bytes:
    """The digest that a revision's row and its predecessor give now."""
    row = connection.execute(f"SELECT {DIGESTED} FROM revision WHERE number = ?", (number,)).fetchone()
    return revision_digest(digest(connection, number - 1) or b"", row)


def version_now(connection: sqlite3.Connection, kind: Kind, object_id: str) -> int | None:
    """The revision that made the object what it is; None when it does not exist."""
    row = connection.execute(
        "SELECT from_revision FROM object_version WHERE kind = ? AND id = ? AND to_revision IS NULL",
        (kind, object_id),
    ).fetchone()
    return None if row is None else int(row[0])


def bodies_between(
    connection: sqlite3.Connection, a: int, b: int
) -> Iterator[tuple[str, str, str | None, str | None]]:
    """Kind, id, old and new body of what differs; no object is made.

    Raises `Unavailable` (`store-damaged`) when a row is not as it was written.
    """
    for kind, object_id, *versions in rows_between(connection, a, b):
        for since, body, number_sum in (versions[:3], versions[3:]):
            if body is not None and row_sum(kind, object_id, since, body) != number_sum:
                raise damaged(kind, object_id, since)
        yield kind, object_id, versions[1], versions[4]


def rows_between(
    connection: sqlite3.Connection, a: int, b: int, start: int = 0, limit: int = -1
) -> Iterator[Any]:
    """What differs, with revision, body and sum of both versions; from an index on, `limit` of them."""
    span = _span(connection, a, b) | {"start": start, "limit": limit}
    return connection.execute(f"{CHANGES_BETWEEN} LIMIT :limit OFFSET :start", span)


def count_between(connection: sqlite3.Connection, a: int, b: int) -> ChangeCounts:
    """How many objects differ, without reading them."""
    row = connection.execute(COUNT_BETWEEN, _span(connection, a, b)).fetchone()
    return ChangeCounts(*(number or 0 for number in row))


def _span(connection: sqlite3.Connection, a: int, b: int) -> dict[str, int]:
    for number in (a, b):
        revision(connection, number)
        require_complete(connection, number)
    return {"low": min(a, b), "high": max(a, b), "a": a, "b": b}


def pending(connection: sqlite3.Connection) -> Pending | None:
    """Raises `Unavailable` (`store-damaged`) when it is not as it was written."""
    row = connection.execute(f"SELECT {PENDING_COLUMNS}, sum FROM pending_confirmation").fetchone()
    if row is None:
        return None
    found = Pending(*row[:-1])
    if pending_sum(found) != row[-1]:
        raise Unavailable("the change that waits for its confirmation is damaged", code="store-damaged")
    return found


def pending_sum(pending: Pending) -> int:
    values = [value.hex().upper() if isinstance(value, bytes) else value for value in astuple(pending)]
    return row_sum(*values)


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


def sqlite_integer(number: int) -> int:
    """A number from a request may be of any size; SQLite's integers have 64 bits."""
    return min(max(number, -1), (1 << 62))
