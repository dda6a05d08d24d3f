# SPDX-License-Identifier: Apache-2.0
"""What one look at the running system found. Counters grow since the start; None: was not looked at."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Generic, TypeVar

R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Core:
    """A processor core. Packets are those that its receive softirq took from cards and backlog."""

    packets: int
    backlog_drops: int
    squeezed: int
    """Rounds that ended with work left (`time_squeeze`)."""
    softirq_ticks: int
    total_ticks: int


@dataclass(frozen=True, slots=True)
class Port:
    """An interface of the machine. `overruns` are packets that the card had no buffer for. `unpaced`: why
    `fq` does not work on it, "" as far as is known."""

    tx_queues: int
    qdisc: str
    rx_packets: int
    overruns: int
    unpaced: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    """A table with an end. `refused` counts what found no room, None where the kernel does not count it."""

    entries: int
    limit: int
    refused: int | None


@dataclass(frozen=True, slots=True)
class Socket:
    """A UDP socket's address and what it lost because its program did not read."""

    address: str
    drops: int


@dataclass(frozen=True, slots=True)
class Chain:
    """Listening sockets of one address and port: a SYN to it looks at each. `lookup_ns`: how long that takes,
    None where it was not measured."""

    address: str
    sockets: int
    uid: int
    lookup_ns: int | None = None


@dataclass(frozen=True, slots=True)
class RouteLookups:
    """How long the kernel looks for an IPv4 route, in the mean: for one destination and for random ones.
    `routes` None: it does not tell how many there are."""

    fixed_ns: int
    random_ns: int
    routes: int | None


@dataclass(frozen=True, slots=True)
class CoreTime:
    """What a core did, in ticks. `stolen`: it had work, and the hypervisor ran something else (`steal` in
    Documentation/filesystems/proc.rst)."""

    softirq: int
    stolen: int
    idle: int
    total: int


@dataclass(frozen=True, slots=True)
class Softirq:
    """A vector on one core in a window. `late` waits were of 1 ms and more, `dear` runs took long for few
    packets. The tasks are those that were current at the end of the longest wait and of the longest run;
    `behind` is the vector that ran longest in that wait, "" where none ran for a quarter of it."""

    core: int
    vector: str
    late: int
    dear: int
    wait_most_ns: int
    behind: str
    wait_task: str
    run_most_ns: int
    run_task: str


@dataclass(frozen=True, slots=True)
class Scan:
    """A source (a prefix), and for how many destinations a second routes were looked up for it, how often."""

    source: str
    destinations_ps: float
    lookups_ps: float


@dataclass(frozen=True, slots=True)
class DropRow:
    """Packets that the kernel dropped in a window, for a reason as it names it; "" where it knows no
    interface."""

    reason: str
    interface: str
    packets: int


@dataclass(frozen=True)
class Window(Generic[R]):
    """What was seen while something was watched. Each window is an object of its own."""

    seconds: float
    rows: tuple[R, ...]


@dataclass(frozen=True, slots=True)
class LockRow:
    """How long a core waited for locks of one kind in a window, in all and at most."""

    core: int
    wait_ns: int
    wait_most_ns: int


@dataclass(frozen=True)
class SoftirqWindow(Window[Softirq]):
    """`spent`: what each core did in it; a core is left out where that could not be read."""

    spent: Mapping[int, CoreTime] = field(default_factory=dict)


DropWindow = Window[DropRow]
LockWindow = Window[LockRow]


@dataclass(frozen=True, slots=True)
class UplinkLook:
    """An uplink. `down_s`: for how long it has been down; None: it is not."""

    down_s: float | None


@dataclass(frozen=True, slots=True)
class CertificateLook:
    """A certificate that is shown. `left_days` until its end; `wrong_days` since that, or until it begins; 0
    while it is good."""

    left_days: float
    wrong_days: float


@dataclass(frozen=True, slots=True)
class SetLook:
    """A set that is fetched. `empty_s`: for how long it has had nothing, since it was configured or the
    agent started; `old_s`: for how long nothing could be fetched; `unanswered_s`: for how long one of its
    names has had no good answer, `unanswered` of them altogether. None: it is not so."""

    empty_s: float | None
    old_s: float | None
    unanswered_s: float | None = None
    unanswered: int = 0


@dataclass(frozen=True, slots=True)
class Sample:
    """`clock_s` is monotonic, `at_ms` the time of day. Of what is looked at less often a sample has the last
    look. `unseen` says for a look (`LOOKS` of `weir.diagnosis.texts`) why there was none."""

    clock_s: float
    at_ms: int
    cores: tuple[Core, ...] | None = None
    ports: Mapping[str, Port] | None = None
    neighbours: Mapping[str, Table] | None = None
    """By family: `neighbours-v4`, `neighbours-v6`."""
    connections: Mapping[str, Table] | None = None
    """`connections`, or nothing where none is tracked."""
    stalled_us: Mapping[str, int] | None = None
    """By unit of systemd: how long its threads waited for a core, in all."""
    woken_late_s: float | None = None
    """How much later than it asked for the sampler ran."""
    grace_s: float | None = None
    """How long one grace period of RCU took."""
    sockets: tuple[Socket, ...] | None = None
    overflows: int | None = None
    """Connections that a listening socket had no room for (`ListenOverflows`)."""
    chains: tuple[Chain, ...] | None = None
    reverse_path: tuple[str, ...] | None = None
    """Where the kernel checks the source of each packet by a second lookup: `all`, or interfaces."""
    route_lookups: RouteLookups | None = None
    softirqs: SoftirqWindow | None = None
    """The last window."""
    scans: tuple[Scan, ...] | None = None
    """Sources of many destinations; none where the router receives little."""
    drop_reasons: DropWindow | None = None
    """The last window."""
    lock_waits: LockWindow | None = None
    """The last window."""
    uplinks: Mapping[str, UplinkLook] | None = None
    """By their ids."""
    certificates: Mapping[str, CertificateLook] | None = None
    """Those in use, by their ids."""
    sets: Mapping[str, SetLook] | None = None
    """Those that are fetched, or have addresses of names, by their ids."""
    unseen: Mapping[str, str] = field(default_factory=dict)
