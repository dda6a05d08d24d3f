# SPDX-License-Identifier: Apache-2.0
"""DHCP's packets on one interface, which may have no IPv4 address yet: those go through a packet socket.

The socket is open only while an answer is awaited, and lets nothing in but UDP to the client's port: a
router's WAN carries other packets, millions a second.
"""

from __future__ import annotations

import contextlib
import ctypes
import select
import socket
import struct
from types import TracebackType

from weir.adapters.dhcp6_packets import CLIENT_PORT, SERVER_PORT

_ETH_P_IP = 0x0800
_SO_ATTACH_FILTER = 26
_EVERYBODY = b"\xff" * 6
_MAX_BYTES = 2048
_ALL_SERVERS = "ff02::1:2"
_FILTER = (
    (0x30, 0, 0, 9),  # A = protocol
    (0x15, 0, 6, 17),  # UDP, or drop
    (0x28, 0, 0, 6),  # A = fragment
    (0x45, 4, 0, 0x1FFF),  # the first one, or drop
    (0xB1, 0, 0, 0),  # X = length of the IP header
    (0x48, 0, 0, 2),  # A = port
    (0x15, 0, 1, 68),  # a client's, or drop
    (0x06, 0, 0, _MAX_BYTES),
    (0x06, 0, 0, 0),
)


class Wire:
    """One thread sends and waits; any may `wake` it. Raises `OSError` where the interface is down or gone."""

    def __init__(self, ifname: str) -> None:
        self._ifname = ifname
        self._handle: socket.socket | None = None
        self._reader, self._writer = socket.socketpair()
        self._reader.setblocking(False)
        self._writer.setblocking(False)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._handle is not None:
            self._handle.close()
            self._handle = None

    def wait(self, timeout_s: float) -> None:
        """Until the timeout, or until woken."""
        self._ready(timeout_s)

    def wake(self) -> None:
        with contextlib.suppress(BlockingIOError):
            self._writer.send(b"x")

    def close(self) -> None:
        self.__exit__(None, None, None)
        self._reader.close()
        self._writer.close()

    def _ready(self, timeout_s: float) -> bool:
        """Whether a packet is there before the timeout and before anybody woke us."""
        watched = [self._reader, *([self._handle] if self._handle is not None else [])]
        readable, _, _ = select.select(watched, [], [], max(timeout_s, 0.0))
        if self._reader in readable:
            self._reader.recv(4096)
            return False
        return bool(readable)


class DhcpWire(Wire):
    """DHCP's packets of IPv4."""

    def __enter__(self) -> DhcpWire:
        """Open for one exchange."""
        self._handle = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, 0)
        code = b"".join(struct.pack("HBBI", *instruction) for instruction in _FILTER)
        buffer = ctypes.create_string_buffer(code)
        program = struct.pack("HL", len(_FILTER), ctypes.addressof(buffer))
        self._handle.setsockopt(socket.SOL_SOCKET, _SO_ATTACH_FILTER, program)
        self._handle.bind((self._ifname, _ETH_P_IP))
        return self

    def send(self, data: bytes, mac: bytes = b"") -> None:
        """To one station, or to all of the network."""
        assert self._handle is not None
        self._handle.sendto(data, (self._ifname, _ETH_P_IP, 0, 0, mac or _EVERYBODY))

    def receive(self, timeout_s: float) -> tuple[bytes, bytes] | None:
        """A packet and its sender's MAC address; None after the timeout, and when woken."""
        if not self._ready(timeout_s) or self._handle is None:
            return None
        data, address = self._handle.recvfrom(_MAX_BYTES)
        return data, address[4]


class Dhcp6Wire(Wire):
    """DHCPv6's, between link-local addresses (RFC 8415, 7.1)."""

    def __enter__(self) -> Dhcp6Wire:
        """Open for one exchange. Raises `OSError` also while the interface has no address of that kind."""
        self._handle = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
        try:
            self._handle.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, self._ifname.encode())
            self._handle.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            self._handle.bind(("::", CLIENT_PORT))
        except OSError:
            self.__exit__(None, None, None)
            raise
        return self

    def send(self, data: bytes) -> None:
        """To all servers and relays beside the interface."""
        assert self._handle is not None
        to = (_ALL_SERVERS, SERVER_PORT, 0, socket.if_nametoindex(self._ifname))
        self._handle.sendto(data, to)

    def receive(self, timeout_s: float) -> bytes | None:
        """What came from a link-local address; None after the timeout, when woken, and of anybody else."""
        if not self._ready(timeout_s) or self._handle is None:
            return None
        data, address = self._handle.recvfrom(_MAX_BYTES)
        return data if str(address[0]).startswith("fe80:") else None
