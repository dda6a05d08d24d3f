# SPDX-License-Identifier: Apache-2.0
"""How much of the past is kept: object versions that ended long ago make room (docs/adr/0026).

Who changed how much, and when, stays for every revision; only what was then can no longer be read.
"""

from __future__ import annotations

import json
import sqlite3

from weir.model.problem import NotFound

MAX_REVISIONS = 100_000
"""As many of the newest revisions can be read, compared and restored, ..."""
MAX_ENDED_BYTES = 192 << 20
"""... unless what they hold takes more than this, ..."""
MIN_REVISIONS = 1
"""... but always the one before the newest, and the one that an unconfirmed change would go back to."""
EVERY_REVISIONS = 16
AT_ONCE = 5_000
"""Versions removed within a small commit, which waits for it: about 30 ms."""
PER_CHANGE = 2
"""A large commit removes as many versions for each that it ends: what grows by much shrinks by more."""
SIZE_BYTES = "length(body) + length(search) + length(name) + 3 * length(id) + 160"
"""What an ended version takes with its three indexes; measured (tests/store/test_retention.py)."""


def complete_from(connection: sqlite3.Connection) -> int:
    """The oldest revision that can be read."""
    (number,) = connection.execute("SELECT complete_from FROM history").fetchone()
    return int(number)


def begin(connection: sqlite3.Connection, number: int) -> None:
    """Nothing before this revision is kept."""
    connection.execute("UPDATE history SET complete_from = ?", (number,))


def require_complete(connection: sqlite3.Connection, number: int) -> None:
    """Raises `NotFound` (`not-kept`) when a revision is older than what is kept."""
    oldest = complete_from(connection)
    if number < oldest:
        raise NotFound(
            f"revision {number} is no longer kept; the oldest that can be read is {oldest}",
            code="not-kept",
            path=f"revisions/{number}",
        )


def note_ended(connection: sqlite3.Connection, size_bytes: int) -> None:
    """Versions of this size have ended (or, below 0, are gone)."""
    if size_bytes:
        connection.execute("UPDATE history SET ended_bytes = ended_bytes + ?", (size_bytes,))


def count_ended(connection: sqlite3.Connection) -> None:
    """Measure what has ended, for a store that did not do so."""
    connection.execute(
        f"UPDATE history SET ended_bytes = (SELECT coalesce(sum({SIZE_BYTES}), 0) FROM object_version "
        "WHERE to_revision IS NOT NULL)"
    )


def prune(connection: sqlite3.Connection, head: int, changes: int) -> None:
    """Give up what is older than the limits say; within the transaction that writes revision `head`."""
    limit = max(PER_CHANGE * changes, 0 if head % EVERY_REVISIONS else AT_ONCE)
    oldest, ended_bytes = connection.execute("SELECT complete_from, ended_bytes FROM history").fetchone()
    aged = max(oldest, head - MAX_REVISIONS)
    gone, freed_bytes = list[int](), 0
    for serial, until, size_bytes in connection.execute(
        f"SELECT serial, to_revision, {SIZE_BYTES} FROM object_version "
        "WHERE to_revision <= ? ORDER BY to_revision LIMIT ?",
        (_newest_that_may_go(connection, head), limit),
    ):
        if until > aged and ended_bytes - freed_bytes <= MAX_ENDED_BYTES:
            break
        oldest = max(oldest, until)
        freed_bytes += size_bytes
        gone.append(serial)
    if gone:
        connection.execute("UPDATE history SET complete_from = ?", (oldest,))
        connection.execute(
            "DELETE FROM object_version WHERE serial IN (SELECT value FROM json_each(?))", (json.dumps(gone),)
        )
        note_ended(connection, -freed_bytes)


def _newest_that_may_go(connection: sqlite3.Connection, head: int) -> int:
    """Versions that ended up to this revision are not needed to read those that are always kept."""
    row = connection.execute("SELECT base_revision FROM pending_confirmation").fetchone()
    return head - MIN_REVISIONS if row is None else min(head - MIN_REVISIONS, int(row[0]))
