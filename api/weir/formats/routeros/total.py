# SPDX-License-Identifier: Apache-2.0
"""The `total-*` properties: one budget for both directions of a queue."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from weir.formats.draft import Draft
from weir.formats.quantity import priority, rate_bps, time_ms
from weir.formats.report import quoted
from weir.model.limits import LOW_RATE_BPS, MAX_BUCKET_SIZE_MS, MAX_BURST_TIME_MS
from weir.model.objects import NO_TOTAL


def _burst_time(text: str) -> int:
    return _bounded_ms(text, MAX_BURST_TIME_MS)


def _bucket_size(text: str) -> int:
    return _bounded_ms(text, MAX_BUCKET_SIZE_MS)


def _bounded_ms(text: str, highest_ms: int) -> int:
    value = time_ms(text)
    if value > highest_ms:
        raise ValueError(f"at most {highest_ms // 1000} s")
    return value


_FIELDS: dict[str, tuple[str, Callable[[str], int | str]]] = {
    "total-max-limit": ("max_limit_bps", rate_bps),
    "total-limit-at": ("limit_at_bps", rate_bps),
    "total-burst-limit": ("burst_limit_bps", rate_bps),
    "total-burst-threshold": ("burst_threshold_bps", rate_bps),
    "total-burst-time": ("burst_time_ms", _burst_time),
    "total-priority": ("priority", priority),
    "total-queue": ("queue_type", str),
    "total-bucket-size": ("bucket_size_ms", _bucket_size),
}


def read_total(draft: Draft, properties: Mapping[str, str]) -> None:
    """Set `draft.values["total"]`. Raises `ValueError` with the sentence for the report."""
    found: dict[str, int | str] = {}
    for key, value in properties.items():
        if not key.startswith("total-"):
            continue
        if key not in _FIELDS:
            draft.line.note("warning", "unknown-property", f"{key} is not known and was left off.")
            continue
        if value == "":
            continue
        field, read = _FIELDS[key]
        try:
            found[field] = read(value)
        except ValueError as error:
            raise ValueError(f"{key}={quoted(value)}: {error}.") from error
        if field.endswith("_bps") and 0 < int(found[field]) < LOW_RATE_BPS:
            draft.line.note(
                "warning", "low-rate", f"{key}={value}: a bare number is in bit/s. Was a k or M forgotten?"
            )
    if found:
        draft.values["total"] = replace(NO_TOTAL, **found)  # type: ignore[arg-type]
