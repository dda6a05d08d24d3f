# SPDX-License-Identifier: Apache-2.0
"""The last 30 days in a database of its own, for every queue that had traffic, or every interface.

A sample is of ten minutes in the last day, of an hour in the last week, of four hours in the last 30 days.

It may be deleted at any time; it is not configuration. Rows are grouped by a hash of the queue so that
one queue's day is 144 small reads. At 100,000 busy queues a step takes 1.7 MB: 250 MB for the day, 290 for
the week, 310 for the month. Longer steps are made of shorter ones, group by group: memory stays small, and
readers wait for one group only.
"""

from __future__ import annotations

import sqlite3
import threading
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from weir.stats.round_trips import U8, mean_codes
from weir.stats.samples import FIGURES, KEPT, RECORD, Records, encode, figures_of


@dataclass(frozen=True, slots=True)
class Level:
    """How long a sample is, and how many are kept. `table` has a row for each group and step."""

    table: str
    step_s: int
    steps: int


DAY = Level("day", 600, 144)
WEEK = Level("week", 3_600, 168)
MONTH = Level("month", 14_400, 180)
GROUPS = 128
_SAMPLE = np.dtype([("key", "<u8"), ("ways", KEPT, 2)])
_BEFORE = np.dtype([("key", "<u8"), ("ways", RECORD, 2)])
"""A sample of version 2, which had no round trips."""
_ZERO = np.array((1, 1, 1, 1, 0, 0), KEPT)
_VERSION = 3
_FORM = "form INTEGER NOT NULL DEFAULT 2"
"""Which version a row's samples are of: rows of a former one stay as they are until they are too old."""
_SCHEMA = """
CREATE TABLE IF NOT EXISTS {} (
    part INTEGER NOT NULL,
    step INTEGER NOT NULL,
    samples BLOB NOT NULL,
    {},
    PRIMARY KEY (part, step)
) STRICT, WITHOUT ROWID
"""
U64 = npt.NDArray[np.uint64]
Samples = npt.NDArray[Any]


class Archive:
    """Not shared with another process. Thread-safe. Losing it loses pictures, never configuration."""

    def __init__(self, path: Path, groups: int = GROUPS, keeps_idle: bool = False) -> None:
        """Raises sqlite3.Error or OSError; a file of another version or a damaged one is started over.

        What is idle takes no room unless `keeps_idle`: then what is in no sample was not there, and without
        it, had no traffic.
        """
        self._groups = groups
        self._keeps_idle = keeps_idle
        self._lock = threading.Lock()
        self._closed = False
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
            _upgrade(database)
        except BaseException:
            database.close()
            raise
        return database

    def write(self, step: int, keys: U64, records: Records, trips: U8 | None = None) -> None:
        """One step (Unix seconds / 600) of the slots with these keys; records, and codes of round trips, are
        [slots, 2]."""
        if self._keeps_idle:
            busy = (records["rate"] > 0).any(axis=1)
        else:
            busy = ((records["rate"] > 1) | (records["drops"] > 1)).any(axis=1)
        samples = np.zeros(int(busy.sum()), _SAMPLE)
        samples["key"] = keys[busy]
        _fill(samples["ways"], records[busy])
        if trips is not None:
            samples["ways"]["trip"] = trips[busy]
        groups = samples["key"] % np.uint64(self._groups)
        order = np.argsort(groups, kind="stable")
        samples, bounds = samples[order], np.searchsorted(groups[order], np.arange(self._groups + 1))
        with self._lock:
            self._database.execute("BEGIN")
            for group in range(self._groups):
                self._put(DAY, group, step, samples[bounds[group] : bounds[group + 1]])
            self._database.execute("COMMIT")
            self._database.execute("DELETE FROM day WHERE step <= ?", (step - DAY.steps,))

    def fold(self, step: int) -> None:
        """Make the hours and spans of four hours that are over with a step of the day, and those missed.

        It takes seconds at 100,000 queues: for a thread of its own. Ends early when the archive is closed.
        """
        over_s = (step + 1) * DAY.step_s
        for fine, coarse in ((DAY, WEEK), (WEEK, MONTH)):
            for missing in self._missing(fine, coarse, over_s):
                # Group 0 says that a step is whole, so it is the last one.
                for group in reversed(range(self._groups)):
                    self._fold_group(fine, coarse, group, missing)
            oldest = over_s // coarse.step_s - coarse.steps
            with self._lock:
                if not self._closed:
                    self._database.execute(f"DELETE FROM {coarse.table} WHERE step < ?", (oldest,))

    def _put(self, level: Level, group: int, step: int, samples: Samples) -> None:
        self._database.execute(
            f"INSERT OR REPLACE INTO {level.table} VALUES (?, ?, ?, ?)",
            (group, step, zlib.compress(samples.tobytes(), 1), _VERSION),
        )

    def _missing(self, fine: Level, coarse: Level, over_s: int) -> list[int]:
        """The steps of `coarse` that are over, have something in `fine` and are not made."""
        ratio = coarse.step_s // fine.step_s
        with self._lock:
            if self._closed:
                return []
            rows = self._database.execute(
                f"SELECT DISTINCT step / {ratio} FROM {fine.table} WHERE part = 0 AND step / {ratio} < ? "
                f"EXCEPT SELECT step FROM {coarse.table} WHERE part = 0",
                (over_s // coarse.step_s,),
            ).fetchall()
        return [step for (step,) in rows]

    def _fold_group(self, fine: Level, coarse: Level, group: int, step: int) -> None:
        ratio = coarse.step_s // fine.step_s
        with self._lock:
            if self._closed:
                return
            rows = self._database.execute(
                f"SELECT samples, form FROM {fine.table} WHERE part = ? AND step BETWEEN ? AND ?",
                (group, step * ratio, step * ratio + ratio - 1),
            ).fetchall()
            if rows:
                self._put(coarse, group, step, _mean([_samples(*row) for row in rows], self._keeps_idle))

    def read(self, key: int, newest_step: int, level: Level = DAY) -> Records:
        """[step, direction] of `level`, the oldest first; zeros where nothing was recorded."""
        records = np.zeros((level.steps, 2), KEPT)
        with self._lock:
            rows = self._database.execute(
                f"SELECT step, samples, form FROM {level.table} WHERE part = ? AND step > ?",
                (key % self._groups, newest_step - level.steps),
            ).fetchall()
        for step, blob, form in rows:
            samples = _samples(blob, form)
            index = step - newest_step + level.steps - 1
            if not 0 <= index < level.steps:
                continue
            found = np.flatnonzero(samples["key"] == np.uint64(key))
            if len(found):
                records[index] = samples["ways"][found[0]]
            elif not self._keeps_idle:
                records[index] = _ZERO
        return records

    def close(self) -> None:
        with self._lock:
            self._closed = True
            self._database.close()


def _upgrade(database: sqlite3.Connection) -> None:
    """Tables as they are now. What a release of version 2 wrote is kept; of any other version it is not known
    how to read it."""
    found = database.execute("PRAGMA user_version").fetchone()[0]
    database.execute("BEGIN IMMEDIATE")
    for level in (DAY, WEEK, MONTH):
        if found not in (2, _VERSION):
            database.execute(f"DROP TABLE IF EXISTS {level.table}")
        database.execute(_SCHEMA.format(level.table, _FORM))
        if found == 2:
            database.execute(f"ALTER TABLE {level.table} ADD COLUMN {_FORM}")
    database.execute(f"PRAGMA user_version = {_VERSION}")
    database.execute("COMMIT")


def _samples(blob: bytes, form: int) -> Samples:
    content = zlib.decompress(blob)
    if form == _VERSION:
        return np.frombuffer(content, _SAMPLE)
    before = np.frombuffer(content, _BEFORE)
    found = np.zeros(len(before), _SAMPLE)
    found["key"] = before["key"]
    _fill(found["ways"], before["ways"])
    return found


def _fill(ways: Records, records: Records) -> None:
    """All but the round trips."""
    for name in RECORD.names or ():
        ways[name] = records[name]


def _mean(parts: Sequence[Samples], of_own: bool = False) -> Samples:
    """One sample of each queue over several steps: the means over all of them, and the longest wait.
    Round trips are a mean over those steps that have one.

    A queue that is not in a step had no traffic in it; with `of_own`, it was not there, and the mean is
    that of the steps that it is in.
    """
    every = np.concatenate(parts)
    keys, places = np.unique(every["key"], return_inverse=True)
    figures = figures_of(every["ways"].reshape(-1)).reshape(len(FIGURES), -1, 2)
    means = np.zeros((len(FIGURES), len(keys), 2), np.float32)
    for total, values in zip(means[:-1], figures[:-1], strict=True):
        np.add.at(total, places, values)
    np.maximum.at(means[-1], places, figures[-1])
    if of_own:
        means[:-1] /= np.bincount(places, minlength=len(keys))[:, np.newaxis]
    else:
        means[:-1] /= len(parts)
    found = np.zeros(len(keys), _SAMPLE)
    found["key"] = keys
    _fill(found["ways"], encode(means.reshape(len(FIGURES), -1)).reshape(-1, 2))
    sums, counts = np.zeros((len(keys), 2), np.uint32), np.zeros((len(keys), 2), np.uint32)
    np.add.at(sums, places, every["ways"]["trip"])
    np.add.at(counts, places, every["ways"]["trip"] > 0)
    found["ways"]["trip"] = mean_codes(sums, counts)
    return found
