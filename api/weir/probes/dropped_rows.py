# SPDX-License-Identifier: Apache-2.0
"""Why the kernel drops packets, counted in the kernel as long as this process watches
(datapath/loader/dropped.c)."""

from __future__ import annotations

import ctypes
import socket
import struct
from ctypes import POINTER, byref, c_char_p, c_int, c_uint32, c_void_p
from typing import NamedTuple

from weir.probes.library import checked

MOST = 4096
_STATE = struct.Struct("=IIQ")


class Dropped(NamedTuple):
    """Packets. `reason` as this kernel names it (`NEIGH_FAILED`), or its number; "" and no interface for what
    found no room in the table. `interface` is "" where the kernel knows none."""

    reason: str
    interface: str
    packets: int


class DroppedRows:
    """What it attaches is gone when the process ends. Not thread-safe."""

    def __init__(self, library: str) -> None:
        """Nothing is attached yet; it sees the network namespace of the calling thread. Raises `OSError`."""
        self._library = ctypes.CDLL(library)
        self._library.weir_error.restype = c_char_p
        self._library.weir_dropped_open.argtypes = [POINTER(c_void_p)]
        self._library.weir_dropped_close.argtypes = [c_void_p]
        self._library.weir_dropped_watch.argtypes = [c_void_p, c_int]
        self._library.weir_dropped_read.argtypes = [c_void_p, c_void_p, c_uint32]
        self._library.weir_dropped_name.argtypes = [c_void_p, c_uint32]
        self._library.weir_dropped_name.restype = c_char_p
        self._run = c_void_p()
        self._buffer = ctypes.create_string_buffer(MOST * _STATE.size)
        checked(self._library, self._library.weir_dropped_open(byref(self._run)))

    def watch(self, on: bool) -> None:
        """On: from now on all is counted, from 0. Off: nothing is. Raises `OSError`."""
        checked(self._library, self._library.weir_dropped_watch(self._run, on))

    def read(self) -> list[Dropped]:
        """What was counted, most first. Raises `OSError`."""
        found = checked(self._library, self._library.weir_dropped_read(self._run, self._buffer, MOST))
        names = dict(socket.if_nameindex()) if found else {}
        rows = (_STATE.unpack_from(self._buffer, at * _STATE.size) for at in range(found))
        listed = [
            Dropped(self._reason(reason), names.get(index, f"interface {index}") if index else "", packets)
            for reason, index, packets in rows
        ]
        return sorted(listed, key=lambda row: (-row.packets, row))

    def close(self) -> None:
        if self._run:
            self._library.weir_dropped_close(self._run)
            self._run = c_void_p()

    def _reason(self, number: int) -> str:
        if not number:
            return ""
        name: bytes = self._library.weir_dropped_name(self._run, number)
        return name.decode("ascii", errors="replace") or f"reason {number:#x}"
