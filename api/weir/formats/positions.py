# SPDX-License-Identifier: Apache-2.0
"""Positions of imported queues: the order of the file, with as few changes to existing ones as possible.

Only the order among siblings has a meaning, so each group of siblings is placed by itself. In a group
the longest run of queues that already stand in the file's order keeps its positions
(longest increasing subsequence); the others are put between them.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from weir.model.document import POSITION_STEP
from weir.model.limits import MAX_POSITION


class Placed(NamedTuple):
    """One queue in the file's order; `current` is its (position, id) when it exists under the same parent."""

    parent: str | None
    current: tuple[int, str] | None


def assign_positions(items: Iterable[Placed], highest: int) -> array[int]:
    """Positions in the order of `items`; `highest` is the largest position in use before the import."""
    groups: dict[str | None, array[int]] = {}
    present: dict[int, tuple[int, str]] = {}
    count = 0
    for index, item in enumerate(items):
        groups.setdefault(item.parent, array("L")).append(index)
        if item.current is not None:
            present[index] = item.current
        count += 1
    positions = array("q", (highest + POSITION_STEP * (index + 1) for index in range(count)))
    for members in groups.values():
        placed = _place_group([present.get(index) for index in members]) if present else None
        if placed is not None:
            for index, position in zip(members, placed, strict=True):
                positions[index] = position
    return positions


def _place_group(current: Sequence[tuple[int, str] | None]) -> list[int] | None:
    """Positions of one group around the queues that stay; None when none stays or a gap is too narrow."""
    stays = _longest_increasing(current)
    if not stays:
        return None
    placed: list[int] = []
    for index in stays:
        here = current[index]
        assert here is not None
        count = index - len(placed)
        low = placed[-1] if placed else max(here[0] - POSITION_STEP * (count + 1), -1)
        if count > here[0] - low - 1 and count:
            return None
        width = here[0] - low
        placed.extend(low + width * (number + 1) // (count + 1) for number in range(count))
        placed.append(here[0])
    last = placed[-1]
    placed.extend(last + POSITION_STEP * (number + 1) for number in range(len(current) - len(placed)))
    return placed if placed[-1] <= MAX_POSITION else None


def _longest_increasing(keys: Sequence[tuple[int, str] | None]) -> list[int]:
    """Indexes of a longest strictly increasing subsequence of the keys that are not None."""
    tails: list[tuple[int, str]] = []
    tail_index: list[int] = []
    before: dict[int, int | None] = {}
    for index, key in enumerate(keys):
        if key is None:
            continue
        at = bisect_left(tails, key)
        before[index] = tail_index[at - 1] if at else None
        if at == len(tails):
            tails.append(key)
            tail_index.append(index)
        else:
            tails[at] = key
            tail_index[at] = index
    chain: list[int] = []
    step: int | None = tail_index[-1] if tail_index else None
    while step is not None:
        chain.append(step)
        step = before[step]
    return chain[::-1]
