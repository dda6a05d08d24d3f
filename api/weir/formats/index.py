# SPDX-License-Identifier: Apache-2.0
"""Which of many numbered things has a key, in 12 to 24 bytes a key: the things keep their keys."""

from __future__ import annotations

from array import array
from collections.abc import Callable

_FIRST_PLACES = 1024
_NUMBER_BITS = 32
_NUMBER = (1 << _NUMBER_BITS) - 1


class Index:
    """A hash table with open addressing of 8 bytes a place: half a hash and a number, or 0 where it is free.

    Whether a thing has the key is asked of `has` where half the hash is the same. As dictionaries of text
    to numbers, the indexes of a file took twice what they lead to.
    """

    def __init__(self, has: Callable[[int, str], bool]) -> None:
        self._has = has
        self._places = array("Q", bytes(8 * _FIRST_PLACES))
        self._count = 0

    def get(self, key: str) -> int | None:
        """The number of what has the key."""
        found = self._places[self._place(key, _half(key))]
        return (found & _NUMBER) - 1 if found else None

    def add(self, key: str, number: int) -> int | None:
        """What has this number, from 0 on, has the key; where another has it already, that stays, and its
        number is returned."""
        if 3 * self._count >= 2 * len(self._places):
            self._grow()
        half = _half(key)
        place = self._place(key, half)
        if found := self._places[place]:
            return (found & _NUMBER) - 1
        self._places[place] = half << _NUMBER_BITS | number + 1
        self._count += 1
        return None

    def _place(self, key: str, half: int) -> int:
        """Where the key is, or a free place for it."""
        places = self._places
        last = len(places) - 1
        place = half & last
        while (found := places[place]) and not (
            found >> _NUMBER_BITS == half and self._has((found & _NUMBER) - 1, key)
        ):
            place = place + 1 & last
        return place

    def _put(self, entry: int) -> None:
        places = self._places
        place = entry >> _NUMBER_BITS & len(places) - 1
        while places[place]:
            place = place + 1 & len(places) - 1
        places[place] = entry

    def _grow(self) -> None:
        before = self._places
        self._places = array("Q", bytes(16 * len(before)))
        for entry in filter(None, before):
            self._put(entry)


def _half(key: str) -> int:
    return hash(key) & _NUMBER
