# SPDX-License-Identifier: Apache-2.0
"""What somebody who looks for a fault can run on the router: one declaration per tool (docs/adr/0199).

From a declaration follow the operation of the API, the command, the form in the browser and the limits that
the agent holds the tool to. What it does is a module of `weir.probes`. The speed test is none of the agent's
tools; it runs in `weir.service.speed`.
"""

from weir.tools.capture import CAPTURE
from weir.tools.drop_reasons import DROP_REASONS
from weir.tools.echo import MTR, PING
from weir.tools.iperf import IPERF
from weir.tools.local import ARPING, BLINK
from weir.tools.lock_waits import LOCK_WAITS
from weir.tools.lookup import LOOKUP
from weir.tools.meter import METER
from weir.tools.softirqs import SOFTIRQS
from weir.tools.speed import SPEED
from weir.tools.tool import Tool
from weir.tools.torch import TORCH

TOOLS: dict[str, Tool] = {
    tool.name: tool
    for tool in (
        *(PING, MTR, LOOKUP, ARPING, TORCH, CAPTURE, DROP_REASONS),
        *(LOCK_WAITS, SOFTIRQS, METER, IPERF, BLINK),
    )
}
"""What the agent runs."""
EVERY: dict[str, Tool] = {**TOOLS, SPEED.name: SPEED}

__all__ = [
    "CAPTURE",
    "DROP_REASONS",
    "EVERY",
    "IPERF",
    "LOCK_WAITS",
    "METER",
    "SOFTIRQS",
    "SPEED",
    "TOOLS",
    "TORCH",
    "Tool",
]
