# SPDX-License-Identifier: Apache-2.0
"""How long cores spin for locks, counted in the kernel as long as this process watches
(datapath/loader/locks.c)."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Sequence
from ctypes import POINTER, byref, c_char_p, c_int, c_void_p
from typing import NamedTuple

from weir.probes.library import checked
from weir.probes.softirq_rows import STEPS

KINDS = ("spin lock", "read lock", "write lock")
_ROW = struct.Struct(f"=3Q{STEPS}I")


class Waits(NamedTuple):
    """Of one kind of lock on one core; `steps` as those of `weir.probes.softirq_rows`."""

    core: int
    kind: str
    waited: int
    wait_ns: int
    wait_most_ns: int
    steps: Sequence[int]


class LockRows:
    """What it attaches is gone when the process ends. Not thread-safe."""

    def __init__(self, library: str) -> None:
        """Nothing is attached when it returns. Up to four cores are kept busy for some milliseconds, to see
        whether this kernel tells of waits. Raises `OSError`, also where it does not."""
        self._library = ctypes.CDLL(library)
        self._library.weir_error.restype = c_char_p
        self._library.weir_locks_open.argtypes = [POINTER(c_void_p)]
        self._library.weir_locks_close.argtypes = [c_void_p]
        self._library.weir_locks_watch.argtypes = [c_void_p, c_int]
        self._library.weir_locks_read.argtypes = [c_void_p, c_void_p]
        self._run = c_void_p()
        cores = checked(self._library, self._library.weir_locks_open(byref(self._run)))
        self._buffer = ctypes.create_string_buffer(cores * len(KINDS) * _ROW.size)

    def watch(self, on: bool) -> None:
        """On: from now on all is counted, from 0. Off: nothing is. Raises `OSError`."""
        checked(self._library, self._library.weir_locks_watch(self._run, on))

    def read(self) -> list[Waits]:
        """What was counted, of each kind on each core that waited. Raises `OSError`."""
        found = checked(self._library, self._library.weir_locks_read(self._run, self._buffer))
        return [row for row in map(self._row, range(found)) if row.waited]

    def close(self) -> None:
        if self._run:
            self._library.weir_locks_close(self._run)
            self._run = c_void_p()

    def _row(self, at: int) -> Waits:
        core, kind = divmod(at, len(KINDS))
        waited, wait_ns, most_ns, *steps = _ROW.unpack_from(self._buffer, at * _ROW.size)
        return Waits(core, KINDS[kind], waited, wait_ns, most_ns, steps)
