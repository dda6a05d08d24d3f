# SPDX-License-Identifier: Apache-2.0
"""What a driver says about its link (ioctl SIOCETHTOOL; linux/ethtool.h)."""

from __future__ import annotations

import ctypes
import fcntl
import socket
import struct

_SIOCETHTOOL = 0x8946
_ETHTOOL_GSET = 0x1
_ETHTOOL_GFLAGS = 0x25
_ETH_FLAG_RXVLAN = 1 << 8
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
    if not _ask(ifname, command):
        return None
    megabits = command.speed_high << 16 | command.speed_low
    return None if megabits in _UNKNOWN else megabits * 1_000_000


class _Value(ctypes.Structure):
    _fields_ = [("cmd", ctypes.c_uint32), ("data", ctypes.c_uint32)]


def takes_tags_off(ifname: str) -> bool:
    """Whether the device takes VLAN tags off the frames that it receives (`ethtool -K IFNAME rxvlan off`)."""
    value = _Value(cmd=_ETHTOOL_GFLAGS)
    return _ask(ifname, value) and bool(value.data & _ETH_FLAG_RXVLAN)


def _ask(ifname: str, command: ctypes.Structure) -> bool:
    """False when the device does not know the command."""
    request = struct.pack("16sP16x", ifname.encode()[:15], ctypes.addressof(command))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as handle:
        try:
            fcntl.ioctl(handle, _SIOCETHTOOL, request)
        except OSError:
            return False
    return True
