# SPDX-License-Identifier: Apache-2.0
"""What was measured on one customer's line, from the device to the internet. None: it was not measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from weir.diagnosis.processors import Spent
from weir.diagnosis.symptom import Number
from weir.diagnosis.thresholds import FULL_OF_SECONDS, FULL_SHARE, RECENT_S

Way = Literal["upload", "download"]
WAYS: tuple[Way, Way] = ("upload", "download")
Samples = Sequence[float | None]


@dataclass(frozen=True, slots=True)
class Flow:
    """One direction of a queue in the last two minutes, by the second, the oldest first. A limit of 0: none.
    Drops `early_ps` and `ancestor_ps` are among `drops_ps`; what is left was over the queue's own limit.
    Where they are empty it is not known why packets were dropped."""

    limit_bps: int = 0
    burst_bps: int = 0
    rates_bps: Samples = ()
    drops_ps: Samples = ()
    early_ps: Samples = ()
    ancestor_ps: Samples = ()
    marks_ps: Samples = ()
    waits_us: Samples = ()
    """The longest wait of a packet."""
    sent_ps: float | None = None
    """Packets, in the last second."""
    day_bps: Samples = ()
    """Means of the last 24 h, by ten minutes."""

    @property
    def measured_s(self) -> int:
        return len(known(self.rates_bps))

    @property
    def rate_bps(self) -> float:
        """Now; 0 where nothing was measured."""
        return mean(recent(self.rates_bps))

    @property
    def tells_reasons(self) -> bool:
        """Whether it is known why packets were dropped now."""
        return bool(recent(self.early_ps) and recent(self.ancestor_ps))

    @property
    def own_drops_ps(self) -> float:
        """Now, over its own limit; 0 where that is not known."""
        if not self.tells_reasons:
            return 0.0
        others = mean(recent(self.early_ps)) + mean(recent(self.ancestor_ps))
        return max(mean(recent(self.drops_ps)) - others, 0.0)

    @property
    def used_share(self) -> float | None:
        """Of the limit, now."""
        return self.rate_bps / self.limit_bps if self.limit_bps and self.measured_s else None

    @property
    def full_s(self) -> int:
        """Of the last two minutes, at the limit."""
        return sum(rate >= FULL_SHARE * self.limit_bps for rate in known(self.rates_bps))

    @property
    def is_full(self) -> bool:
        """At the limit, now."""
        rates = recent(self.rates_bps)
        full = sum(rate >= FULL_SHARE * self.limit_bps for rate in rates)
        return bool(self.limit_bps and rates) and full >= FULL_OF_SECONDS * len(rates)


@dataclass(frozen=True, slots=True)
class Taker:
    """The queue below a parent that takes most of one direction, other than the one that is asked about."""

    id: str
    name: str
    rate_bps: float


@dataclass(frozen=True, slots=True)
class Line:
    """A queue. `policed` says for a direction why nothing waits there, `unmeasured` why there are no
    figures. In `classful` directions an HTB class holds its packets, whose queue drops for its own limit and
    for those above it alike; `uncounted` says why that is not among the drops, "" where it is. The figures of
    one that `is_parent` are sums of those below it: their own limits' drops are among its drops."""

    id: str
    name: str
    upload: Flow
    download: Flow
    policed: Mapping[Way, str] = field(default_factory=dict)
    takers: Mapping[Way, Taker] = field(default_factory=dict)
    unmeasured: str = ""
    classful: frozenset[Way] = frozenset()
    uncounted: str = ""
    is_parent: bool = False

    def flow(self, way: Way) -> Flow:
        return self.upload if way == "upload" else self.download


@dataclass(frozen=True, slots=True)
class Station:
    """A neighbor: the device, or a router before it or on the way to the internet. `state` is of
    `weir.service.hosts`, "none" where the kernel has no entry; None: there is no one address to look for."""

    address: str | None = None
    interface: str = ""
    state: str | None = None
    confirmed_s: float | None = None
    is_router: bool = False
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Link:
    """An interface. `packets` and `errors` are of the last `span_s` seconds, both directions together."""

    name: str
    up: bool
    carrier: bool
    speed_bps: int | None = None
    duplex: str | None = None
    rx_bps: float | None = None
    tx_bps: float | None = None
    packets: int | None = None
    errors: int | None = None
    span_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Port:
    """Where packets enter or leave: the interface first, then what it is stacked on. `unseen`: what of it
    cannot be known."""

    links: tuple[Link, ...] = ()
    reason: str = ""
    unseen: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Found:
    """A finding about the router as a whole (`weir.diagnosis.texts.AILMENTS`)."""

    code: str
    severity: str
    subject: str
    sentence: str
    numbers: tuple[Number, ...] = ()


@dataclass(frozen=True, slots=True)
class Machine:
    """`findings` None: it is not known what ails the router."""

    cores: Sequence[Spent] | None = None
    memory_share: float | None = None
    findings: tuple[Found, ...] | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Uplink:
    """The uplink of the configuration that the line leaves by, and what its checks heard. `status` is "up",
    "down" or "unknown", `answers` the last words of each check ("": it has none), `round_trip_us` the
    median of the fastest ping or TCP check, `loss_share` the least of them."""

    id: str
    status: str
    answers: str = ""
    round_trip_us: float | None = None
    loss_share: float | None = None


@dataclass(frozen=True, slots=True)
class Lost:
    """What TCP of one direction lost before and after this router in about the last minute: bytes of data
    that were seen, once each, bytes that were lost, and the packets that brought them again."""

    seen_bytes: int
    before_bytes: int
    before_packets: int
    after_bytes: int
    after_packets: int


@dataclass(frozen=True, slots=True)
class Usual:
    """The customer's own round trips of the last seven days: in how many hours some were seen, and the median
    of those hours (None: too few to tell)."""

    hours: int = 0
    median_us: float | None = None


@dataclass(frozen=True, slots=True)
class Measured:
    """The whole line. `parents` is the nearest first. Round trips are medians of TCP, seen in passing."""

    device: Station
    access: Port
    queue: Line | None
    parents: tuple[Line, ...]
    machine: Machine
    uplink: Port
    gateway: Station
    checked: Uplink | None = None
    uplink_by: str = ""
    """Why it is that port, a sentence."""
    no_queue: str = ""
    """The address that no queue limits."""
    queue_unknown: str = "the queue was not looked up"
    """Without a queue and `no_queue`: why."""
    device_round_trip_us: float | None = None
    internet_round_trip_us: float | None = None
    device_usual: Usual = field(default_factory=Usual)
    internet_usual: Usual = field(default_factory=Usual)
    lost: Mapping[Way, Lost] = field(default_factory=dict)


def known(samples: Samples) -> list[float]:
    return [value for value in samples if value is not None]


def recent(samples: Samples) -> list[float]:
    """Those of the last seconds that were measured."""
    return known(samples[-RECENT_S:])


def mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0
