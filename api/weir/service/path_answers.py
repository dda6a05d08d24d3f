# SPDX-License-Identifier: Apache-2.0
"""What is asked about a packet's way through the router, and the answer: a line of steps."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

Place = Literal[
    "ingress",
    "source",
    "queue-in",
    "nat-in",
    "route",
    "firewall",
    "nat-out",
    "neighbour",
    "egress",
    "queue-out",
    "fast-path",
]
State = Literal["passes", "changes", "waits", "drops", "unknown"]
Fate = Literal["forwarded", "delivered", "sent", "dropped", "rejected", "unknown"]


@dataclass(frozen=True, slots=True)
class PathAsked:
    """A packet. `in_interface` None: found by the way back to the source, unless `from_router`. `vlan` is its
    tag on `in_interface`."""

    source: str
    destination: str
    protocol: str = "tcp"
    port: int = 0
    source_port: int = 0
    icmp_type: str = "echo-request"
    state: str = "new"
    in_interface: str | None = None
    from_router: bool = False
    vlan: int | None = None
    tos: int = 0
    candidate: bool = False


@dataclass(frozen=True, slots=True)
class Step:
    """One place on the way, and the object that decided there. `not_known` is what of it could not be looked
    at, and why."""

    at: Place
    state: State
    sentence: str
    kind: str | None = None
    id: str | None = None
    details: tuple[str, ...] = ()
    not_known: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Leaves:
    """How the packet leaves. `source` "" = one of several addresses of the interface."""

    interface: str
    next_hop: str | None
    source: str
    destination: str
    port: int
    queues: tuple[str, ...]


@dataclass(slots=True)
class Line:
    """Steps in the order in which the packet meets them."""

    steps: list[Step] = field(default_factory=list)

    def add(self, step: Step) -> bool:
        """Whether the packet goes on."""
        self.steps.append(step)
        return step.state != "drops"

    @property
    def is_known(self) -> bool:
        return all(step.state != "unknown" for step in self.steps)


@dataclass(frozen=True, slots=True)
class Predicted:
    """`candidate`: with what is pending of who asks."""

    revision: int
    candidate: bool
    fate: Fate
    sentence: str
    steps: tuple[Step, ...]
    leaves: Leaves | None


Outcome = Literal["same", "differs", "unknown"]


@dataclass(frozen=True, slots=True)
class ProvedStep:
    """What was foretold, None = nothing, beside what the frame showed."""

    at: Place
    predicted: Step | None
    outcome: Outcome
    sentence: str


@dataclass(frozen=True, slots=True)
class Proved:
    """`fate` is the frame's; `differs` is a fault of Weir's. `source_port` is the one that it had."""

    revision: int
    predicted: Predicted
    fate: Fate
    outcome: Outcome
    sentence: str
    steps: tuple[ProvedStep, ...]
    source_port: int
    took_ms: float | None
