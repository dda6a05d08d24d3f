# SPDX-License-Identifier: Apache-2.0
"""The queue tree and its order: the list is walked by position, then id, and children before their parent.

That is the order in which a packet looks for its queue (docs/adr/0010), so "ranks before" below means
"wins over". Every walk stops at a parent that is missing and at a cycle.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from weir.model.document import POSITION_STEP, Change, Document
from weir.model.interface import Interface
from weir.model.limits import MAX_POSITION
from weir.model.objects import Queue
from weir.model.problem import Invalid, NotFound

RankKey = tuple[tuple[float, str], ...]
MAX_WALK = 64
"""Far more levels than a valid document has."""

_AFTER_ALL_CHILDREN = (float("inf"), "")


def ancestors(document: Document, queue: Queue) -> Iterator[Queue]:
    """Parent, grandparent and so on up; at most `MAX_WALK`, so that no document makes the rules slow."""
    seen = {queue.id}
    above = document.queue(queue.parent)
    while above is not None and above.id not in seen and len(seen) <= MAX_WALK:
        yield above
        seen.add(above.id)
        above = document.queue(above.parent)


def tightest_download(document: Document, queue: Queue | None) -> Queue | None:
    """The queue with the lowest limit of the download: this one, or one above it. None: none has one."""
    line = () if queue is None else (queue, *ancestors(document, queue))
    limited = [item for item in line if item.max_limit_bps.download and not item.disabled]
    return min(limited, key=lambda item: item.max_limit_bps.download, default=None)


def subtree_ids(document: Document, queue_id: str, walked: set[str] | None = None) -> Iterator[str]:
    """The id itself and every queue below it, whether or not a queue of that id exists.

    With a shared `walked`, subtrees that an earlier walk gave are left out, so that many walks in one
    tree cost no more than the tree.
    """
    walked = set() if walked is None else walked
    waiting = [queue_id]
    while waiting:
        current = waiting.pop()
        if current not in walked:
            walked.add(current)
            yield current
            waiting.extend(document.children_of(current))


def rank_key(document: Document, queue: Queue) -> RankKey:
    """Sorts queues into matching order: smaller is looked at first."""
    return rank_below(ancestors(document, queue), queue)


def rank_below(line: Iterable[Queue], queue: Queue) -> RankKey:
    """As `rank_key`, of a queue whose ancestors are known."""
    path: list[tuple[float, str]] = [_AFTER_ALL_CHILDREN, (queue.position, queue.id)]
    path.extend((above.position, above.id) for above in line)
    path.reverse()
    return tuple(path)


def children_in_order(document: Document, parent: str | None) -> list[Queue]:
    """The queues directly below a parent (None: the top level), in list order."""
    found = (document.queue(child) for child in document.children_of(parent))
    return sorted(
        (child for child in found if child is not None), key=lambda child: (child.position, child.id)
    )


def changes_to_move(document: Document, queue_id: str, before: str | None) -> list[Change]:
    """The changes that put a queue before a sibling, or at the end of its list with None.

    One change where there is room between two positions; else the siblings behind it move up as well.
    Raises `NotFound` for an unknown queue and `Invalid` when `before` is no sibling.
    """
    queue = document.queue(queue_id)
    if queue is None:
        raise NotFound(f"there is no queue {queue_id!r}", path=f"queue/{queue_id}")
    if before == queue_id:
        return []
    others = [child for child in children_in_order(document, queue.parent) if child.id != queue_id]
    at = next((index for index, child in enumerate(others) if child.id == before), None)
    if before is not None and at is None:
        raise Invalid(
            f"queue {queue.name!r} cannot move before {before!r}: they are not in the same list",
            code="not-a-sibling",
            path=f"queue/{queue_id}/position",
        )
    at = len(others) if at is None else at
    return _place(others, at, queue)


def _place(others: list[Queue], at: int, queue: Queue) -> list[Change]:
    low = others[at - 1].position if at else -1
    if at == len(others):
        middle = low + POSITION_STEP if others else queue.position
    else:
        middle = (low + others[at].position) // 2
    if low < middle <= MAX_POSITION and (at == len(others) or middle < others[at].position):
        return _moved(queue, middle)
    changes: list[Change] = []
    for index, item in enumerate([*others[:at], queue, *others[at:]], start=1):
        changes.extend(_moved(item, index * POSITION_STEP))
    return changes


def _moved(queue: Queue, position: int) -> list[Change]:
    if queue.position == position:
        return []
    return [Change("queue", queue.id, queue, replace(queue, position=position))]


def vlan_parents(document: Document, interface: Interface) -> Iterator[Interface]:
    """What a VLAN is stacked on, the nearest first; ends where one is not configured, or comes again."""
    seen = {interface.id}
    while interface.vlan is not None:
        below = document.interface(interface.vlan.parent)
        if below is None or below.id in seen:
            return
        seen.add(below.id)
        yield below
        interface = below
