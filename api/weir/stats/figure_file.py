# SPDX-License-Identifier: Apache-2.0
"""Rows of figures by the minute in a database of their own, so that they outlive a restart (docs/adr/0225).

It may be deleted at any time, also while it is used. What is in it is in memory as well, so that one that is
damaged is written again; what cannot be written waits there.
"""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Callable, Collection, Iterable
from pathlib import Path

log = logging.getLogger("weir.stats")
_VERSION = 1
_SCHEMA = "CREATE TABLE IF NOT EXISTS figures (minute INTEGER PRIMARY KEY, row BLOB NOT NULL) STRICT"


class FigureFile:
    """By one thread. Nothing raises where a disk or a file is bad: `problems` names it."""

    def __init__(self, path: Path | None) -> None:
        """Nothing is written without a path."""
        self._path = path
        self._database: sqlite3.Connection | None = None
        self._refusal: str | None = None
        self._damage: str | None = None
        self._unwritten: set[int] = set()
        self._is_begun_again = False
        """The file has nothing of what is in memory."""

    @property
    def problems(self) -> list[str]:
        return [problem for problem in (self._refusal, self._damage) if problem]

    def load(self) -> dict[int, bytes]:
        """The rows by minute (Unix seconds / 60)."""
        if self._path is None:
            return {}
        try:
            return dict(self._opened().execute("SELECT minute, row FROM figures ORDER BY minute"))
        except (sqlite3.Error, OSError) as error:
            self._fail(error)
            return {}

    def find_damaged(self, minutes: int) -> None:
        """So many rows are not what was written."""
        self._tell_damage(
            f"{minutes} of the minutes in {self._path} {'is' if minutes == 1 else 'are'} damaged"
        )

    def write(
        self, minute: int, known: Collection[int], packed: Callable[[int], bytes], gone: Iterable[int]
    ) -> None:
        """Keep this minute's row, with those that could not be written before; `gone` are no more. `known`
        are the minutes that have a row, which `packed` gives."""
        if self._path is None:
            return
        if self._database is not None and not self._path.is_file():
            self.close()
            self._is_begun_again = True
        self._unwritten |= set(known) if self._is_begun_again else {minute}
        self._unwritten.intersection_update(known)
        try:
            self._put(packed, gone)
        except (sqlite3.Error, OSError) as error:
            self._fail(error)
        else:
            self._unwritten.clear()
            self._is_begun_again = False
            self._refusal = None

    def close(self) -> None:
        if self._database is not None:
            self._database.close()
            self._database = None

    def _put(self, packed: Callable[[int], bytes], gone: Iterable[int]) -> None:
        database = self._opened()
        with database:
            database.execute("BEGIN")
            kept = [(minute, packed(minute)) for minute in sorted(self._unwritten)]
            database.executemany("INSERT OR REPLACE INTO figures VALUES (?, ?)", kept)
            database.executemany("DELETE FROM figures WHERE minute = ?", [(minute,) for minute in gone])

    def _opened(self) -> sqlite3.Connection:
        """Raises sqlite3.Error or OSError; a file of another version is started over."""
        if self._database is None:
            assert self._path is not None
            found = sqlite3.connect(self._path, check_same_thread=False, isolation_level=None, timeout=2)
            try:
                for setting in ("journal_mode = WAL", "synchronous = NORMAL", "cache_size = -500"):
                    found.execute(f"PRAGMA {setting}")
                found.execute("PRAGMA wal_autocheckpoint = 100")
                if found.execute("PRAGMA user_version").fetchone()[0] != _VERSION:
                    found.execute("DROP TABLE IF EXISTS figures")
                    found.execute(f"PRAGMA user_version = {_VERSION}")
                found.execute(_SCHEMA)
            except BaseException:
                found.close()
                raise
            self._database = found
        return self._database

    def _fail(self, error: sqlite3.Error | OSError) -> None:
        """A damaged file goes, so that the next minute writes another; of all else it is tried again."""
        self.close()
        if type(error) is not sqlite3.DatabaseError:
            self._refuse(f"figures cannot be kept in {self._path}: {error}")
            return
        self._is_begun_again = True
        self._tell_damage(f"{self._path} was damaged ({error}) and begun again")
        assert self._path is not None
        try:
            for suffix in ("", "-wal", "-shm"):
                self._path.with_name(self._path.name + suffix).unlink(missing_ok=True)
        except OSError as again:
            self._refuse(f"{self._path} is damaged and cannot be removed: {again.strerror}")

    def _tell_damage(self, text: str) -> None:
        log.warning("%s", text)
        self._damage = text

    def _refuse(self, text: str) -> None:
        if text != self._refusal:
            log.warning("%s; they are in memory, and written when it can be", text)
        self._refusal = text
