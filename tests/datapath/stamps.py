# SPDX-License-Identifier: Apache-2.0
"""TCP with timestamps, and whose round trips are looked at now (datapath/bpf/round_trip.h)."""

from __future__ import annotations

import struct
import time

from tests.datapath import packets as p
from tests.datapath.loaded import Loaded

SERVER, SERVER6 = "198.51.100.1", "2001:db8:100::1"
MARK_SHIFT = 8
SLOTS = range(16, 32)
"""One of sixteen neighbours is looked at in any second."""
_ACK = 16


def customer(slot: int) -> str:
    return f"10.64.1.{slot}"


def customer6(slot: int) -> str:
    return f"2001:db8:64::{slot}"


def with_customers(loaded: Loaded) -> Loaded:
    """A customer for each slot, with a limit that nothing here reaches."""
    loaded.mode("edt")
    for slot in SLOTS:
        loaded.classify(4, p.value4(customer(slot)), 32, slot)
        loaded.classify(6, p.value6(customer6(slot)), 128, slot)
        loaded.limit(slot, 10_000_000_000)
    return loaded


def looked_at(begun_ns: int = 1 << 29) -> int:
    """The slot that is looked at for the next half of a second, or for the rest of a window of 1.07 s
    that began at most so long ago."""
    while (now_ns := time.monotonic_ns()) & (1 << 30) - 1 > begun_ns:
        time.sleep(0.02)  # until the next window begins
    return SLOTS[(now_ns >> 30) % 16]


def settle() -> None:
    """As long as a flow is looked at before its losses are counted (WEIR_SETTLES of datapath/bpf/loss.h)."""
    begun = time.monotonic_ns() >> 26
    while (time.monotonic_ns() >> 26) - begun < 3:
        time.sleep(0.005)


def stamped(
    value: int, echo: int, *, ports: tuple[int, int], data: int, sequence: int = 1, ack: int = 1
) -> bytes:
    """A TCP header with timestamps as everybody sends them, and so many bytes of data."""
    numbers = (sequence % (1 << 32), ack % (1 << 32))
    head = struct.pack("!HHIIBBHHH", *ports, *numbers, 8 << 4, _ACK, 8192, 0, 0)
    return head + struct.pack("!BBBBII", 1, 1, 8, 10, value, echo) + bytes(data)
