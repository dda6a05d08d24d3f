# SPDX-License-Identifier: Apache-2.0
"""Listening TCP sockets of this network namespace (linux/sock_diag.h, linux/inet_diag.h).

The kernel walks only its table of listening sockets for this, not the connections.
"""

from __future__ import annotations

import socket
import struct
from collections import Counter
from collections.abc import Iterator

from weir.adapters.kernel_counters import written
from weir.diagnosis.sample import Chain
from weir.model.problem import Unavailable

_NETLINK_SOCK_DIAG, _BY_FAMILY, _DUMP = 4, 20, 0x301
_DONE, _ERROR = 3, 2
_HEAD = struct.Struct("=IHHII")
_REQUEST = struct.Struct("=BBBxI48x")  # family, protocol, extensions, states, socket (any)
_FOUND = struct.Struct("=BBBB H2x 16s 16s I 8x IIIII")  # ports are big-endian; see `_listed`
_TCP, _LISTEN = 6, 1 << 10
_BUFFER_BYTES = 1 << 17
MOST = 20
"""Addresses that are told, those with most sockets first."""


def chains(most: int = MOST) -> tuple[Chain, ...]:
    """How many sockets listen on each address and port. Raises `Unavailable`."""
    counted: Counter[str] = Counter()
    uids: dict[str, int] = {}
    try:
        for family in (socket.AF_INET, socket.AF_INET6):
            for address, uid in _listed(family):
                counted[address] += 1
                uids[address] = uid
    except OSError as error:
        raise Unavailable(f"the listening sockets cannot be asked for: {error.strerror}") from error
    return tuple(Chain(address, count, uids[address]) for address, count in counted.most_common(most))


def _listed(family: int) -> Iterator[tuple[str, int]]:
    """Each one's address with its port, and the user id of who opened it."""
    body = _REQUEST.pack(family, _TCP, 0, _LISTEN)
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, _NETLINK_SOCK_DIAG) as link:
        link.settimeout(2.0)
        link.send(_HEAD.pack(_HEAD.size + len(body), _BY_FAMILY, _DUMP, 1, 0) + body)
        while True:
            data, at = link.recv(_BUFFER_BYTES), 0
            while at < len(data):
                size, kind, _, _, _ = _HEAD.unpack_from(data, at)
                if kind == _DONE:
                    return
                if kind == _ERROR:
                    number = -struct.unpack_from("=i", data, at + _HEAD.size)[0]
                    raise OSError(number, f"error {number}")
                found = _FOUND.unpack_from(data, at + _HEAD.size)
                address = found[5][:4] if family == socket.AF_INET else found[5]
                yield written(address, socket.ntohs(found[4])), found[11]
                at += (size + 3) & ~3
