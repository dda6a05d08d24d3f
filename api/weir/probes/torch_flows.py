# SPDX-License-Identifier: Apache-2.0
"""Flows of a port or of classes, counted in the kernel as long as this process lives
(datapath/loader/torch.c)."""

from __future__ import annotations

import ctypes
import socket
import struct
from collections.abc import Sequence
from ctypes import POINTER, Structure, byref, c_char_p, c_int, c_uint32, c_uint64, c_void_p
from typing import NamedTuple

from weir.probes.library import checked
from weir.tools.torch import MAPS

MOST_FLOWS = 8192
_ROOM = MOST_FLOWS + 1024
"""A read may meet flows twice that come while it goes on."""
_FLOW = struct.Struct("=16s16s2s2sBBBxQQQQ")
RECEIVED, SENT = 0, 1
"""`way` of a flow."""


class _Spec(Structure):
    _fields_ = [
        ("ifindexes", c_void_p),
        ("ifindex_count", c_uint32),
        ("slot_words", c_uint32),
        ("slots", c_void_p),
        ("maps", c_int * len(MAPS)),
    ]


class _Sums(Structure):
    _fields_ = [
        ("counts", c_uint64 * 4),
        ("estimated", c_uint64),
        ("passed", c_uint64),
        ("watched_ns", c_uint64),
    ]


class Flow(NamedTuple):
    """`family` 0: not IP, and then only `way` is more than 0. Addresses and ports are packed."""

    source: bytes
    destination: bytes
    source_port: bytes
    destination_port: bytes
    family: int
    protocol: int
    way: int

    def address(self, packed: bytes) -> str:
        if self.family == 6:
            return socket.inet_ntop(socket.AF_INET6, packed)
        return socket.inet_ntop(socket.AF_INET, packed[:4])


class Count(NamedTuple):
    """What the stack carried, and of the fast path what was watched. Bytes are with IP headers, without
    those of the link."""

    bytes: int
    packets: int
    fast_bytes: int
    fast_packets: int


class Sums(NamedTuple):
    """Of all packets since the beginning. `estimated`: so many of them another stood for. `fast_passed`: what
    the fast path forwarded by whatever port while it was watched; `watched_ns`: from the first of these since
    the last `read` to the last one."""

    total: Count
    estimated: int
    fast_passed: int
    watched_ns: int


class Flows:
    """What it attaches is gone when the process ends."""

    def __init__(
        self, library: str, ifindexes: Sequence[int], slots: bytes | None, maps: Sequence[int]
    ) -> None:
        """`slots` has a bit for each class that is looked at, in words of 64 bits; None: all packets of the
        only interface. `maps` are descriptors of `MAPS`. Raises `OSError`."""
        self._library = ctypes.CDLL(library)
        self._library.weir_error.restype = c_char_p
        self._library.weir_torch_unseen.argtypes = [c_void_p]
        self._library.weir_torch_unseen.restype = c_char_p
        self._library.weir_torch_close.argtypes = [c_void_p]
        self._library.weir_torch_watch_fast.argtypes = [c_void_p, c_int]
        self._library.weir_torch_read.argtypes = [c_void_p, POINTER(_Sums), c_void_p, c_uint32]
        indexes = (c_uint32 * len(ifindexes))(*ifindexes)
        bits = ctypes.create_string_buffer(slots or b"")
        words = len(slots or b"") // 8
        held = (c_int * len(MAPS))(*maps)
        spec = _Spec(ctypes.addressof(indexes), len(ifindexes), words, ctypes.addressof(bits), held)
        self._run = c_void_p()
        self._buffer = ctypes.create_string_buffer(_ROOM * _FLOW.size)
        checked(self._library, self._library.weir_torch_open(byref(spec), byref(self._run)))

    @property
    def unseen(self) -> str:
        """Why the fast path's packets are not counted; "" when they are."""
        return (self._library.weir_torch_unseen(self._run) or b"").decode(errors="replace")

    def watch_fast(self, on: bool) -> None:
        """Whether what the fast path forwards is counted, which slows it down. It is at the beginning. Raises
        `OSError`."""
        checked(self._library, self._library.weir_torch_watch_fast(self._run, on))

    def sums(self) -> Sums:
        """Raises `OSError`."""
        return self._read(0)[0]

    def read(self) -> tuple[Sums, dict[Flow, Count]]:
        """What was counted since the beginning; flows that gave way to others are in the sums only. To be
        called once a second. Raises `OSError`."""
        sums, found = self._read(_ROOM)
        rows = _FLOW.iter_unpack(memoryview(self._buffer)[: found * _FLOW.size])
        return sums, {Flow(*row[:7]): Count(*row[7:]) for row in rows}

    def _read(self, room: int) -> tuple[Sums, int]:
        sums = _Sums()
        found = checked(
            self._library, self._library.weir_torch_read(self._run, byref(sums), self._buffer, room)
        )
        return Sums(Count(*sums.counts), sums.estimated, sums.passed, sums.watched_ns), found

    def close(self) -> None:
        if self._run:
            self._library.weir_torch_close(self._run)
            self._run = c_void_p()
