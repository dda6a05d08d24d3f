# SPDX-License-Identifier: Apache-2.0
"""UDP between the two ends of a rig, with the addresses that every rig has."""

from __future__ import annotations

import socket
import time

from lab.measure import bound
from tests.agent.polling import until


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


def rate_bps(
    client_ns: str,
    internet: str,
    direction: str,
    offered_bps: int,
    ip_bytes: int = 1228,
    warm_s: float = 0.7,
    far_address: str = "203.0.113.1",
    near_address: str = "10.64.0.2",
) -> float:
    """IP bits per second that arrive of so many offered by the client (or to it), over 1.5 s."""
    far, near = bound(internet, far_address), bound(client_ns, near_address)
    with near, far:
        near.connect(far.getsockname())
        far.settimeout(0.2)
        until("a first packet arrives", lambda: near.send(b"hello") and _met(far))
        sender, receiver = (near, far) if direction == "upload" else (far, near)
        receiver.setblocking(False)
        payload, interval_s = bytes(ip_bytes - 28), ip_bytes * 8 / offered_bps
        start_s = due_s = drained_s = time.monotonic()
        arrived, from_s = 0, None
        while (now_s := time.monotonic()) < start_s + warm_s + 1.5:
            if now_s >= due_s:
                sender.send(payload)
                due_s += interval_s
            if from_s is None and now_s >= start_s + warm_s:
                arrived, from_s = 0, drained_s  # what waits now arrived since then
            arrived += _drain(receiver)
            drained_s = time.monotonic()
        assert from_s is not None
        return arrived * ip_bytes * 8 / (drained_s - from_s)


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
