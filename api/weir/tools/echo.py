# SPDX-License-Identifier: Apache-2.0
"""ping and mtr: whether a host answers, how fast, and by which way."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from weir.fields import INTERFACE_NAMES, HostName, Ref, Whole
from weir.tools.tool import Tool

ANSWER_S = 2.0
"""For so long an answer is waited for after the last question."""
RESOLVE_S = 15.0
"""For so long looking up a name may take."""


def by_interface() -> Ref:
    """A field of its own for each tool."""
    return Ref(
        "interface",
        INTERFACE_NAMES,
        unconfigured=True,
        importance="folded",
        help="By this interface only, or within this VRF; by the routes without it.",
    )


def host() -> HostName:
    return HostName(help="An address or a name.", example="1.1.1.1")


@dataclass(frozen=True, slots=True)
class Ping:
    """Ask a host for an echo again and again."""

    target: Annotated[str, host()]
    count: Annotated[int, Whole(1, 100, help="How many times it is asked.")] = 10
    interval_ms: Annotated[int, Whole(100, 1000, importance="folded", help="Between two questions.")] = 1000
    size_bytes: Annotated[
        int,
        Whole(8, 1452, importance="folded", help="Of the data in it; the packet is 28 (IPv6: 48) longer."),
    ] = 56
    interface: Annotated[str | None, by_interface()] = None


@dataclass(frozen=True, slots=True)
class Mtr:
    """Ask every router on the way to a host, again and again."""

    target: Annotated[str, host()]
    rounds: Annotated[int, Whole(1, 60, help="How many times each is asked, once a second.")] = 10
    hops: Annotated[int, Whole(1, 32, importance="folded", help="Beyond this many it is given up.")] = 30
    interface: Annotated[str | None, by_interface()] = None


PING = Tool(
    "ping",
    "Ping",
    Ping,
    about="Does a host answer, and how long does it take? Answers, losses and round trips.",
    scope="support",
    subject="target",
    seconds=lambda asked: RESOLVE_S + asked.count * asked.interval_ms / 1000 + ANSWER_S,
    columns={
        "reply": ("number", "from", "round_trip_us", "ttl", "bytes"),
        "lost": ("number",),
        "refused": ("number", "from", "why"),
        "summary": ("sent", "received", "loss_percent", "least_us", "mean_us", "most_us"),
    },
    needs="A raw ICMP socket, opened before the tool gives up all rights.",
)
MTR = Tool(
    "mtr",
    "Mtr",
    Mtr,
    about="Which way do packets take, and where are they lost? Every hop with its losses and round trips. "
    "All questions look alike to routers that share load by flow, so they take one way.",
    scope="support",
    subject="target",
    seconds=lambda asked: RESOLVE_S + asked.rounds + ANSWER_S,
    columns={
        "hop": (
            "hop",
            "from",
            "sent",
            "received",
            "loss_percent",
            "last_us",
            "least_us",
            "mean_us",
            "most_us",
            "why",
        )
    },
    key="hop",
    needs=PING.needs,
)
