# SPDX-License-Identifier: Apache-2.0
"""Rates of one queue that contradict each other, settled so that what an import proposes can be committed.

RouterOS takes them all. A guarantee above the limit cannot be kept; on a burst limit below the limit the
manual's two pages disagree; a burst without threshold or time never happens and is only named.
"""

from __future__ import annotations

from dataclasses import replace

from weir.formats.draft import Draft
from weir.model.objects import NO_TOTAL, ZERO
from weir.model.pair import shared_pair


def settle_rates(draft: Draft) -> None:
    """Change `draft.values` where it must be, and say so on its line."""
    values = draft.values
    highest = values.get("max_limit_bps", ZERO)
    guarantee = values.get("limit_at_bps", ZERO)
    if guarantee != ZERO:
        lowered = shared_pair(
            _at_most(guarantee.upload, highest.upload), _at_most(guarantee.download, highest.download)
        )
        if lowered != guarantee:
            values["limit_at_bps"] = lowered
            _note_guarantee(draft)
    burst = values.get("burst_limit_bps", ZERO)
    if burst != ZERO:
        kept = shared_pair(
            _not_below(burst.upload, highest.upload), _not_below(burst.download, highest.download)
        )
        if kept != burst:
            values["burst_limit_bps"] = kept
            _note_burst(draft)
        threshold, span = values.get("burst_threshold_bps", ZERO), values.get("burst_time_ms", ZERO)
        if _is_dead(kept.upload, threshold.upload, span.upload) or _is_dead(
            kept.download, threshold.download, span.download
        ):
            draft.line.note(
                "warning", "dead-burst", "A burst without burst-threshold and burst-time never happens."
            )
    if "total" in values:
        _settle_total(draft)


def _settle_total(draft: Draft) -> None:
    total = draft.values.get("total", NO_TOTAL)
    guarantee = _at_most(total.limit_at_bps, total.max_limit_bps)
    burst = _not_below(total.burst_limit_bps, total.max_limit_bps)
    if guarantee != total.limit_at_bps:
        _note_guarantee(draft)
    if burst != total.burst_limit_bps:
        _note_burst(draft)
    if (guarantee, burst) != (total.limit_at_bps, total.burst_limit_bps):
        draft.values["total"] = replace(total, limit_at_bps=guarantee, burst_limit_bps=burst)


def _at_most(guarantee_bps: int, limit_bps: int) -> int:
    return min(guarantee_bps, limit_bps) if limit_bps else guarantee_bps


def _not_below(burst_bps: int, limit_bps: int) -> int:
    return burst_bps if burst_bps >= limit_bps else 0


def _is_dead(burst_bps: int, threshold_bps: int, time_ms: int) -> bool:
    return burst_bps > 0 and not (threshold_bps and time_ms)


def _note_guarantee(draft: Draft) -> None:
    draft.line.note(
        "warning", "guarantee-above-limit", "The guarantee is above the limit: it was lowered to the limit."
    )


def _note_burst(draft: Draft) -> None:
    draft.line.note(
        "warning", "burst-below-limit", "The burst limit is below the limit: that direction has no burst."
    )
