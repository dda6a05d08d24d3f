# SPDX-License-Identifier: Apache-2.0
"""UDP between the two ends of a rig, with the addresses that every rig has."""

from __future__ import annotations

import socket
import time
from dataclasses import dataclass
from typing import Any

from lab.measure import bound
from tests.polling import until

MEASURED_S = 1.5
LATE_S = 0.1
TRIES = 10


def arriving(client_ns: str, internet: str, packets: int) -> int:
    """How many of so many UDP packets of 1,228 bytes, sent at once, get from client to internet."""
    far = bound(internet, "203.0.113.1")
    near = bound(client_ns, "10.64.0.2")
    with near, far:
        near.connect(far.getsockname())
        far.settimeout(0.2)
        until("a first packet arrives", lambda: near.send(b"hello") and _received(far))
        for _ in range(packets):
            near.send(bytes(1200))
        return sum(1 for _ in iter(lambda: _received(far), 0))


@dataclass(frozen=True, slots=True)
class Arrived:
    rate_bps: float
    """IP bits per second over 1.5 s."""
    every_bytes: int
    """IP bytes of all packets, those included that came before and in runs that were repeated."""


def rate_bps(client_ns: str, internet: str, direction: str, offered_bps: int, **how: Any) -> float:
    return measured(client_ns, internet, direction, offered_bps, **how).rate_bps


def measured(
    client_ns: str,
    internet: str,
    direction: str,
    offered_bps: int,
    ip_bytes: int = 1228,
    warm_s: float = 0.7,
    far_address: str = "203.0.113.1",
    near_address: str = "10.64.0.2",
) -> Arrived:
    """What arrives of so many IP bits per second offered by the client (or to it).

    A run in which this process waited for a processor is repeated, whatever arrived: it offered nothing for
    that time and a burst after it.
    """
    far, near = bound(internet, far_address), bound(client_ns, near_address)
    with near, far:
        near.connect(far.getsockname())
        far.settimeout(0.2)
        until("a first packet arrives", lambda: near.send(b"hello") and _met(far))
        sender, receiver = (near, far) if direction == "upload" else (far, near)
        receiver.setblocking(False)
        every = 0
        for _ in range(TRIES):
            run = _Run(sender, receiver, bytes(ip_bytes - 28), ip_bytes * 8 / offered_bps, warm_s)
            every += run.packets
            if run.latest_s < LATE_S:
                break
        return Arrived(run.packets_per_s * ip_bytes * 8, every * ip_bytes)


class _Run:
    """Sends at equal intervals and counts what arrives."""

    def __init__(
        self, sender: socket.socket, receiver: socket.socket, payload: bytes, interval_s: float, warm_s: float
    ) -> None:
        self.packets, self.latest_s = 0, 0.0
        """`latest_s`: by how much a packet left too late at most."""
        start_s = due_s = drained_s = time.monotonic()
        warm, from_s = 0, None
        while (now_s := time.monotonic()) < start_s + warm_s + MEASURED_S:
            self.latest_s = max(self.latest_s, now_s - due_s)
            if now_s >= due_s:
                sender.send(payload)
                due_s += interval_s
            if from_s is None and now_s >= start_s + warm_s:
                warm, from_s = self.packets, drained_s  # what waits now arrived since then
            self.packets += _drain(receiver)
            drained_s = time.monotonic()
            time.sleep(max(due_s - drained_s, 0))  # who uses little of a processor gets it soon
        assert from_s is not None
        self.packets_per_s = (self.packets - warm) / (drained_s - from_s)


def _met(far: socket.socket) -> bool:
    """The first packet tells the address that the client has behind the NAT."""
    try:
        far.connect(far.recvfrom(2048)[1])
    except TimeoutError:
        return False
    return True


def _drain(link: socket.socket) -> int:
    count = 0
    while True:
        try:
            link.recv(2048)
        except BlockingIOError:
            return count
        count += 1


def _received(link: socket.socket) -> int:
    """Bytes of the next packet, 0 when none comes for a while."""
    try:
        return len(link.recv(2048))
    except TimeoutError:
        return 0
