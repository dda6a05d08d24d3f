# SPDX-License-Identifier: Apache-2.0
"""A datapath on the loopback, and its maps as the programs see them."""

from __future__ import annotations

import mmap
import os
import struct
import time
from types import TracebackType
from typing import NamedTuple

from tests.datapath import bpf_run
from weir.adapters.datapath import Datapath
from weir.adapters.datapath_layout import layout_of
from weir.adapters.datapath_records import ClassRecord, LineRecord, Mode, PrefixEntry
from weir.adapters.subqueue_records import SubqueuesRecord

UPLOAD, DOWNLOAD = 0, 1
SECOND_NS = 1_000_000_000
POLICE_BURST_NS = 300_000_000
"""The least bucket of a class where a port polices (datapath/loader/ports.c)."""
UP_STAMPS = 32768
QUANTA = 1024
QUANTUM = struct.Struct("=IIIIQQ")  # line, left_tk, age, reserved, start_tk, taken_tk
LIVE = 0x40


BACKLOG_SIZE = 32
FLOW_SIZE = 32
HOST_SIZE, HOST_LAW_AT = 64, 32
_BACKLOG = struct.Struct("<QIIIIII")


class Backlog(NamedTuple):
    """`struct weir_backlog`."""

    sparse_tk: int
    updated: int
    chance: int
    delay_us: int
    worst_us: int
    worst_before_us: int
    early_packets: int


class Loaded:
    def __init__(self, datapath: Datapath) -> None:
        self.datapath = datapath
        self.ingress_fd = datapath.program_fd("weir_ingress")
        self.egress_fd = datapath.program_fd("weir_egress")
        self._lines = _mapped(datapath, "weir_lines")
        self._details = _mapped(datapath, "weir_details")
        self._waits = _mapped(datapath, "weir_waits", BACKLOG_SIZE)

    def __enter__(self) -> Loaded:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for fd in (self.ingress_fd, self.egress_fd):
            os.close(fd)
        self._lines.close()
        self._details.close()
        self._waits.close()

    def mode(self, mode: Mode, **options: int) -> None:
        self.datapath.attach("lo", mode=mode, **options)  # type: ignore[arg-type]

    def classify(self, family: int, value: int, length: int, slot: int) -> None:
        self.datapath.change_prefixes([PrefixEntry(0, family, value, length, slot)])

    def limit(
        self,
        slot: int,
        rate_bps: int,
        *,
        burst_bytes: int = 0,
        limit_ns: int = SECOND_NS,
        parent: int = 0,
        total: int = 0,
        sparse: bool = False,
        subqueues: SubqueuesRecord | None = None,
    ) -> None:
        """The same line in both directions; the key is the slot. Unless `sparse`, no flow may pass others:
        what the class has for sparse flows is spent."""
        line = LineRecord.of(rate_bps, burst_bytes, limit_ns, subqueues=subqueues)
        self.datapath.write_classes([(slot, ClassRecord(slot, parent, line, line, total))])
        for direction in (UPLOAD, DOWNLOAD):
            spent_tk = 0 if sparse else (time.monotonic_ns() + 3600 * SECOND_NS) * 16
            struct.pack_into("<Q", self._waits, (slot * 2 + direction) * BACKLOG_SIZE, spent_tk)

    def ingress(self, packet: bytes, **fields: int) -> bpf_run.Run:
        return bpf_run.run(self.ingress_fd, packet, **fields)

    def egress(self, packet: bytes, **fields: int) -> bpf_run.Run:
        return bpf_run.run(self.egress_fd, packet, **fields)

    def clock_tk(self, slot: int, direction: int) -> int:
        clock: int = struct.unpack_from("<Q", self._lines, (slot * 2 + direction) * 64)[0]
        return clock

    def set_clock_tk(self, slot: int, direction: int, clock_tk: int) -> None:
        struct.pack_into("<Q", self._lines, (slot * 2 + direction) * 64, clock_tk)

    def prepaid_tk(self, slot: int, direction: int) -> int:
        """What all processors have charged to an ancestor and not used yet."""
        fd = self.datapath.map_fd("weir_quanta")
        try:
            with mmap.mmap(fd, QUANTA * QUANTUM.size * bpf_run.possible_cpus()) as rows:
                found = list(QUANTUM.iter_unpack(rows[:]))
        finally:
            os.close(fd)
        return sum(left for line, left, *_ in found if line == slot * 2 + direction)

    def set_line_flags(self, slot: int, direction: int, flags: int) -> None:
        struct.pack_into("<I", self._lines, (slot * 2 + direction) * 64 + 56, LIVE | flags)

    def forget_what_went_up(self) -> None:
        """As if no flow had sent a packet up the stack and no class had one in fq."""
        fd = self.datapath.map_fd("weir_up")
        with mmap.mmap(fd, UP_STAMPS * 4) as stamps:
            stamps[:] = bytes(UP_STAMPS * 4)
        os.close(fd)
        lines = self.datapath.usage().classes[1] * 2
        with memoryview(self._lines) as whole, whole.cast("I") as words, words[15 : lines * 16 : 16] as last:
            last[:] = memoryview(bytes(lines * 4)).cast("I")

    def stamps_of_what_went_up(self) -> set[int]:
        """Places in weir_up where something is."""
        fd = self.datapath.map_fd("weir_up")
        with mmap.mmap(fd, UP_STAMPS * 4) as stamps:
            found = struct.unpack(f"<{UP_STAMPS}I", stamps)
        os.close(fd)
        return {place for place, stamp in enumerate(found) if stamp}

    def backlog(self, slot: int, direction: int) -> Backlog:
        return Backlog(*_BACKLOG.unpack_from(self._waits, (slot * 2 + direction) * BACKLOG_SIZE))

    def set_chance(self, slot: int, direction: int, chance: float) -> None:
        """As if the control law had come to it just now."""
        at, now = (slot * 2 + direction) * BACKLOG_SIZE, time.monotonic_ns() >> 20
        struct.pack_into("<II", self._waits, at + 8, now, int(chance * 0xFFFF_FFFF))

    def forget_flows(self) -> None:
        """As if nothing had waited yet: a test's flows do not keep those of another in order."""
        with _mapped(self.datapath, "weir_flows", FLOW_SIZE, self.datapath.usage().subqueues[1]) as flows:
            flows[:] = bytes(len(flows))

    def set_hosts_chance(self, slot: int, direction: int, chance: float) -> None:
        """Of all sub-queues of a line, as if their control law had come to it just now."""
        with _mapped(self.datapath, "weir_hosts", HOST_SIZE, self.datapath.usage().subqueues[1]) as hosts:
            for at in range(0, len(hosts), HOST_SIZE):
                if struct.unpack_from("<Q", hosts, at)[0] >> 32 == slot * 2 + direction:
                    now = time.monotonic_ns() >> 20
                    struct.pack_into("<II", hosts, at + HOST_LAW_AT, now, int(chance * 0xFFFF_FFFF))

    def counters(self, slot: int, direction: int) -> dict[str, int]:
        """Of a line; `bytes` are those of the stack and of the fast path."""
        layout, found = layout_of(self.datapath.usage()), {}
        for name, memory in (("class", self._lines), ("details", self._details)):
            described = layout[name]
            assert isinstance(described, dict)
            for field, (offset, size) in described["fields"].items():
                at = (slot * 2 + direction) * 64 + offset
                found[field] = int.from_bytes(memory[at : at + size], "little")
        return {**found, "bytes": found["bytes"] + found["fast_bytes"]}

    def unshaped(self) -> dict[str, int]:
        """Packets that were let through, by reason; reasons that did not occur are left out."""
        packets = self.datapath.port_counters()["lo"].packets
        return {reason: count for reason, count in packets.items() if count}


def _mapped(datapath: Datapath, name: str, stride: int = 64, rows: int = 0) -> mmap.mmap:
    """A map with so many rows, or with one for each line."""
    fd = datapath.map_fd(name)
    try:
        return mmap.mmap(fd, (rows or datapath.usage().classes[1] * 2) * stride)
    finally:
        os.close(fd)
