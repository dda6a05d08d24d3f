# SPDX-License-Identifier: Apache-2.0
"""What clients of DHCPv6 on this router's links ask its server: who they are, and where they ask from.

Kea's leases do not say where a router is that has a prefix, and its hooks are not on the image. A raw socket
has what the kernel delivers to UDP sockets (net/ipv6/raw.c), after the firewall, so what is forwarded costs
nothing. A filter leaves port 547 alone.
"""

from __future__ import annotations

import ctypes
import socket
import struct
from collections.abc import Iterator
from typing import NamedTuple

from weir.model.problem import Unavailable

SERVER_PORT = 547
REQUEST, RENEW, REBIND = 3, 5, 6
"""Those in which a client asks for what it is given (RFC 8415, 7.3); none of them came by a relay."""
CLIENT_ID = 1
_UDP_BYTES, _MESSAGE_BYTES, _OPTION_BYTES = 8, 4, 4
_MOST_BYTES = 2048
_BUFFER_BYTES = 4 << 20
"""A few thousand messages: as many routers may ask in one second after an outage."""
_SO_ATTACH_FILTER, _SO_RCVBUFFORCE = 26, 33
_LOAD_HALF, _EQUAL, _RETURN = 0x28, 0x15, 0x06
"""BPF_LD|BPF_H|BPF_ABS, BPF_JMP|BPF_JEQ|BPF_K, BPF_RET|BPF_K (linux/filter.h)."""

_FILTER = (
    (_LOAD_HALF, 0, 0, 2),  # the destination port
    (_EQUAL, 0, 1, SERVER_PORT),
    (_RETURN, 0, 0, _MOST_BYTES),
    (_RETURN, 0, 0, 0),
)


class Heard(NamedTuple):
    """`duid` as bytes in hexadecimal with colons, `address` link-local."""

    ifname: str
    duid: str
    address: str


class Dhcp6Ear:
    """Raises `OSError` when there is none."""

    def __init__(self) -> None:
        self._socket = socket.socket(socket.AF_INET6, socket.SOCK_RAW, socket.IPPROTO_UDP)
        try:
            self._socket.setblocking(False)
            code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *line) for line in _FILTER))
            program = struct.pack("HP", len(_FILTER), ctypes.addressof(code))
            self._socket.setsockopt(socket.SOL_SOCKET, _SO_ATTACH_FILTER, program)
            self._socket.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, _BUFFER_BYTES)
        except OSError:
            self._socket.close()
            raise

    def close(self) -> None:
        self._socket.close()

    def heard(self) -> Iterator[Heard]:
        """What came since the last time. Raises `Unavailable`."""
        while True:
            try:
                data, (address, _port, _flow, index) = self._socket.recvfrom(_MOST_BYTES)
            except BlockingIOError:
                return
            except OSError as error:
                raise Unavailable(f"DHCPv6 cannot be heard: {error.strerror}", code="netlink") from error
            duid = client_of(data[_UDP_BYTES:])
            if duid is not None and index:
                try:
                    yield Heard(socket.if_indextoname(index), duid, address.partition("%")[0])
                except OSError:
                    continue  # the interface is gone


def client_of(message: bytes) -> str | None:
    """The DUID of a client that asks for what it is to have; None of any other message."""
    if not message or message[0] not in (REQUEST, RENEW, REBIND):
        return None
    at = _MESSAGE_BYTES
    while at + _OPTION_BYTES <= len(message):
        code, size = struct.unpack_from("!HH", message, at)
        at += _OPTION_BYTES
        if at + size > len(message):
            return None
        if code == CLIENT_ID:
            return message[at : at + size].hex(":") or None
        at += size
    return None
