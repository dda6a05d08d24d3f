# SPDX-License-Identifier: Apache-2.0
"""The classes of one queue: its own, and its total where both directions share a limit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from weir.compiler.clocks import UNLIMITED, clocks_of, has_total, total_clock_of
from weir.compiler.types import NO_SLOT, ClassSpec, total_id
from weir.model.document import Document
from weir.model.objects import Queue


class Place(NamedTuple):
    """Where a queue hangs: its parent's slot, the nearest total above, and how many are above it."""

    parent_slot: int
    total_slot: int
    depth: int


TOP = Place(NO_SLOT, NO_SLOT, 0)


def classes_of(
    queue: Queue, document: Document, above: Place, slot_for: Callable[[str], int]
) -> list[ClassSpec]:
    """A queue's classes in the order in which they are made: a total is there before it is charged.

    The total's parent is the nearest total above, so that guarantees and priorities count among totals;
    what packets are charged to is each ancestor's own total.
    """
    slot = slot_for(queue.id)
    upload, download = clocks_of(queue, document)
    if not has_total(queue):
        return [ClassSpec(slot, queue.id, above.parent_slot, above.depth, upload, download)]
    total_slot, clock = slot_for(total_id(queue.id)), total_clock_of(queue, document)
    return [
        ClassSpec(total_slot, queue.id, above.total_slot, above.depth, clock, UNLIMITED, is_total=True),
        ClassSpec(slot, queue.id, above.parent_slot, above.depth, upload, download, total_slot),
    ]


def place_below(classes: Sequence[ClassSpec], above: Place) -> Place:
    """The place of a queue's children."""
    own = classes[-1]
    return Place(own.slot, own.total_slot or above.total_slot, above.depth + 1)
