# SPDX-License-Identifier: Apache-2.0
"""What was made of thousands of rules, for who asks again during the same change."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Generic, TypeVar

K = TypeVar("K")
T = TypeVar("T")


class Remembered(Generic[K, T]):
    """A function of something large, with its answers for the last two: before a change and after it.

    They are told apart by `==`, which takes 10 us for two tuples of the same 2,000 rules; a hash of them
    takes a millisecond.
    """

    def __init__(self, make: Callable[[K], T]) -> None:
        self._make = make
        self._known: deque[tuple[K, T]] = deque(maxlen=2)

    def __call__(self, asked: K) -> T:
        for known, answer in tuple(self._known):
            if known == asked:
                return answer
        found = self._make(asked)
        self._known.append((asked, found))
        return found
