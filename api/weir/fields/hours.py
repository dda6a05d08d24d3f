# SPDX-License-Identifier: Apache-2.0
"""A window of local time."""

from __future__ import annotations

from typing import Any

from weir.fields.base import Field
from weir.model import limits
from weir.model.problem import Invalid
from weir.model.reader import Reader, shown
from weir.model.schedule import ALWAYS, TimeWindow

_NAMES = frozenset({"start", "end", "days"})


class Hours(Field):
    """Hours of a day on some days, `{"start": "08:00", "end": "18:00", "days": ["mon"]}`, as a `TimeWindow`.

    A window that is always open is the same as none, and is read as `None`.
    """

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
                f"({_text(end_min)}) must be later than start ({_text(start_min)}); "
                "for a night that crosses midnight make two queues",
            )
        days = inner.list_of("days", 7, _day) if "days" in inner.data else limits.DAYS
        if not days:
            inner.error("days", "bad-time", "must name at least one day")
        window = TimeWindow(start_min, end_min, tuple(day for day in limits.DAYS if day in days))
        return None if window == ALWAYS else window

    def to_json(self, value: TimeWindow | None) -> Any:
        if value is None:
            return None
        return {"start": _text(value.start_min), "end": _text(value.end_min), "days": list(value.days)}

    def bounds(self) -> str:
        return '`{"start": "08:00", "end": "18:00", "days": ["mon"]}`'


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


def _text(minute: int) -> str:
    return f"{minute // 60:02d}:{minute % 60:02d}"
