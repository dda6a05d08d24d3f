# SPDX-License-Identifier: Apache-2.0
"""What the fast path has to know of routing and does not see, and what the stack has to know of the fast
path.

XDP asks the kernel's FIB, which leaves out some of what routes say; and no neighbour that only XDP sends to
is ever asked for its address again. Both are looked after here, in a bounded part of a processor.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any, Protocol

from weir.adapters.datapath_records import used_mark
from weir.adapters.kernel_routes import RouteFacts, read_route_facts
from weir.adapters.neighbours import stale_neighbours, use

LOOK_S = 30.0
"""Between two looks at routes without an event."""
USED_S = 1.0
SAVED_S = 1.0
"""So much of that share is kept for later: routes of a commit come one by one, and each is seen at once."""
REST_S = 0.05
"""The shortest wait for that share, so that nobody asks in a circle."""


class Told(Protocol):
    """The part of `Datapath` that is used here."""

    def refuse_sources(self, addresses: Iterable[int] | None) -> None: ...
    def take_used(self) -> bytes: ...
    def look_at_routes(self) -> None: ...
    def routes_are_plain(self, regions: bytes | None) -> None: ...


class Routing:
    """Used by one thread after `begin`; `largest` by any. A holder of `lock` has the datapath to itself.

    `share` is what looking may take of a processor, however many routes there are and however often they
    change. The time that this thread waits, for the lock of a long commit or for a processor, is none of it.
    """

    def __init__(self, datapath: Told, share: float) -> None:
        self._datapath, self._share = datapath, share
        self._facts = RouteFacts(refused=None, hidden=True)  # as long as nothing was read, XDP sends nothing
        self._saved_s, self._counted_s = SAVED_S, time.monotonic()

    def begin(self) -> None:
        """Before ports are decided on. Raises `Unavailable`."""
        self._datapath.look_at_routes()
        self._facts = read_route_facts()
        self._datapath.refuse_sources(self._facts.refused)
        self._datapath.routes_are_plain(self._facts.regions)

    def largest(self, ifindex: int) -> int:
        """The largest packet in bytes that XDP may send by an interface; 0 = none."""
        return self._facts.largest(ifindex)

    def keeps(self, ifindex: int) -> bool:
        """Whether it is an uplink that connections keep."""
        return ifindex in self._facts.kept

    def follow(self, lock: AbstractContextManager[Any], changed: Callable[[], object]) -> float:
        """Look at the routes; `changed` is called when `largest` has other answers. Returns in how many
        seconds to look again. Raises `Unavailable`."""
        now_s = time.monotonic()
        self._saved_s = min(self._saved_s + (now_s - self._counted_s) * self._share, SAVED_S)
        self._counted_s = now_s
        if self._saved_s <= 0:
            return max(REST_S, -self._saved_s / self._share)
        before = self._facts
        worked_s = time.thread_time()
        with lock:
            self._datapath.look_at_routes()
        facts = read_route_facts()
        self._saved_s -= time.thread_time() - worked_s
        with lock:
            if facts.refused != before.refused:
                self._datapath.refuse_sources(facts.refused)
            self._datapath.routes_are_plain(facts.regions)
        self._facts = facts
        if replace(before, refused=None, regions=None) != replace(facts, refused=None, regions=None):
            changed()
        return LOOK_S

    def confirm_used(self, lock: AbstractContextManager[Any]) -> float:
        """Have the kernel ask for the addresses of neighbours that XDP sends to. Returns in how many
        seconds to call again. Raises `Unavailable`."""
        with lock:
            marks = self._datapath.take_used()
        if not marks:
            return USED_S
        worked_s = time.thread_time()
        use(neighbour for neighbour in stale_neighbours() if marks[used_mark(neighbour.mac)])
        return max(USED_S, (time.thread_time() - worked_s) / self._share)
