# SPDX-License-Identifier: Apache-2.0
"""What a document is compiled into: plain values that the agent's backends write and read back."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b
from typing import Literal, NamedTuple

from weir.model.prefix import Prefix, text_in_domain
from weir.model.quick_init import quick_init

NO_SLOT = 0
"""The slot that means "no class": such a packet is not limited."""

LAST_PRIORITY = 8
"""RouterOS' default: the best is 1."""

MAIN_DOMAIN = 0
"""The lookup domain of a port that names no other; others are for overlapping addresses (VLAN, VRF)."""


def class_key(queue_id: str) -> int:
    """64 bits that name a queue in the kernel's class record: slots are recovered by reading back."""
    return int.from_bytes(blake2b(queue_id.encode(), digest_size=8).digest(), "little")


def total_id(queue_id: str) -> str:
    """The id of the class that a queue's `total` becomes; no queue's id holds a slash."""
    return f"{queue_id}/total"


PACKET_BYTES = 1514
"""A full Ethernet frame without FCS: what "a packet" is where only bytes and time are known."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """How packets wait: a queue type's kind, or "" for Weir's own way.

    `backlog_bytes` is what may wait at most, 0 = nothing, None = as Weir sees fit; `options` are the
    type's options as numbers, for ports where a qdisc of that kind holds the class.
    """

    kind: str = ""
    backlog_bytes: int | None = None
    options: tuple[tuple[str, int | str], ...] = ()


OWN_WAITING = Waiting()


@dataclass(frozen=True, slots=True)
class ClockSpec:
    """One direction's clock. `rate_bps` 0 = unlimited (only counted); `burst_bytes` is the bucket's depth.

    `guarantee_bps` (limit-at) and `priority` (1 best, 8 last) are for sharing among siblings. While the
    average over `burst_time_ms` is below `burst_threshold_bps`, `burst_limit_bps` takes the place of
    `rate_bps`; all three are 0 for a queue that never bursts.
    """

    rate_bps: int
    burst_bytes: int
    guarantee_bps: int = 0
    priority: int = LAST_PRIORITY
    burst_limit_bps: int = 0
    burst_threshold_bps: int = 0
    burst_time_ms: int = 0
    waiting: Waiting = OWN_WAITING


class FarEntry(NamedTuple):
    """One end of a fork: an address prefix, or (family 0) an interface, its name as 16 bytes.

    The better `rank`, 0 first, wins between an address and an interface.
    """

    family: int
    end: bytes
    length: int
    slot: int
    rank: int


def fork_id(default_slot: int, far: tuple[FarEntry, ...]) -> str:
    """The id of a fork's class: all that it is, so that the kernel's key tells one fork from another."""
    ends = (f"{e.family}:{e.end.hex()}/{e.length}>{e.slot}@{e.rank}" for e in far)
    return f"fork {' '.join(ends)} else {default_slot}"


@quick_init
@dataclass(frozen=True, slots=True)
class ClassSpec:
    """One queue in the kernel. `parent_slot` 0 = none; `depth` counts its ancestors.

    A queue with limits that both directions share has a second class, its total: `total_slot` of the
    queue names it, both directions are charged to its upload line, and its parent is the nearest total above.
    """

    slot: int
    queue_id: str
    parent_slot: int
    depth: int
    upload: ClockSpec
    download: ClockSpec
    total_slot: int = NO_SLOT
    is_total: bool = False
    far: tuple[FarEntry, ...] = ()
    """Of a fork (docs/adr/0014): whose packets are by their far end; `parent_slot` takes the rest, `queue_id`
    says it in words. A fork never changes: another choice is another fork."""

    @property
    def id(self) -> str:
        if self.far:
            return fork_id(self.parent_slot, self.far)
        return total_id(self.queue_id) if self.is_total else self.queue_id

    @property
    def is_queue(self) -> bool:
        return not self.is_total and not self.far

    @property
    def key(self) -> int:
        return class_key(self.id)


class PrefixKey(NamedTuple):
    """One entry of the classifier. `value` is the network address as an integer, host bits zero."""

    domain: int
    family: int
    value: int
    length: int

    @property
    def text(self) -> str:
        return text_in_domain(self.domain, Prefix(self.family, self.value, self.length))


class PrefixEntry(NamedTuple):
    """A `PrefixKey` and the slot that its addresses belong to."""

    domain: int
    family: int
    value: int
    length: int
    slot: int


@dataclass(frozen=True, slots=True)
class PortSpec:
    """An interface under the datapath. `interface_slot`: class of packets that no prefix claims, 0 = none."""

    ifname: str
    role: str
    shaper: Literal["auto", "edt", "police", "htb"]
    overhead_bytes: int
    interface_slot: int
    domain: int = MAIN_DOMAIN
    fast_path: Literal["auto", "off"] = "auto"
    known_only: bool = False
    """Forwards only what is in a queue, perhaps its own (`interface_slot`)."""
    reverse_path: Literal["off", "loose", "strict"] = "off"
