# SPDX-License-Identifier: Apache-2.0
"""The flows that carry the most, of a port or a queue, while one looks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from weir.fields import INTERFACE_NAMES, Ref, Whole
from weir.model.problem import Finding
from weir.tools.tool import Tool

MAPS = ("weir_ports", "weir_devices", "weir_v4", "weir_prefix6", "weir_meta")
"""Of the datapath, which the programs look into; the agent gives descriptors of them in this order."""
START_S = 3.0
"""For the kernel to check the programs."""


@dataclass(frozen=True, slots=True)
class Torch:
    """Whose packets, and how many of their flows are shown."""

    interface: Annotated[
        str | None,
        Ref("interface", INTERFACE_NAMES, unconfigured=True, help="What this port receives and sends."),
    ] = None
    queue: Annotated[str | None, Ref("queue", help="Or what this queue and those below it carry.")] = None
    seconds: Annotated[int, Whole(1, 60, help="For how long.")] = 30
    flows: Annotated[
        int, Whole(1, 50, importance="folded", help="So many are shown: those with the highest rates.")
    ] = 10

    @property
    def whose(self) -> str:
        return f"queue {self.queue}" if self.queue is not None else str(self.interface)


def _is_one(asked: Torch) -> Finding | None:
    if (asked.interface is None) == (asked.queue is None):
        text = "either interface or queue must be given"
        return Finding("error", "needs-one", text, "torch", "", "interface")
    return None


TORCH = Tool(
    "torch",
    "Torch",
    Torch,
    about="Which flows use a port or a queue now? Rates of each second, the highest first, of what the "
    "network stack and the fast path carry. Nothing is taken off the fast path. Under load rates are "
    "estimates.",
    scope="support",
    subject="whose",
    seconds=lambda asked: asked.seconds + START_S,
    columns={
        "flow": (
            "rank",
            "way",
            "protocol",
            "from",
            "from_port",
            "to",
            "to_port",
            "host",
            "queue",
            "rate_bps",
            "packets_per_s",
        ),
        "unseen": ("why",),
        "summary": ("flows", "packets", "bytes", "exact"),
    },
    key="rank",
    needs="eBPF programs on tcx and at the tracepoint of XDP's redirects, which end with the run; they are "
    "opened before the tool gives up all rights.",
    asks_agent=True,
    check=_is_one,
)
