# SPDX-License-Identifier: Apache-2.0
"""RouterOS property values: pairs, rates, times and windows. Upload comes first in every pair."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple, TypeVar

from weir.formats.quantity import priority, rate_bps, time_ms
from weir.model.limits import DAYS, LOW_RATE_BPS, MINUTES_PER_DAY
from weir.model.objects import Pair, TimeWindow
from weir.model.pair import shared_pair

T = TypeVar("T")


class RatePair(NamedTuple):
    """`single`: one value stood for both; `low`: a direction is limited to next to nothing."""

    pair: Pair[int]
    single: bool
    low: bool


@lru_cache(maxsize=8192)
def rates_bps(text: str) -> RatePair:
    """`10M/50M`, `0/7M`, `512k`. Raises `ValueError`."""
    upload, download, single = _halves(text, rate_bps)
    low = 0 < upload < LOW_RATE_BPS or 0 < download < LOW_RATE_BPS
    return RatePair(shared_pair(upload, download), single, low)


@lru_cache(maxsize=1024)
def times_ms(text: str) -> Pair[int]:
    """`10s/10s`, `7/7`, `1m`. Raises `ValueError`."""
    upload, download, _ = _halves(text, time_ms)
    return shared_pair(upload, download)


@lru_cache(maxsize=128)
def priorities(text: str) -> Pair[int]:
    """`8/8` of v6 and v7, `8` of v3 to v5. Raises `ValueError`."""
    upload, download, _ = _halves(text, priority)
    return shared_pair(upload, download)


def type_names(text: str) -> Pair[str]:
    """`pcq-upload-default/pcq-download-default`, or one name for both. Raises `ValueError`."""
    upload, download, _ = _halves(text, str)
    if not upload or not download:
        raise ValueError("expected the names of two queue types with a / between them")
    return Pair(upload, download)


def _halves(text: str, read: Callable[[str], T]) -> tuple[T, T, bool]:
    upload, slash, download = text.partition("/")
    first = read(upload.strip())
    return (first, read(download.strip()), False) if slash else (first, first, True)


class Window(NamedTuple):
    """`over_midnight`: the window ends on the next day, which one window of Weir cannot say."""

    window: TimeWindow
    over_midnight: bool
    rounded: bool


def window(text: str) -> Window:
    """`8h-18h,mon,tue`, `00:00:00-00:00:00,sun` (v3: the whole day). Raises `ValueError`."""
    hours, *day_names = [part.strip().lower() for part in text.split(",")]
    start_text, dash, end_text = hours.partition("-")
    if not dash:
        raise ValueError("expected a window such as 8h-18h,mon,tue")
    start_ms, end_ms = time_ms(start_text), time_ms(end_text)
    days = {name[:3] for name in day_names if name}
    if not days.issubset(DAYS):
        raise ValueError("expected days as sun, mon, tue, wed, thu, fri, sat")
    start_min, end_min = start_ms // 60_000, -(-end_ms // 60_000)
    if end_min == 0:
        end_min = MINUTES_PER_DAY
    if start_min >= MINUTES_PER_DAY or end_min > MINUTES_PER_DAY:
        raise ValueError("a day ends at 24h")
    rounded = bool(start_ms % 60_000 or end_ms % 60_000)
    ordered = tuple(day for day in DAYS if day in days) or DAYS
    return Window(TimeWindow(start_min, end_min, ordered), start_min >= end_min, rounded)
