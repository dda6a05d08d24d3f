# SPDX-License-Identifier: Apache-2.0
"""What this router ran last, in a file of root's own: what a store must know, and what to go on with.

The store stays the truth (docs/adr/0105). This copy says which revision of it ran, and by its digest what its
past was, so that a store that was emptied, exchanged or has lost its log is noticed. It has every object, so
that the router goes on by the last good configuration, also after a restart, until a person decides.
A copy that is missing or damaged itself is made again from what runs.
"""

from __future__ import annotations

import json
import logging
import os
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
from weir.store.rows import encode
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
        return self._guarded(partial(self._write, mark, changes)) is not None

    def replace(self, mark: Mark, document: Document) -> None:
        """Begin again with a whole document."""
        with self._lock:
            self._forget()
            self._guarded(
                partial(self._write, mark, (Change(item.kind, item.id, None, item) for item in document))
            )

    def close(self) -> None:
        with self._lock:
            if self._file is not None:
                self._file.close()
                self._file = None

    def _guarded(self, work: Callable[[sqlite3.Connection], Found]) -> Found | None:
        """The result of `work`; None, with the reason noted, when file or disk are not well."""
        with self._lock:
            try:
                found = work(self._opened())
            except (sqlite3.Error, OSError, ValueError, Problem) as error:
                reason = f"{self._path.name}: {error}"
                if reason != self.reason:
                    log.warning("the copy of what runs is not kept: %s", reason)
                self.reason, self.mark = reason, None
                self.close()
                return None
            self.reason = ""
            return found

    def _opened(self) -> sqlite3.Connection:
        if self._file is None:
            known = self._path.exists() and self._path.stat().st_size > 0
            if not known:
                os.close(os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
            self._file = sqlite3.connect(self._path, isolation_level=None, check_same_thread=False)
            for pragma in ("journal_mode = WAL", "synchronous = FULL", "cell_size_check = ON"):
                self._file.execute(f"PRAGMA {pragma}")
            (version,) = self._file.execute("PRAGMA user_version").fetchone()
            if not known:
                self._file.executescript(f"BEGIN; {SCHEMA} PRAGMA user_version = {FORMAT}; COMMIT;")
            elif version != FORMAT:
                raise ValueError(f"it has format {version}, not {FORMAT}")
        return self._file

    def _forget(self) -> None:
        self.close()
        self.mark = None
        for end in ("", "-wal", "-shm"):
            try:
                self._path.with_name(f"{self._path.name}{end}").unlink(missing_ok=True)
            except OSError as error:
                log.warning("%s cannot be removed: %s", self._path, error.strerror)

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
        yield from_json(parse_kind(kind), json.loads(body), object_id)
