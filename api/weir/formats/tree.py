# SPDX-License-Identifier: Apache-2.0
"""The order in which queues are written: readable, and such that a reader has seen every parent before."""

from __future__ import annotations

from collections.abc import Iterator

from weir.model.document import Document
from weir.model.objects import Queue


def parents_first(document: Document) -> Iterator[Queue]:
    """Every queue once: siblings by (position, id), each followed by the queues below it."""

    def below(parent: str | None) -> list[Queue]:
        found = [document.queue(item) for item in document.children.get(parent, ())]
        queues = [queue for queue in found if queue is not None]
        return sorted(queues, key=lambda queue: (queue.position, queue.id), reverse=True)

    orphans = [queue for queue in document.queues() if queue.parent and document.queue(queue.parent) is None]
    stack = [*orphans, *below(None)]
    seen: set[str] = set()
    while stack:
        queue = stack.pop()
        if queue.id not in seen:
            seen.add(queue.id)
            yield queue
            stack.extend(below(queue.id))
