# SPDX-License-Identifier: Apache-2.0
"""Windows of local time: pure functions of a time that the caller gives."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from weir.model.limits import DAYS, MINUTES_PER_DAY


@dataclass(frozen=True, slots=True)
class TimeWindow:
    """Local time of day, minutes since midnight, `start_min < end_min`; days are mon..sun."""

    start_min: int
    end_min: int
    days: tuple[str, ...]


ALWAYS = TimeWindow(0, MINUTES_PER_DAY, DAYS)
"""The same as no window, which is what it becomes where one is read: RouterOS exports have it."""


def is_open(window: TimeWindow | None, now_local: datetime) -> bool:
    """True without a window, and inside one: the start minute belongs to it, the end minute does not."""
    if window is None:
        return True
    minute = now_local.hour * 60 + now_local.minute
    return window.start_min <= minute < window.end_min and DAYS[now_local.weekday()] in window.days


def closed_windows(windows: Iterable[TimeWindow | None], now_local: datetime) -> frozenset[TimeWindow]:
    """Those that are closed now."""
    return frozenset(window for window in windows if window is not None and not is_open(window, now_local))


def clock_text(minute: int) -> str:
    """Minutes since midnight as `08:00`."""
    return f"{minute // 60:02d}:{minute % 60:02d}"


def window_text(window: TimeWindow) -> str:
    """`08:00-18:00 mon,tue`."""
    return f"{clock_text(window.start_min)}-{clock_text(window.end_min)} {','.join(window.days)}"


def next_window_edge(window: TimeWindow, now_local: datetime) -> datetime | None:
    """The next time after `now_local` at which the window opens or closes; None if it is always open."""
    midnight = now_local.replace(hour=0, minute=0, second=0, microsecond=0)
    for day in range(8):
        for minute in (window.start_min, window.end_min):
            at = midnight + timedelta(days=day, minutes=minute)
            if at > now_local and is_open(window, at) != is_open(window, at - timedelta(minutes=1)):
                return at
    return None
