# SPDX-License-Identifier: Apache-2.0
"""What the router does by itself, and when."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, tzinfo

from weir.kinds.job import Job, minute_of
from weir.model.job_times import next_at, next_every
from weir.parts.part import ObjectsPart


@dataclass(frozen=True, slots=True)
class JobSpec:
    """`minute` is that of a day, in local time; None: it is done every so many hours."""

    id: str
    action: str
    minute: int | None
    days: tuple[str, ...]
    every_h: int
    catches_up: bool

    def next(self, after: datetime, begun: datetime, zone: tzinfo) -> datetime:
        """When it is due next, later than `after`; `begun` is when it was configured."""
        if self.minute is None:
            return next_every(after, begun, self.every_h)
        return next_at(after, self.minute, self.days, zone)

    @property
    def when(self) -> str:
        if self.minute is None:
            return f"every {self.every_h} h"
        days = ",".join(self.days) or "every day"
        return f"at {self.minute // 60:02d}:{self.minute % 60:02d} {days}"


class JobsPart(ObjectsPart[JobSpec]):
    name, what = "jobs", "job"
    of = Job
    made_of = frozenset(("job",))

    def key(self, entry: JobSpec) -> str:
        return entry.id

    def entry(self, item: Job) -> JobSpec | None:
        if item.disabled:
            return None
        minute = None if item.time is None else minute_of(item.time)
        return JobSpec(item.id, item.action, minute, item.days, item.every_h or 0, item.catch_up)

    def text(self, old: JobSpec | None, new: JobSpec) -> str:
        return f"{new.id}: {new.action} {new.when}"


JOBS = JobsPart()
