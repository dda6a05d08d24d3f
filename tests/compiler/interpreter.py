# SPDX-License-Identifier: Apache-2.0
"""The ordered walk of a simple queue list, written from RouterOS' manual and nothing of the compiler's.

"The list is ordered and the first match wins"; a parent captures its children's traffic, so a packet that
a queue matches is tried on that queue's children, in their order, and stays with the deepest that matches.
"""

from __future__ import annotations

import ipaddress
from datetime import datetime

from weir.model.objects import Queue

DAY_NAMES = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")


def first_match(queues: list[Queue], address: str, now: datetime) -> str | None:
    """The id of the queue that takes packets of this address, or None."""
    return _walk(queues, None, ipaddress.ip_address(address), now)


def _walk(
    queues: list[Queue],
    parent: str | None,
    address: ipaddress.IPv4Address | ipaddress.IPv6Address,
    now: datetime,
) -> str | None:
    siblings = [queue for queue in queues if queue.parent == parent]
    for queue in sorted(siblings, key=lambda queue: (queue.position, queue.id)):
        if queue.disabled or queue.dst is not None or not _open(queue, now):
            continue
        if not queue.target:
            below = _walk(queues, queue.id, address, now)
            if below is not None:
                return below
        elif any(address in ipaddress.ip_network(text) for text in queue.target):
            return _walk(queues, queue.id, address, now) or queue.id
    return None


def _open(queue: Queue, now: datetime) -> bool:
    if queue.time is None:
        return True
    minute = now.hour * 60 + now.minute
    return queue.time.start_min <= minute < queue.time.end_min and DAY_NAMES[now.weekday()] in queue.time.days
