# SPDX-License-Identifier: Apache-2.0
"""What Linux has learnt of the routers on an interface, and a question to them (RFC 4861, RFC 4862)."""

from __future__ import annotations

import contextlib
import socket
import struct
from collections.abc import Iterator
from dataclasses import dataclass

from weir.adapters import rtnl_dump
from weir.adapters.route_messages import listed
from weir.adapters.rtnl_dump import attributes
from weir.model.problem import Unavailable

_SOLICITATION = bytes((133, 0, 0, 0, 0, 0, 0, 0))
"""ICMPv6 type 133; the kernel fills in the checksum."""
_ALL_ROUTERS = "ff02::2"
_DEL_ADDRESS, _GET_ADDRESS, _DEL_ROUTE = 21, 22, 25
_ADDRESS = struct.Struct("=BBBBI")  # family, prefixlen, flags, scope, index
_IFA_ADDRESS, _IFA_CACHEINFO, _IFA_PROTO = 1, 6, 11
_OF_AN_ANNOUNCEMENT = 2
"""IFAPROT_KERNEL_RA (Linux 5.18)."""
_ROUTE_BYTES = 12
_OIF, _GATEWAY, _DST, _CACHEINFO = 4, 5, 1, 12
_PROTO_RA = 9
_TICKS_PER_S = 100
"""USER_HZ, in which the kernel says how long a route holds."""


@dataclass(frozen=True, slots=True)
class LearntAddress:
    """`text` is `host/length`; lifetimes are in seconds from now, 2^32 - 1 stands for ever."""

    ifindex: int
    text: str
    preferred_s: int
    valid_s: int


@dataclass(frozen=True, slots=True)
class LearntGateway:
    """A default route; `lifetime_s` from now, None = not known."""

    ifindex: int
    address: str
    lifetime_s: int | None


def solicit(ifname: str) -> None:
    """Ask the routers on an interface to announce themselves. One that is down asks when it comes up."""
    with (
        contextlib.suppress(OSError),
        socket.socket(socket.AF_INET6, socket.SOCK_RAW, socket.IPPROTO_ICMPV6) as link,
    ):
        link.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, ifname.encode())
        link.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_HOPS, 255)
        link.sendto(_SOLICITATION, (_ALL_ROUTERS, 0, 0, socket.if_nametoindex(ifname)))


def learnt_addresses() -> list[LearntAddress]:
    """Of all interfaces. Raises `Unavailable`."""
    found = []
    for body in _address_messages():
        index, said = _ADDRESS.unpack_from(body)[4], attributes(body, _ADDRESS.size)
        preferred_s, valid_s = struct.unpack_from("=II", said[_IFA_CACHEINFO])
        host = socket.inet_ntop(socket.AF_INET6, said[_IFA_ADDRESS])
        found.append(LearntAddress(index, f"{host}/{body[1]}", preferred_s, valid_s))
    return found


def learnt_gateways() -> list[LearntGateway]:
    """Default routes of announcements. Raises `Unavailable`."""
    found = []
    for body in listed(_PROTO_RA):
        said = attributes(body, _ROUTE_BYTES)
        if _GATEWAY in said and _DST not in said:
            left = struct.unpack_from("=IIi", said[_CACHEINFO])[2] if _CACHEINFO in said else 0
            gateway = socket.inet_ntop(socket.AF_INET6, said[_GATEWAY])
            found.append(LearntGateway(_index(said), gateway, left // _TICKS_PER_S if left > 0 else None))
    return found


def forget(ifindex: int) -> None:
    """Remove the addresses and routes that announcements brought to an interface. Raises `Unavailable`."""
    routes = [body for body in listed(_PROTO_RA) if _index(attributes(body, _ROUTE_BYTES)) == ifindex]
    addresses = [body for body in _address_messages() if _ADDRESS.unpack_from(body)[4] == ifindex]
    try:
        rtnl_dump.request(_DEL_ROUTE, routes)
        rtnl_dump.request(_DEL_ADDRESS, addresses)
    except OSError as error:
        raise Unavailable(f"what was learnt stays: {error.strerror}", code="netlink") from error


def _address_messages() -> Iterator[bytes]:
    asked = _ADDRESS.pack(socket.AF_INET6, 0, 0, 0, 0)
    try:
        for body in rtnl_dump.dump(_GET_ADDRESS, asked):
            said = attributes(body, _ADDRESS.size)
            if said.get(_IFA_PROTO, b"\0")[0] == _OF_AN_ANNOUNCEMENT and _IFA_CACHEINFO in said:
                yield body
    except OSError as error:
        raise Unavailable(f"the addresses cannot be read: {error.strerror}", code="netlink") from error


def _index(said: dict[int, bytes]) -> int:
    return int(struct.unpack("=I", said[_OIF])[0]) if _OIF in said else 0
