# SPDX-License-Identifier: Apache-2.0
"""The configured objects. Frozen, without I/O; the meaning of every field is in docs/reference/model.md.

Semantics follow RouterOS v7 simple queues (public manual: queues, queue-burst, htb); a pair is always
(upload, download) as seen by the target, and rates count the bytes of IP packets per second.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Generic, Literal, NamedTuple, TypeVar

T = TypeVar("T")

Kind = str
"""What an object is, as it is written in URLs and files; `weir.kinds` declares which there are."""


class Pair(NamedTuple, Generic[T]):
    """One value per direction, as seen by the target. A tuple: what queues share is found by its hash."""

    upload: T
    download: T


class ConfigObject:
    """What all configured objects have. Their classes are frozen dataclasses with slots."""

    __slots__ = ()
    kind: ClassVar[Kind]
    id: str

    @property
    def name(self) -> str:
        """What people call it; an id without a better one."""
        return self.id


ZERO = Pair(0, 0)
DEFAULT_PRIORITY = Pair(8, 8)
DEFAULT_QUEUE_TYPE = Pair("default-small", "default-small")
DEFAULT_BUCKET = Pair(100, 100)


@dataclass(frozen=True, slots=True)
class TimeWindow:
    """Local time of day, minutes since midnight, `start_min < end_min`; days are mon..sun."""

    start_min: int
    end_min: int
    days: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Total:
    """Limits that upload and download share (`total-*` of RouterOS). 0 = none."""

    max_limit_bps: int = 0
    limit_at_bps: int = 0
    burst_limit_bps: int = 0
    burst_threshold_bps: int = 0
    burst_time_ms: int = 0
    priority: int = 8
    queue_type: str = "default-small"
    bucket_size_ms: int = 100


NO_TOTAL = Total()


@dataclass(frozen=True, slots=True)
class Queue(ConfigObject):
    """A simple queue. Rates in bit/s with 0 = unlimited; times in ms; `target` in canonical text."""

    kind: ClassVar[Kind] = "queue"
    id: str
    name: str = field()
    target: tuple[str, ...] = ()
    dst: str | None = None
    parent: str | None = None
    position: int = 0
    max_limit_bps: Pair[int] = ZERO
    limit_at_bps: Pair[int] = ZERO
    burst_limit_bps: Pair[int] = ZERO
    burst_threshold_bps: Pair[int] = ZERO
    burst_time_ms: Pair[int] = ZERO
    priority: Pair[int] = DEFAULT_PRIORITY
    queue_type: Pair[str] = DEFAULT_QUEUE_TYPE
    bucket_size_ms: Pair[int] = DEFAULT_BUCKET
    time: TimeWindow | None = None
    total: Total = NO_TOTAL
    comment: str = ""
    disabled: bool = False


@dataclass(frozen=True, slots=True)
class QueueType(ConfigObject):
    """How packets of a queue wait. The id is the name that queues refer to; options keep RouterOS names."""

    kind: ClassVar[Kind] = "queue-type"
    id: str
    type: str
    options: tuple[tuple[str, str], ...] = ()
    comment: str = ""


@dataclass(frozen=True, slots=True)
class Vlan:
    """Frames of the interface `parent` with this tag; a VLAN of a VLAN has two (QinQ)."""

    parent: str
    id: int
    protocol: Literal["802.1Q", "802.1ad"] = "802.1Q"

    @property
    def text(self) -> str:
        return f"VLAN {self.id} ({self.protocol}) of {self.parent}"


@dataclass(frozen=True, slots=True)
class Interface(ConfigObject):
    """A network interface; the id is the kernel's name; `overhead_bytes` adds to each packet's IP length.

    `unknown`: what becomes of forwarded packets that are in no queue; `reverse_path`: whose are forwarded.
    `domain`: which targets hold behind it, `10.0.0.0/24@2` only where it is 2. One with a `vlan` or a
    `vrf_table` is made by the router, any other is there or not. `addressing` "dhcp": IPv4 by DHCP, beside
    the `addresses`. `vrf` is the VRF that it belongs to; one with a `vrf_table` is a VRF (0: `weir.model.vrf`
    chooses the table).
    """

    kind: ClassVar[Kind] = "interface"
    id: str
    role: Literal["lan", "wan", "none"] = "none"
    addresses: tuple[str, ...] = ()
    addressing: Literal["static", "dhcp"] = "static"
    mtu: int | None = None
    description: str = ""
    overhead_bytes: int = 0
    shaper: Literal["auto", "edt", "police", "htb"] = "auto"
    fast_path: Literal["auto", "off"] = "auto"
    unknown: Literal["allow", "queue", "drop"] = "allow"
    reverse_path: Literal["off", "loose", "strict"] = "off"
    domain: int = 0
    vlan: Vlan | None = None
    vrf: str | None = None
    vrf_table: int | None = None
    disabled: bool = False
