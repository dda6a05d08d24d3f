# SPDX-License-Identifier: Apache-2.0
"""What the datapath's maps hold, as Python values, and their packed form for libweir.

The packed layouts are `struct weir_class_spec` and `struct weir_prefix_spec` of
datapath/loader/weir.h; tests/datapath checks that both sides agree.
"""

from __future__ import annotations

import enum
import struct
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

from weir.adapters.subqueue_records import MAX_TIME_NS, SubqueuesRecord, quantise
from weir.model.problem import Invalid

Mode = Literal["edt", "police", "htb", "none"]
MODES: tuple[Mode, ...] = ("none", "edt", "police", "htb")

MIN_RATE_BPS = 100
MAX_SLOT = (1 << 20) - 2

LINE = struct.Struct("<QQQQII")
CLASS = struct.Struct("<IIIIQ" + LINE.format[1:] * 2)
PREFIX = struct.Struct("<QQIHBB")
FAR = struct.Struct("<II16sIII")

_U64 = (1 << 64) - 1


class Role(enum.IntFlag):
    """What the programs do on a port."""

    NOTHING = 0
    CLASSIFY = 1  # ingress: upload by source, carried in the reserved bits of skb->mark
    SHAPE = 2  # egress: download by destination, upload by mark; pace, police or hand to HTB
    FAST = 4  # XDP on ingress: conforming packets are forwarded before the stack
    L3 = 8  # the device has no Ethernet header (tun, WireGuard, PPP)
    FLOW = 16  # with FAST: only packets of connections in the kernel's flow table
    TAGGED = 64  # a VLAN interface whose frames travel on another port
    TRUNK = 128  # packets that left by another port leave by it: of such interfaces, tunnels, bridges
    CARRIED = 256  # with TRUNK: its packets leave by another port after it
    YIELDS = 512  # without SHAPE: a bridge or bond whose members shape; what they classified stays theirs
    LOOSE = 1024  # forwards only sources that there is a way to
    STRICT = 2048  # forwards only sources whose way back is this port
    KNOWN = 4096  # forwards only what is in a queue
    FULL = 8192  # connections are tracked: ingress says whose class is full,
    POLICED = 16384  # where no port lets packets wait


class Tag(NamedTuple):
    """How the frames of a VLAN interface travel: on which interface, with which id and EtherType."""

    lower: int
    vid: int
    protocol: int


NO_TAG = Tag(0, 0, 0)


class SourceKey(NamedTuple):
    """A prefix of sources: 16 bytes, IPv4 as ::ffff:a.b.c.d, of which `bits` count."""

    address: bytes
    bits: int


class SourceBound(NamedTuple):
    """A packet each `cost_ns`; after a pause as many at once as take `burst_ns`."""

    cost_ns: int
    burst_ns: int


class BoundedSource(NamedTuple):
    """One as the datapath has it, with the packets that it let pass and dropped."""

    bound: SourceBound
    passed: int
    dropped: int


class Above(NamedTuple):
    """Of a member: the outermost interface above it that yields, and its class (`slot` 0 = none)."""

    ifindex: int
    slot: int


NO_ABOVE = Above(0, 0)

ANY_SIZE = 65535
"""Bytes of the largest IP packet: no route keeps packets of a port from the fast path."""

USED_MARKS = 16384


def used_mark(mac: bytes) -> int:
    """Where in `Datapath.take_used` a neighbour with this hardware address is."""
    return int.from_bytes(mac[4:6], sys.byteorder) % USED_MARKS


@dataclass(frozen=True, slots=True)
class LineRecord:
    """One direction of a class. `rate_bps` 0 = unlimited; `burst_ns` and `limit_ns` are time at that rate.

    `burst_ns` is the credit an idle class has; `limit_ns` is the longest delay before a packet is
    dropped (EDT; a policing port takes 0). `guarantee_bps` and `priority` (1 best to 8) are for the
    share controller. The kernel holds both in units of 16 ns: use `quantised`
    values, or `LineRecord.of`, when records are compared with what is read back.
    """

    rate_bps: int = 0
    burst_ns: int = 0
    limit_ns: int = 0
    htb_classid: int = 0
    guarantee_bps: int = 0
    priority: int = 8
    subqueues: SubqueuesRecord | None = None

    @classmethod
    def of(
        cls,
        rate_bps: int,
        burst_bytes: int,
        limit_ns: int,
        htb_classid: int = 0,
        guarantee_bps: int = 0,
        priority: int = 8,
        subqueues: SubqueuesRecord | None = None,
    ) -> LineRecord:
        """From a burst in bytes; rounds to what the kernel can hold, so it reads back equal."""
        burst_ns = burst_bytes * 8_000_000_000 // rate_bps if rate_bps else 0
        line = cls(rate_bps, burst_ns, limit_ns, htb_classid, guarantee_bps, priority, subqueues)
        return line.quantised

    @property
    def quantised(self) -> LineRecord:
        return replace(self, burst_ns=quantise(self.burst_ns), limit_ns=quantise(self.limit_ns))

    @property
    def burst_bytes(self) -> int:
        return self.burst_ns * self.rate_bps // 8_000_000_000


UNLIMITED = LineRecord()


@dataclass(frozen=True, slots=True)
class ClassRecord:
    """One class: a queue as the kernel holds it. `key` (never 0) tells whose slot it is.

    `parent_slot` 0 = no parent. `total_slot` (0 = none) is a class whose upload line both directions
    of this class are charged to as well (RouterOS `total-*`). A `fork` takes no packets itself: far ends
    decide, and `parent_slot` is who takes the rest.
    """

    key: int
    parent_slot: int = 0
    upload: LineRecord = UNLIMITED
    download: LineRecord = UNLIMITED
    total_slot: int = 0
    fork: bool = False

    def line(self, way: str) -> LineRecord:
        """The line of "upload" or "download"."""
        return self.upload if way == "upload" else self.download

    @property
    def quantised(self) -> ClassRecord:
        return ClassRecord(
            self.key,
            self.parent_slot,
            self.upload.quantised,
            self.download.quantised,
            self.total_slot,
            self.fork,
        )


class PrefixKey(NamedTuple):
    """`value` is the network address as an integer (32 bits for family 4, 128 for 6), host bits zero."""

    domain: int
    family: int
    value: int
    length: int


class PrefixEntry(NamedTuple):
    domain: int
    family: int
    value: int
    length: int
    slot: int


class FarEntry(NamedTuple):
    """Whose a packet of a fork's target is when its far end lies here; the smaller `rank` wins.

    `end` is an address (family 4 or 6, host bits zero) or, family 0, the name of an interface, as 16 bytes.
    """

    fork: int
    family: int
    end: bytes
    length: int
    slot: int
    rank: int


@dataclass(frozen=True, slots=True)
class Port:
    """One attached interface, as the kernel holds it. `hook` is "tcx" or "clsact"; `alive` is False when
    the device went away under its link. `mac` is what the fast path takes for its own address."""

    ifname: str
    ifindex: int
    mode: Mode
    roles: Role
    hook: str
    alive: bool
    overhead_bytes: int
    target_slot: int
    domain: int
    xdp: str = "none"
    mac: str = ""
    tag: Tag = NO_TAG
    above: Above = NO_ABOVE
    largest_bytes: int = ANY_SIZE


@dataclass(frozen=True, slots=True)
class PortCounters:
    """Packets and bytes that the programs saw and did not shape, by reason (see `REASONS`); `up`: packets
    that came to a fast port and took the stack, by reason (see `UP_REASONS`); `checked_*`: what the port's
    checks refused and what it forwarded that is in no queue (see `CHECKS`). `refused`: packets that XDP
    sent by the port and its device did not take, since `watch_refused`."""

    packets: dict[str, int]
    bytes: dict[str, int]
    up: dict[str, int]
    checked_packets: dict[str, int]
    checked_bytes: dict[str, int]
    refused: int = 0


@dataclass(frozen=True, slots=True)
class RoundTrips:
    """Of one line: samples, the newest first, and the age of that one."""

    age_ms: int
    samples_ns: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Losses:
    """What TCP of one line lost before and after the router, in its last windows (a quarter less of each
    older one): bytes of data that were seen, once each; bytes lost, and the packets that brought them again.
    Where nothing was seen all is 0. `age_ms` is that of the last window."""

    age_ms: int
    seen_bytes: int
    before_bytes: int
    after_bytes: int
    before_packets: int
    after_packets: int


@dataclass(frozen=True, slots=True)
class RoundTripsBelow:
    """Of the classes below one that saw round trips lately: how many they are, the shortest sample, the
    median of their medians, and the age of the newest sample. Without such classes all is 0."""

    classes: int
    age_ms: int
    least_ns: int
    median_ns: int


@dataclass(frozen=True, slots=True)
class Usage:
    """How full the bounded tables are: (used, capacity) each. `subqueue_lines` counts directions of classes
    that have sub-queues, `subqueues` the sub-queues that are not idle."""

    classes: tuple[int, int]
    prefixes4: tuple[int, int]
    prefixes6: tuple[int, int]
    v4_units: tuple[int, int]
    v6_lengths: tuple[int, int]
    subqueue_lines: tuple[int, int]
    subqueues: tuple[int, int]
    kernel_bytes: int


@dataclass(frozen=True, slots=True)
class Capability:
    """One thing that was tried on this kernel; `reason` says what happened, in one clause."""

    id: str
    available: bool
    reason: str


def _line_fields(line: LineRecord) -> tuple[int, int, int, int, int, int]:
    burst_ns, limit_ns = min(line.burst_ns, MAX_TIME_NS), min(line.limit_ns, MAX_TIME_NS)
    return line.rate_bps, burst_ns, limit_ns, line.guarantee_bps, line.htb_classid, line.priority


def _line_of(fields: Sequence[int], subqueues: SubqueuesRecord | None) -> LineRecord:
    rate_bps, burst_ns, limit_ns, guarantee_bps, htb_classid, priority = fields
    return LineRecord(rate_bps, burst_ns, limit_ns, htb_classid, guarantee_bps, priority, subqueues)


def check_line(line: LineRecord, slot: int) -> None:
    """Raises `Invalid` for a rate that the clock cannot represent."""
    if line.rate_bps and line.rate_bps < MIN_RATE_BPS:
        raise Invalid(
            f"class {slot}: a rate of {line.rate_bps} bit/s is below the least of {MIN_RATE_BPS} bit/s",
            code="rate-too-low",
        )


def pack_classes(classes: Iterable[tuple[int, ClassRecord]]) -> tuple[bytearray, int]:
    """(packed array, count) for `weir_classes_write`."""
    items = list(classes)
    packed = bytearray(len(items) * CLASS.size)
    for index, (slot, record) in enumerate(items):
        up, down = record.upload, record.download
        if not 0 < slot <= MAX_SLOT:
            raise Invalid(f"class slot {slot} is not between 1 and {MAX_SLOT}", code="bad-slot")
        check_line(up, slot)
        check_line(down, slot)
        CLASS.pack_into(
            packed,
            index * CLASS.size,
            slot,
            record.parent_slot,
            record.total_slot,
            record.fork,
            record.key,
            *_line_fields(up),
            *_line_fields(down),
        )
    return packed, len(items)


def unpack_classes(
    packed: bytes | memoryview, subqueues: Mapping[tuple[int, int], SubqueuesRecord]
) -> dict[int, ClassRecord]:
    """`subqueues` by slot and direction."""
    classes: dict[int, ClassRecord] = {}
    for row in CLASS.iter_unpack(packed):
        slot, parent_slot, total_slot, fork, key, *lines = row
        up = _line_of(lines[:6], subqueues.get((slot, 0)))
        down = _line_of(lines[6:], subqueues.get((slot, 1)))
        classes[slot] = ClassRecord(key, parent_slot, up, down, total_slot, bool(fork))
    return classes


def pack_prefixes(entries: Iterable[PrefixEntry | tuple[int, int, int, int, int]]) -> tuple[bytearray, int]:
    """(packed array, count) for `weir_prefixes_change`; a v4 address is in the low 32 bits of `hi`."""
    items = list(entries)
    packed = bytearray(len(items) * PREFIX.size)
    offset = 0
    for domain, family, value, length, slot in items:
        if family == 6:
            PREFIX.pack_into(packed, offset, value >> 64, value & _U64, slot, domain, family, length)
        else:
            PREFIX.pack_into(packed, offset, value, 0, slot, domain, family, length)
        offset += PREFIX.size
    return packed, len(items)


def pack_far(entries: Iterable[FarEntry]) -> tuple[bytearray, int]:
    """(packed array, count) for `weir_far_change`."""
    items = list(entries)
    packed = bytearray(len(items) * FAR.size)
    for index, (fork, family, end, length, slot, rank) in enumerate(items):
        FAR.pack_into(packed, index * FAR.size, fork, family, end, length, slot, rank)
    return packed, len(items)


def unpack_far(packed: bytes | memoryview) -> list[FarEntry]:
    return [FarEntry(*row) for row in FAR.iter_unpack(packed)]


def unpack_prefixes(packed: bytes | memoryview) -> Iterator[tuple[PrefixKey, int]]:
    for high, low, slot, domain, family, length in PREFIX.iter_unpack(packed):
        value = high << 64 | low if family == 6 else high
        yield PrefixKey(domain, family, value, length), slot
