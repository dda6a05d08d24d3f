# SPDX-License-Identifier: Apache-2.0
"""Figures as the JSON rows of `stats/queues`; rounding is done on whole columns, not value by value."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from weir.stats.absent import IDLE, NO_CLASS, UNMEASURED, Absent
from weir.stats.layout import COUNTERS
from weir.stats.rates import BYTES, DELAY_US, DROPS, FAST_BYTES, MARKS, PACKETS

MINUTE_BPS, TOTAL_BYTES, TOTAL_DROPS, WORST_US = range(len(COUNTERS), len(COUNTERS) + 4)
Figures = npt.NDArray[np.float64]


def rows(
    ids: Sequence[str],
    slots: Sequence[int],
    figures: Figures,
    absent: Absent,
    measured: Sequence[object] | None = None,
) -> list[dict[str, Any]]:
    """One row per id. `figures[kind, 2 * i + direction]`; a slot of 0 means that the queue has no class, and
    `measured` is false for one that was read less than twice (None: all were read so).

    What has no value is None, and a reason stands beside it; so does one beside a share of 0, if it is known.
    """
    if not ids:
        return []
    measured = slots if measured is None else measured
    passed = figures[BYTES].reshape(-1, 2).sum(axis=1)
    fast = figures[FAST_BYTES].reshape(-1, 2).sum(axis=1)
    share = np.round(np.minimum(fast / np.maximum(passed, 1e-9), 1.0), 4).tolist()
    delay = _pairs(np.round(figures[DELAY_US] / np.maximum(figures[PACKETS], 1e-9), 1))
    worst = _pairs(np.round(figures[WORST_US], 1))
    rate = _pairs(np.rint(figures[BYTES] * 8))
    minute = _pairs(np.rint(figures[MINUTE_BPS]))
    packets = _pairs(np.round(figures[PACKETS], 1))
    drops = _pairs(np.round(figures[DROPS], 1))
    marks = _pairs(np.round(figures[MARKS], 1))
    total_bytes = _pairs(figures[TOTAL_BYTES].astype(np.int64))
    total_drops = _pairs(figures[TOTAL_DROPS].astype(np.int64))
    why = [
        NO_CLASS if not slot else UNMEASURED if not known else "" if packets_passed else IDLE
        for packets_passed, slot, known in zip((passed > 0).tolist(), slots, measured, strict=True)
    ]
    no_delay = [absent.delay or reason for reason in why]
    no_share = [absent.fast or reason for reason in why]
    return [
        {
            "id": name,
            "live": slots[i] > 0 and bool(measured[i]),
            "rate_bps": rate[i],
            "minute_rate_bps": minute[i],
            "packets_ps": packets[i],
            "drops_ps": drops[i],
            "marks_ps": marks[i],
            "bytes": total_bytes[i],
            "drops": total_drops[i],
            "delay_us": None if no_delay[i] else delay[i],
            "worst_delay_us": None if no_delay[i] else worst[i],
            "delay_reason": no_delay[i] or None,
            "fast_share": None if no_share[i] else share[i],
            "fast_share_reason": no_share[i] or (absent.partly_slow if share[i] == 0.0 else "") or None,
        }
        for i, name in enumerate(ids)
    ]


def _pairs(values: npt.NDArray[Any]) -> list[dict[str, Any]]:
    numbers = values.tolist()
    return [
        {"upload": upload, "download": download}
        for upload, download in zip(numbers[::2], numbers[1::2], strict=True)
    ]
