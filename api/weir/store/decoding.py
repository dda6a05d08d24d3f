# SPDX-License-Identifier: Apache-2.0
"""What `weir.store.reading` finds, as objects of the model."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from weir.model.document import Change
from weir.model.objects import ConfigObject, Kind
from weir.model.problem import Problem, Unavailable
from weir.store.bodies import decode
from weir.store.reading import REVISION_COLUMNS, bodies, damaged, rows_between, sqlite_integer
from weir.store.rows import Damage, Event, Revision, Stored, etag_of
from weir.store.sums import row_sum

EVENTS = f"""
WITH moment AS (
    SELECT from_revision AS at FROM object_version WHERE kind = :kind AND id = :id
    UNION
    SELECT to_revision FROM object_version WHERE kind = :kind AND id = :id AND to_revision IS NOT NULL
)
SELECT {REVISION_COLUMNS}, old.from_revision, old.body, old.sum, new.from_revision, new.body, new.sum
FROM moment
JOIN revision ON revision.number = moment.at
LEFT JOIN object_version AS old ON old.kind = :kind AND old.id = :id AND old.to_revision = moment.at
LEFT JOIN object_version AS new ON new.kind = :kind AND new.id = :id AND new.from_revision = moment.at
WHERE :before IS NULL OR moment.at < :before
ORDER BY moment.at DESC LIMIT :limit
"""


def objects(
    connection: sqlite3.Connection, at: int | None, damage: list[Damage] | None = None
) -> Iterator[ConfigObject]:
    """As `bodies`, decoded."""
    for kind, object_id, since, body, number_sum in bodies(connection, at, damage):
        try:
            item = checked(kind, object_id, since, body, number_sum)
        except Unavailable as problem:  # a body that the model no longer accepts
            if damage is None:
                raise
            damage.append(Damage(kind, object_id, problem.message))
        else:
            yield item


def checked(kind: str, object_id: str, since: int, body: str, number_sum: int) -> ConfigObject:
    """The object of a row. Raises `Unavailable` (`store-damaged`) unless the row is as it was written."""
    if row_sum(kind, object_id, since, body) == number_sum:
        with suppress(Problem):
            return decode(kind, object_id, body)
    raise damaged(kind, object_id, since)


def stored(connection: sqlite3.Connection, kind: Kind, object_id: str) -> Stored | None:
    row = connection.execute(
        "SELECT from_revision, body, sum FROM object_version "
        "WHERE kind = ? AND id = ? AND to_revision IS NULL",
        (kind, object_id),
    ).fetchone()
    return None if row is None else to_stored(kind, object_id, *row)


def to_stored(kind: str, object_id: str, from_revision: int, body: str, number_sum: int) -> Stored:
    """Raises as `checked`."""
    item = checked(kind, object_id, from_revision, body, number_sum)
    return Stored(kind, object_id, item, etag_of(from_revision), from_revision)


def changes_between(
    connection: sqlite3.Connection, a: int, b: int, start: int = 0, limit: int = -1
) -> list[Change]:
    """From an index on, `limit` of them (all when it is negative)."""
    return list(each_change(connection, a, b, start, limit))


def each_change(
    connection: sqlite3.Connection, a: int, b: int, start: int = 0, limit: int = -1
) -> Iterator[Change]:
    """As `changes_between`, made one at a time."""
    return (_change(*row) for row in rows_between(connection, a, b, start, limit))


def events(
    connection: sqlite3.Connection, kind: Kind, object_id: str, before: int | None, limit: int
) -> list[Event]:
    rows = connection.execute(
        EVENTS,
        {
            "kind": kind,
            "id": object_id,
            "before": None if before is None else sqlite_integer(before),
            "limit": limit,
        },
    )
    found = []
    for row in rows:
        change = _change(kind, object_id, *row[-6:])
        found.append(Event(Revision(*row[:-6]), change.old, change.new))
    return found


def _change(kind: str, object_id: str, *versions: Any) -> Change:
    """From revision, body and sum of the old version, then of the new one."""

    def read(since: int, body: str | None, number_sum: int) -> Any:
        return None if body is None else checked(kind, object_id, since, body, number_sum)

    return Change(kind, object_id, read(*versions[:3]), read(*versions[3:]))
