# SPDX-License-Identifier: Apache-2.0
"""From an operator's rate and bucket to one direction's clock."""

from __future__ import annotations

from functools import lru_cache

from weir.compiler.types import ClockSpec
from weir.model.objects import Queue

MIN_BURST_BYTES = 4 * 1514
"""Four full Ethernet frames: below this a packet in flight is enough to make a policer drop the next one."""

MIN_BURST_MS = 20
"""A policer with less lets TCP fall far below the limit (facts of the trials: docs/adr/0012)."""


@lru_cache(maxsize=1 << 16)
def clock_spec(rate_bps: int, bucket_size_ms: int, guarantee_bps: int = 0, priority: int = 8) -> ClockSpec:
    """RouterOS manual, htb: bucket capacity = bucket-size (s) x max-limit; here in bytes, with a floor.

    `burst_bytes = max(rate_bps / 8 x max(bucket_size_ms, 20) / 1000, 6056)`. A rate of 0 is unlimited.
    """
    if rate_bps == 0:
        return ClockSpec(0, 0, guarantee_bps, priority)
    bucket_ms = max(bucket_size_ms, MIN_BURST_MS)
    return ClockSpec(rate_bps, max(rate_bps * bucket_ms // 8000, MIN_BURST_BYTES), guarantee_bps, priority)


def clocks_of(queue: Queue) -> tuple[ClockSpec, ClockSpec]:
    """Upload and download."""
    rate, bucket, guarantee, priority = (
        queue.max_limit_bps,
        queue.bucket_size_ms,
        queue.limit_at_bps,
        queue.priority,
    )
    return (
        clock_spec(rate.upload, bucket.upload, guarantee.upload, priority.upload),
        clock_spec(rate.download, bucket.download, guarantee.download, priority.download),
    )
