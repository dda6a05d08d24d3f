# SPDX-License-Identifier: Apache-2.0
"""What is made when it is first asked for."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from threading import Lock
from typing import TypeVar

T = TypeVar("T")


def once(work: Callable[[], T]) -> Callable[[], T]:
    """What `work` gives: the first caller has it worked out, and those who come meanwhile wait for him."""
    known, turn = cache(work), Lock()

    def answer() -> T:
        with turn:
            return known()

    return answer
