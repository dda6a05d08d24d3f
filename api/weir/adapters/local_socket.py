# SPDX-License-Identifier: Apache-2.0
"""One question to a daemon's socket on this machine, and all of its answer, within a time."""

from __future__ import annotations

import socket
import time
from pathlib import Path


def exchange(path: Path, request: bytes, deadline_s: float, most_bytes: int, *, shuts: bool = False) -> bytes:
    """What it answers until it closes, `most_bytes` and a little more at most. `shuts`: the daemon waits for
    the end of the question. Raises `OSError`, and `TimeoutError` after a time of the monotonic clock."""
    found = bytearray()
    with socket.socket(socket.AF_UNIX) as handle:
        handle.settimeout(_left(deadline_s))
        handle.connect(str(path))
        handle.sendall(request)
        if shuts:
            handle.shutdown(socket.SHUT_WR)
        while len(found) < most_bytes:
            handle.settimeout(_left(deadline_s))
            part = handle.recv(1 << 20)
            if not part:
                break
            found += part
    return bytes(found)


def _left(deadline_s: float) -> float:
    left_s = deadline_s - time.monotonic()
    if left_s <= 0:
        raise TimeoutError
    return left_s
