# SPDX-License-Identifier: Apache-2.0
"""The speed test: how fast are bytes between a browser and the router, and what waits behind them?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from weir.fields import Whole
from weir.tools.tool import Tool

BESIDE_S = 8.0
"""For round trips without load, and between the directions."""
STREAMS = 4
"""At most so many requests of a run transfer at once in each direction."""


@dataclass(frozen=True, slots=True)
class Speed:
    """Send bytes each way, and time round trips meanwhile."""

    seconds: Annotated[int, Whole(3, 10, help="For each direction.")] = 6


SPEED = Tool(
    "speed",
    "Speed test",
    Speed,
    about="How fast is the way between this client and the router, and how long do answers take while it is "
    "full?",
    scope="support",
    subject="seconds",
    seconds=lambda asked: 2 * asked.seconds + BESIDE_S,
    columns={"counted": ("ms", "sent_bytes", "received_bytes")},
    needs="Nothing: the API's own process sends, counts and discards.",
)
"""It runs in the API's process, not in one of `weir.probes`: requests of the client are what is measured."""
