# SPDX-License-Identifier: Apache-2.0
"""TCP with timestamps, and whose round trips are looked at now (datapath/bpf/round_trip.h)."""

from __future__ import annotations

import struct
import time

SLOTS = range(16, 32)
"""One of sixteen neighbours is looked at in any second."""
_ACK = 16


def looked_at() -> int:
    """The slot that is looked at for the next half of a second."""
    while (now_ns := time.monotonic_ns()) & (1 << 30) - 1 > 1 << 29:
        time.sleep(0.02)  # until the next window begins
    return SLOTS[(now_ns >> 30) % 16]


def stamped(value: int, echo: int, *, ports: tuple[int, int], data: int) -> bytes:
    """A TCP header with timestamps as everybody sends them, and so many bytes of data."""
    head = struct.pack("!HHIIBBHHH", *ports, 1, 1, 8 << 4, _ACK, 8192, 0, 0)
    return head + struct.pack("!BBBBII", 1, 1, 8, 10, value, echo) + bytes(data)
