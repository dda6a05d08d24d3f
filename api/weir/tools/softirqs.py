# SPDX-License-Identifier: Apache-2.0
"""How long the kernel's softirqs wait and run, while one looks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from weir.fields import Whole
from weir.tools.tool import Tool

START_S = 3.0
"""For the kernel to check the programs."""


@dataclass(frozen=True, slots=True)
class Softirqs:
    """For how long the router is looked at."""

    seconds: Annotated[int, Whole(1, 60, help="For how long.")] = 10


SOFTIRQS = Tool(
    "softirqs",
    "Softirqs",
    Softirqs,
    about="How long do packets, timers and the like wait until a processor core begins with them, and how "
    "long does it then work on them? Since the start of the run, all cores together. `wait_late`: waits of "
    "1 ms and more; `run_long`: runs of 131 us and more. Packets that threads take (`threaded-napi`) are in "
    "neither.",
    scope="support",
    subject="seconds",
    seconds=lambda asked: asked.seconds + START_S,
    columns={
        "softirq": (
            "vector",
            "waits",
            "wait_p50_us",
            "wait_p99_us",
            "wait_late",
            "wait_most_us",
            "wait_behind",
            "runs",
            "run_p50_us",
            "run_p99_us",
            "run_long",
            "run_most_us",
            "run_on",
        ),
        "summary": ("seconds", "wait_late", "run_long"),
    },
    key="vector",
    needs="eBPF programs at the tracepoints of softirqs, which end with the run and cost each softirq about "
    "a tenth of a microsecond; they are opened before the tool gives up all rights.",
    asks_agent=True,
)
