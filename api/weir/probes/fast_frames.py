# SPDX-License-Identifier: Apache-2.0
"""Packets that the fast path forwards, copied in the kernel as long as this process lives
(datapath/loader/capture.c)."""

from __future__ import annotations

import ctypes
import socket
import struct
import time
from collections.abc import Sequence
from ctypes import POINTER, Structure, byref, c_char_p, c_int, c_uint8, c_uint16, c_uint32, c_uint64, c_void_p
from ipaddress import ip_network
from typing import NamedTuple

from weir.probes import pcapng
from weir.probes.library import checked
from weir.probes.packet_filter import numbers
from weir.tools.capture import Capture

COMMENT = "fast path"
_PACKET = struct.Struct("=QIHBB")
_ROOM = 1 << 16
_MACS, _TAG = 12, 4


class _Spec(Structure):
    _fields_ = [
        ("ifindex", c_uint32),
        ("ports_fd", c_int),
        ("devices_fd", c_int),
        ("packet_bytes", c_uint32),
        ("port", c_uint16),
        ("family", c_uint8),
        ("protocols", c_uint8 * 2),
        ("network", c_uint8 * 16),
        ("mask", c_uint8 * 16),
    ]


class Sums(NamedTuple):
    """Packets since the beginning. `seen`: that pass the filter, `dropped` of them for want of room. `lost`:
    of the interface, whether they pass or not, that the kernel did not show."""

    seen: int
    dropped: int
    lost: int


class FastFrames:
    """What it attaches is gone when the process ends."""

    def __init__(self, library: str, asked: Capture, maps: Sequence[int]) -> None:
        """`maps` are descriptors of `weir.tools.capture.MAPS`. Raises `OSError`."""
        self._library = ctypes.CDLL(library)
        self._library.weir_error.restype = c_char_p
        self._library.weir_capture_close.argtypes = [c_void_p]
        self._library.weir_capture_stop.argtypes = [c_void_p]
        self._library.weir_capture_read.argtypes = [c_void_p, c_void_p, c_uint32]
        self._library.weir_capture_sums.argtypes = [c_void_p, POINTER(c_uint64 * 3)]
        self._run = c_void_p()
        self._buffer = ctypes.create_string_buffer(_ROOM)
        self._kept_bytes = asked.packet_bytes
        spec = _spec(asked, maps)
        checked(self._library, self._library.weir_capture_open(byref(spec), byref(self._run)))

    def read(self) -> list[pcapng.Packet]:
        """The next ones, as they leave; none when all have been read. Raises `OSError`."""
        since_ns = time.time_ns() - time.monotonic_ns()
        size = checked(self._library, self._library.weir_capture_read(self._run, self._buffer, _ROOM))
        held, found, at = memoryview(self._buffer)[:size].tobytes(), [], 0
        while at < size:
            at_ns, length, kept, way, is_tagged = _PACKET.unpack_from(held, at)
            at += _PACKET.size
            data = held[at : at + kept]
            at += kept + -kept % 8
            if is_tagged:  # a VLAN interface's packets have no tag, as it is the interface's own
                data, length = data[:_MACS] + data[_MACS + _TAG :], length - _TAG
            found.append(pcapng.Packet(since_ns + at_ns, data[: self._kept_bytes], length, way, COMMENT))
        return found

    def stop(self) -> None:
        """None comes from now on; those that have come can be read."""
        self._library.weir_capture_stop(self._run)

    def sums(self) -> Sums:
        """Raises `OSError`."""
        sums = (c_uint64 * 3)()
        checked(self._library, self._library.weir_capture_sums(self._run, byref(sums)))
        return Sums(*sums)

    def close(self) -> None:
        if self._run:
            self._library.weir_capture_close(self._run)
            self._run = c_void_p()


def _spec(asked: Capture, maps: Sequence[int]) -> _Spec:
    made = _Spec(socket.if_nametoindex(asked.interface), *maps, asked.packet_bytes, asked.port or 0)
    wanted = numbers(asked.protocol, asked.port)
    made.protocols[:] = (wanted * 2)[:2] if wanted else (0, 0)
    if asked.network is not None:
        found = ip_network(asked.network)
        made.family = found.version
        made.network[:] = found.network_address.packed.ljust(16, b"\0")
        made.mask[:] = found.netmask.packed.ljust(16, b"\0")
    return made
