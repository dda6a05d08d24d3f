# SPDX-License-Identifier: Apache-2.0
"""Why the network stack drops packets, while one looks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from weir.fields import Whole
from weir.tools.tool import Tool

START_S = 3.0
"""For the kernel to check the program."""


@dataclass(frozen=True, slots=True)
class DropReasons:
    """For how long the router is looked at."""

    seconds: Annotated[int, Whole(1, 60, help="For how long.")] = 10


DROP_REASONS = Tool(
    "drop-reasons",
    "Reasons of drops",
    DropReasons,
    about="Why does the network stack drop packets, and at which interface? The kernel's own reasons, since "
    "the start of the run, the 20 most frequent. `counted_by`: as whose the packets are in the list of "
    "dropped packets, empty where that is not known. Of what queues, rules and checks of a port drop, which "
    "that list has by owner, there is only the sum (`owned`); of what the kernel gives no reason for, too "
    "(`unnamed`).",
    scope="support",
    subject="seconds",
    seconds=lambda asked: asked.seconds + START_S,
    columns={
        "drop": ("rank", "reason", "interface", "packets", "packets_per_s", "counted_by", "means"),
        "summary": ("seconds", "packets", "owned", "unnamed"),
    },
    key="rank",
    needs="an eBPF program at the tracepoint of drops, which ends with the run and costs each drop some "
    "hundredths of a microsecond; it is opened before the tool gives up all rights.",
    asks_agent=True,
)
