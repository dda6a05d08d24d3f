# SPDX-License-Identifier: Apache-2.0
"""How many classes the kernel's tables are made for (docs/adr/0059).

They take their memory whether queues are there or not, so a small router begins with few, and grows at the
start after somebody wanted more. A start is the time for it: then no packet is in the tables.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from weir.adapters.datapath import DEFAULT_CAPACITY
from weir.model.problem import Problem

log = logging.getLogger(__name__)

LEAST = 16_384
SLOT_BYTES = 642
"""Measured: what the tables of 131,072 classes take more than those of 65,536, by class."""
SHARE = 32
"""Of the memory, one part in so many may be held by tables that nobody has filled."""
TARGETS = 8
"""Of a queue: there is room for as many prefixes as classes, and what is stored has to fit at every start."""
FULL = ("too-many-queues", "datapath-full")


class Capacity:
    """`folder` is the agent's own and lasts; what it needs to know about the past is one empty file there."""

    def __init__(self, folder: Path, asked: int = 0, memory_bytes: int | None = None) -> None:
        """`asked`: a number that somebody fixed; 0 leaves it to the memory."""
        self._wish = folder / "full-tables"
        self._asked = asked
        self._memory_bytes = _memory_bytes() if memory_bytes is None else memory_bytes

    def slots(self, queues: Callable[[], int]) -> int:
        """For tables that are made now, with room for `queues`, which is asked only where it decides."""
        if self._asked:
            return self._asked
        if self._wish.exists():
            return DEFAULT_CAPACITY
        slots = LEAST
        while slots < DEFAULT_CAPACITY and slots * 2 * SLOT_BYTES <= self._memory_bytes // SHARE:
            slots *= 2
        if slots >= DEFAULT_CAPACITY or queues() * TARGETS <= slots:
            return slots
        return DEFAULT_CAPACITY

    @contextmanager
    def explaining(self, slots: int) -> Iterator[None]:
        """Around what tables of `slots` may refuse: when the next start makes them larger, that is said."""
        try:
            yield
        except Problem as problem:
            if problem.code not in FULL or self._asked or slots >= DEFAULT_CAPACITY or not self._note():
                raise
            more = f"restart the router, and it has room for {DEFAULT_CAPACITY - 1}"
            raise type(problem)(f"{problem.message}; {more}", code=problem.code) from problem

    def _note(self) -> bool:
        try:
            self._wish.parent.mkdir(mode=0o700, exist_ok=True)
            self._wish.touch()
        except OSError as error:
            log.warning("%s cannot be made: %s", self._wish, error.strerror)
            return False
        return True


def _memory_bytes() -> int:
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
