# SPDX-License-Identifier: Apache-2.0
"""How much of the past is kept: object versions that ended long ago make room (docs/adr/0026).

Who changed how much, and when, stays for every revision; only what was then can no longer be read.
"""

from __future__ import annotations

import sqlite3

from weir.model.problem import NotFound

MAX_REVISIONS = 100_000
"""As many of the newest revisions can be read, compared and restored, ..."""
MAX_ENDED_VERSIONS = 500_000
"""... unless they hold more versions than this (about 300 MB), ..."""
MIN_REVISIONS = 100
"""... but always as many as this."""
EVERY_REVISIONS = 16
AT_ONCE = 5_000
"""Versions removed within one commit, which waits for it: about 30 ms."""


def complete_from(connection: sqlite3.Connection) -> int:
    """The oldest revision that can be read."""
    (number,) = connection.execute("SELECT complete_from FROM history").fetchone()
    return int(number)


def require_complete(connection: sqlite3.Connection, number: int) -> None:
    """Raises `NotFound` (`not-kept`) when a revision is older than what is kept."""
    oldest = complete_from(connection)
    if number < oldest:
        raise NotFound(
            f"revision {number} is no longer kept; the oldest that can be read is {oldest}",
            code="not-kept",
            path=f"revisions/{number}",
        )


def prune(connection: sqlite3.Connection, head: int) -> None:
    """Give up what is older than the limits say; within the transaction that writes revision `head`."""
    if head % EVERY_REVISIONS:
        return
    horizon = min(max(head - MAX_REVISIONS, _end_of_surplus(connection)), head - MIN_REVISIONS)
    if horizon > complete_from(connection):
        connection.execute("UPDATE history SET complete_from = ?", (horizon,))
    connection.execute(
        "DELETE FROM object_version WHERE serial IN (SELECT serial FROM object_version "
        "WHERE to_revision <= (SELECT complete_from FROM history) ORDER BY to_revision LIMIT ?)",
        (AT_ONCE,),
    )


def _end_of_surplus(connection: sqlite3.Connection) -> int:
    """The revision that ended the newest version above `MAX_ENDED_VERSIONS`; 0 while there are fewer."""
    row = connection.execute(
        "SELECT to_revision FROM object_version WHERE to_revision IS NOT NULL "
        "ORDER BY to_revision DESC LIMIT 1 OFFSET ?",
        (MAX_ENDED_VERSIONS,),
    ).fetchone()
    return 0 if row is None else int(row[0])
