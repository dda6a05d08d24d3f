# SPDX-License-Identifier: Apache-2.0
"""What the probes have in common that call libweir by themselves (datapath/loader/weir.h)."""

from __future__ import annotations

import ctypes
import json
import os
import socket
import sys
from typing import Any

_MESSAGE_BYTES = 1 << 14


def told() -> dict[str, Any]:
    """What the agent says to a run by the socket that is its input: `library` is the path of libweir."""
    with socket.socket(fileno=os.dup(sys.stdin.fileno())) as agent:
        said: dict[str, Any] = json.loads(agent.recv(_MESSAGE_BYTES))
    return said


def checked(library: ctypes.CDLL, result: int) -> int:
    """What a function of libweir returned. Raises `OSError` with its words; `weir_error` has to return them
    as `c_char_p`."""
    if result < 0:
        text = (library.weir_error() or b"").decode(errors="replace")
        raise OSError(-result, text or os.strerror(-result))
    return result
