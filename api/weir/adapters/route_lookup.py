# SPDX-License-Identifier: Apache-2.0
"""The way that the kernel takes to one address, by rtnetlink (RTM_GETROUTE, linux/rtnetlink.h)."""

from __future__ import annotations

import errno
import socket
import struct
from dataclasses import dataclass
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import NamedTuple

from weir.adapters.rtnl_dump import ask, attribute, attributes
from weir.model.problem import Unavailable

_GET_ROUTE = 26
_ROUTE = struct.Struct("=BBBBBBBBI")  # family, dst_len, src_len, tos, table, protocol, scope, type, flags
_DST, _SRC, _IIF, _OIF, _GATEWAY, _PRIORITY, _PREFERRED = 1, 2, 3, 4, 5, 6, 7
_MULTIPATH, _TABLE, _MARK, _VIA, _IP_PROTO, _SPORT, _DPORT = 9, 15, 16, 18, 27, 28, 29
_LOOKUP_TABLE, _FIB_MATCH = 0x1000, 0x2000
_NEXT_HOP = struct.Struct("=HBBi")  # length, flags, hops, ifindex
_LENGTH_AT = 1
_UNICAST, _TYPE_AT, _LOCAL, _LOOPBACK = 1, 7, 255, 1
_GROUPS6 = Path("/proc/net/igmp6")
_TYPES = {1: "unicast", 2: "local", 3: "broadcast", 4: "anycast", 5: "multicast"}
_NO_WAY = (errno.ENETUNREACH, errno.EHOSTUNREACH, errno.EACCES, errno.EINVAL)
"""No route, and routes that refuse (`unreachable`, `prohibit`, `blackhole`)."""
_FAMILY_BYTES = 2
_ALL_GROUPS6 = ip_network("ff00::/8")
_WITH_PORTS = {"tcp": 6, "udp": 17}
_PROTOCOLS = {**_WITH_PORTS, "icmp": 1, "icmpv6": 58}
"""The kernel takes no others here."""


class Way(NamedTuple):
    """`device` is an index; `gateway` None where the address is on the link itself."""

    device: int
    gateway: str | None


def way_to(address: str, vrf: int = 0, mark: int = 0) -> Way | None:
    """What the routes say now, in the VRF with this index, of a packet with this mark. None: no way leads
    there, or the address is this router's own. Raises `Unavailable`."""
    try:
        found = ask(_GET_ROUTE, _question(Asked(address, vrf=vrf, mark=mark)))
    except OSError as error:
        if error.errno in _NO_WAY:
            return None
        raise _unavailable(error) from error
    held = attributes(found, _ROUTE.size)
    if found[_TYPE_AT] != _UNICAST or _OIF not in held:
        return None
    return Way(_number(held[_OIF]), _gateway(held))


def own_address_towards(address: str, device: int) -> str | None:
    """The own address that a neighbour behind an interface (its index) sees, as masquerading chooses it.
    Raises `Unavailable`."""
    try:
        held = attributes(ask(_GET_ROUTE, _question(Asked(address, vrf=device))), _ROUTE.size)
    except OSError as error:
        if error.errno in _NO_WAY:
            return None
        raise _unavailable(error) from error
    return str(ip_address(held[_PREFERRED])) if _PREFERRED in held else None


def is_chosen(destination: str, metric: int) -> bool | None:
    """Whether packets to a prefix take the entry with this metric, in no VRF. None: longer prefixes have its
    first and its last address. Raises `Unavailable`."""
    network = ip_network(destination)
    for address in {network[0], network[-1]}:
        try:
            entry = ask(_GET_ROUTE, _question(Asked(str(address)), _FIB_MATCH))
        except OSError as error:
            if error.errno in _NO_WAY:
                continue
            raise _unavailable(error) from error
        held = attributes(entry, _ROUTE.size)
        if entry[_LENGTH_AT] == network.prefixlen:
            return (_number(held[_PRIORITY]) if _PRIORITY in held else 0) == metric
    return None


@dataclass(frozen=True, slots=True)
class Asked:
    """A packet whose route is looked for. `device` is the index of the interface that it came in by, 0 = the
    router sends it, perhaps from within `vrf` (an index, too)."""

    destination: str
    source: str = ""
    device: int = 0
    vrf: int = 0
    mark: int = 0
    tos: int = 0
    protocol: str = ""
    source_port: int = 0
    port: int = 0


class Route(NamedTuple):
    """The route that a packet takes, and the entry of the table that it came from.

    `kind` is "unicast", or what the router takes itself ("local", "broadcast", "multicast"). `protocol` is
    the kernel's number of who made the entry, `ways` over how many next hops it shares packets.
    """

    kind: str
    way: Way
    prefix: str
    table: int
    protocol: int
    metric: int
    ways: int


class NoRoute(NamedTuple):
    """`reason`: "unreachable", "blackhole", "prohibit", and of packets that came in by an interface also
    "source" (an own address, or one that no host has), "reverse-path" (rp_filter), "forwarding" (off),
    "multicast" (no program has joined that group there, and none is forwarded) and "loopback"."""

    reason: str


NO_GROUP = NoRoute("multicast")


def route_of(asked: Asked) -> Route | NoRoute:
    """What the kernel does with the packet now, its own check of the source with it. Raises `Unavailable`."""
    if asked.device and ip_address(asked.destination) in _ALL_GROUPS6:
        return _taken("multicast", asked) if _has_joined(asked.device, asked.destination) else NO_GROUP
    try:
        taken = ask(_GET_ROUTE, _question(asked))
        kind = _TYPES.get(taken[_TYPE_AT], "other")
        if kind in ("broadcast", "multicast"):  # of no entry of a table
            return _taken(kind, asked)
        entry = ask(_GET_ROUTE, _question(asked, _FIB_MATCH))
    except OSError as error:
        return _why_not(asked, error)
    held, of_entry = attributes(taken, _ROUTE.size), attributes(entry, _ROUTE.size)
    family, length, _, _, table, protocol, *_ = _ROUTE.unpack_from(entry)
    width = 4 if family == socket.AF_INET else 16
    network = ip_address(of_entry.get(_DST, bytes(width)))
    return Route(
        kind,
        Way(_number(held[_OIF]) if _OIF in held else 0, _gateway(held)),
        f"{network}/{length}",
        _number(of_entry[_TABLE]) if _TABLE in of_entry else table,
        protocol,
        _number(of_entry[_PRIORITY]) if _PRIORITY in of_entry else 0,
        _count_hops(of_entry.get(_MULTIPATH, b"")) or 1,
    )


def _taken(kind: str, asked: Asked) -> Route:
    """By the router itself, where it comes in."""
    return Route(kind, Way(asked.device or _LOOPBACK, None), asked.destination, _LOCAL, 0, 0, 1)


def _has_joined(device: int, group: str) -> bool:
    """Whether the router is in a group of IPv6 on an interface: routes do not tell that."""
    wanted = str(device), ip_address(group).packed.hex()
    try:
        lines = _GROUPS6.read_text(encoding="ascii").splitlines()
    except OSError as error:
        raise _unavailable(error) from error
    return any((words[0], words[2]) == wanted for line in lines if len(words := line.split()) > 2)


def _why_not(asked: Asked, error: OSError) -> NoRoute:
    if error.errno == errno.EXDEV:
        return NoRoute("reverse-path")
    if asked.device and ip_address(asked.destination).is_loopback:
        return NoRoute("loopback")
    if asked.device and ip_address(asked.destination).is_multicast:
        return NO_GROUP
    if error.errno not in _NO_WAY:
        raise _unavailable(error) from error
    if asked.device and way_to(asked.destination, asked.vrf) is not None:
        return NoRoute("source" if error.errno == errno.EINVAL else "forwarding")
    reasons = {errno.EINVAL: "blackhole", errno.EACCES: "prohibit"}
    return NoRoute(reasons.get(error.errno or 0, "unreachable"))


def _question(asked: Asked, flags: int = 0) -> bytes:
    to = ip_address(asked.destination)
    family = socket.AF_INET if to.version == 4 else socket.AF_INET6
    length = to.max_prefixlen
    head = (family, length, length if asked.source else 0, asked.tos, 0, 0, 0, 0, _LOOKUP_TABLE | flags)
    body = _ROUTE.pack(*head) + attribute(_DST, to.packed)
    if asked.source:
        body += attribute(_SRC, ip_address(asked.source).packed)
    numbers = ((_IIF, asked.device), (_OIF, 0 if asked.device else asked.vrf), (_MARK, asked.mark))
    body += b"".join(attribute(kind, struct.pack("=I", number)) for kind, number in numbers if number)
    if asked.protocol in _PROTOCOLS:
        body += attribute(_IP_PROTO, bytes((_PROTOCOLS[asked.protocol],)))
    if asked.protocol in _WITH_PORTS:
        ports = ((_SPORT, asked.source_port), (_DPORT, asked.port))
        body += b"".join(attribute(kind, struct.pack("!H", port)) for kind, port in ports if port)
    return body


def _gateway(held: dict[int, bytes]) -> str | None:
    found = held.get(_GATEWAY) or held.get(_VIA, b"")[_FAMILY_BYTES:]
    return str(ip_address(found)) if found else None


def _count_hops(data: bytes) -> int:
    count = place = 0
    while place + _NEXT_HOP.size <= len(data):
        length, *_ = _NEXT_HOP.unpack_from(data, place)
        count += 1
        place += max(length + 3 & ~3, _NEXT_HOP.size)
    return count


def _number(data: bytes) -> int:
    return int(struct.unpack_from("=I", data)[0])


def _unavailable(error: OSError) -> Unavailable:
    return Unavailable(f"the routes cannot be asked: {error.strerror}", code="netlink")
