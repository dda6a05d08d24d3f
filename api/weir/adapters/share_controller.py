# SPDX-License-Identifier: Apache-2.0
"""The share controller of libweir (datapath/loader/weir_share.h): guarantees, priorities, fairness, bursts.

It runs as a thread of the process that opened the datapath, outside Python's lock, and costs what the
classes in use cost. Without it limits hold, and a saturated parent is shared by arrival.
"""

from __future__ import annotations

import ctypes
import os
from ctypes import POINTER, Structure, byref, c_int32, c_uint8, c_uint32, c_uint64, c_void_p
from dataclasses import dataclass
from typing import Literal

from weir.adapters.datapath import Datapath
from weir.model.prefix import Prefix
from weir.model.problem import ApplyFailed

INTERVAL_MS = 50
Direction = Literal[0, 1]


class _State(Structure):
    _fields_ = [
        ("ticks", c_uint64),
        ("active", c_uint32),
        ("trees", c_uint32),
        ("lent", c_uint32),
        ("bursting", c_uint32),
        ("tick_us", c_uint32),
        ("error", c_int32),
        ("slowest_bps", c_uint64),
    ]


class _HostRate(Structure):
    _fields_ = [
        ("high", c_uint64),
        ("low", c_uint64),
        ("rate_bps", c_uint64),
        ("family", c_uint8),
        ("length", c_uint8),
    ]


@dataclass(frozen=True, slots=True)
class HostRate:
    """What one sub-queue sends, as charged, over about the last second; None where its address is not known
    (sub-queues by pairs of addresses)."""

    address: Prefix | None
    rate_bps: int


@dataclass(frozen=True, slots=True)
class ShareState:
    """What the controller did in its last tick; a line is one direction of one class."""

    ticks: int
    active_lines: int
    short_trees: int
    lent_lines: int
    bursting_lines: int
    tick_us: int
    error: str | None
    slowest_bps: int
    """The lowest limit that any class has; 0 = none has one."""


class ShareController:
    """Runs from construction until `stop`; stop it before the datapath is closed."""

    def __init__(self, datapath: Datapath, interval_ms: int = INTERVAL_MS) -> None:
        self._library, handle = datapath.native()
        self._declare()
        self._share: c_void_p | None = c_void_p()
        self._check(self._library.weir_share_start(handle, interval_ms, byref(self._share)), "start")

    def stop(self) -> None:
        """End the thread and give every class its configured rate back."""
        if self._share is not None:
            self._library.weir_share_stop(self._share)
            self._share = None

    def set_burst(
        self, slot: int, direction: Direction, limit_bps: int, threshold_bps: int, time_ms: int
    ) -> None:
        """Burst of one class and direction (0 upload, 1 download); limit 0 takes it away."""
        result = self._library.weir_share_burst(
            self._share, slot, direction, limit_bps, threshold_bps, time_ms * 1_000_000
        )
        self._check(result, f"set the burst of class {slot}")

    def is_lent(self, slot: int, direction: Direction) -> bool:
        """Whether one direction of a class is charged at a lent rate, or a burst's, in place of its own."""
        result: int = self._library.weir_share_lent(self._share, slot, direction)
        self._check(result, f"look at class {slot}")
        return bool(result)

    def hosts(self, slot: int, direction: Direction, most: int) -> list[HostRate]:
        """The sub-queues of one direction that send most, the most first; 64 at most."""
        found = (_HostRate * most)()
        count = self._library.weir_share_hosts(self._share, slot, direction, found, most)
        self._check(count, f"read the sub-queues of class {slot}")
        return [HostRate(_address(raw), raw.rate_bps) for raw in found[:count]]

    def state(self) -> ShareState:
        raw = _State()
        self._library.weir_share_state(self._share, byref(raw))
        error = os.strerror(-raw.error) if raw.error else None
        return ShareState(
            raw.ticks, raw.active, raw.trees, raw.lent, raw.bursting, raw.tick_us, error, raw.slowest_bps
        )

    def _declare(self) -> None:
        library = self._library
        library.weir_share_start.argtypes = [c_void_p, c_uint32, POINTER(c_void_p)]
        library.weir_share_burst.argtypes = [c_void_p, c_uint32, c_uint32, c_uint64, c_uint64, c_uint64]
        library.weir_share_hosts.argtypes = [c_void_p, c_uint32, c_uint32, POINTER(_HostRate), c_uint32]
        library.weir_share_lent.argtypes = [c_void_p, c_uint32, c_uint32]
        library.weir_share_lent.restype = ctypes.c_int
        library.weir_share_stop.argtypes = [c_void_p]
        library.weir_share_state.argtypes = [c_void_p, POINTER(_State)]
        for function in (library.weir_share_start, library.weir_share_burst, library.weir_share_hosts):
            function.restype = ctypes.c_int
        for function in (library.weir_share_stop, library.weir_share_state):
            function.restype = None

    def _check(self, result: int, what: str) -> None:
        if result < 0:
            raise ApplyFailed(f"the share controller could not {what}: {os.strerror(-result)}")


def _address(raw: _HostRate) -> Prefix | None:
    if not raw.family:
        return None
    value = raw.high if raw.family == 4 else raw.high << 64 | raw.low
    return Prefix(raw.family, value, raw.length)
