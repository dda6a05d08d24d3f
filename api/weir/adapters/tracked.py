# SPDX-License-Identifier: Apache-2.0
"""One tracked connection, by its first packet (uapi/linux/netfilter/nfnetlink_conntrack.h)."""

from __future__ import annotations

import errno
import os
import socket
import struct
from dataclasses import dataclass
from ipaddress import ip_address

from weir.adapters.netfilter import attribute, message, messages, opened
from weir.model.problem import Unavailable

_GET, _DELETE = 1 << 8 | 1, 1 << 8 | 2
_REQUEST, _ACK = 0x1, 0x4
_ERROR, _NESTED = 2, 0x8000
_TUPLE, _ZONE = 1, 18
_ICMP = {1: (4, 5, 6, 8), 58: (7, 8, 9, 128)}
"""Attributes of id, type and code, and an echo request's type."""


@dataclass(frozen=True, slots=True)
class First:
    """The first packet of a connection. Of ICMP an echo request, whose id is `source_port`."""

    protocol: int
    source: str
    source_port: int
    destination: str
    port: int


def is_known(first: First, zone: int) -> bool:
    """Whether there is such a connection in that zone. Raises `Unavailable`."""
    return _asked(_GET, first, zone)


def forget(first: First, zone: int) -> bool:
    """Whether there was one, which is forgotten now. Raises `Unavailable`."""
    return _asked(_DELETE, first, zone)


def _asked(kind: int, first: First, zone: int) -> bool:
    family = socket.AF_INET if ip_address(first.source).version == 4 else socket.AF_INET6
    body = attribute(_TUPLE | _NESTED, _tuple(first)) + attribute(_ZONE, struct.pack("!H", zone))
    with opened() as link:
        link.send(message(kind, _REQUEST | _ACK, 1, body, family=family))
        while True:
            for answer, _, payload in messages(link.recv(1 << 16)):
                if answer != _ERROR:
                    continue
                code = -struct.unpack_from("=i", payload)[0]
                if code in (0, errno.ENOENT):
                    return bool(code == 0)
                text = f"the table of connections cannot be asked: {os.strerror(code)}"
                raise Unavailable(text, code="no-conntrack")


def _tuple(first: First) -> bytes:
    ends = [ip_address(text) for text in (first.source, first.destination)]
    at = 1 if ends[0].version == 4 else 3
    addresses = b"".join(attribute(at + place, end.packed) for place, end in enumerate(ends))
    said = attribute(1, bytes([first.protocol]))
    if first.protocol in _ICMP:
        number, kind, code, echo = _ICMP[first.protocol]
        said += attribute(number, struct.pack("!H", first.source_port))
        said += attribute(kind, bytes([echo])) + attribute(code, b"\0")
    else:
        ports = (first.source_port, first.port)
        said += b"".join(attribute(2 + place, struct.pack("!H", port)) for place, port in enumerate(ports))
    return attribute(1 | _NESTED, addresses) + attribute(2 | _NESTED, said)
