# SPDX-License-Identifier: Apache-2.0
"""iperf: how fast is the way between the router and a host with `iperf3 -s`, and what waits behind it?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from weir.fields import Choice, HostName, Port, Whole
from weir.tools.echo import ANSWER_S, RESOLVE_S, by_interface
from weir.tools.tool import Tool

IDLE_S = 2.0
"""Round trips without load, before it."""
SETTLE_S = 1
"""Left out of the rate: TCP finds out how fast it may be."""
CONNECT_S = 5.0
EXCHANGE_S = 5.0
"""For what both ends tell each other before and after, also over a line whose queue is full."""
WAYS: dict[str, tuple[str, ...]] = {"both": ("to", "from"), "to": ("to",), "from": ("from",)}


@dataclass(frozen=True, slots=True)
class Iperf:
    """Fill the way to a host that runs `iperf3 -s`, and time round trips meanwhile."""

    target: Annotated[
        str, HostName(help="An address or a name, where `iperf3 -s` runs.", example="10.64.0.2")
    ]
    direction: Annotated[
        str, Choice(*WAYS, help="Bytes go to the host, come from it, or one after the other.")
    ] = "both"
    seconds: Annotated[int, Whole(2, 30, help="For each direction.")] = 10
    streams: Annotated[int, Whole(1, 8, importance="folded", help="Connections at once.")] = 4
    port: Annotated[int, Port(importance="folded", help="On which it listens.")] = 5201
    interface: Annotated[str | None, by_interface()] = None


def lasts_s(asked: Iperf) -> float:
    """The longest that one direction may take."""
    return CONNECT_S + SETTLE_S + asked.seconds + EXCHANGE_S


IPERF = Tool(
    "iperf",
    "Speed test to a host",
    Iperf,
    about="How fast is the way between this router and a host that runs `iperf3 -s`, and how long do answers "
    "take while it is full?",
    scope="support",
    subject="target",
    seconds=lambda asked: (
        RESOLVE_S + IDLE_S + ANSWER_S + len(WAYS[asked.direction]) * (lasts_s(asked) + ANSWER_S)
    ),
    columns={
        "way": ("interface", "queue", "limit_bps", "unknown"),
        "idle": ("median_us", "most_us", "loss_percent"),
        "second": ("direction", "second", "rate_bps", "retransmits", "round_trip_us"),
        "result": (
            "direction",
            "rate_bps",
            "retransmits",
            "median_us",
            "most_us",
            "added_us",
            "loss_percent",
        ),
    },
    needs="A raw ICMP socket, opened before the tool gives up all rights; the program iperf3, without any.",
    asks_agent=True,
)
