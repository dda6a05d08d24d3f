# SPDX-License-Identifier: Apache-2.0
"""What the router does by itself at its hours."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, ClassVar

from weir.fields import Choice, Comment, Flag, Many, Moment, Text, Whole, Word
from weir.kinds.declaration import Declaration
from weir.model.limits import DAYS
from weir.model.objects import ConfigObject, Kind
from weir.model.problem import Finding
from weir.model.rule import Rule, View, error, own, warning

RESULTS = ("started", "done", "failed", "refused", "missed")
OFTEN_H = 24
_CLOCK = re.compile(r"([01]\d|2[0-3]):([0-5]\d)", re.ASCII)


@dataclass(frozen=True, slots=True)
class Job(ConfigObject):
    """One job, at a time of day on some days, or every so many hours."""

    kind: ClassVar[Kind] = "job"
    id: str
    action: Annotated[
        str,
        Choice(
            "restart", help="restart: the router restarts, into the system that the boot loader has next."
        ),
    ] = "restart"
    time: Annotated[
        str | None,
        Text(
            5,
            min_chars=1,
            help="Time of day in the router's time zone. One that the clock skips is due when the gap ends, "
            "one that it shows twice the first time.",
            example="04:30",
        ),
    ] = None
    days: Annotated[
        tuple[str, ...],
        Many(Word(*DAYS), len(DAYS), help="On which days. Empty: every day.", example="sun"),
    ] = ()
    every_h: Annotated[
        int | None,
        Whole(
            1,
            8784,
            label="Hours between",
            help="Every so many hours, counted from when it was configured, instead of a time of day.",
        ),
    ] = None
    catch_up: Annotated[
        bool,
        Flag(
            help="When it was missed, because the router was off, it is done once when the router is back. "
            "Otherwise that is only told."
        ),
    ] = False
    comment: Comment = ""
    disabled: Annotated[bool, Flag(help="It is kept, and not done.")] = False


def minute_of(text: str) -> int | None:
    """Minutes after midnight of a text such as 04:30; None: it is no time of day."""
    found = _CLOCK.fullmatch(text)
    return None if found is None else int(found[1]) * 60 + int(found[2])


def job_is_due(_view: View, job: Job) -> Iterator[Finding]:
    if job.time is not None and minute_of(job.time) is None:
        yield error("bad-job-time", job, "time", "must be a time of day from 00:00 to 23:59, such as 04:30")
    if (job.time is None) == (job.every_h is None):
        text = "needs either a time of day or a number of hours"
        yield error("job-without-time", job, "time", text if job.time is None else f"{text}, not both")
    if job.every_h is not None and job.days:
        yield error("job-without-time", job, "days", "days belong to a time of day, not to a number of hours")


def job_restarts_often(_view: View, job: Job) -> Iterator[Finding]:
    if not job.disabled and job.every_h is not None and job.every_h < OFTEN_H:
        text = f"the router restarts every {job.every_h} h, and forwards nothing meanwhile"
        yield warning("restarts-often", job, "every_h", text)


KIND = Declaration(
    Job,
    singular="job",
    plural="jobs",
    short="job",
    about="What the router does by itself at its hours (`/system scheduler` of RouterOS, without scripts).",
    argument="job_id",
    columns=("action", "time", "days", "every_h", "next_run", "last_result", "last_run", "comment"),
    state={
        "next_run": Moment(help="When it is due next."),
        "last_run": Moment(help="When it was due last, and was done, refused or missed."),
        "last_result": Choice(*RESULTS, help="What became of it."),
        "last_detail": Text(300, help="Why, where it was not done."),
    },
    area="System",
    purpose="A job restarts the router at a time of day or every so many hours. It is done once, never "
    "twice at once, and is in the audit trail.",
    rules=(
        Rule("job-is-due", "job", job_is_due, own("job"), True),
        Rule("job-restarts-often", "job", job_restarts_often, own("job"), False),
    ),
)
