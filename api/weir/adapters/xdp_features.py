# SPDX-License-Identifier: Apache-2.0
"""What a device's driver says it can do with XDP (generic netlink family `netdev`, Linux 6.3)."""

from __future__ import annotations

import enum
import socket
import struct

_NETLINK_GENERIC, _CONTROL_ID = 16, 16
_GET_FAMILY, _FAMILY_ID, _FAMILY_NAME = 3, 1, 2
_DEVICE_GET, _DEVICE_INDEX, _DEVICE_FEATURES = 1, 1, 3
_REQUEST = 1
_ERROR = 2
_HEADER = struct.Struct("=IHHII")
_GENERIC = struct.Struct("=BBxx")
_ATTRIBUTE = struct.Struct("=HH")
_ATTRIBUTE_TYPE = 0x3FFF
_TIMEOUT_S = 5.0


class XdpFeature(enum.IntFlag):
    """linux/netdev.h, enum netdev_xdp_act, as far as it is needed."""

    BASIC = 1  # native programs: pass, drop, abort, send back
    REDIRECT = 2  # what comes in here can be sent elsewhere
    NDO_XMIT = 4  # what was redirected elsewhere can be sent here


ALL = XdpFeature.BASIC | XdpFeature.REDIRECT | XdpFeature.NDO_XMIT


def xdp_features(ifindex: int) -> XdpFeature | None:
    """The features of a device of this thread's namespace; None when the kernel cannot tell."""
    try:
        with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _NETLINK_GENERIC) as link:
            link.settimeout(_TIMEOUT_S)
            family = _ask(link, _CONTROL_ID, _GET_FAMILY, _attribute(_FAMILY_NAME, b"netdev\0"))
            number = struct.unpack_from("=H", family[_FAMILY_ID])[0]
            index = _attribute(_DEVICE_INDEX, struct.pack("=I", ifindex))
            features = _ask(link, number, _DEVICE_GET, index)[_DEVICE_FEATURES]
    except (OSError, KeyError, struct.error):
        return None
    return XdpFeature(struct.unpack_from("=Q", features)[0] & ALL)


def _ask(link: socket.socket, family: int, command: int, attributes: bytes) -> dict[int, bytes]:
    """The attributes of the answer. Raises OSError with the kernel's errno."""
    body = _GENERIC.pack(command, 1) + attributes
    link.send(_HEADER.pack(_HEADER.size + len(body), family, _REQUEST, 1, 0) + body)
    data = link.recv(65536)
    length, kind = struct.unpack_from("=IH", data)
    if kind == _ERROR:
        raise OSError(-struct.unpack_from("=i", data, _HEADER.size)[0], "generic netlink")
    found, place = {}, _HEADER.size + _GENERIC.size
    while place + _ATTRIBUTE.size <= length:
        size, attribute = _ATTRIBUTE.unpack_from(data, place)
        found[attribute & _ATTRIBUTE_TYPE] = data[place + _ATTRIBUTE.size : place + size]
        place += max(size + 3 & ~3, _ATTRIBUTE.size)
    return found


def _attribute(kind: int, value: bytes) -> bytes:
    padded = value + bytes(-len(value) % 4)
    return _ATTRIBUTE.pack(_ATTRIBUTE.size + len(value), kind) + padded
