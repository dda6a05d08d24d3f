# SPDX-License-Identifier: Apache-2.0
"""Large indexes at rest: sorted arrays of plain numbers with the ids beside them (docs/adr/0035).

Nothing here changes after it was made; what changes later lies over it in a dictionary of the owner's.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from typing import Generic, TypeVar

T = TypeVar("T")

_LENGTH_BITS = 8
_V6_BIT = 1 << 136
_WORD = (1 << 64) - 1


class FrozenNames:
    """Text -> ids, by the hash of the text: the text itself is in the object, and is compared there."""

    __slots__ = ("_hashes", "_ids")

    def __init__(self, hashes: Sequence[int] = (), ids: Sequence[str] = ()) -> None:
        """`hashes[i]` is the hash of what `ids[i]` is called, in any order."""
        order = sorted(range(len(ids)), key=hashes.__getitem__)
        self._hashes = array("q", (hashes[at] for at in order))
        self._ids = [ids[at] for at in order]

    def __len__(self) -> int:
        return len(self._ids)

    def candidates(self, text: str) -> list[str]:
        """Those that have this text, and perhaps others whose text has the same hash."""
        number = hash(text)
        low = bisect_left(self._hashes, number)
        return self._ids[low : bisect_right(self._hashes, number, low)]


class FrozenPrefixes(Generic[T]):
    """Packed prefixes of domain 0 (`weir.model.claims.pack`) in address order, each with a value.

    IPv4 fits one 64-bit word with its length; IPv6 is two words and a length.
    """

    __slots__ = ("_high", "_length", "_low", "_v4", "values")

    def __init__(self, items: Iterable[tuple[int, T]] = ()) -> None:
        """Items in ascending order of their prefixes."""
        self._v4, self._high, self._low = array("Q"), array("Q"), array("Q")
        self._length = bytearray()
        self.values: list[T] = []
        for packed, value in items:
            self.values.append(value)
            if packed < _V6_BIT:
                self._v4.append(packed)
            else:
                high, low, length = _words(packed)
                self._high.append(high)
                self._low.append(low)
                self._length.append(length)

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, at: int) -> int:
        if at < len(self._v4):
            return self._v4[at]
        at -= len(self._v4)
        value = self._high[at] << 64 | self._low[at]
        return _V6_BIT | value << _LENGTH_BITS | self._length[at]

    def __iter__(self) -> Iterator[int]:
        return map(self.__getitem__, range(len(self.values)))

    def lower(self, packed: int) -> int:
        """How many prefixes are smaller."""
        if packed < _V6_BIT:
            return bisect_left(self._v4, packed)
        if packed >= _V6_BIT << 1:
            return len(self.values)
        high, low, length = _words(packed)
        first = bisect_left(self._high, high)
        first, last = _equal(self._low, low, first, bisect_right(self._high, high, first))
        return len(self._v4) + bisect_left(self._length, length, first, last)

    def place(self, packed: int) -> int | None:
        """The index of a prefix, None when it is not here."""
        if packed < _V6_BIT:
            at = bisect_left(self._v4, packed)
            return at if at < len(self._v4) and self._v4[at] == packed else None
        if packed >= _V6_BIT << 1:  # of another domain
            return None
        high = packed >> _LENGTH_BITS + 64 & _WORD
        at = bisect_left(self._high, high)
        if at == len(self._high) or self._high[at] != high:  # most questions are about nothing
            return None
        if at + 1 == len(self._high) or self._high[at + 1] != high:  # nearly always, of what customers have
            _, low, length = _words(packed)
            return len(self._v4) + at if self._low[at] == low and self._length[at] == length else None
        at = self.lower(packed)
        return at if at < len(self.values) and self[at] == packed else None


def _words(packed: int) -> tuple[int, int, int]:
    value = packed >> _LENGTH_BITS
    return value >> 64 & _WORD, value & _WORD, packed & 0xFF


def _equal(words: array[int], word: int, first: int, last: int) -> tuple[int, int]:
    """Where within [first, last) a word stands; an empty range at its place when it does not."""
    low = bisect_left(words, word, first, last)
    return low, bisect_right(words, word, low, last)
