# SPDX-License-Identifier: Apache-2.0
"""Limits that are raised for a while: what each queue has until when, and what it goes back to."""

from __future__ import annotations

import sqlite3
from dataclasses import astuple, dataclass, fields

from weir.model.pair import Pair
from weir.model.problem import Unavailable
from weir.store.clock import Deadline
from weir.store.sums import row_sum


@dataclass(frozen=True, slots=True)
class Raise:
    """The queue has `upload_bps` and `download_bps` (0: unlimited) until the deadline, then what it had."""

    queue_id: str
    upload_bps: int
    download_bps: int
    before_upload_bps: int
    before_download_bps: int
    author: str
    begun_at_ms: int
    window_s: int
    deadline_wall_ms: int
    boot_id: str
    deadline_boottime_ms: int

    @property
    def limits(self) -> Pair[int]:
        return Pair(self.upload_bps, self.download_bps)

    @property
    def before(self) -> Pair[int]:
        return Pair(self.before_upload_bps, self.before_download_bps)

    @property
    def deadline(self) -> Deadline:
        return Deadline(self.window_s, self.deadline_wall_ms, self.boot_id, self.deadline_boottime_ms)


_COLUMNS = ", ".join(field.name for field in fields(Raise))
_PUT = f"INSERT OR REPLACE INTO raised_limit ({_COLUMNS}, sum) VALUES ({'?,' * len(fields(Raise))}?)"


def every(connection: sqlite3.Connection) -> list[Raise]:
    """By queue. Raises `Unavailable` (`store-damaged`) for one that is not as it was written."""
    rows = connection.execute(f"SELECT {_COLUMNS}, sum FROM raised_limit ORDER BY queue_id")
    return [_checked(*row) for row in rows]


def one(connection: sqlite3.Connection, queue_id: str) -> Raise | None:
    """Raises as `every`."""
    query = f"SELECT {_COLUMNS}, sum FROM raised_limit WHERE queue_id = ?"
    row = connection.execute(query, (queue_id,)).fetchone()
    return None if row is None else _checked(*row)


def put(connection: sqlite3.Connection, raised: Raise) -> None:
    """In the place of one that the queue may have."""
    values = astuple(raised)
    connection.execute(_PUT, (*values, row_sum(*values)))


def remove(connection: sqlite3.Connection, queue_id: str) -> None:
    connection.execute("DELETE FROM raised_limit WHERE queue_id = ?", (queue_id,))


def _checked(*row: object) -> Raise:
    if row_sum(*row[:-1]) != row[-1]:
        text = f"what the limit of queue {row[0]!r} goes back to is damaged in the database"
        raise Unavailable(text, code="store-damaged", path=f"queue/{row[0]}")
    return Raise(*row[:-1])  # type: ignore[arg-type]  # as `put` wrote them
