# SPDX-License-Identifier: Apache-2.0
"""A database that goes on being read while its file cannot be used, and goes back to it by itself.

In place of a file that cannot be opened stands a copy in memory (docs/adr/0110). Every lasting write is
refused with the reason. `look_again` is called now and then: it finds out when the file can be used again.
"""

from __future__ import annotations

import logging
import shutil
import sqlite3
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from weir.model.problem import Unavailable
from weir.store import standin
from weir.store.database import DEFAULT_WAIT_S, Database, Series

log = logging.getLogger(__name__)

Check = Callable[[Database], None]
Identity = tuple[int, int, int, int]


@dataclass(slots=True)
class _Held:
    """A database in use; `folder` is the stand-in's. It is closed when nobody uses it any more."""

    database: Database
    folder: Path | None = None
    complete: bool = True
    users: int = 0
    retired: bool = False


class SteadyDatabase:
    """Thread-safe, with the methods of `Database` that stores use."""

    def __init__(
        self,
        path: Path,
        series: Series,
        *,
        check: Check = lambda _database: None,
        readable: Check = lambda _database: None,
        elsewhere: Callable[[Path], None] | None = None,
        carry: Callable[[Database, Database], None] | None = None,
    ) -> None:
        """`check` raises `Unavailable` for a file that is damaged, `readable` for a copy that is of no use.
        `elsewhere` writes a database of what is known from somewhere else, for a file that cannot be
        understood. `carry` takes to the file what was written to the stand-in meanwhile; without
        it nothing is."""
        self.path = path
        self._series = series
        self._check = check
        self._readable = readable
        self._elsewhere = elsewhere
        self._carry = carry
        self._turn = threading.Lock()
        self._lock = threading.Lock()
        self._held: _Held | None = None
        self._identity: Identity | None = None
        self._was_there = False
        self._memory: Path | None = None
        self.refused: Unavailable | None = None
        """Why nothing lasting can be written; None while it can."""
        self.epoch = 0
        """Goes up when another database takes the place: what was read before may not hold."""
        self.look_again()

    def close(self) -> None:
        with self._turn:
            self._replace(None)
            if self._memory is not None:
                shutil.rmtree(self._memory, ignore_errors=True)

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """As `Database.reading`; raises the reason when there is nothing to read."""
        with self._using() as held, held.database.reading() as connection:
            yield connection

    @contextmanager
    def writing(
        self, timeout_s: float = DEFAULT_WAIT_S, *, durable: bool = True, passing: bool = False
    ) -> Iterator[sqlite3.Connection]:
        """As `Database.writing`. While the file cannot be written, raises why; what is `passing` is then
        written to the stand-in, if there is one."""
        if passing and self._needs_stand_in():
            self.look_again()
        with self._using() as held:
            if self.refused is not None and not (passing and held.folder is not None and self._carry):
                raise self._refusal(self.refused)
            try:
                with held.database.writing(timeout_s, durable=durable) as connection:
                    yield connection
                    if held.folder is None:
                        self._require_there()
            except Unavailable as problem:
                if held.folder is not None or not self._is_of_the_disk(problem):
                    raise
                raise self._refusal(self._note(problem)) from problem

    def look_again(self) -> None:
        """Find out whether the file can be used; take it, or a stand-in for it, into use."""
        with self._turn:
            held = self._held
            if held is not None and held.folder is None:
                self._look_at_open(held)
            elif self.refused is None or self._may_be_well(self.refused):
                self._try_file()
            self._improve()

    def _require_there(self) -> None:
        """Nothing is told as written to a file that has lost its name: it is gone with the process. Raises
        `Unavailable`."""
        if self._found() is None:
            raise self._refusal(self._note(self._gone()))

    def _gone(self) -> Unavailable:
        return Unavailable(
            f"{self.path} was there and is gone; put it back, with the files beside it", code="store-missing"
        )

    def _needs_stand_in(self) -> bool:
        """Whether a write that may pass would be refused for want of a stand-in that is not made yet."""
        held = self._held
        if self._carry is None or held is None or held.folder is not None:
            return False
        return self.refused is not None or standin.is_scarce(self.path)

    def _look_at_open(self, held: _Held) -> None:
        """The file is open: it may have been exchanged, and its disk full or read-only."""
        if self._found() is None:
            self._note(self._gone())
        elif self._found() != self._identity:
            log.warning("%s is another file now", self.path)
            self._try_file()
        elif self.refused is not None or standin.is_scarce(self.path):
            try:
                _try_to_write(held.database)
            except Unavailable as problem:
                if self._is_of_the_disk(problem):
                    self._note(problem)
            else:
                self._accept()

    def _may_be_well(self, refused: Unavailable) -> bool:
        """What the file holds is looked at again when it is another one; a disk, each time."""
        return refused.code in standin.OF_THE_DISK or self._found(whole=True) != self._identity

    def _try_file(self) -> None:
        try:
            database = self._open_file()
        except Unavailable as problem:
            self._identity = self._found(whole=True)
            self._note(problem)
            if self._held is not None and self._held.folder is None:
                self._replace(None)
        else:
            self._identity = self._found()
            self._replace(_Held(database))
            self._accept()

    def _open_file(self) -> Database:
        """The file, written to, with what the stand-in got meanwhile. Raises `Unavailable`.

        It is made where there was none from the start; one that has gone is not replaced by an empty one.
        """
        if self._found() is not None:
            self._was_there = True
        elif self._was_there:
            raise self._gone()
        database = Database(self.path, self._series, create=True)
        try:
            self._check(database)
            _try_to_write(database)
            if self._carry is not None and self._held is not None and self._held.folder is not None:
                self._carry(self._held.database, database)
        except BaseException:
            database.close()
            raise
        return database

    def _improve(self) -> None:
        """Have a stand-in where one is needed, and a whole one as soon as there is one."""
        refused, held = self.refused, self._held
        if refused is None or (held is not None and held.folder is None and self._carry is None):
            return
        if held is not None and held.folder is not None and held.complete:
            return
        understood = refused.code in standin.OF_THE_DISK
        makers = [self._make_copy, self._make_elsewhere]
        for make in makers if understood else reversed(makers):
            if held is not None and held.folder is not None and make == self._make_copy:
                return
            made = make()
            if made is not None:
                made.complete = understood or make == self._make_elsewhere
                self._replace(made)
                return

    def _make_copy(self) -> _Held | None:
        return self._stand_in(lambda target: standin.copy_rows(self.path, target))

    def _make_elsewhere(self) -> _Held | None:
        return None if self._elsewhere is None else self._stand_in(self._elsewhere)

    def _stand_in(self, write: Callable[[Path], None]) -> _Held | None:
        folder = None
        try:
            if self._memory is None:
                self._memory = standin.empty_folder(self.path)
            folder = Path(tempfile.mkdtemp(dir=self._memory))
            write(folder / self.path.name)
            held = _Held(Database(folder / self.path.name, self._series, create=True), folder)
        except (Unavailable, sqlite3.Error, OSError) as error:
            log.info("no stand-in for %s: %s", self.path, error)
            if folder is not None:
                shutil.rmtree(folder, ignore_errors=True)
            return None
        try:
            self._readable(held.database)
        except Unavailable as problem:
            log.info("a copy of %s is of no use: %s", self.path, problem.message)
            _close(held)
            return None
        log.warning("a copy in memory stands in for %s", self.path)
        return held

    def _is_of_the_disk(self, problem: Unavailable) -> bool:
        """Whether the next write would fail as well, for a reason that is there now."""
        return problem.code in standin.OF_THE_DISK and standin.obstacle(self.path) is not None

    def _note(self, problem: Unavailable) -> Unavailable:
        found = standin.explained(self.path, problem)
        if self.refused is None or self.refused.message != found.message:
            log.error("changes are refused: %s", found.message)
        self.refused = found
        return found

    def _accept(self) -> None:
        if self.refused is not None:
            log.warning("%s can be written again", self.path)
        self.refused = None

    def _refusal(self, refused: Unavailable) -> Unavailable:
        """A copy: one that was raised collects traces."""
        return Unavailable(refused.message, code=refused.code, path=refused.path)

    def _found(self, *, whole: bool = False) -> Identity | None:
        """Which file it is; `whole`: and which state of it."""
        try:
            found = self.path.stat()
        except OSError:
            return None
        state = (found.st_size, found.st_mtime_ns) if whole else (0, 0)
        return found.st_dev, found.st_ino, *state

    @contextmanager
    def _using(self) -> Iterator[_Held]:
        with self._lock:
            held = self._held
            if held is None:
                raise self._refusal(self.refused or Unavailable(f"{self.path} is closed", code="store-io"))
            held.users += 1
        try:
            yield held
        finally:
            with self._lock:
                held.users -= 1
                over = held.retired and not held.users
            if over:
                _close(held)

    def _replace(self, held: _Held | None) -> None:
        with self._lock:
            before, self._held = self._held, held
            self.epoch += 1
            if before is not None:
                before.retired = True
            over = before is not None and not before.users
        if before is not None and over:
            _close(before)


def _close(held: _Held) -> None:
    with suppress(Unavailable):
        held.database.close()
    if held.folder is not None:
        shutil.rmtree(held.folder, ignore_errors=True)


def _try_to_write(database: Database) -> None:
    """Write a page as it is. Raises `Unavailable`."""
    with database.writing() as connection:
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        connection.execute(f"PRAGMA user_version = {version}")
