# SPDX-License-Identifier: Apache-2.0
"""A window of local time."""

from __future__ import annotations

from typing import Any

from weir.fields.base import Field, Importance
from weir.model import limits
from weir.model.problem import Invalid
from weir.model.reader import Reader, shown
from weir.model.schedule import ALWAYS, TimeWindow, clock_text

_NAMES = frozenset({"start", "end", "days"})


class Hours(Field):
    """Hours of a day on some days, `{"start": "08:00", "end": "18:00", "days": ["mon"]}`, as a `TimeWindow`.

    A window that is always open is the same as none, and is read as `None`. `of` is what has it, several of
    which make a night.
    """

    def __init__(self, *, of: str, importance: Importance = "folded") -> None:
        super().__init__(
            importance=importance,
            label="Schedule",
            help="Matches only inside this window of local time; the start minute belongs to it, the end "
            f"minute does not. `24:00` is allowed as end, a window over midnight is not: make two {of}. "
            "One that is always open comes back as null.",
        )
        self._of = of

    def read(self, reader: Reader, name: str, default: Any) -> Any:
        inner = reader.inner(name)
        if inner is None:
            return default
        inner.refuse_unknown(_NAMES)
        start_min, end_min = _clock(inner, "start", 0), _clock(inner, "end", limits.MINUTES_PER_DAY)
        if start_min >= end_min:
            inner.error(
                "end",
                "bad-time",
                f"({clock_text(end_min)}) must be later than start ({clock_text(start_min)}); "
                f"for a night that crosses midnight make two {self._of}",
            )
        days = inner.list_of("days", 7, _day) if "days" in inner.data else limits.DAYS
        if not days:
            inner.error("days", "bad-time", "must name at least one day")
        window = TimeWindow(start_min, end_min, tuple(day for day in limits.DAYS if day in days))
        return None if window == ALWAYS else window

    def to_json(self, value: TimeWindow | None) -> Any:
        return None if value is None else hours_json(value)

    def bounds(self) -> str:
        return '`{"start": "08:00", "end": "18:00", "days": ["mon"]}`'


def hours_json(window: TimeWindow) -> dict[str, Any]:
    """`{"start": "08:00", "end": "18:00", "days": ["mon"]}`."""
    start, end = clock_text(window.start_min), clock_text(window.end_min)
    return {"start": start, "end": end, "days": list(window.days)}


def _day(value: object) -> str:
    if value not in limits.DAYS:
        raise Invalid(f"must be one of {', '.join(limits.DAYS)}, not {shown(value)}", code="bad-time")
    return str(value)


def _clock(reader: Reader, name: str, default_min: int) -> int:
    value = reader.data.get(name)
    if value is None:
        return default_min
    if isinstance(value, str) and len(value) == 5 and value[2] == ":" and value.isascii():
        hours, minutes = value[:2], value[3:]
        if hours.isdigit() and minutes.isdigit() and int(minutes) < 60:
            minute = int(hours) * 60 + int(minutes)
            if minute <= limits.MINUTES_PER_DAY:
                return minute
    reader.error(name, "bad-time", f"must be a time of day from 00:00 to 24:00, not {shown(value)}")
    return default_min
