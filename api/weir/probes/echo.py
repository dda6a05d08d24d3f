# SPDX-License-Identifier: Apache-2.0
"""Echo requests of ICMP and ICMPv6 and what comes back: the base of ping and mtr (RFC 792, RFC 4443).

Every request has the same checksum, so that routers which share load by the first bytes behind the header
send all of them one way (Paris traceroute, Augustin and others, IMC 2006).
"""

from __future__ import annotations

import errno
import os
import socket
import struct
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from weir.probes.output import Output
from weir.tools.echo import Mtr, Ping
from weir.tools.iperf import Iperf

_HEADER = struct.Struct("!BBHHH")
_REQUEST = {4: 8, 6: 128}
_REPLY = {4: 0, 6: 129}
_REFUSALS = {
    4: {(3, 0): "network unreachable", (3, 1): "host unreachable", (3, 2): "protocol unreachable",
        (3, 3): "port unreachable", (3, 4): "packet too large", (3, 9): "network prohibited",
        (3, 10): "host prohibited", (3, 13): "prohibited"},
    6: {(1, 0): "no route", (1, 1): "prohibited", (1, 3): "address unreachable", (1, 4): "port unreachable",
        (1, 5): "source policy", (1, 6): "route rejected"},
}  # fmt: skip
_EXPIRED = {4: 11, 6: 3}
_IP_RECVTTL = 12
_BALANCE = 2
"""Bytes at the start of the data that make up for the number in the header."""
_TTL_BYTES = socket.CMSG_SPACE(4)


@dataclass(frozen=True, slots=True)
class Heard:
    """An answer to one of our requests. `why` is "" for an echo, "expired" from a router on the way, or why
    it was refused; `ttl` that of an echo, None where the kernel did not say it."""

    number: int
    sender: str
    why: str
    ttl: int | None
    size: int
    at_ns: int


class EchoSocket:
    """A raw socket for one address family. Not for two threads."""

    def __init__(self, family: int, interface: str | None) -> None:
        """Raises `OSError`, for an interface that is not there too."""
        self.family = family
        self.identity = os.getpid() & 0xFFFF
        if family == 4:
            self.socket = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
            self.socket.setsockopt(socket.IPPROTO_IP, _IP_RECVTTL, 1)
        else:
            self.socket = socket.socket(socket.AF_INET6, socket.SOCK_RAW, socket.IPPROTO_ICMPV6)
            self.socket.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_RECVHOPLIMIT, 1)
        if interface:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, interface.encode() + b"\0")
        self.socket.setblocking(False)

    def limit(self, hops: int) -> None:
        """How many routers the next requests may pass."""
        if self.family == 4:
            self.socket.setsockopt(socket.IPPROTO_IP, socket.IP_TTL, hops)
        else:
            self.socket.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_UNICAST_HOPS, hops)

    def ask(self, address: str, number: int, size: int) -> int:
        """Send a request with `size` bytes of data; the monotonic time in nanoseconds. Raises `OSError`."""
        at_ns: int = time.monotonic_ns()
        self.socket.sendto(request(self.family, self.identity, number, size), (address, 0))
        return at_ns

    def hear(self) -> Heard | None:
        """What has come for us; None when there is nothing, or something of others."""
        try:
            data, ancillary, _, sender = self.socket.recvmsg(2048, _TTL_BYTES)
        except BlockingIOError:
            return None
        at_ns = time.monotonic_ns()
        if self.family == 4:
            data = data[(data[0] & 15) * 4 :]
        found = self._meant(data)
        if found is None:
            return None
        ttl = next((int.from_bytes(item[2][:4], "little") for item in ancillary), None)
        size = max(len(data) - _HEADER.size, 0)
        return Heard(found[0], str(sender[0]), found[1], ttl, size, at_ns)

    def _meant(self, data: bytes) -> tuple[int, str] | None:
        """The number of our request, and what became of it."""
        if len(data) < _HEADER.size:
            return None
        kind, code, _, identity, number = _HEADER.unpack_from(data)
        if kind == _REPLY[self.family]:
            return (number, "") if identity == self.identity else None
        why = "expired" if kind == _EXPIRED[self.family] else _REFUSALS[self.family].get((kind, code))
        if why is None:
            return None
        inner = data[_HEADER.size :]
        skip = (inner[0] & 15) * 4 if self.family == 4 and inner else 40
        if len(inner) < skip + _HEADER.size:
            return None
        kind, _, _, identity, number = _HEADER.unpack_from(inner, skip)
        return (number, why) if (kind, identity) == (_REQUEST[self.family], self.identity) else None


def request(family: int, identity: int, number: int, size: int) -> bytes:
    """An echo request whose checksum does not depend on its number. ICMPv6's is filled in by the kernel."""
    balance = (0xFFFF - number) & 0xFFFF
    data = struct.pack("!H", balance) + bytes(at & 255 for at in range(size - _BALANCE))
    head = _HEADER.pack(_REQUEST[family], 0, 0, identity, number)
    if family == 4:
        head = _HEADER.pack(_REQUEST[family], 0, checksum(head + data), identity, number)
    return head + data


def checksum(data: bytes) -> int:
    """RFC 1071."""
    if len(data) % 2:
        data += b"\0"
    total: int = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def begun(asked: Ping | Mtr | Iperf, output: Output, confine: Callable[[], None]) -> tuple[EchoSocket, str]:
    """The socket of the target's family, and its address, which is told. Both families' sockets are opened
    before the name is looked up, as that is done without rights. Raises `OSError`."""
    sockets = {family: EchoSocket(family, asked.interface) for family in (4, 6)}
    confine()
    family, address = _resolve(asked.target)
    output.tell("target", address=address)
    return sockets[family], address


def _resolve(name: str) -> tuple[int, str]:
    """(4 or 6, address) of a name or address, the first that the resolver gives. Raises `OSError`."""
    family, _, _, _, address = socket.getaddrinfo(name, None, type=socket.SOCK_RAW)[0]
    return (4 if family == socket.AF_INET else 6), str(address[0])


def not_sent(error: OSError) -> str:
    """Why the kernel sent no request at all."""
    if error.errno == errno.EACCES:
        return "not sent: a broadcast address, or a route that prohibits it"
    if error.errno == errno.EPERM:
        return "not sent: a rule of the firewall forbids it"
    return f"not sent: {error.strerror or error}"


def spread(times_us: list[int]) -> dict[str, Any]:
    """The least, the mean and the largest; unknown without any."""
    if not times_us:
        return {"least_us": None, "mean_us": None, "most_us": None}
    mean = round(sum(times_us) / len(times_us))
    return {"least_us": min(times_us), "mean_us": mean, "most_us": max(times_us)}


def lost_percent(sent: int, received: int) -> float | None:
    return None if sent == 0 else round(100 * (sent - received) / sent, 1)
