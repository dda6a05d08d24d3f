# SPDX-License-Identifier: Apache-2.0
"""Start a program as a user without privilege that can still read the project, wherever the clone lies.

    python -m lab.confine UID FOLDER[,FOLDER...] COMMAND...

A clone below a closed folder (/root) cannot be reached by another user. Rather than open that folder or
give the program a capability, it gets a mount namespace of its own, in which the closed folder is an empty
one that holds nothing but the listed folders.
"""

from __future__ import annotations

import ctypes
import os
import stat
import sys
from collections.abc import Mapping
from pathlib import Path

CLONE_NEWNS = 0x00020000
MS_RDONLY, MS_REMOUNT, MS_BIND, MS_REC, MS_PRIVATE = 1, 32, 4096, 16384, 1 << 18
PR_SET_NO_NEW_PRIVS = 38
PR_CAPBSET_DROP = 24
LAST_CAPABILITY = 63
_libc = ctypes.CDLL(None, use_errno=True)


def closed_ancestor(folder: Path) -> Path | None:
    """The topmost folder on the way to `folder` that others may not pass."""
    for ancestor in [*reversed(folder.parents), folder]:
        if not ancestor.stat().st_mode & stat.S_IXOTH:
            return ancestor
    return None


def expose(folders: list[Path]) -> None:
    """Make the folders reachable in a new mount namespace, hiding everything else beside them."""
    own_mounts()
    behind: dict[Path, dict[Path, Path]] = {}
    for folder in folders:
        closed = closed_ancestor(folder)
        if closed is not None:
            behind.setdefault(closed, {})[folder] = folder
    for closed, wanted in behind.items():
        cover(closed, wanted)


def own_mounts() -> None:
    """From here on, what this process mounts is seen by it and its children alone."""
    _check(_libc.unshare(CLONE_NEWNS), "unshare")
    _mount("none", "/", None, MS_REC | MS_PRIVATE)


def bind(folder: Path, place: Path) -> None:
    """Have `place` be the folder as well, or the file."""
    if folder.is_dir():
        place.mkdir(parents=True, exist_ok=True)
    _mount(str(folder), str(place), None, MS_BIND)


def cover(closed: Path, wanted: Mapping[Path, Path]) -> None:
    """Put an empty folder over the closed one and, at each wanted place in it, the folder named for it."""
    held = {place: os.open(folder, os.O_PATH | os.O_DIRECTORY) for place, folder in wanted.items()}
    _mount("tmpfs", str(closed), "tmpfs", 0, "mode=755,size=1m")
    umask = os.umask(0o022)
    for place, descriptor in held.items():
        place.mkdir(parents=True, exist_ok=True)
        _mount(f"/proc/self/fd/{descriptor}", str(place), None, MS_BIND | MS_REC)
        os.close(descriptor)
    os.umask(umask)
    _mount("none", str(closed), None, MS_REMOUNT | MS_RDONLY)


def drop_privilege(uid: int) -> None:
    """Become `uid` for good: no groups, no capabilities, none to be gained by what is executed."""
    for capability in range(LAST_CAPABILITY + 1):
        _libc.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0)
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)
    _check(_libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "prctl")


def _mount(source: str, target: str, kind: str | None, flags: int, data: str = "") -> None:
    code = _libc.mount(
        source.encode(), target.encode(), kind.encode() if kind else None, flags, data.encode()
    )
    _check(code, f"mount {target}")


def _check(code: int, what: str) -> None:
    if code != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


def main() -> None:
    uid, folders, command = int(sys.argv[1]), sys.argv[2].split(","), sys.argv[3:]
    project = Path.cwd()
    expose([Path(folder) for folder in folders])
    os.chdir(project)
    drop_privilege(uid)
    os.execv(command[0], command)


if __name__ == "__main__":
    main()
