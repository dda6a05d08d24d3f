# SPDX-License-Identifier: Apache-2.0
"""Staged changes, one candidate per user, kept across restarts."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import Any, NamedTuple, Protocol

from weir.model.document import Change
from weir.model.objects import ConfigObject, Kind
from weir.model.problem import Unavailable
from weir.store.bodies import decode, encode
from weir.store.database import large_cache
from weir.store.decoding import checked
from weir.store.inserting import insert
from weir.store.rows import ChangeCounts, etag_of
from weir.store.sums import row_sum

STAGE = "INSERT INTO candidate_change (owner, kind, id, serial, seen_revision, body, sum, staged_at_ms)"
STAGED_AGAIN = """ON CONFLICT (owner, kind, id)
DO UPDATE SET serial = excluded.serial, body = excluded.body, sum = excluded.sum,
    staged_at_ms = excluded.staged_at_ms"""
_STAGED = (
    "candidate_change AS staged LEFT JOIN object_version AS running ON running.kind = staged.kind "
    "AND running.id = staged.id AND running.to_revision IS NULL WHERE staged.owner = ?"
)
CONFLICTS = (
    "SELECT found.kind, found.id, revision.author, revision.created_at_ms FROM ("
    "SELECT staged.kind, staged.id, staged.serial, ifnull(running.from_revision, ("
    "SELECT max(to_revision) FROM object_version AS past "
    "WHERE past.kind = staged.kind AND past.id = staged.id"
    f")) AS number FROM {_STAGED} AND staged.seen_revision IS NOT running.from_revision"
    ") AS found LEFT JOIN revision ON revision.number = found.number ORDER BY found.serial"
)
OTHERS = """
SELECT candidate.owner, staged.staged_at_ms, staged.body IS NULL FROM candidate
JOIN candidate_change AS staged ON staged.owner = candidate.owner AND staged.kind = :kind AND staged.id = :id
WHERE candidate.owner != :owner ORDER BY staged.staged_at_ms DESC LIMIT :limit
"""
_ROW = (
    "staged.owner, staged.kind, staged.id, staged.body, staged.sum, staged.serial, staged.seen_revision, "
    "running.from_revision"
)
CHANGES = """
SELECT staged.owner, staged.kind, staged.id, staged.body, staged.sum, staged.staged_at_ms, staged.serial,
    running.from_revision, running.body, running.sum FROM (
    SELECT * FROM candidate_change WHERE owner = :owner AND serial > :after ORDER BY serial LIMIT :limit
) AS staged LEFT JOIN object_version AS running ON running.kind = staged.kind AND running.id = staged.id
    AND running.to_revision IS NULL ORDER BY staged.serial
"""
KNOWN = """
SELECT asked.value, staged.serial, staged.body IS NULL, staged.seen_revision, running.from_revision
FROM json_each(:ids) AS asked
LEFT JOIN candidate_change AS staged
    ON staged.owner = :owner AND staged.kind = :kind AND staged.id = asked.value
LEFT JOIN object_version AS running
    ON running.kind = :kind AND running.id = asked.value AND running.to_revision IS NULL
WHERE staged.serial IS NOT NULL OR running.from_revision IS NOT NULL
"""
NEW = """
SELECT kind, id, body, sum FROM candidate_change AS staged WHERE owner = ? AND (body IS NOT NULL OR EXISTS (
    SELECT 1 FROM object_version AS running
    WHERE running.kind = staged.kind AND running.id = staged.id AND running.to_revision IS NULL
)) ORDER BY kind, id
"""
_KEY = itemgetter(1, 2)
MAX_CONFLICTS = 100
MAX_OTHERS = 20


class Overtaken(NamedTuple):
    """A staged object that somebody else committed meanwhile: who changed or removed it last, and when; None
    where that is no longer kept."""

    kind: Kind
    id: str
    author: str | None
    at_ms: int | None


class Other(NamedTuple):
    """Somebody else's staged change of an object; `staged_at_ms` is 0 where that was not noted."""

    owner: str
    staged_at_ms: int
    deletes: bool


@dataclass(frozen=True, slots=True)
class Candidate:
    owner: str
    base_revision: int
    created_at_ms: int
    last_serial: int

    def state(self, head: int) -> tuple[int, int, int]:
        """What names its state beside that of what runs."""
        return self.created_at_ms, self.last_serial, head


@dataclass(frozen=True, slots=True)
class Summary:
    """What a candidate holds, counted without reading a body.

    `kinds`: staged changes by kind; `counts` leaves out those that would change nothing; `conflicts` are the
    first objects that somebody else changed meanwhile, `conflict_count` is all of them.
    """

    kinds: Mapping[Kind, int]
    counts: ChangeCounts
    conflict_count: int
    conflicts: Sequence[Overtaken]

    def with_added(self, kinds: Iterable[Kind]) -> Summary:
        """As it is after new objects of these kinds were staged, none of which was staged before or runs."""
        added = Counter(kinds)
        counts = replace(self.counts, added=self.counts.added + added.total())
        return replace(self, kinds={**self.kinds, **(Counter(self.kinds) + added)}, counts=counts)


NOTHING = Summary({}, ChangeCounts(0, 0, 0), 0, ())


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
        return etag_of_staged(self.serial)

    @property
    def conflict(self) -> bool:
        return self.seen_revision != self.running_revision


class Known(NamedTuple):
    """What there is of an object: `serial` is that of the staged change (None: none is staged), which may be
    its deletion; `seen_revision` and `running_revision` as in a `StagedRow`."""

    serial: int | None
    deletes: bool
    seen_revision: int | None
    running_revision: int | None

    @property
    def is_new(self) -> bool:
        """Neither is it staged, nor does it run."""
        return self.serial is None and self.running_revision is None

    @property
    def exists(self) -> bool:
        """As the candidate has it."""
        return self.running_revision is not None if self.serial is None else not self.deletes

    @property
    def etag(self) -> str:
        """Of the object as the candidate has it."""
        return etag_of(self.running_revision or 0) if self.serial is None else etag_of_staged(self.serial)


UNKNOWN = Known(None, False, None, None)
"""Of an object that is neither staged nor runs."""


@dataclass(frozen=True, slots=True)
class StagedChange:
    """A change against what runs, its version, and when it was staged (0: before that was noted)."""

    change: Change
    etag: str
    staged_at_ms: int


def etag_of_staged(serial: int) -> str:
    return f"s{serial}"


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
    if connection.execute("SELECT 1 FROM candidate WHERE owner != ?", (owner,)).fetchone() is None:
        connection.execute("DELETE FROM candidate_change")  # all pages at once, none of which is looked at
    return connection.execute("DELETE FROM candidate WHERE owner = ?", (owner,)).rowcount == 1


def count(connection: sqlite3.Connection, owner: str) -> int:
    """How many objects are staged."""
    (found,) = connection.execute(
        "SELECT count(*) FROM candidate_change WHERE owner = ?", (owner,)
    ).fetchone()
    return int(found)


def summary(connection: sqlite3.Connection, owner: str) -> Summary:
    """Bodies are compared as text: equal objects are written alike."""
    found = connection.execute(
        "SELECT staged.kind, count(*), "
        "sum(running.id IS NULL AND staged.body IS NOT NULL), "
        "sum(running.id IS NOT NULL AND staged.body IS NOT NULL AND staged.body IS NOT running.body), "
        "sum(running.id IS NOT NULL AND staged.body IS NULL), "
        f"sum(staged.seen_revision IS NOT running.from_revision) FROM {_STAGED} GROUP BY staged.kind",
        (owner,),
    ).fetchall()
    added, changed, removed, conflict_count = (sum(row[at] for row in found) for at in range(2, 6))
    kinds = {row[0]: row[1] for row in found}
    first = f"{CONFLICTS} LIMIT {MAX_CONFLICTS}"
    conflicts = [Overtaken(*row) for row in connection.execute(first, (owner,))] if conflict_count else []
    return Summary(kinds, ChangeCounts(added, changed, removed), conflict_count, conflicts)


def changes(
    connection: sqlite3.Connection, owner: str, after: int, limit: int
) -> tuple[list[StagedChange], int | None]:
    """Up to `limit` staged changes against what runs, in the order in which they were staged, of those with
    a higher serial than `after`; and the serial to go on after, or None at the end."""
    found: list[StagedChange] = []
    last = after
    while True:
        rows = connection.execute(CHANGES, {"owner": owner, "after": after, "limit": limit}).fetchall()
        for *staged, at_ms, after, since, old, old_sum in rows:
            _, kind, object_id, new, _ = staged
            if old == new:
                continue
            if len(found) == limit:
                return found, last
            before = None if old is None else checked(kind, object_id, since, old, old_sum)
            change = Change(kind, object_id, before, _decoded(*staged))
            found.append(StagedChange(change, etag_of_staged(after), at_ms))
            last = after
        if len(rows) < limit:
            return found, None


def rows(connection: sqlite3.Connection, owner: str) -> list[StagedRow]:
    """In the order in which they were staged."""
    return [_row(*row) for row in _in_order(connection, owner)]


def _in_order(connection: sqlite3.Connection, owner: str) -> sqlite3.Cursor:
    return connection.execute(f"SELECT {_ROW} FROM {_STAGED} ORDER BY staged.serial", (owner,))


def new_objects(
    connection: sqlite3.Connection, owner: str, objects: Objects
) -> Iterator[tuple[Kind, str, ConfigObject | None]]:
    """What is staged, one by one, by kind and id; None for what is to be deleted. What is deleted and does
    not run is left out. Raises as `rows`.

    So staged changes are stored, and so the indexes of what they become have them: rows that come in their
    order are written in three quarters of the time."""
    for kind, object_id, body, number_sum in connection.execute(NEW, (owner,)):
        yield kind, object_id, _decoded(owner, kind, object_id, body, number_sum, objects)


def conflicts(connection: sqlite3.Connection, owner: str) -> list[Overtaken]:
    """The objects that somebody else changed since they were staged."""
    return [Overtaken(*row) for row in connection.execute(CONFLICTS, (owner,))]


def others(connection: sqlite3.Connection, owner: str, kind: Kind, object_id: str) -> list[Other]:
    """Who else has staged a change of this object, the newest first, at most `MAX_OTHERS`."""
    asked = {"owner": owner, "kind": kind, "id": object_id, "limit": MAX_OTHERS}
    return [Other(name, at_ms, bool(deletes)) for name, at_ms, deletes in connection.execute(OTHERS, asked)]


def last_position(connection: sqlite3.Connection, owner: str, parent: str | None) -> int | None:
    """The highest position of a staged queue below `parent`; None when none is staged there."""
    (found,) = connection.execute(
        "SELECT max(ifnull(json_extract(body, '$.position'), 0)) FROM candidate_change "
        "WHERE owner = ? AND kind = 'queue' AND body IS NOT NULL AND json_extract(body, '$.parent') IS ?",
        (owner, parent),
    ).fetchone()
    return None if found is None else int(found)


def positions(connection: sqlite3.Connection, owner: str, ids: Collection[str]) -> dict[str, int | None]:
    """The positions of those queues that are staged; None for one that is to be deleted."""
    found = connection.execute(
        "SELECT id, body IS NULL, ifnull(json_extract(body, '$.position'), 0) FROM candidate_change "
        "WHERE owner = ? AND kind = 'queue' AND id IN (SELECT value FROM json_each(?))",
        (owner, json.dumps(list(ids))),
    )
    return {queue_id: None if is_deleted else position for queue_id, is_deleted, position in found}


def row(connection: sqlite3.Connection, owner: str, kind: Kind, object_id: str) -> StagedRow | None:
    found = connection.execute(
        f"SELECT {_ROW} FROM {_STAGED} AND staged.kind = ? AND staged.id = ?", (owner, kind, object_id)
    ).fetchone()
    return None if found is None else _row(*found)


def known(connection: sqlite3.Connection, owner: str, kind: Kind, ids: Collection[str]) -> dict[str, Known]:
    """What there is of each of these objects. One statement, however many they are, and no body is read."""
    found = dict.fromkeys(ids, UNKNOWN)
    rows = connection.execute(KNOWN, {"owner": owner, "kind": kind, "ids": json.dumps(list(ids))})
    found.update((object_id, Known(*values)) for object_id, *values in rows)
    return found


class Objects:
    """What was staged lately, by the sums of the rows: a commit of thousands need not read again what this
    process has just written. Each row is compared with its sum as ever. Thread-safe.

    Queues are not kept: as objects they take six times the memory of their rows.
    """

    def __init__(self, most: int = 100_000) -> None:
        self._most = most
        self._by_sum: dict[int, ConfigObject] = {}

    def note(self, number_sum: int, item: ConfigObject | None) -> None:
        if item is not None and item.kind != "queue" and len(self._by_sum) < self._most:
            self._by_sum[number_sum] = item

    def get(self, number_sum: int) -> ConfigObject | None:
        return self._by_sum.get(number_sum)

    def forget(self) -> None:
        self._by_sum = {}


class Named(Protocol):
    """What names an object."""

    @property
    def kind(self) -> Kind: ...
    @property
    def id(self) -> str: ...


def known_of(
    connection: sqlite3.Connection, owner: str, named: Iterable[Named]
) -> dict[tuple[Kind, str], Known]:
    """What there is of each of these, of whatever kinds."""
    by_kind = defaultdict[Kind, list[str]](list)
    for item in named:
        by_kind[item.kind].append(item.id)
    return {
        (kind, object_id): found
        for kind, ids in by_kind.items()
        for object_id, found in known(connection, owner, kind, ids).items()
    }


def stage(
    connection: sqlite3.Connection,
    candidate: Candidate,
    edits: Iterable[tuple[Kind, str, ConfigObject | None, int | None]],
    at_ms: int,
    objects: Objects | None = None,
) -> None:
    """Stage (kind, id, new, seen revision); an object staged before keeps what was seen then."""
    objects = objects or Objects(0)
    serial = candidate.last_serial
    values = []
    for kind, object_id, new, seen in edits:
        serial += 1
        body = None if new is None else encode(new)
        number_sum = row_sum(candidate.owner, kind, object_id, body)
        objects.note(number_sum, new)
        values.append((candidate.owner, kind, object_id, serial, seen, body, number_sum, at_ms))
    values.sort(key=_KEY)  # as the table has them; what is staged twice keeps its order
    with large_cache(connection, len(values)):
        insert(connection, STAGE, values, STAGED_AGAIN)
    connection.execute("UPDATE candidate SET last_serial = ? WHERE owner = ?", (serial, candidate.owner))


def unstage(connection: sqlite3.Connection, owner: str, kind: Kind, object_id: str) -> bool:
    """False when it was not staged."""
    done = connection.execute(
        "DELETE FROM candidate_change WHERE owner = ? AND kind = ? AND id = ?", (owner, kind, object_id)
    )
    _next_serial(connection, owner)
    return done.rowcount == 1


def see_running(connection: sqlite3.Connection, owner: str, staged: StagedRow) -> None:
    """Take note of the running version: the staged change is meant to replace that one."""
    connection.execute(
        "UPDATE candidate_change SET seen_revision = ? WHERE owner = ? AND kind = ? AND id = ?",
        (staged.running_revision, owner, staged.kind, staged.id),
    )
    _next_serial(connection, owner)


def _next_serial(connection: sqlite3.Connection, owner: str) -> None:
    """`last_serial` names a state of the candidate: it grows with whatever changes in it."""
    connection.execute("UPDATE candidate SET last_serial = last_serial + 1 WHERE owner = ?", (owner,))


def set_base(connection: sqlite3.Connection, owner: str, base_revision: int) -> None:
    connection.execute("UPDATE candidate SET base_revision = ? WHERE owner = ?", (base_revision, owner))


def _row(
    owner: str, kind: str, object_id: str, body: str | None, number_sum: int, *revisions: Any
) -> StagedRow:
    """`revisions`: serial, seen and running. Raises as `_decoded`."""
    return StagedRow(kind, object_id, _decoded(owner, kind, object_id, body, number_sum), *revisions)


def _decoded(
    owner: str, kind: str, object_id: str, body: str | None, number_sum: int, objects: Objects | None = None
) -> ConfigObject | None:
    """Raises `Unavailable` (`store-damaged`) unless the row is as it was written."""
    if row_sum(owner, kind, object_id, body) != number_sum:
        raise Unavailable(
            f"what you staged for {kind} {object_id!r} is damaged on the disk; discard your changes",
            code="store-damaged",
        )
    if body is None:
        return None
    return (objects and objects.get(number_sum)) or decode(kind, object_id, body)
