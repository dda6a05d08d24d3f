# SPDX-License-Identifier: Apache-2.0
"""Sub-queues (PCQ) of one direction of a class, as Python values and in libweir's packed form.

The layouts are `struct weir_subqueues_spec` of datapath/loader/weir.h and, as the programs read it,
`struct weir_subqueues` of datapath/include/weir/abi/wait.h.
"""

from __future__ import annotations

import mmap
import struct
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

SubqueueKey = Literal["source", "destination", "both"]
KEYS: tuple[SubqueueKey, ...] = ("source", "destination", "both")
"""As bits: 1, 2 and 3."""

QUANTUM_NS = 16
MAX_TIME_NS = QUANTUM_NS * 0xFFFF_FFFF
LIMIT_BYTES = 50 * 1024
"""RouterOS: pcq-limit."""

SPEC = struct.Struct("<IIQQQIBBBx")
ROW = struct.Struct("<8xQ8xQIIIBBB")
ROW_SIZE = 80


def quantise(time_ns: int) -> int:
    """As the kernel holds times: whole units of 16 ns, 68 s at most."""
    return min(time_ns, MAX_TIME_NS) // QUANTUM_NS * QUANTUM_NS


@dataclass(frozen=True, slots=True)
class SubqueuesRecord:
    """One sub-queue for each masked address of a packet, as it is before NAT towards the internet.

    `rate_bps` 0 shares the class's rate equally among the active ones. `limit_bytes` is what one may hold.
    `burst_ns` is the credit of an idle one, as time at `rate_bps`; `peak_bps` (0 = no burst) is the rate at
    which it may be spent.
    """

    key: SubqueueKey
    v4_length: int = 32
    v6_length: int = 128
    rate_bps: int = 0
    limit_bytes: int = LIMIT_BYTES
    burst_ns: int = 0
    peak_bps: int = 0

    @classmethod
    def of(
        cls,
        key: SubqueueKey,
        v4_length: int = 32,
        v6_length: int = 128,
        rate_bps: int = 0,
        limit_bytes: int = LIMIT_BYTES,
        burst_rate_bps: int = 0,
        burst_threshold_bps: int = 0,
        burst_time_ms: int = 0,
    ) -> SubqueuesRecord:
        """From RouterOS's figures, as the kernel holds them. A bucket stands for the burst's averages: from
        cold it lasts threshold x time / burst rate (manual: Queue Burst), as theirs does. A burst without
        a rate below its own, a threshold and a time is none."""
        if not 0 < rate_bps < burst_rate_bps or not burst_threshold_bps or not burst_time_ms:
            return cls(key, v4_length, v6_length, rate_bps, limit_bytes)
        lasts_ns = burst_threshold_bps * burst_time_ms * 1_000_000 // burst_rate_bps
        burst_ns = lasts_ns * (burst_rate_bps - rate_bps) // rate_bps
        return cls(key, v4_length, v6_length, rate_bps, limit_bytes, quantise(burst_ns), burst_rate_bps)

    @property
    def quantised(self) -> SubqueuesRecord:
        return replace(self, burst_ns=quantise(self.burst_ns))


@dataclass(frozen=True, slots=True)
class SubqueuesState:
    """What the sub-queues of one direction do: `rate_bps` is one's own now (0 = unlimited), `active` how many
    sent within the last second, `evicted` how many idle ones gave way to others, `shared_packets` how many
    packets found no place and shared one sub-queue."""

    rate_bps: int
    active: int
    evicted: int
    shared_packets: int


def pack_subqueues(records: Iterable[tuple[int, int, SubqueuesRecord | None]]) -> tuple[bytearray, int]:
    """(packed array, count) for `weir_subqueues_write`, of (slot, direction, record); None takes away."""
    packed, count = bytearray(), 0
    for slot, direction, record in records:
        count += 1
        if record is None:
            packed += SPEC.pack(slot, direction, 0, 0, 0, 0, 0, 0, 0)
            continue
        packed += SPEC.pack(
            slot,
            direction,
            record.rate_bps,
            record.peak_bps,
            min(record.burst_ns, MAX_TIME_NS),
            record.limit_bytes,
            KEYS.index(record.key) + 1,
            record.v4_length,
            record.v6_length,
        )
    return packed, count


def unpack_subqueues(packed: bytes | memoryview) -> dict[tuple[int, int], SubqueuesRecord]:
    """By slot and direction."""
    found: dict[tuple[int, int], SubqueuesRecord] = {}
    for slot, direction, rate_bps, peak_bps, burst_ns, limit_bytes, key, v4, v6 in SPEC.iter_unpack(packed):
        found[slot, direction] = SubqueuesRecord(
            KEYS[key - 1], v4, v6, rate_bps, limit_bytes, burst_ns, peak_bps
        )
    return found


def read_row(memory: bytes | memoryview | mmap.mmap, row: int) -> SubqueuesRecord | None:
    """A row as the programs read it; None when it is free."""
    rate_bps, peak_bps, burst, limit_bytes, line, key, v4, v6 = ROW.unpack_from(memory, row * ROW_SIZE)
    if not line:
        return None
    return SubqueuesRecord(KEYS[key - 1], v4, v6, rate_bps, limit_bytes, burst * QUANTUM_NS, peak_bps)
