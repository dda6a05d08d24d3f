# SPDX-License-Identifier: Apache-2.0
"""Staged changes, one candidate per user, kept across restarts."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass
from typing import cast

from weir.model.objects import ConfigObject, Kind
from weir.store.rows import decode, encode

STAGE = """INSERT INTO candidate_change (owner, kind, id, serial, seen_revision, body) VALUES (?,?,?,?,?,?)
ON CONFLICT (owner, kind, id) DO UPDATE SET serial = excluded.serial, body = excluded.body"""


@dataclass(frozen=True, slots=True)
class Candidate:
    owner: str
    base_revision: int
    created_at_ms: int
    last_serial: int


@dataclass(frozen=True, slots=True)
class StagedRow:
    """`seen_revision`: the running version that was changed (None: there was none); `running_revision`:
    the one that holds now. They differ when somebody else changed the object meanwhile."""

    kind: Kind
    id: str
    new: ConfigObject | None
    serial: int
    seen_revision: int | None
    running_revision: int | None

    @property
    def etag(self) -> str:
        return f"s{self.serial}"

    @property
    def conflict(self) -> bool:
        return self.seen_revision != self.running_revision


def get(connection: sqlite3.Connection, owner: str) -> Candidate | None:
    row = connection.execute(
        "SELECT owner, base_revision, created_at_ms, last_serial FROM candidate WHERE owner = ?", (owner,)
    ).fetchone()
    return None if row is None else Candidate(*row)


def create(connection: sqlite3.Connection, owner: str, base_revision: int, at_ms: int) -> Candidate:
    """Open it, or leave the open one as it is."""
    connection.execute("INSERT OR IGNORE INTO candidate VALUES (?, ?, ?, 0)", (owner, base_revision, at_ms))
    found = get(connection, owner)
    assert found is not None
    return found


def discard(connection: sqlite3.Connection, owner: str) -> bool:
    """False when there was none."""
    return connection.execute("DELETE FROM candidate WHERE owner = ?", (owner,)).rowcount == 1


def rows(connection: sqlite3.Connection, owner: str) -> list[StagedRow]:
    """In the order in which they were staged."""
    found = connection.execute(
        "SELECT staged.kind, staged.id, staged.body, staged.serial, staged.seen_revision, "
        "running.from_revision FROM candidate_change AS staged "
        "LEFT JOIN object_version AS running ON running.kind = staged.kind AND running.id = staged.id "
        "AND running.to_revision IS NULL WHERE staged.owner = ? ORDER BY staged.serial",
        (owner,),
    )
    return [_row(*row) for row in found]


def row(connection: sqlite3.Connection, owner: str, kind: Kind, object_id: str) -> StagedRow | None:
    found = connection.execute(
        "SELECT staged.kind, staged.id, staged.body, staged.serial, staged.seen_revision, "
        "running.from_revision FROM candidate_change AS staged "
        "LEFT JOIN object_version AS running ON running.kind = staged.kind AND running.id = staged.id "
        "AND running.to_revision IS NULL WHERE staged.owner = ? AND staged.kind = ? AND staged.id = ?",
        (owner, kind, object_id),
    ).fetchone()
    return None if found is None else _row(*found)


def stage(
    connection: sqlite3.Connection,
    candidate: Candidate,
    edits: Iterable[tuple[Kind, str, ConfigObject | None, int | None]],
) -> None:
    """Stage (kind, id, new, seen revision); an object staged before keeps what was seen then."""
    serial = candidate.last_serial
    values = []
    for kind, object_id, new, seen in edits:
        serial += 1
        values.append((candidate.owner, kind, object_id, serial, seen, None if new is None else encode(new)))
    connection.executemany(STAGE, values)
    connection.execute("UPDATE candidate SET last_serial = ? WHERE owner = ?", (serial, candidate.owner))


def unstage(connection: sqlite3.Connection, owner: str, kind: Kind, object_id: str) -> bool:
    """False when it was not staged."""
    done = connection.execute(
        "DELETE FROM candidate_change WHERE owner = ? AND kind = ? AND id = ?", (owner, kind, object_id)
    )
    return done.rowcount == 1


def see_running(connection: sqlite3.Connection, owner: str, staged: StagedRow) -> None:
    """Take note of the running version: the staged change is meant to replace that one."""
    connection.execute(
        "UPDATE candidate_change SET seen_revision = ? WHERE owner = ? AND kind = ? AND id = ?",
        (staged.running_revision, owner, staged.kind, staged.id),
    )


def set_base(connection: sqlite3.Connection, owner: str, base_revision: int) -> None:
    connection.execute("UPDATE candidate SET base_revision = ? WHERE owner = ?", (base_revision, owner))


def _row(
    kind: str, object_id: str, body: str | None, serial: int, seen: int | None, running: int | None
) -> StagedRow:
    new = None if body is None else decode(kind, object_id, body)
    return StagedRow(cast(Kind, kind), object_id, new, serial, seen, running)
