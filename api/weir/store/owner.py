# SPDX-License-Identifier: Apache-2.0
"""Touching the database's files with no more rights than their owner has.

The agent is root and the files belong to the API's user, who could put a journal or a link in their
place that makes SQLite write or delete something else. While it opens files, begins and commits, a root
thread therefore has the file system identity of the owner (setfsuid(2): per thread, and it drops the
capabilities over files). What is open already needs no identity.
"""

from __future__ import annotations

import ctypes
import functools
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from weir.model.problem import Unavailable

ROOT = 0


@functools.cache
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def owner_to_be(path: Path) -> tuple[int, int] | None:
    """(uid, gid) to act as for files at `path`; None when this process is not root or they are root's."""
    if os.geteuid() != ROOT:
        return None
    found = os.lstat(path if path.exists() else path.parent)
    return None if found.st_uid == ROOT else (found.st_uid, found.st_gid)


@contextmanager
def acting_as(owner: tuple[int, int] | None) -> Iterator[None]:
    """This thread's file system identity is `owner` within the block; None changes nothing."""
    if owner is None:
        yield
        return
    uid, gid = owner
    _set("setfsgid", gid)
    try:
        _set("setfsuid", uid)
        try:
            yield
        finally:
            _set("setfsuid", ROOT)
    finally:
        _set("setfsgid", ROOT)


def _set(call: str, wanted: int) -> None:
    """Neither call reports errors: the identity is asked for afterwards with an id that is none."""
    change = getattr(_libc(), call)
    change(ctypes.c_uint(wanted))
    if change(ctypes.c_uint(0xFFFFFFFF)) != wanted:
        raise Unavailable(f"{call}({wanted}) was refused", code="store-io")
