# SPDX-License-Identifier: Apache-2.0
"""How many classes the kernel's tables are made for (docs/adr/0059, docs/adr/0280).

They take their memory whether queues are there or not, so a router begins with what it can spare, and grows
at the start after somebody wanted more. A start is the time for it: then no packet is in the tables.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from weir.adapters.datapath import DEFAULT_CAPACITY, MAX_CAPACITY
from weir.model.problem import Invalid, Problem, Unsupported
from weir.wire.server import Handler, Peer

log = logging.getLogger(__name__)

LEAST = 16_384
EMPTY_MOST = 262_144
"""Slots of tables that nobody has asked for, however much memory there is."""
SLOT_BYTES = 600
"""Measured: what the tables of 1,048,575 classes take more than those of 131,072, by class."""
EMPTY_SHARE = 32
"""Of the memory, one part in so many may be held by tables that nobody has filled."""
WANTED_SHARE = 8
"""The same of tables that somebody needs."""
ASKED_SHARE = 2
"""The same of tables of a size that somebody fixed."""
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
        self.most = max(_largest(self._memory_bytes // WANTED_SHARE, MAX_CAPACITY), DEFAULT_CAPACITY)
        """That this machine's memory bears."""

    def slots(self, ran: Callable[[], int], stored: Callable[[], int]) -> int:
        """For tables that are made now, with room for the queues that ran last and those of the store, which
        is waited for only where tables are small. Raises `Unsupported` (`tables-too-large`)."""
        if self._asked:
            self._refuse_too_large()
            return self._asked
        if self._wish.exists():
            return self.most
        slots = _largest(self._memory_bytes // EMPTY_SHARE, EMPTY_MOST)
        wanted = max(ran(), stored()) * TARGETS if slots < DEFAULT_CAPACITY else ran() + 1
        return slots if wanted <= slots else min(max(_least(wanted), DEFAULT_CAPACITY), self.most)

    @contextmanager
    def explaining(self, slots: int) -> Iterator[None]:
        """Around what tables of `slots` may refuse: what can be done about it is said as well."""
        try:
            yield
        except Problem as problem:
            more = self.more(slots) if problem.code in FULL else ""
            if not more:
                raise
            raise type(problem)(f"{problem.message}; {more}", code=problem.code) from problem

    def more(self, slots: int, queues: int = 0) -> str:
        """What can be done where tables of `slots` are too small for so many queues (0: it is not known how
        many); "" where nothing can. If a restart is it, the next one makes them larger."""
        if self._asked or slots >= MAX_CAPACITY:
            return ""
        if slots >= self.most or queues >= self.most:
            return f"this machine has memory for {self.most - 1} at most"
        return f"restart the router, and it has room for {self.most - 1}" if self._note() else ""

    def _refuse_too_large(self) -> None:
        if self._asked * SLOT_BYTES <= self._memory_bytes // ASKED_SHARE:
            return
        mib = self._asked * SLOT_BYTES >> 20
        raise Unsupported(
            f"tables of {self._asked} classes take {mib} MiB, more than half of the "
            f"{self._memory_bytes >> 20} MiB of this machine: give --capacity a smaller number, or 0",
            code="tables-too-large",
        )

    def _note(self) -> bool:
        try:
            self._wish.parent.mkdir(mode=0o700, exist_ok=True)
            self._wish.touch()
        except OSError as error:
            log.warning("%s cannot be made: %s", self._wish, error.strerror)
            return False
        return True


class Room:
    """The agent's method `room`: who counts queues before they come asks what can be done about too many."""

    def __init__(self, capacity: Capacity, slots: int) -> None:
        self._more = partial(capacity.more, slots)

    def table(self) -> Mapping[str, Handler]:
        return {"room": self._room}

    def _room(self, params: dict[str, Any], peer: Peer) -> dict[str, Any]:
        queues = params.get("queues")
        if type(queues) is not int:
            raise Invalid("how many queues it is about is missing", path="queues")
        return {"more": self._more(queues)}


def _largest(table_bytes: int, most: int) -> int:
    """Slots that fit so many bytes, doubled from `LEAST` on."""
    slots = LEAST
    while slots < most and _doubled(slots) * SLOT_BYTES <= table_bytes:
        slots = _doubled(slots)
    return slots


def _least(wanted: int) -> int:
    """Slots that hold so many, doubled from `LEAST` on."""
    slots = LEAST
    while slots < min(wanted, MAX_CAPACITY):
        slots = _doubled(slots)
    return slots


def _doubled(slots: int) -> int:
    return min(slots * 2, MAX_CAPACITY)


def _memory_bytes() -> int:
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
