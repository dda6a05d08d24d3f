# SPDX-License-Identifier: Apache-2.0
"""What a capture has to know of the agent: where the fast path is, and the datapath's maps."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from typing import Protocol

from weir.adapters.datapath_records import Port, Role
from weir.agent.torch import Seat
from weir.tools.capture import MAPS, Capture

_FAST = (
    "What the network stack sees, and what the fast path forwards: it is on at {}. The file says which "
    "packets are of it, and why if they are not in it."
)
_BY_THE_NEW = (
    " {0} is looked for in packets as they leave: where NAT translates it, what comes in here from it by the "
    "fast path is NOT found; by the address and port of the other end both directions are."
)
_ALL_SEEN = "What the network stack sees. No interface has the fast path, so that is every packet."
_NOT_KNOWN = "What the network stack sees. Whether the fast path forwards others is not known."


class Sees(Protocol):
    """The part of `Datapath` that is asked here."""

    def attached(self) -> dict[str, Port]: ...
    def map_fd(self, name: str) -> int: ...
    @property
    def library(self) -> str: ...


def note_of(asked: Capture, fast: frozenset[str] | None) -> str:
    """What is in a capture: the fast path takes a packet where it comes in and sends it where it leaves, so
    all interfaces are concerned. None: nobody knows."""
    if fast is None:
        return _NOT_KNOWN
    if not fast:
        return _ALL_SEEN
    by = asked.network or (f"port {asked.port}" if asked.port is not None else "")
    return _FAST.format(", ".join(sorted(fast))) + (_BY_THE_NEW.format(by) if by else "")


class CaptureDesk:
    """Thread-safe. `fast_paths` names the interfaces that have the fast path; None: not known."""

    def __init__(self, fast_paths: Callable[[], frozenset[str] | None], datapath: Sees) -> None:
        self._fast_paths = fast_paths
        self._datapath = datapath

    def seat(self, asked: Capture) -> Seat:
        """Raises `Problem` where the datapath cannot be asked."""
        fast = self._fast_paths()
        if not fast:
            return seat_of(asked, "", fast, {}, ())
        with ExitStack() as opened:
            maps = []
            for name in MAPS:
                maps.append(self._datapath.map_fd(name))
                opened.callback(os.close, maps[-1])
            seat = seat_of(asked, self._datapath.library, fast, self._datapath.attached(), tuple(maps))
            opened.pop_all()
        return seat


def seat_of(
    asked: Capture,
    library: str,
    fast: frozenset[str] | None,
    ports: Mapping[str, Port],
    maps: tuple[int, ...],
) -> Seat:
    """`maps`: none where the fast path's packets cannot be looked at."""
    port = ports.get(asked.interface)
    told = {
        "library": library,
        "fast": sorted(fast or ()),
        "is_tagged": port is not None and bool(port.roles & Role.TAGGED),
    }
    return Seat(note_of(asked, fast), json.dumps(told).encode(), maps, lambda _addresses: {})
