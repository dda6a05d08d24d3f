# SPDX-License-Identifier: Apache-2.0
"""The way that the kernel takes to one address, by rtnetlink (RTM_GETROUTE, linux/rtnetlink.h)."""

from __future__ import annotations

import errno
import socket
import struct
from ipaddress import ip_address
from typing import NamedTuple

from weir.adapters.rtnl_dump import ask, attribute, attributes
from weir.model.problem import Unavailable

_GET_ROUTE = 26
_ROUTE = struct.Struct("=BBBBBBBBI")  # family, dst_len, src_len, tos, table, protocol, scope, type, flags
_DST, _OIF, _GATEWAY, _VIA = 1, 4, 5, 18
_UNICAST, _TYPE_AT = 1, 7
_NO_WAY = (errno.ENETUNREACH, errno.EHOSTUNREACH, errno.EACCES, errno.EINVAL)
"""No route, and routes that refuse (`unreachable`, `prohibit`, `blackhole`)."""
_FAMILY_BYTES = 2


class Way(NamedTuple):
    """`device` is an index; `gateway` None where the address is on the link itself."""

    device: int
    gateway: str | None


def way_to(address: str, vrf: int = 0) -> Way | None:
    """What the routes say now, in the VRF with this index. None: no way leads there, or the address is this
    router's own. Raises `Unavailable`."""
    to = ip_address(address)
    family = socket.AF_INET if to.version == 4 else socket.AF_INET6
    body = _ROUTE.pack(family, to.max_prefixlen, *[0] * 7) + attribute(_DST, to.packed)
    if vrf:
        body += attribute(_OIF, struct.pack("=I", vrf))
    try:
        found = ask(_GET_ROUTE, body)
    except OSError as error:
        if error.errno in _NO_WAY:
            return None
        raise Unavailable(f"the routes cannot be asked: {error.strerror}", code="netlink") from error
    held = attributes(found, _ROUTE.size)
    if found[_TYPE_AT] != _UNICAST or _OIF not in held:
        return None
    gateway = held.get(_GATEWAY) or held.get(_VIA, b"")[_FAMILY_BYTES:]
    return Way(struct.unpack("=I", held[_OIF])[0], str(ip_address(gateway)) if gateway else None)
