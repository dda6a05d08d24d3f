# SPDX-License-Identifier: Apache-2.0
"""Which part of a delegated prefix each network inside has. Pure."""

from __future__ import annotations

from collections.abc import Mapping


def assigned(asked: Mapping[str, int | None], count: int, known: Mapping[str, int]) -> dict[str, int]:
    """By interface, a number below `count`; without those for which there is none.

    `asked`: the number that is configured, or None for any. That is the one that it had (`known`), or else
    the first that nobody has or had; when there is no such one, the first that nobody has now.
    """
    found = {name: number for name, number in asked.items() if number is not None and number < count}
    taken = set(found.values())
    free = sorted(name for name, number in asked.items() if number is None)
    for name in free:
        number = known.get(name)
        if number is not None and number < count and number not in taken:
            found[name] = number
            taken.add(number)
    had = taken | {number for name, number in known.items() if name not in asked}
    for name in free:
        if name not in found:
            number = _first_without(had, count)
            number = _first_without(taken, count) if number is None else number
            if number is not None:
                found[name] = number
                taken.add(number)
                had.add(number)
    return found


def _first_without(taken: set[int], count: int) -> int | None:
    return next((number for number in range(min(count, len(taken) + 1)) if number not in taken), None)
