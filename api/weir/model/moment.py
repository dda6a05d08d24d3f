# SPDX-License-Identifier: Apache-2.0
"""Moments as people and programs outside read them."""

from __future__ import annotations

from datetime import UTC, datetime


def moment(at_ms: int, precision: str = "seconds") -> str:
    """Unix milliseconds as RFC 3339 text in UTC; `precision` as `timespec` of `datetime.isoformat`."""
    return datetime.fromtimestamp(at_ms / 1000, UTC).isoformat(timespec=precision).replace("+00:00", "Z")
