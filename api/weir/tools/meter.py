# SPDX-License-Identifier: Apache-2.0
"""What lookups cost now."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from weir.fields import Whole
from weir.tools.tool import Tool

START_S = 3.0
"""For the kernel to check the programs."""


@dataclass(frozen=True, slots=True)
class Meter:
    """How often it is measured."""

    count: Annotated[int, Whole(1, 60, help="So many times, once a second.")] = 3


METER = Tool(
    "meter",
    "Lookup meter",
    Meter,
    about="How long does the kernel look for a packet's route, and for the socket that listens for a "
    "connection? IPv4 routes: the same destination again and again, and random ones; `entries` is how many "
    "routes there are. Listeners: the five addresses with most sockets; `entries` is how many. No packet is "
    "sent.",
    scope="support",
    subject="count",
    seconds=lambda asked: asked.count + START_S,
    columns={"lookup": ("what", "took_ns", "entries"), "unseen": ("what", "why")},
    key="what",
    needs="eBPF programs that the kernel runs on an empty packet of its own (`BPF_PROG_TEST_RUN`), for some "
    "milliseconds in each second.",
    asks_agent=True,
)
