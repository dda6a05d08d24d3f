# SPDX-License-Identifier: Apache-2.0
"""Moments as people and programs outside read them."""

from __future__ import annotations

from datetime import UTC, datetime

from weir.model.problem import Invalid


def moment(at_ms: int, precision: str = "seconds") -> str:
    """Unix milliseconds as RFC 3339 text in UTC; `precision` as `timespec` of `datetime.isoformat`."""
    return datetime.fromtimestamp(at_ms / 1000, UTC).isoformat(timespec=precision).replace("+00:00", "Z")


def ms_of(text: str) -> int:
    """Unix milliseconds of such a text, which names its time zone. Raises `Invalid`."""
    try:
        found = datetime.fromisoformat(text)
        if found.tzinfo is None:
            raise ValueError
        return round(found.timestamp() * 1000)
    except (ValueError, OverflowError) as error:
        raise Invalid(f"{text!r} is no time as 2026-01-31T08:00:00Z", code="bad-time") from error
