# SPDX-License-Identifier: Apache-2.0
"""A made-up customer's line on which nothing is wrong, sick in one respect at a time."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from weir.diagnosis.judged import Judged
from weir.diagnosis.line import Answer
from weir.diagnosis.measured import Flow, Line, Link, Lost, Machine, Measured, Port, Station, Usual
from weir.diagnosis.processors import Spent

M = 1_000_000
NO_FQ = "lan0 is policed (the kernel has no fq)"


def flow(rate_bps: float, limit_bps: int = 50 * M, seconds: int = 120, **other: Any) -> Flow:
    """A steady rate; other figures by their last value."""
    series = {name: (value,) * seconds for name, value in other.items() if isinstance(value, float)}
    rest = {name: value for name, value in other.items() if name not in series}
    quiet = dict.fromkeys(("drops_ps", "early_ps", "ancestor_ps", "marks_ps"), (0.0,) * seconds)
    known = {"waits_us": (300.0,) * seconds, "sent_ps": 1000.0, **quiet}
    return Flow(limit_bps, rates_bps=(rate_bps,) * seconds, **{**known, **series, **rest})


def line(name: str = "acme", up: float = 1 * M, down: float = 5 * M, **other: Any) -> Line:
    return Line(name, name, **{"upload": flow(up, 10 * M), "download": flow(down), **other})


def link(name: str = "lan0", **other: Any) -> Link:
    known = {"speed_bps": 1000 * M, "duplex": "full", "rx_bps": 20e6, "tx_bps": 90e6, "packets": 100_000}
    return Link(name, True, True, **{**known, "errors": 0, "span_s": 110.0, **other})


def core(number: int, softirq_share: float = 0.2, drops: int = 0) -> Spent:
    return Spent(number, softirq_share, 100_000, drops, 0.0)


def healthy(**other: Any) -> Measured:
    known: dict[str, Any] = {
        "device": Station("10.64.0.2", "lan0", "reachable", 3.0),
        "access": Port((link(),)),
        "queue": line(),
        "parents": (
            line("tower", 20 * M, 40 * M, upload=flow(20 * M, 100 * M), download=flow(40 * M, 100 * M)),
        ),
        "machine": Machine((core(0), core(1)), 0.5, ()),
        "uplink": Port((link("wan0"),)),
        "gateway": Station("203.0.113.1", "wan0", "reachable", 1.0),
        "device_round_trip_us": 4000.0,
        "internet_round_trip_us": 18_000.0,
        "lost": {"upload": Lost(1_000_000, 0, 0, 1_000, 1), "download": Lost(2_000_000, 0, 0, 2_000, 2)},
        "device_usual": Usual(120, 3_000.0),
        "internet_usual": Usual(120, 20_000.0),
    }
    return Measured(**{**known, **other})


def sick_link(**change: Any) -> Port:
    return Port((replace(link(), **change),))


def at(answer: Answer, place: str) -> Judged:
    return next(item for item in answer.line if item.place == place)
