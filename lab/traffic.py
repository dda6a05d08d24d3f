# SPDX-License-Identifier: Apache-2.0
"""A modest amount of traffic of the seeded customers, so that the screens are alive.

    python -m lab.traffic client|internet

The client side asks the internet side each second for the download rate it wants next, and sends its
uploads itself. Rates wander; now and then a customer wants more than its limit. About 30 Mbit/s in all.
"""

from __future__ import annotations

import math
import os
import random
import socket
import struct
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

from lab import netns, plan, seed

PORT = 7000
TICK_S = 0.1 if os.environ.get("WEIR_IN_VM") else 0.02
DATAGRAM = bytes(1200)
WIRE_BYTES = len(DATAGRAM) + 28
"""Bytes of an IPv4 packet around the datagram; 20 more with IPv6 do not matter here."""
REQUEST = struct.Struct("!Q")
FORGET_AFTER_S = 3.0
MODESTY = 0.1 if os.environ.get("WEIR_IN_VM") else 1.0
"""Emulated processors that carry 30 Mbit/s leave the agent no time to answer."""


@dataclass(slots=True)
class Stream:
    """A flow of datagrams to one peer, paced by a credit of bytes."""

    rate_bps: int = 0
    credit_bytes: float = 0.0
    asked_at_s: float = field(default_factory=time.monotonic)

    def due(self, elapsed_s: float) -> int:
        """How many datagrams to send now."""
        self.credit_bytes = min(self.credit_bytes + self.rate_bps * elapsed_s / 8, 20 * WIRE_BYTES)
        count = int(self.credit_bytes // WIRE_BYTES)
        self.credit_bytes -= count * WIRE_BYTES
        return count


def wanted_bps(limit_bps: int, number: int, now_s: float) -> int:
    """A rate that wanders around 40 % of the limit, with an evening peak above it every few minutes."""
    slow = math.sin(now_s / (37 + number) + number)
    peak = 1.0 if (now_s / 60 + number * 0.7) % 5 < 0.6 else 0.0
    return int(MODESTY * limit_bps * max(0.02, 0.3 + 0.25 * slow + 0.7 * peak + random.uniform(-0.05, 0.05)))


def internet() -> None:
    """Serve downloads to everybody who asks; forget who has not asked for some seconds."""
    servers = (plan.INTERNET_ADDRESSES[0], plan.INTERNET_ADDRESSES[-1], plan.ROUTED_SERVER)
    sockets = [_listening(address) for address in servers]
    streams: dict[tuple[socket.socket, tuple[str, int]], Stream] = {}
    for elapsed_s in _ticks():
        now_s = time.monotonic()
        for served in sockets:
            for request, peer in _arrived(served):
                if len(request) == REQUEST.size:
                    stream = streams.setdefault((served, peer), Stream())
                    stream.rate_bps, stream.asked_at_s = REQUEST.unpack(request)[0], now_s
        for key, stream in list(streams.items()):
            if now_s - stream.asked_at_s > FORGET_AFTER_S:
                del streams[key]
                continue
            for _ in range(stream.due(elapsed_s)):
                _send(key[0], DATAGRAM, key[1])


def ends(customer: seed.Customer) -> tuple[str, str]:
    """A customer's address and its server's. The northern tower is behind NAT; in the southern one every
    second customer uses the provider's own network, the others IPv6."""
    if not customer.routed:
        return plan.client_v4(customer.number), plan.INTERNET_ADDRESSES[0]
    if customer.number % 4 == 1:
        return plan.routed_v4(customer.number), plan.ROUTED_SERVER
    return plan.client_v6(customer.number), plan.INTERNET_ADDRESSES[-1]


def client() -> None:
    """One customer after the other: ask for a download, send an upload."""
    streams: list[tuple[seed.Customer, socket.socket, str, Stream]] = []
    for customer in seed.CUSTOMERS:
        source, server = ends(customer)
        streams.append((customer, _listening(source, port=0), server, Stream()))
    asked_s = 0.0
    for elapsed_s in _ticks():
        now_s = time.monotonic()
        ask = now_s - asked_s >= 1.0
        asked_s = now_s if ask else asked_s
        for customer, own, server, stream in streams:
            _arrived(own)
            if ask:
                stream.rate_bps = wanted_bps(customer.upload_bps, customer.number + 5, now_s)
                download_bps = wanted_bps(customer.download_bps, customer.number, now_s)
                _send(own, REQUEST.pack(download_bps), (server, PORT))
            for _ in range(stream.due(elapsed_s)):
                _send(own, DATAGRAM, (server, PORT))


def _ticks() -> Iterator[float]:
    """Yield the seconds since the last tick, about every TICK_S."""
    last_s = time.monotonic()
    while True:
        time.sleep(TICK_S)
        now_s = time.monotonic()
        yield now_s - last_s
        last_s = now_s


def _arrived(own: socket.socket) -> list[tuple[bytes, tuple[str, int]]]:
    packets = []
    while True:
        try:
            packets.append(own.recvfrom(2048))
        except BlockingIOError:
            return packets
        except OSError:
            continue


def _send(own: socket.socket, payload: bytes, peer: tuple[str, int]) -> None:
    """A full buffer, or a route that is not there yet, loses the packet, as networks do."""
    try:
        own.sendto(payload, peer)
    except OSError:
        return


def _listening(address: str, port: int = PORT) -> socket.socket:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    own = socket.socket(family, socket.SOCK_DGRAM)
    own.bind((address, port))
    own.setblocking(False)
    return own


def main() -> None:
    side = sys.argv[1]
    netns.enter(plan.CLIENT if side == "client" else plan.INTERNET)
    if side == "client":
        client()
    else:
        internet()


if __name__ == "__main__":
    main()
