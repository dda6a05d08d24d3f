# SPDX-License-Identifier: Apache-2.0
"""What the fast path forwards must leave: devices that do not take it are left to the stack.

A driver says what it can (`xdp_features`), and may be wrong: a veth whose peer was down while it ceased to
poll goes on saying that it takes packets of XDP, and drops them. So packets that were refused are counted.
Those that find a full ring are not among them: that is load.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Any, Protocol

from weir.adapters.datapath_records import Port, PortCounters, Role
from weir.model.problem import Problem

log = logging.getLogger(__name__)

LOOK_S = 0.5
TWICE_WITHIN_S = 10.0
"""A device that is being reset refuses once: it is doubted the second time."""


class Counting(Protocol):
    """The part of `Datapath` that is used here."""

    def watch_refused(self) -> None: ...
    def attached(self) -> dict[str, Port]: ...
    def port_counters(self) -> dict[str, PortCounters]: ...


class Sending:
    def __init__(self, datapath: Counting, doubt: Callable[[str, int, int], None]) -> None:
        """`doubt` is told name and index of an interface and how many packets it refused."""
        self._datapath = datapath
        self._doubt = doubt
        self._before: Mapping[str, int] = {}
        self._refused_at_s: dict[str, float] = {}

    def begin(self) -> None:
        """Where the kernel does not tell, devices are believed."""
        try:
            self._datapath.watch_refused()
        except Problem as problem:
            log.warning("%s; what devices say of XDP is believed", problem.message)

    def look(self, lock: AbstractContextManager[Any], changed: Callable[[], object]) -> float:
        """Doubt devices that refuse packets, and call `changed` then. Returns in how many seconds to look
        again."""
        with lock:
            refused = {name: counters.refused for name, counters in self._datapath.port_counters().items()}
            ports = self._datapath.attached() if refused != self._before else {}
        doubted = [name for name, port in ports.items() if Role.FAST in port.roles]
        doubted = [name for name in doubted if self._again(name, refused)]
        for name in doubted:
            log.warning("%s does not take the packets that XDP forwards", name)
            self._doubt(name, ports[name].ifindex, refused[name])
        self._before = refused
        if doubted:
            changed()
        return LOOK_S

    def _again(self, name: str, refused: Mapping[str, int]) -> bool:
        """Whether it has refused packets since the last look, and had not long before."""
        if refused[name] <= self._before.get(name, 0):
            return False
        now_s = time.monotonic()
        before_s = self._refused_at_s.get(name, -TWICE_WITHIN_S)
        self._refused_at_s[name] = now_s
        return now_s - before_s < TWICE_WITHIN_S
