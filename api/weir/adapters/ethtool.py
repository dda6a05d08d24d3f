# SPDX-License-Identifier: Apache-2.0
"""What a driver says about its link (ioctl SIOCETHTOOL; linux/ethtool.h, struct ethtool_cmd)."""

from __future__ import annotations

import ctypes
import fcntl
import socket
import struct

_SIOCETHTOOL = 0x8946
_ETHTOOL_GSET = 0x1
_UNKNOWN = (0, 0xFFFF, 0xFFFF_FFFF)


class _Command(ctypes.Structure):
    _fields_ = [
        ("cmd", ctypes.c_uint32),
        ("supported", ctypes.c_uint32),
        ("advertising", ctypes.c_uint32),
        ("speed_low", ctypes.c_uint16),
        ("middle", ctypes.c_uint8 * 14),
        ("speed_high", ctypes.c_uint16),
        ("rest", ctypes.c_uint8 * 14),
    ]


def speed_bps(ifname: str) -> int | None:
    """The link's speed in bit/s; None when it is down, unknown, or the device has no such thing."""
    command = _Command(cmd=_ETHTOOL_GSET)
    request = struct.pack("16sP16x", ifname.encode()[:15], ctypes.addressof(command))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as handle:
        try:
            fcntl.ioctl(handle, _SIOCETHTOOL, request)
        except OSError:
            return None
    megabits = command.speed_high << 16 | command.speed_low
    return None if megabits in _UNKNOWN else megabits * 1_000_000
