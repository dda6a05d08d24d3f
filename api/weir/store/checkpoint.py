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

from weir.store.owner import acting_as

log = logging.getLogger(__name__)

COMMITS = 64
ROWS = 2000
LONG_LOG_FRAMES = 4096
"""16 MiB: a log beyond this is emptied. A commit of 100,000 changes leaves 350 MB, which SQLite would keep
until the next commit, and the disk might need before."""
WAIT_MS = 1000
"""For readers to end; who would begin to write waits as long. A log that stays is tried again."""


class Checkpointer:
    """A thread with a connection of its own, started when there is first something to do."""

    def __init__(self, connect: Callable[[], sqlite3.Connection], owner: tuple[int, int] | None) -> None:
        self._connect = connect
        self._owner = owner
        self._wanted = threading.Event()
        self._stopping = False
        self._thread: threading.Thread | None = None
        self._commits = 0
        self._rows = 0

    def committed(self, total_changes: int) -> None:
        """Called by the writer, under its lock, with its connection's running count of changed rows."""
        self._commits += 1
        if self._commits < COMMITS and total_changes - self._rows < ROWS:
            return
        self._commits, self._rows = 0, total_changes
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="checkpoint", daemon=True)
            self._thread.start()
        self._wanted.set()

    def stop(self) -> None:
        self._stopping = True
        self._wanted.set()
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        try:
            with acting_as(self._owner), closing(self._connect()) as connection:
                while True:
                    self._wanted.wait()
                    self._wanted.clear()
                    if self._stopping:
                        return
                    _checkpoint(connection)
        except sqlite3.Error as error:
            log.warning("checkpoints stopped; the next start makes up for it: %s", error)


def _checkpoint(connection: sqlite3.Connection) -> None:
    try:
        _, frames, moved = connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
        if frames > LONG_LOG_FRAMES and moved == frames:
            connection.execute(f"PRAGMA busy_timeout = {WAIT_MS}")
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    except sqlite3.OperationalError as error:
        log.warning("checkpoint: %s; trying again after the next commits", error)
