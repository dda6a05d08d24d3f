# SPDX-License-Identifier: Apache-2.0
"""The configuration database: read any revision, compare two, write the next one."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from weir.model.document import Change, Document
from weir.model.objects import ConfigObject, Kind
from weir.model.problem import NotFound, Unavailable
from weir.store import decoding, reading
from weir.store.database import CONFIGURATION, DEFAULT_WAIT_S, Database, Series
from weir.store.listing import Listing, Page, Totals, matching, page
from weir.store.retention import require_complete
from weir.store.rows import ChangeCounts, Damage, Event, Pending, Revision, Stored
from weir.store.steady import SteadyDatabase
from weir.store.transaction import ReadTransaction, WriteTransaction
from weir.store.verifying import verify


class ConfigStore:
    """Thread-safe. Readers see whole revisions only and never wait for a writer."""

    def __init__(self, database: Database | SteadyDatabase) -> None:
        self._database = database
        self._totals = (database.epoch, Totals())

    @classmethod
    def open(cls, path: Path, *, create: bool = False, series: Series = CONFIGURATION) -> ConfigStore:
        """Open `path`; with `create` also make and migrate it. Raises `Unavailable` with one of the
        codes `store-missing`, `store-empty`, `store-not-weir`, `store-version`, `store-corrupt`,
        `store-io`."""
        return cls(Database(path, series, create=create))

    @classmethod
    def steady(cls, path: Path, elsewhere: Callable[[Path], None]) -> ConfigStore:
        """As `open` with `create`, and never raises: what cannot be opened, or is damaged, is read from a
        copy in memory, of the file or of what `elsewhere` writes to a path."""
        return cls(
            SteadyDatabase(
                path, CONFIGURATION, check=check_pages, readable=check_readable, elsewhere=elsewhere
            )
        )

    def close(self) -> None:
        self._database.close()

    def look_again(self) -> None:
        """See `SteadyDatabase.look_again`."""
        self._database.look_again()

    @property
    def refused(self) -> Unavailable | None:
        """Why nothing can be written."""
        return self._database.refused

    @property
    def epoch(self) -> int:
        """Another number means another database: nothing that was read before has to hold."""
        return self._database.epoch

    def check(self) -> None:
        """Look through the file's pages. Raises `Unavailable` (`store-corrupt`) naming what is damaged."""
        check_pages(self._database)

    def look(self) -> tuple[int, bytes]:
        """The newest revision and its digest."""
        with self._database.reading() as connection:
            number = reading.head(connection)
            return number, reading.digest(connection, number) or b""

    def head(self) -> int:
        """The newest revision; 0 is the empty configuration."""
        with self._database.reading() as connection:
            return reading.head(connection)

    def load(self, damage: list[Damage] | None = None) -> tuple[int, Document]:
        """The newest revision and its document, packed, from one snapshot.

        With `damage`, what is damaged is left out and noted there; without, it raises `Unavailable`
        (`store-damaged`) naming the first.
        """
        with self._database.reading() as connection:
            number = reading.head(connection)
            document = Document.packed(decoding.objects(connection, None, damage))
            damaged = reading.damaged_revision(connection, number)
        if damaged is not None and damage is None:
            raise Unavailable(damaged.message, code="store-damaged")
        if damaged is not None and damage is not None:
            damage.append(damaged)
        return number, document

    def digest(self, revision: int) -> bytes | None:
        """What a revision and all before it come down to (`weir.store.sums`); None without the revision."""
        with self._database.reading() as connection:
            return reading.digest(connection, revision)

    def verify(self) -> list[Damage]:
        """Look at all rows of all revisions, at their order and at the file; seconds for a large store."""
        with self._database.reading() as connection:
            return verify(connection)

    def objects(self, revision: int | None = None) -> Iterator[ConfigObject]:
        """All objects of `revision` (None: the newest), in no particular order."""
        with self._database.reading() as connection:
            if revision is not None:
                reading.revision(connection, revision)
                require_complete(connection, revision)
            yield from decoding.objects(connection, revision)

    def count(self, kind: Kind) -> int:
        """How many objects of a kind the newest revision has."""
        with self._database.reading() as connection:
            return reading.count(connection, kind)

    def get(self, kind: Kind, object_id: str) -> Stored:
        """Raises `NotFound`."""
        with self._database.reading() as connection:
            found = decoding.stored(connection, kind, object_id)
        if found is None:
            raise NotFound(f"there is no {kind} {object_id!r}", path=f"{kind}/{object_id}")
        return found

    def page(self, listing: Listing) -> Page:
        totals = self._known_totals()
        with self._database.reading() as connection:
            return page(connection, listing, totals)

    def matching(self, listing: Listing) -> set[str]:
        """The ids of all that a listing with `ids` lets through. Raises `Invalid` for a bad text."""
        totals = self._known_totals()
        with self._database.reading() as connection:
            return matching(connection, listing, totals)

    def _known_totals(self) -> Totals:
        epoch, totals = self._totals
        if epoch != self._database.epoch:
            totals = Totals()
            self._totals = (self._database.epoch, totals)
        return totals

    def changes_between(self, a: int, b: int) -> list[Change]:
        """What turns revision `a` into revision `b`; either may be the older one."""
        with self._database.reading() as connection:
            return decoding.changes_between(connection, a, b)

    def each_change(self, a: int, b: int) -> Iterator[Change]:
        """As `changes_between`, made one at a time; a reader is in use until the last one."""
        with self._database.reading() as connection:
            yield from decoding.each_change(connection, a, b)

    def compare(self, a: int, b: int, start: int, limit: int) -> tuple[ChangeCounts, list[Change]]:
        """How many changes turn `a` into `b`, and a page of them. Raises `NotFound`."""
        with self._database.reading() as connection:
            counts = reading.count_between(connection, a, b)
            return counts, decoding.changes_between(connection, a, b, start, limit)

    def changes_since(self, revision: int) -> tuple[int, list[Change]]:
        """The head and what happened between `revision` and it, from one snapshot."""
        with self._database.reading() as connection:
            head = reading.head(connection)
            return head, decoding.changes_between(connection, revision, head) if head != revision else []

    def revision(self, number: int) -> Revision:
        """Raises `NotFound`."""
        with self._database.reading() as connection:
            return reading.revision(connection, number)

    def revisions(self, before: int | None = None, limit: int = 100) -> list[Revision]:
        """Newest first, those older than `before`."""
        with self._database.reading() as connection:
            return reading.revisions(connection, before, limit)

    def events(self, kind: Kind, object_id: str, before: int | None, limit: int) -> list[Event]:
        """What revisions before `before` did to one object, newest first."""
        with self._database.reading() as connection:
            return decoding.events(connection, kind, object_id, before, limit)

    def pending(self) -> Pending | None:
        with self._database.reading() as connection:
            return reading.pending(connection)

    def highest_number(self, kind: Kind, prefix: str) -> int:
        """The largest n for which an object `<prefix>n` exists or ever existed; 0 if none did."""
        with self._database.reading() as connection:
            return reading.highest_number(connection, kind, prefix)

    @contextmanager
    def reading(self) -> Iterator[ReadTransaction]:
        """A snapshot; it is never waited for."""
        with self._database.reading() as connection:
            yield ReadTransaction(connection)

    @contextmanager
    def write(self, timeout_s: float = DEFAULT_WAIT_S) -> Iterator[WriteTransaction]:
        """Hold the write lock of the file; COMMIT on leaving, ROLLBACK on any exception.

        Raises `Unavailable` (`store-busy`, `store-full`, ...); then nothing was changed.
        """
        with self._database.writing(timeout_s) as connection:
            yield WriteTransaction(connection)

    @contextmanager
    def snapshot(self) -> Iterator[sqlite3.Connection]:
        """A read-only connection on one snapshot, for the modules of this package."""
        with self._database.reading() as connection:
            yield connection


def check_pages(database: Database | SteadyDatabase) -> None:
    """Raises `Unavailable` (`store-corrupt`) naming the first page that is damaged."""
    with database.reading() as connection:
        (verdict,) = connection.execute("PRAGMA quick_check(1)").fetchone()
    if verdict != "ok":
        raise Unavailable(f"{database.path.name} is damaged: {verdict}", code="store-corrupt")


def check_readable(database: Database) -> None:
    """Raises `Unavailable` for a copy of which not even the newest objects can be read."""
    with database.reading() as connection:
        for _ in reading.bodies(connection, None, []):
            pass
