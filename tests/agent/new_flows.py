# SPDX-License-Identifier: Apache-2.0
"""First packets of many flows, as an attacker sends them; and whether others still open theirs."""

from __future__ import annotations

import socket
import struct
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from lab import netns
from lab.measure import bound
from tests.agent.raw_frames import mac_of, udp6
from tests.agent.rig import Rig
from tests.datapath import packets as p

ATTACKER, BYSTANDER, SERVER = "10.64.0.2", "10.64.0.3", "203.0.113.1"
SERVER6 = "2001:db8:100::1"
NEW_BYTES = 60
OFFERED_PS = 30_000


def opens(rig: Rig, source: str = BYSTANDER) -> bool:
    """Whether a new connection to the server gets an answer within 3 s."""
    with bound(rig.internet, SERVER) as server, bound(rig.client_ns, source) as client:
        client.connect(server.getsockname())
        server.settimeout(3)
        client.settimeout(3)
        client.send(b"new")
        try:
            _, back = server.recvfrom(64)
            server.sendto(b"answer", back)
            return client.recv(64) == b"answer"
        except TimeoutError:
            return False


def flows(rig: Rig, source: str, seconds: float, per_second: int = OFFERED_PS) -> int:
    """First packets of so many flows; returns how many were sent."""
    with netns.inside(rig.client_ns):
        out = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
        out.bind(("c0", 0))
    head = mac_of(rig.router, "lan0") + mac_of(rig.client_ns, "c0") + struct.pack("!H", p.IPV4)
    sent, begun = 0, time.monotonic()
    frame = bytearray(head + p.ipv4(source, SERVER, p.udp(1, 9, bytes(NEW_BYTES - 28))))
    with out:
        while (passed := time.monotonic() - begun) < seconds:
            for _ in range(min(int(passed * per_second) - sent, 1000)):
                struct.pack_into("!HH", frame, 34, 1024 + sent % 60_000, 1024 + sent // 60_000)
                out.send(frame)
                sent += 1
            time.sleep(0.001)
    return sent


@contextmanager
def flooded(rig: Rig, source: str) -> Iterator[None]:
    over = threading.Event()

    def flood() -> None:
        while not over.is_set():
            flows(rig, source, 0.2)

    thread = threading.Thread(target=flood)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def send6(rig: Rig, sources: list[str]) -> None:
    """The first packet of a flow of each."""
    head = mac_of(rig.router, "lan0") + mac_of(rig.client_ns, "c0") + struct.pack("!H", p.IPV6)
    with netns.inside(rig.client_ns):
        out = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
        out.bind(("c0", 0))
    with out:
        for source in sources:
            out.send(head + udp6(source, SERVER6, NEW_BYTES))


def answer_all(server: socket.socket) -> None:
    """Until the socket is closed."""
    server.settimeout(1)
    with suppress(OSError):
        while True:
            with suppress(TimeoutError):
                data, back = server.recvfrom(64)
                server.sendto(data, back)


def answered(client: socket.socket) -> bool:
    try:
        return bool(client.recv(64))
    except BlockingIOError:
        return False


def tracked(rig: Rig) -> int:
    return int(rig.run("cat", "/proc/sys/net/netfilter/nf_conntrack_count"))


def tracked_of(rig: Rig, source: str) -> int:
    return rig.run("conntrack", "-L", "-s", source).count("src=") // 2
