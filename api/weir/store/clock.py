# SPDX-License-Identifier: Apache-2.0
"""The two clocks of a deadline: wall time survives a reboot, boot time cannot be set by anybody."""

from __future__ import annotations

import functools
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

_STEP_MS = 1000
"""A clock that moved by no more was not set: two clocks are never read at one moment."""
BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


def wall_ms() -> int:
    """Milliseconds since 1970, UTC."""
    return time.time_ns() // 1_000_000


def boottime_ms() -> int:
    """Milliseconds since boot, suspend included (CLOCK_BOOTTIME)."""
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME) // 1_000_000


class _Offset:
    """How far the two clocks are apart, milliseconds. It stays as it was read first until one of them is set,
    so that a moment always has the same name. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept_ms: int | None = None

    def ms(self) -> int:
        with self._lock:
            now_ms = wall_ms() - boottime_ms()
            if self._kept_ms is None or abs(now_ms - self._kept_ms) > _STEP_MS:
                self._kept_ms = now_ms
            return self._kept_ms


_offset = _Offset()


def wall_ms_of(boottime: int) -> int:
    """What the clock on the wall, as it goes now, showed at so many milliseconds since boot. The same for the
    same moment, but where the clock is set by more than a second."""
    return boottime + _offset.ms()


@functools.cache
def boot_id() -> str:
    """The kernel's random name of this boot."""
    return BOOT_ID.read_text(encoding="ascii").strip()


class Now(NamedTuple):
    """One moment by both clocks, as `Deadline.seconds_left` takes it."""

    wall_ms: int
    boot_id: str
    boottime_ms: int


def now() -> Now:
    return Now(wall_ms(), boot_id(), boottime_ms())


@dataclass(frozen=True, slots=True)
class Deadline:
    """The end of a window of `window_s` seconds: boot time for the boot in which it was set, wall time for
    after a reboot."""

    window_s: int
    wall_ms: int
    boot_id: str
    boottime_ms: int

    @classmethod
    def after(cls, window_s: int, begun: Now | None = None) -> Deadline:
        """So many seconds from then; None: from now."""
        at, window_ms = begun or now(), window_s * 1000
        return cls(window_s, at.wall_ms + window_ms, at.boot_id, at.boottime_ms + window_ms)

    def seconds_left(self, now_wall_ms: int, now_boot_id: str, now_boottime_ms: int) -> float:
        """0 when it is due; after a reboot within [0, window]."""
        if now_boot_id == self.boot_id:
            left_ms = self.boottime_ms - now_boottime_ms
        else:
            left_ms = self.wall_ms - now_wall_ms
        return min(max(left_ms / 1000.0, 0.0), float(self.window_s))
