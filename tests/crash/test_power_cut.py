# SPDX-License-Identifier: Apache-2.0
"""Power cuts: the disk as it may look after any write is either the old or the new revision.

A disk keeps what was synced and any part of what was not. The files are copied as they are when a
transaction is open and when it is committed; then the unsynced tail of the WAL is cut at every frame
and at random bytes, torn (a sector lost in the middle), or filled with garbage.
"""

from __future__ import annotations

import random
import shutil
import sqlite3
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.crash.whole import whole_revision
from tests.crash.writer import COUNT, queue
from weir.model.document import Change
from weir.store import ConfigStore, Pending, WriteTransaction, database
from weir.store import transaction as transaction_module

WAL_HEADER_BYTES = 32
FRAME_BYTES = 24 + 4096
SECTOR_BYTES = 512
FILES = ("weir.db", "weir.db-wal", "weir.db-shm")


class Disk:
    """A store in a folder, and copies of its files as a cut would leave them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "live"
        self.copies = folder / "copies"
        self.copies.mkdir()
        self.store = ConfigStore.open(self.folder / "weir.db", create=True)
        self.made = 0

    def commit(self) -> None:
        with self.store.write() as transaction:
            append(transaction)

    def copy(self, *, with_shm: bool = False) -> Path:
        """The files as they are now; the shared memory is lost in a power cut, not in a crash."""
        self.made += 1
        copy = self.copies / str(self.made)
        copy.mkdir()
        for name in FILES if with_shm else FILES[:2]:
            if (self.folder / name).exists():
                shutil.copyfile(self.folder / name, copy / name)
        return copy

    @property
    def wal_bytes(self) -> int:
        return (self.folder / "weir.db-wal").stat().st_size


def append(transaction: WriteTransaction) -> None:
    head = transaction.head
    olds = [transaction.stored("queue", f"q{number}") for number in range(COUNT)]
    changes = [
        Change("queue", f"q{number}", None if old is None else old.object, queue(number, head + 1))
        for number, old in enumerate(olds)
    ]
    transaction.append(kind="commit", author="a", message="", changes=changes)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Disk]:
    disk = Disk(tmp_path)
    for _ in range(2):
        disk.commit()
    yield disk
    disk.store.close()


@contextmanager
def wal_of(copy: Path) -> Iterator[bytearray]:
    path = copy / "weir.db-wal"
    data = bytearray(path.read_bytes())
    yield data
    path.write_bytes(data)


def live_wal_bytes(disk: Disk) -> int:
    """Where the last committed frame ends: the WAL file may be longer from earlier rounds."""
    data = (disk.folder / "weir.db-wal").read_bytes()
    salt = data[16:24]
    end = WAL_HEADER_BYTES
    last = end
    while end + FRAME_BYTES <= len(data) and data[end + 8 : end + 16] == salt:
        (committed,) = struct.unpack(">I", data[end + 4 : end + 8])
        end += FRAME_BYTES
        last = end if committed else last
    return last


def test_a_cut_between_any_two_statements_leaves_the_old_revision(
    disk: Disk, monkeypatch: pytest.MonkeyPatch
) -> None:
    cuts: list[Path] = []
    with disk.store.write() as transaction:
        transaction.connection.execute("PRAGMA cache_size = 1")  # spill to the WAL while it is open
        transaction.connection.execute("PRAGMA cache_spill = 1")
        transaction.connection.set_trace_callback(lambda _statement: cuts.append(disk.copy()))
        with monkeypatch.context() as patched:
            patched.setattr(transaction_module, "wall_ms", lambda: 1)
            append(transaction)
        transaction.connection.set_trace_callback(None)
        cuts.append(disk.copy(with_shm=True))
    assert len(cuts) > 40
    assert {whole_revision(copy / "weir.db") for copy in cuts} == {2}
    assert whole_revision(disk.copy() / "weir.db") == 3
    assert whole_revision(disk.copy(with_shm=True) / "weir.db") == 3


def test_a_wal_cut_at_every_frame_and_at_random_bytes_is_old_or_new(disk: Disk) -> None:
    before = live_wal_bytes(disk)
    disk.commit()
    after = live_wal_bytes(disk)
    assert after >= before + 2 * FRAME_BYTES
    generator = random.Random(7)
    ends = [*range(before, after + 1, FRAME_BYTES), *(generator.randrange(before, after) for _ in range(25))]
    for end in ends:
        copy = disk.copy()
        with wal_of(copy) as wal:
            del wal[end:]
        assert whole_revision(copy / "weir.db") == (3 if end >= after else 2)


def test_a_torn_wal_is_old_or_new(disk: Disk) -> None:
    """Sectors reach the disk in any order until the sync: one missing anywhere undoes the whole."""
    before = live_wal_bytes(disk)
    disk.commit()
    after = live_wal_bytes(disk)
    generator = random.Random(11)
    for _ in range(30):
        copy = disk.copy()
        at = generator.randrange(before, after - SECTOR_BYTES) // SECTOR_BYTES * SECTOR_BYTES
        at = max(at, before)
        with wal_of(copy) as wal:
            lost = bytes(SECTOR_BYTES) if generator.random() < 0.5 else generator.randbytes(SECTOR_BYTES)
            unchanged = wal[at : at + SECTOR_BYTES] == lost
            wal[at : at + SECTOR_BYTES] = lost
        assert whole_revision(copy / "weir.db") == (3 if unchanged else 2)


def test_a_cut_during_a_checkpoint_loses_nothing(disk: Disk) -> None:
    """The checkpoint copies synced WAL pages into the file: any part of that copy may be there."""
    wal_before = (disk.folder / "weir.db-wal").read_bytes()
    old = (disk.folder / "weir.db").read_bytes()
    with disk.store.snapshot() as connection:
        connection.execute("ROLLBACK")
        connection.execute("PRAGMA wal_checkpoint(FULL)")
        connection.execute("BEGIN")
    new = (disk.folder / "weir.db").read_bytes()
    assert old != new
    generator = random.Random(5)
    size = max(len(old), len(new))
    old, new = old.ljust(size, b"\0"), new.ljust(size, b"\0")
    for _ in range(20):
        copy = disk.copy()
        pages = bytearray(new)
        for start in range(0, size, SECTOR_BYTES):
            if generator.random() < 0.5:
                pages[start : start + SECTOR_BYTES] = old[start : start + SECTOR_BYTES]
        (copy / "weir.db").write_bytes(pages)
        (copy / "weir.db-wal").write_bytes(wal_before)
        assert whole_revision(copy / "weir.db") == 2


def test_a_cut_while_the_file_is_made_leaves_none_or_a_whole_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever statement it came after: the name is given last, so an emptied file was never ours."""
    live, seen = tmp_path / "weir.db", set()

    def look(_statement: str) -> None:
        seen.add(live.exists())

    real = database._connect

    def watched(path: Path) -> sqlite3.Connection:
        connection = real(path)
        connection.set_trace_callback(look if path != live else None)
        return connection

    monkeypatch.setattr(database, "_connect", watched)
    ConfigStore.open(live, create=True).close()
    assert seen == {False}
    assert [path.name for path in tmp_path.iterdir()] == ["weir.db"]
    assert whole_revision(live) == 0


def test_the_pending_confirmation_is_there_exactly_when_its_revision_is(disk: Disk) -> None:
    before = live_wal_bytes(disk)
    with disk.store.write() as transaction:
        append(transaction)
        transaction.set_pending(Pending(3, 2, 60, 1, "boot", 1, b"hash", "anna", 1))
    after = live_wal_bytes(disk)
    for end in range(before, after + 1, FRAME_BYTES):
        copy = disk.copy()
        with wal_of(copy) as wal:
            del wal[end:]
        store = ConfigStore.open(copy / "weir.db", create=True)
        assert (store.head(), store.pending() is not None) in ((2, False), (3, True))
        store.close()
