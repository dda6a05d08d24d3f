# SPDX-License-Identifier: Apache-2.0
"""From an operator's rate and bucket to one direction's clock."""

from __future__ import annotations

from functools import lru_cache

from weir.compiler.types import OWN_WAITING, ClockSpec, Waiting
from weir.compiler.waiting import waiting_of
from weir.model.document import Document
from weir.model.objects import Queue

MIN_BURST_BYTES = 4 * 1514
"""Four full Ethernet frames: below this a packet in flight is enough to make a policer drop the next one."""

MIN_BURST_MS = 20
"""A policer with less lets TCP fall far below the limit (facts of the trials: docs/adr/0012)."""

NO_BURST = (0, 0, 0)


@lru_cache(maxsize=1 << 12)  # tariffs, not customers: rates that change make a new one each time
def clock_spec(
    rate_bps: int,
    bucket_size_ms: int,
    guarantee_bps: int = 0,
    priority: int = 8,
    burst: tuple[int, int, int] = NO_BURST,
    waiting: Waiting = OWN_WAITING,
) -> ClockSpec:
    """RouterOS manual, htb: bucket capacity = bucket-size (s) x max-limit; here in bytes, with a floor.

    `burst_bytes = max(rate_bps / 8 x max(bucket_size_ms, 20) / 1000, 6056)`. A rate of 0 is unlimited.
    `burst` is (limit in bit/s, threshold in bit/s, time in ms).
    """
    if rate_bps == 0:
        return ClockSpec(0, 0, guarantee_bps, priority, waiting=waiting)
    burst_bytes = max(rate_bps * max(bucket_size_ms, MIN_BURST_MS) // 8000, MIN_BURST_BYTES)
    if burst[0] <= rate_bps or not burst[1] or not burst[2]:
        burst = NO_BURST
    return ClockSpec(rate_bps, burst_bytes, guarantee_bps, priority, *burst, waiting)


UNLIMITED = ClockSpec(0, 0)


def has_total(queue: Queue) -> bool:
    """Whether the queue asks for a limit that both directions share."""
    return bool(queue.total.max_limit_bps or queue.total.limit_at_bps)


def total_clock_of(queue: Queue, document: Document) -> ClockSpec:
    """The clock that both directions share."""
    total = queue.total
    return clock_spec(
        total.max_limit_bps,
        total.bucket_size_ms,
        total.limit_at_bps,
        total.priority,
        (total.burst_limit_bps, total.burst_threshold_bps, total.burst_time_ms),
        waiting_of(document, total.queue_type),
    )


def clocks_of(queue: Queue, document: Document) -> tuple[ClockSpec, ClockSpec]:
    """Upload and download."""
    rate, bucket, guarantee, priority = (
        queue.max_limit_bps,
        queue.bucket_size_ms,
        queue.limit_at_bps,
        queue.priority,
    )
    limit, threshold, time = queue.burst_limit_bps, queue.burst_threshold_bps, queue.burst_time_ms
    return (
        clock_spec(
            rate.upload,
            bucket.upload,
            guarantee.upload,
            priority.upload,
            (limit.upload, threshold.upload, time.upload),
            waiting_of(document, queue.queue_type.upload),
        ),
        clock_spec(
            rate.download,
            bucket.download,
            guarantee.download,
            priority.download,
            (limit.download, threshold.download, time.download),
            waiting_of(document, queue.queue_type.download),
        ),
    )
