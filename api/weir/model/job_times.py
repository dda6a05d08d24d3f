# SPDX-License-Identifier: Apache-2.0
"""When jobs are due: pure functions of times that the caller gives.

Times are aware. A day of 23 or 25 hours has each time of day once: one that the clock skips is due at the
first moment after the gap, one that it shows twice is due the first time.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import UTC, date, datetime, time, timedelta, tzinfo

from weir.model.limits import DAYS

WEEK_AND_A_DAY = 9


def next_at(after: datetime, minute: int, days: Collection[str], zone: tzinfo) -> datetime:
    """The first moment later than `after`, in UTC, at which it is so many minutes after midnight in `zone` on
    one of the days (`mon`..`sun`; none: every day)."""
    first = after.astimezone(zone).date() - timedelta(days=1)
    for number in range(WEEK_AND_A_DAY + 1):
        day = first + timedelta(days=number)
        if not days or DAYS[day.weekday()] in days:
            due = _moment(day, minute, zone)
            if due > after:
                return due
    raise ValueError("none of the days is a day of the week")


def next_every(after: datetime, begun: datetime, hours: int) -> datetime:
    """The first moment later than `after` that is a whole number of `hours` behind `begun`."""
    step = timedelta(hours=hours)
    return begun + step * max((after - begun) // step + 1, 1)


def _moment(day: date, minute: int, zone: tzinfo) -> datetime:
    local = datetime.combine(day, time(minute // 60, minute % 60), tzinfo=zone)  # fold 0: the first of two
    found = local.astimezone(UTC)
    if found.astimezone(zone).replace(tzinfo=None) == local.replace(tzinfo=None):
        return found
    # skipped by the clock: the offset before the gap leads behind it, by as much as the gap is long
    before = local.replace(fold=0).utcoffset()
    after = local.replace(fold=1).utcoffset()
    assert before is not None and after is not None
    return _end_of_gap(found - (after - before if after > before else before - after), found, zone)


def _end_of_gap(low: datetime, high: datetime, zone: tzinfo) -> datetime:
    """The moment between two at which the offset changes, to the second."""
    offset = low.astimezone(zone).utcoffset()
    while high - low > timedelta(seconds=1):
        middle = (low + (high - low) / 2).replace(microsecond=0)
        if middle.astimezone(zone).utcoffset() == offset:
            low = middle
        else:
            high = middle
    return high
