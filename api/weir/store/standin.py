# SPDX-License-Identifier: Apache-2.0
"""Making a copy of a database that cannot be written where it lies, and saying why it cannot (docs/adr/0110).

SQLite opens no WAL database, not even to read, in a folder where it cannot make the file of shared memory
beside it: a full or read-only disk. The rows are in the database and in its log, so the copy is of both.
"""

from __future__ import annotations

import errno
import os
import shutil
import sqlite3
import stat
import tempfile
from collections.abc import Iterator
from contextlib import closing
from hashlib import blake2b
from pathlib import Path

from weir.model.problem import Unavailable

ROOM_BYTES = 64 * 1024
"""What a start needs at least: 32 KiB of shared memory and a few pages of the log."""
NO_ROOM = "store-full"
READ_ONLY = "store-read-only"
OF_THE_DISK = frozenset((NO_ROOM, READ_ONLY, "store-io", "store-missing"))
"""What may be over the next moment; every other code is about what the file holds."""
_CODES = {
    errno.ENOSPC: NO_ROOM,
    errno.EDQUOT: NO_ROOM,
    errno.EROFS: READ_ONLY,
    errno.EACCES: READ_ONLY,
    errno.EPERM: READ_ONLY,
}
_ADVICE = {
    errno.ENOSPC: "Free space on its disk",
    errno.EDQUOT: "Free space within its user's quota",
    errno.EROFS: "Its disk is mounted read-only, perhaps after an error: look at the kernel's log",
    errno.EACCES: "Give file and folder back to the API's user",
    errno.EPERM: "Give file and folder back to the API's user",
}


def explained(path: Path, problem: Unavailable) -> Unavailable:
    """The problem of a database with the file's whole name, the system's reason and what to do."""
    found = obstacle(path) if problem.code in OF_THE_DISK else None
    if found is None:
        said = problem.message.removeprefix(f"{path.name}: ")
        named = said if path.name in said else f"{path}: {said}"
        return Unavailable(named, code=problem.code, path=str(path))
    number = found.errno or 0
    name = errno.errorcode.get(number, str(number))
    advice = _ADVICE.get(number, "Look at the kernel's log and the disk")
    return Unavailable(
        f"{path} cannot be written: {os.strerror(number)} ({name}). {advice}; changes are possible again "
        "a few seconds later, without a restart",
        code=_CODES.get(number, "store-io"),
        path=str(path),
    )


def obstacle(path: Path) -> OSError | None:
    """What the system says when the file is opened to be written, and its folder given `ROOM_BYTES`."""
    try:
        if path.exists():
            os.close(os.open(path, os.O_RDWR | os.O_CLOEXEC))
        with tempfile.TemporaryFile(dir=path.parent) as probe:
            probe.write(bytes(ROOM_BYTES))
            probe.flush()
            os.fsync(probe.fileno())
    except OSError as error:
        return error
    return None


def is_scarce(path: Path) -> bool:
    """Whether the disk of `path` looks full or read-only; then a write has to be tried."""
    try:
        found = os.statvfs(path.parent)
    except OSError:
        return True
    return bool(found.f_flag & os.ST_RDONLY) or found.f_bavail * found.f_frsize < 2 * ROOM_BYTES


def copy_rows(path: Path, target: Path) -> None:
    """Copy all committed rows of `path`, those in its log as well. Raises `sqlite3.Error`, `OSError`."""
    try:
        with (
            closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as source,
            closing(sqlite3.connect(target)) as copy,
        ):
            source.backup(copy)
    except sqlite3.Error:  # there is no shared memory, so nobody else has it open: the files stand still
        for end in ("-journal", "-shm", "-wal", ""):
            target.with_name(f"{target.name}{end}").unlink(missing_ok=True)
        for end in ("", "-wal"):
            part = path.with_name(f"{path.name}{end}")
            if end == "" or part.exists():
                shutil.copyfile(part, target.with_name(f"{target.name}{end}"))


def empty_folder(path: Path) -> Path:
    """A folder in memory for stand-ins of `path`, of this user alone, without what a killed process left.

    Raises `Unavailable` (`store-io`).
    """
    name = f"weir-{os.geteuid()}-{blake2b(str(path.absolute()).encode(), digest_size=8).hexdigest()}"
    for place in _places():
        folder = place / name
        try:
            if folder.is_symlink() or folder.exists():
                found = folder.lstat()
                if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
                    continue
                shutil.rmtree(folder)
            folder.mkdir(mode=0o700)
        except OSError:
            continue
        return folder
    raise Unavailable(f"there is no memory for a copy of {path}", code="store-io", path=str(path))


def _places() -> Iterator[Path]:
    """systemd's runtime directory of the service, then what there is on any Linux."""
    if directory := os.environ.get("RUNTIME_DIRECTORY"):
        yield Path(directory.partition(":")[0])
    yield Path("/dev/shm")
    yield Path(tempfile.gettempdir())
