# SPDX-License-Identifier: Apache-2.0
"""For whom routes are looked up, counted in the kernel as long as this process watches
(datapath/loader/scan.c)."""

from __future__ import annotations

import ctypes
import socket
import struct
from ctypes import POINTER, byref, c_char_p, c_int, c_uint32, c_void_p
from typing import NamedTuple

from weir.probes.library import checked

MOST = 64
_STATE = struct.Struct("=16sQII")
_V4_BEFORE = bytes(10) + b"\xff\xff"


class Seen(NamedTuple):
    """A source, as a prefix: an IPv4 address, or an IPv6 /64. `destinations` is an estimate, some percent
    off, and 7,098 at most."""

    source: str
    lookups: int
    destinations: int


class ScanSources:
    """What it attaches is gone when the process ends. Not thread-safe."""

    def __init__(self, library: str) -> None:
        """Nothing is attached yet; it sees the network namespace of the calling thread. Raises `OSError`."""
        self._library = ctypes.CDLL(library)
        self._library.weir_error.restype = c_char_p
        self._library.weir_scan_open.argtypes = [POINTER(c_void_p)]
        self._library.weir_scan_close.argtypes = [c_void_p]
        self._library.weir_scan_watch.argtypes = [c_void_p, c_int]
        self._library.weir_scan_read.argtypes = [c_void_p, c_uint32, c_void_p, c_uint32]
        self._run = c_void_p()
        self._buffer = ctypes.create_string_buffer(MOST * _STATE.size)
        checked(self._library, self._library.weir_scan_open(byref(self._run)))

    def watch(self, on: bool) -> None:
        """On: from now on all is counted, from 0. Off: nothing is. Raises `OSError`."""
        checked(self._library, self._library.weir_scan_watch(self._run, on))

    def read(self, least: int) -> list[Seen]:
        """Up to `MOST` sources with so many destinations at least. Raises `OSError`."""
        found = checked(self._library, self._library.weir_scan_read(self._run, least, self._buffer, MOST))
        rows = (_STATE.unpack_from(self._buffer, at * _STATE.size) for at in range(found))
        return [Seen(_text(address), lookups, count) for address, lookups, count, _ in rows]

    def close(self) -> None:
        if self._run:
            self._library.weir_scan_close(self._run)
            self._run = c_void_p()


def _text(address: bytes) -> str:
    if address.startswith(_V4_BEFORE):
        return f"{socket.inet_ntop(socket.AF_INET, address[12:])}/32"
    return f"{socket.inet_ntop(socket.AF_INET6, address)}/64"
