# SPDX-License-Identifier: Apache-2.0
"""What a look at the running system says in figures: what is kept by the minute for a day (docs/adr/0225).

A key is a figure's name, and after a slash of what it is where there are several: `core-packets/0`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from weir.diagnosis.sample import Sample, Table


@dataclass(frozen=True, slots=True)
class Figure:
    """`gauge` is measured as it is. `rate` and `sum` come from a counter: what it grew in a second, times
    `scale`, or at all. A sum adds up within a minute; of others a minute has the mean and the most. `of`:
    what there are several of."""

    text: str
    unit: Literal["share", "count", "packets", "packets/s", "s"]
    kind: Literal["gauge", "rate", "sum"] = "gauge"
    of: Literal["", "core", "interface", "service"] = ""
    scale: float = 1.0


FIGURES: Mapping[str, Figure] = {
    "cores": Figure("how busy the cores are; the most is that of the busiest core", "share"),
    "memory": Figure("memory in use", "share"),
    "load": Figure("load average of one minute", "count"),
    "connections": Figure("tracked connections", "count"),
    "connections-refused": Figure("connections that found no room in their table", "count", "sum"),
    "neighbours-v4": Figure("IPv4 neighbors", "count"),
    "neighbours-v4-refused": Figure("IPv4 neighbors that found no room in their table", "count", "sum"),
    "neighbours-v6": Figure("IPv6 neighbors", "count"),
    "neighbours-v6-refused": Figure("IPv6 neighbors that found no room in their table", "count", "sum"),
    "dropped": Figure("packets dropped, by whomever (`weir drops`)", "packets", "sum"),
    "socket-drops": Figure("packets that UDP sockets lost, as nobody read them", "packets", "sum"),
    "listen-overflows": Figure("connections that a listening socket had no room for", "count", "sum"),
    "listeners": Figure("listening sockets on the address and port that has most", "count"),
    "woken-late": Figure("how late a program ran that asked for a time", "s"),
    "grace-period": Figure("how long a grace period of RCU took", "s"),
    "core": Figure("how busy a core is", "share", of="core"),
    "core-softirq": Figure("a core's time in interrupts, which is for packets", "share", of="core"),
    "core-packets": Figure("packets that a core received", "packets/s", "rate", "core"),
    "core-backlog-drops": Figure("packets that a core had no room for", "packets", "sum", "core"),
    "core-squeezed": Figure("rounds of a core that ended with work left", "count", "sum", "core"),
    "stalled": Figure("time that a service waited for a core", "share", "rate", "service", 1e-6),
    "overruns": Figure("packets that a card had no buffer for", "packets", "sum", "interface"),
}
OVERVIEW = tuple(name for name, figure in FIGURES.items() if not figure.of)
"""Those with one line each."""
LOOKS: Mapping[str, tuple[str, ...]] = {
    "cores": ("core-packets", "core-backlog-drops", "core-squeezed"),
    "ports": ("overruns",),
    "neighbours": ("neighbours-v4", "neighbours-v4-refused", "neighbours-v6", "neighbours-v6-refused"),
    "connections": ("connections", "connections-refused"),
    "stalled_us": ("stalled",),
    "woken_late_s": ("woken-late",),
    "grace_s": ("grace-period",),
    "chains": ("listeners",),
    "overflows": ("listen-overflows",),
    "sockets": ("socket-drops",),
}
"""The figures that come of each look (a field of `Sample`)."""


@dataclass(frozen=True, slots=True)
class Looked:
    """Figures as they are, and counters that only grow, by key; `unseen`: why a look could not be done."""

    clock_s: float
    gauges: Mapping[str, float]
    counters: Mapping[str, int]
    unseen: Mapping[str, str]


def figure_of(key: str) -> Figure:
    return FIGURES[key.partition("/")[0]]


def in_figures(sample: Sample) -> Looked:
    """What a sample has of the figures. What was not looked at is not in it."""
    return Looked(sample.clock_s, dict(_gauges(sample)), dict(_counters(sample)), sample.unseen)


def _gauges(sample: Sample) -> Iterator[tuple[str, float]]:
    for name, table in _tables(sample):
        yield name, table.entries
    for key, seconds in (("woken-late", sample.woken_late_s), ("grace-period", sample.grace_s)):
        if seconds is not None:
            yield key, seconds
    if sample.chains is not None:
        yield "listeners", max((chain.sockets for chain in sample.chains), default=0)


def _counters(sample: Sample) -> Iterator[tuple[str, int]]:
    for number, core in enumerate(sample.cores or ()):
        yield f"core-packets/{number}", core.packets
        yield f"core-backlog-drops/{number}", core.backlog_drops
        yield f"core-squeezed/{number}", core.squeezed
    for name, table in _tables(sample):
        if table.refused is not None:
            yield f"{name}-refused", table.refused
    for unit, stalled_us in (sample.stalled_us or {}).items():
        yield f"stalled/{unit}", stalled_us
    for name, port in (sample.ports or {}).items():
        if port.rx_packets or port.overruns:  # only cards are read
            yield f"overruns/{name}", port.overruns
    if sample.sockets is not None:
        yield "socket-drops", sum(socket.drops for socket in sample.sockets)
    if sample.overflows is not None:
        yield "listen-overflows", sample.overflows


def _tables(sample: Sample) -> Iterator[tuple[str, Table]]:
    yield from (sample.neighbours or {}).items()
    yield from (sample.connections or {}).items()


def grown(before: Looked, now: Looked) -> Iterator[tuple[str, float]]:
    """What each counter says of the time between two looks: a rate, or a sum. One that was not there before,
    or that is smaller, began again: nothing is known of it yet."""
    elapsed_s = now.clock_s - before.clock_s
    same_cores = _cores(before) == _cores(now)
    for key, counted in now.counters.items():
        earlier = before.counters.get(key)
        figure = FIGURES.get(key.partition("/")[0])
        if figure is None or earlier is None or counted < earlier:
            continue
        if figure.of == "core" and not same_cores:
            continue  # their numbers may be others
        delta = float(counted - earlier)
        if figure.kind == "sum":
            yield key, delta
        elif elapsed_s > 0:
            yield key, delta * figure.scale / elapsed_s


def _cores(found: Looked) -> int:
    return sum(key.startswith("core-packets/") for key in found.counters)
