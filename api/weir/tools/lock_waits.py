# SPDX-License-Identifier: Apache-2.0
"""How long cores spin for the kernel's locks, while one looks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from weir.fields import Whole
from weir.tools.tool import Tool

START_S = 4.0
"""For the kernel to check the programs, and to see whether it tells of waits."""


@dataclass(frozen=True, slots=True)
class LockWaits:
    """For how long the router is looked at."""

    seconds: Annotated[int, Whole(1, 60, help="For how long.")] = 10


LOCK_WAITS = Tool(
    "lock-waits",
    "Lock waits",
    LockWaits,
    about="For what part of its time does a core spin for locks of the kernel, and does nothing else? Since "
    "the start of the run, by kind of lock: `share_percent` is that of the core that spins most. Which lock "
    "it is the kernel does not say, and on real hardware it does not tell of a core that is the only one to "
    "wait. Locks for which a program sleeps are not in it.",
    scope="support",
    subject="seconds",
    seconds=lambda asked: asked.seconds + START_S,
    columns={
        "lock": ("kind", "waits", "share_percent", "share_on", "wait_p99_us", "wait_most_us", "most_on"),
        "summary": ("seconds", "most_share_percent"),
    },
    key="kind",
    needs="eBPF programs at the tracepoints of locks, which end with the run; before, up to four cores take "
    "one lock of its own for some milliseconds to see whether the kernel tells of it. They are opened before "
    "the tool gives up all rights.",
    asks_agent=True,
)
