# SPDX-License-Identifier: Apache-2.0
"""One SQLite file: opened with care, read in snapshots, written by one at a time.

WAL with synchronous=FULL: a transaction that was reported as committed survives a power cut, and
one that was not leaves no trace (https://sqlite.org/wal.html, https://sqlite.org/pragma.html).
"""

from __future__ import annotations

import os
import queue
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from weir.model.problem import Invalid, Unavailable
from weir.store import account_sums, sums
from weir.store.checkpoint import Checkpointer
from weir.store.owner import acting_as, owner_to_be

MIGRATIONS = Path(__file__).with_name("migrations")
DEFAULT_WAIT_S = 10.0
READERS = 8
CACHE_PRAGMAS = (
    "PRAGMA cache_size = -2048",
    "PRAGMA soft_heap_limit = 4194304",  # of all connections of the process: each would fill its cache
)
LARGE_CACHE_PRAGMAS = ("PRAGMA cache_size = -16384", "PRAGMA soft_heap_limit = 25165824")
"""Thousands of versions go to eleven indexes. With 2 MB of pages each was written to the log many times over:
a gigabyte for 50,000 queues, whose pages have a quarter of that."""
MANY_ROWS = 2000
CONNECTION_PRAGMAS = (
    "PRAGMA synchronous = FULL",
    "PRAGMA foreign_keys = ON",
    "PRAGMA trusted_schema = OFF",
    "PRAGMA cell_size_check = ON",
    "PRAGMA temp_store = MEMORY",
    *CACHE_PRAGMAS,
    "PRAGMA journal_size_limit = 16777216",
    "PRAGMA wal_autocheckpoint = 0",  # the checkpointer does it
)


_text = partial(str, encoding="utf-8", errors="replace")
"""What a damaged byte made of a text is read as well, so that its checksum is what finds it."""


@dataclass(frozen=True, slots=True)
class Series:
    """A kind of Weir database: its migrations are `<name>-0001.sql`, `<name>-0002.sql`, ...; `after` has what
    SQL cannot do, by the number of the migration that it belongs to."""

    name: str
    application_id: int
    after: Mapping[int, Callable[[sqlite3.Connection], None]] = field(default_factory=dict)
    scripts: tuple[str, ...] | None = None

    def read(self) -> Series:
        """With the migrations in it: who acts as the files' owner later may be kept out of our code then."""
        return replace(self, scripts=tuple(self.migrations))

    @property
    def migrations(self) -> Sequence[str]:
        if self.scripts is not None:
            return self.scripts
        return [path.read_text(encoding="utf-8") for path in sorted(MIGRATIONS.glob(f"{self.name}-*.sql"))]


CONFIGURATION = Series("configuration", 0x57656972, {3: sums.fill})  # "Weir"
ACCOUNTS = Series("accounts", 0x57656961, {3: account_sums.fill})  # "Weia"


class Database:
    """Thread-safe. Every SQLite error leaves as `Unavailable` with a code that says which kind."""

    refused: Unavailable | None = None
    epoch = 0
    """Always the same file, which is open (`weir.store.steady` has others)."""

    def __init__(self, path: Path, series: Series, *, create: bool) -> None:
        series = series.read()
        self.path = path
        self._write_lock = threading.Lock()
        self._idle: queue.LifoQueue[sqlite3.Connection | None] = queue.LifoQueue()
        for _ in range(READERS):
            self._idle.put(None)
        _require_file(path, series, create)
        self._owner = owner_to_be(path)
        self._checkpointer = Checkpointer(self._connect, self._owner)
        with translated(path), acting_as(self._owner):
            self._writer = _connect(path)
            try:
                _prepare(self._writer, path, series, create)
            except BaseException:
                self._writer.close()
                raise

    def look_again(self) -> None:
        """Nothing to find out: it is open."""

    def close(self) -> None:
        """Close all idle connections and the writer; callers have finished by then."""
        self._checkpointer.stop()
        with acting_as(self._owner):
            with suppress(queue.Empty):
                while True:
                    connection = self._idle.get_nowait()
                    if connection is not None:
                        connection.close()
            self._writer.close()

    def _connect(self) -> sqlite3.Connection:
        return _connect(self.path)

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """A consistent snapshot of the newest committed state, whatever a writer does meanwhile."""
        try:
            connection = self._idle.get(timeout=DEFAULT_WAIT_S)
        except queue.Empty as error:
            raise Unavailable("too many requests read the store at once", code="store-busy") from error
        try:
            with translated(self.path):
                with acting_as(self._owner):
                    if connection is None:
                        connection = self._connect()
                    connection.execute("BEGIN")
                    connection.execute("SELECT 1 FROM sqlite_schema").fetchone()  # the snapshot is taken now
                try:
                    yield connection
                finally:
                    _end(connection, "ROLLBACK", self._owner)
        finally:
            self._idle.put(connection)

    @contextmanager
    def writing(
        self, timeout_s: float = DEFAULT_WAIT_S, *, durable: bool = True, passing: bool = False
    ) -> Iterator[sqlite3.Connection]:
        """The write lock of the file (this and every other process) from entry to COMMIT or ROLLBACK.

        Without `durable` COMMIT does not wait for the disk: a power cut soon after may undo it, as a
        whole; the next durable one makes it lasting. `passing` is for `weir.store.steady`.

        Raises `Unavailable`: `store-busy` after `timeout_s`, `store-full`, `store-corrupt`, `store-io`.
        An exception from the block or from COMMIT leaves the file as it was.
        """
        deadline = time.monotonic() + timeout_s
        if not self._write_lock.acquire(timeout=timeout_s):
            raise Unavailable("another change is being made; try again", code="store-busy")
        try:
            with translated(self.path):
                remaining_ms = max(int((deadline - time.monotonic()) * 1000), 0)
                with acting_as(self._owner):
                    self._writer.execute(f"PRAGMA busy_timeout = {remaining_ms}")
                    self._writer.execute(f"PRAGMA synchronous = {'FULL' if durable else 'NORMAL'}")
                    self._writer.execute("BEGIN IMMEDIATE")
                try:
                    yield self._writer
                    with acting_as(self._owner):
                        self._writer.execute("COMMIT")
                    self._checkpointer.committed(self._writer.total_changes)
                except BaseException:
                    _end(self._writer, "ROLLBACK", self._owner)
                    raise
        finally:
            self._write_lock.release()


@contextmanager
def large_cache(connection: sqlite3.Connection, rows: int) -> Iterator[None]:
    """Around writing so many rows: for many of them, memory to write each page once."""
    if rows <= MANY_ROWS:
        yield
        return
    for pragma in LARGE_CACHE_PRAGMAS:
        connection.execute(pragma)
    try:
        yield
    finally:
        for pragma in CACHE_PRAGMAS:
            connection.execute(pragma)


@contextmanager
def translated(path: Path) -> Iterator[None]:
    """Turn what SQLite says about `path` into an `Unavailable` that a person can act on."""
    try:
        yield
    except sqlite3.IntegrityError:
        raise  # a broken rule of ours: a defect, or a race that the caller knows how to name
    except UnicodeEncodeError as error:
        raise Invalid("the text holds half of a Unicode pair", code="bad-text") from error
    except UnicodeDecodeError as error:
        # SQLite quotes a damaged schema in its message, and Python cannot read the quotation.
        raise Unavailable(
            f"{path.name}: the database is damaged; it was left as it is", code="store-corrupt"
        ) from error
    except sqlite3.Error as error:
        code, sentence = _explain(error)
        raise Unavailable(f"{path.name}: {sentence}", code=code) from error


def _explain(error: sqlite3.Error) -> tuple[str, str]:
    primary = getattr(error, "sqlite_errorcode", 0) & 0xFF
    known = {
        sqlite3.SQLITE_FULL: ("store-full", "the disk is full; nothing was changed"),
        sqlite3.SQLITE_BUSY: ("store-busy", "another change is being made; try again"),
        sqlite3.SQLITE_LOCKED: ("store-busy", "another change is being made; try again"),
        sqlite3.SQLITE_NOTADB: ("store-corrupt", "this is not a database; it was left as it is"),
        sqlite3.SQLITE_CORRUPT: ("store-corrupt", "the database is damaged; it was left as it is"),
        sqlite3.SQLITE_READONLY: ("store-read-only", "the database may not be written"),
        sqlite3.SQLITE_CANTOPEN: ("store-missing", "the database cannot be opened"),
        sqlite3.SQLITE_IOERR: ("store-io", f"the disk failed or is full ({error}); nothing was changed"),
    }
    return known.get(primary, ("store-io", f"the database failed: {error}"))


def _require_file(path: Path, series: Series, create: bool) -> None:
    """Create a database that only we may read, or say clearly why there is none.

    It gets its name when it is whole: a file of that name that is empty was emptied by somebody else.
    """
    if os.path.lexists(path):
        if path.is_file() and path.stat().st_size == 0:  # SQLite would delete the log beside it
            raise Unavailable(
                f"{path.name} is empty; it was left as it is", code="store-empty", path=str(path)
            )
        return
    if not create:
        raise Unavailable(f"there is no database at {path}", code="store-missing", path=str(path))
    draft = path.with_name(f"{path.name}.{os.getpid()}-{threading.get_ident()}.new")
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        draft.unlink(missing_ok=True)
        os.close(os.open(draft, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
        try:
            _make(draft, series)
            with suppress(FileExistsError):  # somebody else was faster
                os.link(draft, path)
        finally:
            draft.unlink()
        directory = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(directory)
        finally:
            os.close(directory)
    except OSError as error:
        reason = error.strerror or str(error)
        raise Unavailable(f"cannot create {path}: {reason}", code="store-io", path=str(path)) from error


def _make(path: Path, series: Series) -> None:
    """Make an empty file a database of Weir's; all of it is in that one file afterwards."""
    with translated(path), closing(_connect(path)) as connection:
        connection.execute(f"PRAGMA application_id = {series.application_id}")
        _migrate(connection, series)


def _connect(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(
        f"{path.absolute().as_uri()}?mode=rw", uri=True, isolation_level=None, check_same_thread=False
    )
    connection.text_factory = _text
    for pragma in CONNECTION_PRAGMAS:
        connection.execute(pragma)
    return connection


def _prepare(connection: sqlite3.Connection, path: Path, series: Series, create: bool) -> None:
    """Check that the file is ours and not newer than we are, then bring its schema up to date."""
    connection.execute(f"PRAGMA busy_timeout = {int(DEFAULT_WAIT_S * 1000)}")
    _check_identity(connection, path, series)
    (mode,) = connection.execute("PRAGMA journal_mode = WAL").fetchone()
    if mode != "wal":
        raise Unavailable(f"{path.name}: this filesystem cannot keep a WAL database", code="store-io")
    if not create:
        if _version(connection) != len(series.migrations):
            raise Unavailable(f"{path.name}: not prepared yet; start the API first", code="store-version")
        return
    _migrate(connection, series)


def _migrate(connection: sqlite3.Connection, series: Series) -> None:
    migrations = series.migrations
    connection.execute("BEGIN IMMEDIATE")
    try:
        for number in range(_version(connection), len(migrations)):
            for statement in _statements(migrations[number]):
                connection.execute(statement)
            series.after.get(number + 1, _nothing)(connection)
            connection.execute(f"PRAGMA user_version = {number + 1}")
        connection.execute("COMMIT")
    except BaseException:
        _end(connection, "ROLLBACK", None)
        raise


def _check_identity(connection: sqlite3.Connection, path: Path, series: Series) -> None:
    # One snapshot: another process may be migrating the schema between one look and the next.
    connection.execute("BEGIN")
    try:
        (application_id,) = connection.execute("PRAGMA application_id").fetchone()
        version = _version(connection)
    finally:
        _end(connection, "ROLLBACK", None)
    known = len(series.migrations)
    if application_id != series.application_id:
        raise Unavailable(
            f"{path.name} is not a Weir {series.name} database; it was left as it is",
            code="store-not-weir",
            path=str(path),
        )
    if version > known:
        raise Unavailable(
            f"{path.name} was written by a newer Weir (schema {version}; this one knows {known}); "
            "it was left as it is",
            code="store-version",
            path=str(path),
        )


def _version(connection: sqlite3.Connection) -> int:
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    return int(version)


def _statements(script: str) -> Iterator[str]:
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""


def _end(connection: sqlite3.Connection, how: str, owner: tuple[int, int] | None) -> None:
    """End a transaction if SQLite has not already done so by itself (disk full, I/O error)."""
    if connection.in_transaction:
        with suppress(sqlite3.Error), acting_as(owner):
            connection.execute(how)


def _nothing(_connection: sqlite3.Connection) -> None:
    """Most migrations are SQL alone."""
