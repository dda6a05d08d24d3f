# SPDX-License-Identifier: Apache-2.0
"""The order in which queues are written: readable, and such that a reader has seen every parent before."""

from __future__ import annotations

from collections.abc import Iterator

from weir.model.document import Document
from weir.model.objects import Queue


def parents_first(document: Document) -> Iterator[Queue]:
    """Every queue once: siblings by (position, id), each followed by the queues below it.

    One by one: at no time do all of them exist as objects.
    """

    def below(parent: str | None) -> list[str]:
        found = (document.queue(item) for item in document.children.get(parent, ()))
        places = [(queue.position, queue.id) for queue in found if queue is not None]
        return [queue_id for _, queue_id in sorted(places, reverse=True)]

    stack = [*_orphans(document), *below(None)]
    seen: set[str] = set()
    while stack:
        queue = document.queue(stack.pop())
        if queue is not None and queue.id not in seen:
            seen.add(queue.id)
            yield queue
            stack.extend(below(queue.id))


def _orphans(document: Document) -> list[str]:
    queues = document.of_kind("queue")
    return [queue.id for queue in document.queues() if queue.parent and queue.parent not in queues]
