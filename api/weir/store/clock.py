# SPDX-License-Identifier: Apache-2.0
"""The two clocks of a deadline: wall time survives a reboot, boot time cannot be set by anybody."""

from __future__ import annotations

import functools
import time
from pathlib import Path

BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


def wall_ms() -> int:
    """Milliseconds since 1970, UTC."""
    return time.time_ns() // 1_000_000


def boottime_ms() -> int:
    """Milliseconds since boot, suspend included (CLOCK_BOOTTIME)."""
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME) // 1_000_000


@functools.cache
def boot_id() -> str:
    """The kernel's random name of this boot."""
    return BOOT_ID.read_text(encoding="ascii").strip()
