# SPDX-License-Identifier: Apache-2.0
"""What answers of many resources have in common. Who signs in needs it before the rest is loaded."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from weir.model import moment as moments
from weir.model.problem import Finding, Invalid

Item = TypeVar("Item")

MAX_FINDINGS = 1000
NO_SETUP: dict[str, Any] = {"needed": False, "reason": None, "lan": None, "ports": [], "presets": []}
"""Of a router that has an account."""


def moment(milliseconds: int | None) -> str | None:
    """Unix milliseconds as RFC 3339 text in UTC."""
    return None if milliseconds is None else moments.moment(milliseconds, "milliseconds")


def findings_json(findings: Iterable[Finding]) -> list[dict[str, Any]]:
    listed = list(findings)[:MAX_FINDINGS]
    return [finding.to_json() for finding in listed]


def read_number(cursor: str | None) -> int | None:
    """A cursor that is a number. Raises Invalid for anything else."""
    if cursor is None:
        return None
    if not (cursor.isascii() and cursor.isdigit() and len(cursor) < 12):
        raise Invalid(f"{cursor!r} is not a cursor of this list", code="bad-cursor", path="cursor")
    return int(cursor)


def page_of(
    items: Sequence[Item], render: Callable[[Item], dict[str, Any]], query: Mapping[str, Any]
) -> dict[str, Any]:
    """A page of a list that is held whole; the cursor is the index of its first item."""
    start, limit = read_number(query["cursor"]) or 0, query["limit"]
    return {
        "items": [render(item) for item in items[start : start + limit]],
        "next_cursor": str(start + limit) if start + limit < len(items) else None,
        "total": len(items),
    }
