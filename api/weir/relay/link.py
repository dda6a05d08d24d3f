# SPDX-License-Identifier: Apache-2.0
"""One relay: its sockets, and what it has counted.

Clients have no address yet, so a packet socket hears and answers them, before any rule of the firewall, as
Kea's does. Servers are spoken to by a UDP socket on the router's address on the clients' link. That address
alone is taken of port 67, so Kea can serve other interfaces of the same router.
"""

from __future__ import annotations

import ctypes
import socket
import struct
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from ipaddress import IPv4Address
from typing import Any

from weir.relay.messages import (
    SERVER_PORT,
    STRANGER,
    UNSENT,
    Dropped,
    Rules,
    agent_option,
    packet_to_client,
    payload,
    to_client,
    to_server,
)

_ETH_P_IP, _SO_ATTACH_FILTER, _IP_FREEBIND = 0x0800, 26, 15
_TO_US = (0, 1)
"""Of packet(7)'s kinds: to this host, and to all. Not what is for others, or of a VLAN that nobody has."""
_MAX_BYTES = 65_535
_AT_ONCE = 64
"""So many messages of one socket before others have their turn."""
_FILTER = (
    (0x30, 0, 0, 9),  # A = protocol
    (0x15, 0, 6, 17),  # UDP, or drop
    (0x28, 0, 0, 6),  # A = fragment
    (0x45, 4, 0, 0x1FFF),  # the first one, or drop
    (0xB1, 0, 0, 0),  # X = length of the IP header
    (0x48, 0, 0, 2),  # A = port
    (0x15, 0, 1, SERVER_PORT),  # a server's, or drop
    (0x06, 0, 0, _MAX_BYTES),
    (0x06, 0, 0, 0),
)


@dataclass(frozen=True, slots=True)
class Order:
    """What a relay is to do. `index` is its interface's, so one that is made again has other sockets."""

    ifname: str
    index: int
    address: str
    servers: tuple[str, ...]
    option_82: bool
    remote_id: str
    trusted: bool
    max_hops: int

    @property
    def rules(self) -> Rules:
        said = agent_option(self.ifname.encode(), self.remote_id.encode()) if self.option_82 else b""
        return Rules(IPv4Address(self.address).packed, said, self.trusted, self.max_hops)


@dataclass
class Counts:
    """Messages since the relay began. `answered` are the servers that have answered."""

    requests: int = 0
    answers: int = 0
    dropped: Counter[str] = field(default_factory=Counter)
    answered: set[str] = field(default_factory=set)

    def to_json(self) -> dict[str, Any]:
        return {
            "requests": self.requests,
            "answers": self.answers,
            "dropped": dict(self.dropped),
            "answered": sorted(self.answered),
        }


class Link:
    """Raises `OSError` when it cannot be opened. `counts` may be those of the one that it replaces."""

    def __init__(self, order: Order, counts: Counts) -> None:
        self.order, self.counts = order, counts
        self._rules = order.rules
        self.clients = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK, 0)
        self.servers = socket.socket(socket.AF_INET, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
        try:
            _only_to_servers(self.clients)
            self.clients.bind((order.ifname, _ETH_P_IP))
            self.servers.setsockopt(socket.IPPROTO_IP, _IP_FREEBIND, 1)  # the address may come later
            self.servers.bind((order.address, SERVER_PORT))
        except OSError:
            self.close()
            raise

    def close(self) -> None:
        self.clients.close()
        self.servers.close()

    def from_clients(self) -> None:
        """Pass on what clients have said."""
        self._each(self._from_client)

    def from_servers(self) -> None:
        """Pass on what servers have answered."""
        self._each(self._from_server)

    def _each(self, take: Callable[[], None]) -> None:
        for _ in range(_AT_ONCE):
            try:
                take()
            except Dropped as dropped:
                self.counts.dropped[dropped.reason] += 1
            except OSError:  # nothing more is there; or the link is down, or a server's port is closed
                return

    def _from_client(self) -> None:
        packet, (ifname, _, kind, *_) = self.clients.recvfrom(_MAX_BYTES)
        if kind not in _TO_US or ifname != self.order.ifname:  # the latter: frames of a VLAN interface on it
            return
        body = payload(packet, self._rules.address)
        if body is None:
            return
        message, sent = to_server(body, self._rules), False
        for server in self.order.servers:
            try:
                self.servers.sendto(message, (server, SERVER_PORT))
                sent = True
            except OSError:  # no way to this one
                continue
        if not sent:
            raise Dropped(UNSENT)
        self.counts.requests += 1

    def _from_server(self) -> None:
        body, (server, _) = self.servers.recvfrom(_MAX_BYTES)
        if server not in self.order.servers:
            raise Dropped(STRANGER)
        answer = to_client(body, self._rules)
        packet = packet_to_client(answer, self._rules.address)
        try:
            self.clients.sendto(packet, (self.order.ifname, _ETH_P_IP, 0, 0, answer.mac))
        except OSError as error:
            raise Dropped(UNSENT) from error
        self.counts.answers += 1
        self.counts.answered.add(server)


def _only_to_servers(handle: socket.socket) -> None:
    code = b"".join(struct.pack("HBBI", *instruction) for instruction in _FILTER)
    buffer = ctypes.create_string_buffer(code)
    program = struct.pack("HL", len(_FILTER), ctypes.addressof(buffer))
    handle.setsockopt(socket.SOL_SOCKET, _SO_ATTACH_FILTER, program)
