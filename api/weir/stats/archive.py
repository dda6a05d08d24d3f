# SPDX-License-Identifier: Apache-2.0
"""The last day in a database of its own: a sample per ten minutes for every queue that had traffic.

It may be deleted at any time; it is not configuration. Rows are grouped by a hash of the queue so that
one queue's day is 144 small reads. At 100,000 busy queues it grows to about 250 MB.
"""

from __future__ import annotations

import sqlite3
import threading
import zlib
from pathlib import Path

import numpy as np
import numpy.typing as npt

from weir.stats.samples import RECORD, Records

STEP_S = 600
STEPS = 144
GROUPS = 128
_SAMPLE = np.dtype([("key", "<u8"), ("ways", RECORD, 2)])
_ZERO = np.array((1, 1, 1, 1, 0), RECORD)
_VERSION = 2
_SCHEMA = """
CREATE TABLE IF NOT EXISTS day (
    part INTEGER NOT NULL,
    step INTEGER NOT NULL,
    samples BLOB NOT NULL,
    PRIMARY KEY (part, step)
) STRICT, WITHOUT ROWID
"""
U64 = npt.NDArray[np.uint64]


class Archive:
    """Not shared with another process. Thread-safe. Losing it loses pictures, never configuration."""

    def __init__(self, path: Path) -> None:
        """Raises sqlite3.Error or OSError; a file of another version or a damaged one is started over."""
        self._lock = threading.Lock()
        try:
            self._database = self._open(path)
        except sqlite3.DatabaseError as error:
            if isinstance(error, sqlite3.OperationalError):
                raise
            for suffix in ("", "-wal", "-shm"):
                path.with_name(path.name + suffix).unlink(missing_ok=True)
            self._database = self._open(path)

    @staticmethod
    def _open(path: Path) -> sqlite3.Connection:
        database = sqlite3.connect(path, check_same_thread=False, isolation_level=None, timeout=2)
        try:
            database.execute("PRAGMA journal_mode = WAL")
            database.execute("PRAGMA synchronous = NORMAL")
            database.execute("PRAGMA cache_size = -2000")
            if database.execute("PRAGMA user_version").fetchone()[0] != _VERSION:
                database.execute("DROP TABLE IF EXISTS day")
                database.execute(f"PRAGMA user_version = {_VERSION}")
            database.execute(_SCHEMA)
        except BaseException:
            database.close()
            raise
        return database

    def write(self, step: int, keys: U64, records: Records) -> None:
        """One step (Unix seconds / 600) of the slots with these keys; records are [slots, 2]."""
        busy = ((records["rate"] > 1) | (records["drops"] > 1)).any(axis=1)
        samples = np.zeros(int(busy.sum()), _SAMPLE)
        samples["key"] = keys[busy]
        samples["ways"] = records[busy]
        groups = samples["key"] % np.uint64(GROUPS)
        order = np.argsort(groups, kind="stable")
        samples, bounds = samples[order], np.searchsorted(groups[order], np.arange(GROUPS + 1))
        with self._lock:
            self._database.execute("BEGIN")
            for group in range(GROUPS):
                part = samples[bounds[group] : bounds[group + 1]]
                self._database.execute(
                    "INSERT OR REPLACE INTO day VALUES (?, ?, ?)",
                    (group, step, zlib.compress(part.tobytes(), 1)),
                )
            self._database.execute("DELETE FROM day WHERE step <= ?", (step - STEPS,))
            self._database.execute("COMMIT")

    def read(self, key: int, newest_step: int) -> Records:
        """[step, direction], the oldest first; zeros where nothing was recorded."""
        records = np.zeros((STEPS, 2), RECORD)
        with self._lock:
            rows = self._database.execute(
                "SELECT step, samples FROM day WHERE part = ? AND step > ?",
                (key % GROUPS, newest_step - STEPS),
            ).fetchall()
        for step, blob in rows:
            samples = np.frombuffer(zlib.decompress(blob), _SAMPLE)
            index = step - newest_step + STEPS - 1
            if not 0 <= index < STEPS:
                continue
            found = np.flatnonzero(samples["key"] == np.uint64(key))
            records[index] = samples["ways"][found[0]] if len(found) else _ZERO
        return records

    def close(self) -> None:
        with self._lock:
            self._database.close()
