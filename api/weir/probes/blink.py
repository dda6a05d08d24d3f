# SPDX-License-Identifier: Apache-2.0
"""blink: the lamp of a port, by ETHTOOL_PHYS_ID (include/uapi/linux/ethtool.h)."""

from __future__ import annotations

import ctypes
import errno
import fcntl
import socket
import struct
import time
from collections.abc import Callable

from weir.probes.output import Output
from weir.tools.local import Blink

_SIOCETHTOOL = 0x8946
_PHYS_ID = 0x1C
STEP_S = 1
"""The driver blinks for a second at a time, so that a run whose reader has gone ends soon."""


def run(asked: Blink, output: Output, confine: Callable[[], None]) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as handle:
        confine()
        for second in range(asked.seconds):
            _blink(handle, asked.interface)
            output.tell("blinking", interface=asked.interface, seconds=second + 1)
            output.wait(None, time.monotonic())


def _blink(handle: socket.socket, interface: str) -> None:
    command = ctypes.create_string_buffer(struct.pack("II", _PHYS_ID, STEP_S))
    request = struct.pack("16sP", interface.encode(), ctypes.addressof(command)).ljust(40, b"\0")
    try:
        fcntl.ioctl(handle, _SIOCETHTOOL, request)
    except OSError as error:
        if error.errno == errno.EOPNOTSUPP:
            text = f"{interface} cannot blink: its driver has no lamp to switch"
            raise OSError(error.errno, text) from error
        raise
