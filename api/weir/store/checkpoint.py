# SPDX-License-Identifier: Apache-2.0
"""Moving the write-ahead log into the database file beside the commits instead of inside them.

SQLite would do it in the commit that fills the log, which then waits for several syncs: one change in
sixty took 50 to 500 ms instead of 3. A passive checkpoint blocks neither readers nor the writer.
"""

from __future__ import annotations

import logging
import sqlite3
import threading
from collections.abc import Callable
from contextlib import closing

from weir.loop import Loop
from weir.store.owner import acting_as

log = logging.getLogger(__name__)

COMMITS = 64
ROWS = 2000
LONG_LOG_FRAMES = 4096
"""16 MiB: a log beyond this is emptied. A commit of 100,000 changes leaves 350 MB, which SQLite would keep
until the next commit, and the disk might need before."""
AGAIN_S = 10.0
"""After the database could not be opened or written to."""
WAIT_MS = 1000
"""For readers to end; who would begin to write waits as long. A log that stays is tried again."""


class Checkpointer:
    """A thread with a connection of its own, started when there is first something to do."""

    def __init__(self, connect: Callable[[], sqlite3.Connection], owner: tuple[int, int] | None) -> None:
        self._connect = connect
        self._owner = owner
        self._wanted = threading.Event()
        self._loop: Loop | None = None
        self._commits = 0
        self._rows = 0

    def committed(self, total_changes: int) -> None:
        """Called by the writer, under its lock, with its connection's running count of changed rows."""
        self._commits += 1
        if self._commits < COMMITS and total_changes - self._rows < ROWS:
            return
        self._commits, self._rows = 0, total_changes
        self._wanted.set()
        if self._loop is None:
            self._loop = Loop("checkpoint", self._serve, again_s=AGAIN_S)
            self._loop.start()

    def stop(self) -> None:
        if self._loop is not None:
            self._loop.end()
            self._wanted.set()
            self._loop.stop()

    def _serve(self) -> float | None:
        """Until it is stopped, by one connection; with another one where that fails."""
        try:
            with acting_as(self._owner), closing(self._connect()) as connection:
                while self._wanted.wait() and not self._ending():
                    self._wanted.clear()
                    _checkpoint(connection)
        except sqlite3.Error as error:
            self._wanted.set()
            log.warning("checkpoint: %s; trying again in %g s", error, AGAIN_S)
            return AGAIN_S
        return None

    def _ending(self) -> bool:
        return self._loop is None or self._loop.ending


def _checkpoint(connection: sqlite3.Connection) -> None:
    try:
        _, frames, moved = connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
        if frames > LONG_LOG_FRAMES and moved == frames:
            connection.execute(f"PRAGMA busy_timeout = {WAIT_MS}")
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    except sqlite3.OperationalError as error:
        log.warning("checkpoint: %s; trying again after the next commits", error)
