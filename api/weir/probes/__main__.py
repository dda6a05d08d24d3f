# SPDX-License-Identifier: Apache-2.0
"""A run of a tool: `python -m weir.probes NAME ARGUMENTS NOTE PARENT`. `NOTE` is about what it cannot see."""

from __future__ import annotations

import errno
import json
import socket
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

from weir.model.problem import Problem
from weir.probes import (
    arping,
    blink,
    capture,
    drop_reasons,
    iperf,
    lock_waits,
    lookup,
    meter,
    mtr,
    ping,
    softirqs,
    torch,
)
from weir.probes.confine import CAP_NET_ADMIN, OF_A_PROBE, confine
from weir.probes.output import Gone, Output
from weir.tools import TOOLS
from weir.tools.tool import LINES

RUNS: dict[str, Callable[[Any, Output, Callable[[], None]], None]] = {
    "ping": ping.run,
    "mtr": mtr.run,
    "lookup": lookup.run,
    "arping": arping.run,
    "blink": blink.run,
    "torch": torch.run,
    "drop-reasons": drop_reasons.run,
    "lock-waits": lock_waits.run,
    "softirqs": softirqs.run,
    "meter": meter.run,
    "iperf": iperf.run,
}
KEEPS = {"blink": CAP_NET_ADMIN}
BOUNDS = {"iperf": iperf.BOUNDS}


def main(argv: list[str]) -> int:
    """0 when it ended as it was to; its last event says so, or why not."""
    name, body, note, parent = argv
    tool, output = TOOLS[name], Output()
    try:
        arguments = tool.read(json.loads(body))
        bounds = BOUNDS.get(name, OF_A_PROBE)
        drop = partial(confine, int(parent), tool.seconds(arguments), KEEPS.get(name), bounds)
        if name == "capture":
            capture.run(arguments, output, drop, note)
            return 0
        RUNS[name](arguments, output, drop)
        output.tell("end", reason="done", message=None)
        return 0
    except Gone as gone:
        return _ended(tool.answers == LINES and str(gone) == "stopped", output)
    except socket.gaierror as error:
        asked = getattr(arguments, "target", name)
        message = f"{asked} is not known to the name servers: {error.strerror}"
    except OSError as error:
        message = _words(error, arguments)
    except Problem as problem:
        message = problem.message
    if tool.answers == LINES or not output.has_begun:  # no file begins like that
        output.tell("end", reason="failed", message=message)
    else:
        print(message, file=sys.stderr)
    return 1


def _words(error: OSError, arguments: Any) -> str:
    if error.errno == errno.ENODEV:
        return f"there is no interface {arguments.interface}"
    return error.strerror or str(error)


def _ended(is_told: bool, output: Output) -> int:
    if is_told:
        output.tell("end", reason="stopped", message=None)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
