# SPDX-License-Identifier: Apache-2.0
"""The ordered walk of a simple queue list, written from RouterOS' manual and nothing of the compiler's.

"The list is ordered and the first match wins"; a parent captures its children's traffic, so a packet that
a queue matches is tried on that queue's children, in their order, and stays with the deepest that matches.
A queue that is disabled, or outside its hours, matches nothing: the next one in the list is tried. In
RouterOS a parent's target holds its children's; in Weir it may have none, and takes what such a child leaves.
A queue with a `dst` matches only packets whose far end it names. Weir cannot say "through this interface and
with that prefix" in one: such a queue matches nothing.
"""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from datetime import datetime

from weir.model.objects import Queue

DAY_NAMES = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")


@dataclass(frozen=True)
class Packet:
    """The address that targets are compared with and its domain, and the far end: its address, and the
    interface there."""

    address: str
    domain: int = 0
    far: str = "192.0.2.1"
    behind: str = "eth9"


def first_match(queues: list[Queue], packet: Packet, now: datetime) -> str | None:
    """The id of the queue that takes this packet, or None."""
    return _walk(queues, None, (), packet, now)


def _walk(
    queues: list[Queue], parent: str | None, above: tuple[str, ...], packet: Packet, now: datetime
) -> str | None:
    siblings = [queue for queue in queues if queue.parent == parent]
    for queue in sorted(siblings, key=lambda queue: (queue.position, queue.id)):
        dst = above if queue.dst is None else (*above, queue.dst)
        if queue.disabled or not _open(queue, now) or not _is_there(dst, packet):
            continue
        if not queue.target:
            below = _walk(queues, queue.id, dst, packet, now)
            if below is not None:
                return below
            if any(_leaves(queues, child, dst, packet, now) for child in queues if child.parent == queue.id):
                return queue.id
        elif any(_is_of(text, packet) for text in queue.target):
            return _walk(queues, queue.id, dst, packet, now) or queue.id
    return None


def _leaves(
    queues: list[Queue],
    queue: Queue,
    dst: tuple[str, ...],
    packet: Packet,
    now: datetime,
    is_above_idle: bool = False,
) -> bool:
    """Whether the packet would be this queue's, or one's below it, if it were in force.

    Not if that hangs on a far end that the one which would take it does not name (`dst`: what it names).
    """
    if not is_above_idle and not queue.disabled and _open(queue, now):
        return False
    if queue.dst is not None and not any(_is_within(text, queue.dst) for text in dst):
        return False
    if not queue.target:
        children = [child for child in queues if child.parent == queue.id]
        return any(_leaves(queues, child, dst, packet, now, True) for child in children)
    return any(_is_of(text, packet) for text in queue.target)


def _is_within(inner: str, outer: str) -> bool:
    if "/" not in inner or "/" not in outer:
        return inner == outer
    one, other = ipaddress.ip_network(inner), ipaddress.ip_network(outer)
    return one.version == other.version and one.subnet_of(other)  # type: ignore[arg-type]


def _is_there(dst: tuple[str, ...], packet: Packet) -> bool:
    """Whether the far end is all that these name."""
    if len({"/" in text for text in dst}) > 1:
        return False
    return all(_holds(text, packet.far) if "/" in text else text == packet.behind for text in dst)


def _is_of(target: str, packet: Packet) -> bool:
    """Whether a target, perhaps one of a domain, holds the packet's near end."""
    network, _, domain = target.partition("@")
    return int(domain or 0) == packet.domain and _holds(network, packet.address)


def _holds(network: str, address: str) -> bool:
    return ipaddress.ip_address(address) in ipaddress.ip_network(network)


def _open(queue: Queue, now: datetime) -> bool:
    if queue.time is None:
        return True
    minute = now.hour * 60 + now.minute
    return queue.time.start_min <= minute < queue.time.end_min and DAY_NAMES[now.weekday()] in queue.time.days
