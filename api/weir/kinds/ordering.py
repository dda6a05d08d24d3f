# SPDX-License-Identifier: Apache-2.0
"""The order of objects whose kind has one: who comes before whom, and what a move changes."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from weir.fields.position import MAX_POSITION, STEP, Position
from weir.kinds.declaration import Declaration
from weir.model.document import Change, Document
from weir.model.objects import ConfigObject
from weir.model.problem import Invalid, NotFound


def list_of(declaration: Declaration, item: ConfigObject) -> Hashable:
    """Which list an object is in: those that differ in a field of `within` have no order among them."""
    order = order_of(declaration)
    return tuple(getattr(item, name) for name in order.within)


def order_of(declaration: Declaration) -> Position:
    """Raises `Invalid` for a kind without an order."""
    if declaration.order is None:
        raise Invalid(f"{declaration.plural} have no order", code="not-ordered")
    return declaration.order


def in_order(document: Document, declaration: Declaration, within: Hashable) -> list[Any]:
    """The objects of one list, the first that applies first. Equal positions are ordered by id."""
    found = (
        item for item in document.of_kind(declaration.kind).values() if list_of(declaration, item) == within
    )
    return sorted(found, key=lambda item: (item.position, item.id))


def end_position(document: Document, declaration: Declaration, within: Hashable) -> int:
    """A position behind all objects of a list."""
    positions = (
        item.position  # type: ignore[attr-defined]
        for item in document.of_kind(declaration.kind).values()
        if list_of(declaration, item) == within
    )
    return min(max(positions, default=0) + STEP, MAX_POSITION)


def changes_to_move(
    document: Document, declaration: Declaration, object_id: str, before: str | None, after: str | None
) -> list[Change]:
    """The changes that put an object before or after another one, or at the end with neither.

    One change where there is room between two positions, which is 32 times at the same place; else as few
    neighbours as have room between them are spread. Raises `NotFound`, and `Invalid` (`not-a-sibling`) for
    another list.
    """
    item: Any = document.get(declaration.kind, object_id)
    if item is None:
        raise NotFound(
            f"there is no {declaration.kind} {object_id!r}", path=f"{declaration.kind}/{object_id}"
        )
    neighbour = before if before is not None else after
    if neighbour == object_id:
        return []
    within = list_of(declaration, item)
    others = [other for other in in_order(document, declaration, within) if other.id != object_id]
    at = _place(declaration, others, object_id, before, after)
    return _spread(declaration, [*others[:at], item, *others[at:]], at)


def _place(
    declaration: Declaration, others: Sequence[Any], object_id: str, before: str | None, after: str | None
) -> int:
    neighbour = before if before is not None else after
    if neighbour is None:
        return len(others)
    at = next((index for index, other in enumerate(others) if other.id == neighbour), None)
    if at is None:
        raise Invalid(
            f"{declaration.short} {object_id!r} cannot move next to {neighbour!r}: it is in another list",
            code="not-a-sibling",
            path=f"{declaration.kind}/{object_id}/position",
        )
    return at if before is not None else at + 1


def _spread(declaration: Declaration, wanted: Sequence[Any], at: int) -> list[Change]:
    """Positions for the one at an index, and for as many around it as need another one."""
    if at == len(wanted) - 1:
        last = wanted[at - 1].position if at else 0
        if last + STEP <= MAX_POSITION:
            return _moved(declaration, wanted[at], last + STEP)
    first, end, reach = at, at + 1, 1
    while True:
        low = wanted[first - 1].position if first else -1
        high = wanted[end].position if end < len(wanted) else MAX_POSITION + 1
        count = end - first
        if high - low > count and (count == 1 or high - low > count * 2**8 or count == len(wanted)):
            gap = (high - low) // (count + 1)
            break
        first, end, reach = max(first - reach, 0), min(end + reach, len(wanted)), reach * 2
    return [
        change
        for number, item in enumerate(wanted[first:end], start=1)
        for change in _moved(declaration, item, low + number * max(gap, 1))
    ]


def _moved(declaration: Declaration, item: Any, position: int) -> list[Change]:
    if item.position == position:
        return []
    return [Change(declaration.kind, item.id, item, replace(item, position=position))]


def last_positions(
    document: Document, declaration: Declaration, items: Sequence[Mapping[str, Any]]
) -> list[int]:
    """Positions for new objects, given as JSON: each behind those that are in its list, and one another."""
    order, defaults = order_of(declaration), declaration.defaults
    ends: dict[str, int] = {}
    found = []
    for item in items:
        within = [item.get(name, defaults.get(name)) for name in order.within]
        key = repr(within)
        last = ends.get(key)
        if last is None:
            last = end_position(document, declaration, tuple(within)) - STEP
        ends[key] = min(last + STEP, MAX_POSITION)
        found.append(ends[key])
    return found
