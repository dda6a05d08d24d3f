# SPDX-License-Identifier: Apache-2.0
"""What this router ran last, in a file of root's own: what a store must know, and what to go on with.

The store stays the truth (docs/adr/0105). This copy says which revision of it ran, and by its digest what its
past was, so that a store that was emptied, exchanged or has lost its log is noticed. It has every object, so
that the router goes on by the last good configuration, also after a restart, until a person decides.
A copy that is missing or damaged itself is made again from what runs. One whose disk is full or read-only is
read, and kept as it is until it can be written.
"""

from __future__ import annotations

import json
import logging
import os
import shutil
import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeVar

from weir.model.codec import from_json, parse_kind
from weir.model.document import Change, Document
from weir.model.objects import ConfigObject, Kind
from weir.model.problem import Problem
from weir.store.bodies import encode
from weir.store.standin import copy_rows, empty_folder, obstacle
from weir.store.sums import row_sum, wrapped

log = logging.getLogger(__name__)

Found = TypeVar("Found")
FORMAT = 1
SCHEMA = """
CREATE TABLE object (kind TEXT, id TEXT, body TEXT, sum INTEGER, PRIMARY KEY (kind, id))
    STRICT, WITHOUT ROWID;
CREATE TABLE mark (only_one INTEGER PRIMARY KEY CHECK (only_one = 1), revision INTEGER, digest BLOB,
    content INTEGER, sum INTEGER) STRICT;
"""
PUT = "INSERT OR REPLACE INTO object VALUES (?, ?, ?, ?)"


@dataclass(frozen=True, slots=True)
class Mark:
    """A revision that ran, and the digest of it and all before it."""

    revision: int
    digest: bytes


class LastGood:
    """Thread-safe. What fails here never stands in the way of a change."""

    def __init__(self, path: Path) -> None:
        """The folder has to be root's own."""
        self._path = path
        self._lock = threading.RLock()
        self._file: sqlite3.Connection | None = None
        self._unwritable = ""
        """Why the connection is one to a copy in memory, "" when it is to the file."""
        self.reason = ""
        """Why the copy is not kept, "" while it is."""
        self.mark = self._guarded(self._read_mark)

    def load(self) -> Document | None:
        """The objects of `mark`; None when there are none, or they are not what was written."""
        return None if self.mark is None else self._guarded(self._read)

    def count(self, kind: Kind) -> int:
        """How many objects of a kind ran last; 0 when that is not known."""
        return self._guarded(lambda file: _count(file, kind)) or 0

    def get(self, kind: str, object_id: str) -> ConfigObject | None:
        """One object, as it ran last."""
        if self.mark is None:
            return None

        def read(file: sqlite3.Connection) -> ConfigObject | None:
            return self._read_one(file, kind, object_id)

        return self._guarded(read)

    def follow(self, mark: Mark, changes: Iterable[Change]) -> bool:
        """Move on from the present mark. False when that failed: then `replace` is due."""
        if self.mark is None:
            return False
        return self._guarded(partial(self._write, mark, changes), writes=True) is not None

    def replace(self, mark: Mark, document: Document) -> None:
        """Begin again with a whole document; the file before stays until the new one is whole."""
        changes = (Change(item.kind, item.id, None, item) for item in document)
        with self._lock:
            try:
                self._make(mark, changes)
            except (sqlite3.Error, OSError, Problem) as error:
                self._fail(error)

    def close(self) -> None:
        with self._lock:
            self._unwritable = ""
            if self._file is not None:
                self._file.close()
                self._file = None

    def _guarded(self, work: Callable[[sqlite3.Connection], Found], *, writes: bool = False) -> Found | None:
        """The result of `work`; None, with the reason noted, when file or disk are not well."""
        with self._lock:
            try:
                if writes and self._unwritable:
                    self.close()
                found = work(self._opened())
            except (sqlite3.Error, OSError, ValueError, Problem) as error:
                self._fail(error)
                return None
            self.reason = self._unwritable
            return found

    def _fail(self, error: Exception) -> None:
        found = obstacle(self._path) if isinstance(error, sqlite3.OperationalError) else None
        reason = f"{self._path.name}: {found.strerror if found is not None else error}"
        if reason != self.reason:
            log.warning("the copy of what runs is not kept: %s", reason)
        self.reason, self.mark = reason, None
        self.close()

    def _opened(self) -> sqlite3.Connection:
        if self._file is None:
            try:
                self._file = _connect(self._path)
                self._file.execute("SELECT count(*) FROM mark").fetchone()
            except (sqlite3.Error, OSError):
                self.close()
                why = obstacle(self._path)
                if why is None or not self._path.exists():
                    raise
                self._file = _copy_in_memory(self._path)
                self._unwritable = f"{self._path.name}: {why.strerror}"
                log.warning("the copy of what runs is only read: %s", self._unwritable)
        return self._file

    def _make(self, mark: Mark, changes: Iterable[Change]) -> None:
        """A new file in the place of the present one, which may be damaged."""
        draft = self._path.with_name(f"{self._path.name}.new")
        _remove(draft)
        try:
            with closing(_connect(draft)) as file:
                self._write(mark, changes, file)
            self.close()
            _remove(self._path, but="")
            draft.rename(self._path)
        finally:
            _remove(draft)
        self.reason = ""

    def _read_mark(self, file: sqlite3.Connection) -> Mark | None:
        row = file.execute("SELECT revision, digest, content, sum FROM mark").fetchone()
        if row is None:
            return None
        revision, digest, content, number_sum = row
        if row_sum(revision, bytes(digest).hex(), content) != number_sum:
            raise ValueError("what it says of the revision is damaged")
        return Mark(revision, bytes(digest))

    def _read(self, file: sqlite3.Connection) -> Document:
        (content,) = file.execute("SELECT content FROM mark").fetchone()
        total = [0]
        document = Document.packed(_intact(file.execute("SELECT kind, id, body, sum FROM object"), total))
        if wrapped(total[0]) != content:
            raise ValueError("it is not whole")
        return document

    def _read_one(self, file: sqlite3.Connection, kind: str, object_id: str) -> ConfigObject | None:
        rows = file.execute(
            "SELECT kind, id, body, sum FROM object WHERE kind = ? AND id = ?", (kind, object_id)
        )
        return next(_intact(rows, [0]), None)

    def _write(self, mark: Mark, changes: Iterable[Change], file: sqlite3.Connection) -> Mark:
        file.execute("BEGIN IMMEDIATE")
        with closing(_Rollback(file)) as open_:
            row = file.execute("SELECT content FROM mark").fetchone()
            content = 0 if row is None else row[0]
            for change in changes:
                content += _put(file, change)
            content = wrapped(content)
            number_sum = row_sum(mark.revision, mark.digest.hex(), content)
            file.execute(
                "INSERT OR REPLACE INTO mark VALUES (1, ?, ?, ?, ?)",
                (mark.revision, mark.digest, content, number_sum),
            )
            file.execute("COMMIT")
            open_.done = True
        self.mark = mark
        return mark


def _connect(path: Path) -> sqlite3.Connection:
    """Raises `sqlite3.Error`, `OSError`, and ValueError for a file that is none of ours."""
    known = path.exists() and path.stat().st_size > 0
    if not known:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
    file = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    try:
        for pragma in ("journal_mode = WAL", "synchronous = FULL", "cell_size_check = ON"):
            file.execute(f"PRAGMA {pragma}")
        (version,) = file.execute("PRAGMA user_version").fetchone()
        if not known:
            file.executescript(f"BEGIN; {SCHEMA} PRAGMA user_version = {FORMAT}; COMMIT;")
        elif version != FORMAT:
            raise ValueError(f"it has format {version}, not {FORMAT}")
    except BaseException:
        file.close()
        raise
    return file


def _copy_in_memory(path: Path) -> sqlite3.Connection:
    """All of a file, its log included, where nothing can be written beside it."""
    memory = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
    folder = empty_folder(path)
    try:
        copy_rows(path, folder / path.name)
        with closing(sqlite3.connect(folder / path.name)) as copy:
            copy.backup(memory)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return memory


def _remove(path: Path, but: str | None = None) -> None:
    """A database and its logs, as far as they are there; `but` names what stays."""
    for end in ("", "-wal", "-shm"):
        if end != but:
            path.with_name(f"{path.name}{end}").unlink(missing_ok=True)


class _Rollback:
    """Undoes a transaction that did not come to its COMMIT."""

    def __init__(self, file: sqlite3.Connection) -> None:
        self._file = file
        self.done = False

    def close(self) -> None:
        if not self.done and self._file.in_transaction:
            self._file.execute("ROLLBACK")


def _put(file: sqlite3.Connection, change: Change) -> int:
    """Write one object's change; what it adds to the content."""
    key = (change.kind, change.id)
    row = file.execute("SELECT sum FROM object WHERE kind = ? AND id = ?", key).fetchone()
    before = 0 if row is None else row[0]
    if change.new is None:
        file.execute("DELETE FROM object WHERE kind = ? AND id = ?", key)
        return -int(before)
    body = encode(change.new)
    number_sum = row_sum(*key, body)
    file.execute(PUT, (*key, body, number_sum))
    return number_sum - int(before)


def _count(file: sqlite3.Connection, kind: Kind) -> int:
    (found,) = file.execute("SELECT count(*) FROM object WHERE kind = ?", (kind,)).fetchone()
    return int(found)


def _intact(rows: Iterable[tuple[Kind, str, str, int]], total: list[int]) -> Iterator[ConfigObject]:
    """The objects of rows; raises ValueError at one that is damaged."""
    for kind, object_id, body, number_sum in rows:
        if row_sum(kind, object_id, body) != number_sum:
            raise ValueError(f"{kind} {object_id} is damaged")
        total[0] += number_sum
        yield from_json(parse_kind(kind), json.loads(body), object_id, is_stored=True)
