# SPDX-License-Identifier: Apache-2.0
"""When jobs are due, on every kind of day, and which of them make sense."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from weir.kinds.job import Job
from weir.model.document import Document
from weir.model.job_times import next_at, next_every
from weir.model.rules import validate_all
from weir.parts.jobs import JOBS


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("zone", "after", "minute", "days", "due"),
    [
        ("UTC", "2026-07-01T04:29", 270, (), "2026-07-01T04:30"),
        ("UTC", "2026-07-01T04:30", 270, (), "2026-07-02T04:30"),
        ("UTC", "2026-07-01T04:30", 270, ("wed",), "2026-07-08T04:30"),
        ("UTC", "2026-07-01T04:29", 270, ("mon", "sun"), "2026-07-05T04:30"),
        ("Pacific/Kiritimati", "2026-07-01T09:00", 0, ("thu",), "2026-07-01T10:00"),
        ("America/Los_Angeles", "2026-07-01T09:00", 1439, ("wed",), "2026-07-02T06:59"),
        # 02:30 does not exist on 29 March: the gap ends at 01:00 UTC
        ("Europe/Berlin", "2026-03-28T12:00", 150, (), "2026-03-29T01:00"),
        ("Europe/Berlin", "2026-03-29T01:00", 150, (), "2026-03-30T00:30"),
        ("Europe/Berlin", "2026-03-28T12:00", 120, (), "2026-03-29T01:00"),
        ("Europe/Berlin", "2026-03-28T12:00", 180, (), "2026-03-29T01:00"),
        # 02:30 is twice on 25 October: at 00:30 and at 01:30 UTC
        ("Europe/Berlin", "2026-10-24T12:00", 150, (), "2026-10-25T00:30"),
        ("Europe/Berlin", "2026-10-25T00:30", 150, (), "2026-10-26T01:30"),
        # half an hour, and a gap at midnight
        ("Australia/Lord_Howe", "2026-10-03T00:00", 135, (), "2026-10-03T15:30"),
        ("America/Sao_Paulo", "2018-11-03T12:00", 0, ("sun",), "2018-11-04T03:00"),
        # a whole day was skipped: 30 December 2011
        ("Pacific/Apia", "2011-12-29T20:00", 600, (), "2011-12-30T10:00"),
    ],
)
def test_a_time_of_day_is_due_once_on_each_day(
    zone: str, after: str, minute: int, days: tuple[str, ...], due: str
) -> None:
    assert next_at(utc(after), minute, days, ZoneInfo(zone)) == utc(due)


def test_over_a_year_each_day_has_it_once_in_every_zone() -> None:
    for name in (
        "Europe/Berlin",
        "America/New_York",
        "Australia/Lord_Howe",
        "Asia/Kathmandu",
        "Africa/Casablanca",
    ):
        zone, at, found = ZoneInfo(name), utc("2026-01-01T00:00"), []
        while at < utc("2027-01-01T00:00"):
            at = next_at(at, 150, (), zone)
            found.append(at.astimezone(zone).date())
        assert len(found) == len(set(found)) and len(found) in (365, 366), name


def test_hours_are_counted_from_the_beginning_whatever_the_clock_shows() -> None:
    begun = utc("2026-03-28T23:17")
    assert next_every(begun, begun, 6) == begun + timedelta(hours=6)
    assert next_every(begun + timedelta(hours=6), begun, 6) == begun + timedelta(hours=12)
    assert next_every(begun + timedelta(days=30, minutes=1), begun, 24) == begun + timedelta(days=31)
    assert next_every(begun - timedelta(days=2), begun, 6) == begun + timedelta(hours=6)


@pytest.mark.parametrize(
    ("job", "codes"),
    [
        (Job("a", time="04:30"), []),
        (Job("a", time="04:30", days=("sun",)), []),
        (Job("a", every_h=24), []),
        (Job("a", every_h=23), ["restarts-often"]),
        (Job("a"), ["job-without-time"]),
        (Job("a", time="04:30", every_h=24), ["job-without-time"]),
        (Job("a", every_h=24, days=("sun",)), ["job-without-time"]),
        *(
            (Job("a", time=text), ["bad-job-time"])
            for text in ("24:00", "4:300", "12:60", "ab:cd", "1\u0662:00")
        ),
    ],
)
def test_what_makes_no_sense_is_said(job: Job, codes: list[str]) -> None:
    assert [item.code for item in validate_all(Document([job]))] == codes


def test_a_job_that_is_disabled_asks_for_nothing() -> None:
    on, off = Job("a", time="04:30", days=("sun",)), Job("b", every_h=24, disabled=True)
    wanted = JOBS.wanted(Document([on, off]))
    assert list(wanted) == ["a"]
    assert [step.text for step in JOBS.made(JOBS.delta({}, wanted))] == ["a: restart at 04:30 sun"]
