# SPDX-License-Identifier: Apache-2.0
"""Traffic that measures: what leaves at one end, what arrives at the other.

Sockets are opened inside a lab namespace and used from this process, so one process sees both ends and
one clock. Rates count the bytes of IP packets, as the limits of queues do.
"""

from __future__ import annotations

import os
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from ipaddress import ip_address
from itertools import pairwise
from pathlib import Path

from lab import netns, plan
from lab.process import PATIENCE

UDP_HEADER = 8
IP_HEADER = {4: 20, 6: 40}
RECEIVE_BUFFER = 8 << 20
SO_RCVBUFFORCE = 33
SO_TIMESTAMPNS = 35
UDP_SEGMENT = 103
UDP_GRO = 104
TIMESPEC = struct.Struct("@qq")
CONTROL_BYTES = 128
"""Room for what the kernel says of a packet: its time of arrival, and its segments' length."""


@dataclass(frozen=True, slots=True)
class Flow:
    """UDP from `source` to `destination`, offered at `offered_bps` of IP bytes in packets of `ip_bytes`.

    `direction` is as the customer sees it: an upload goes from client to internet. `batch` datagrams are
    sent and received by one call (UDP GSO and GRO), for rates that one call each is too slow for.
    """

    client: str
    server: str
    direction: str
    offered_bps: int
    ip_bytes: int = 1228
    batch: int = 1

    @property
    def payload_bytes(self) -> int:
        return self.ip_bytes - UDP_HEADER - IP_HEADER[ip_address(self.client).version]


@dataclass(slots=True)
class Result:
    """What happened to one flow within the measured time."""

    sent: int = 0
    received: int = 0
    received_ip_bytes: int = 0
    seconds: float = 0.0

    @property
    def rate_bps(self) -> float:
        return self.received_ip_bytes * 8 / self.seconds if self.seconds else 0.0


def bound(namespace: str, address: str, port: int = 0, kind: int = socket.SOCK_DGRAM) -> socket.socket:
    """A socket of a namespace bound to an address (its own, or one of the client's subnets)."""
    family = socket.AF_INET6 if ip_address(address).version == 6 else socket.AF_INET
    with netns.inside(namespace):
        own = socket.socket(family, kind)
    if kind == socket.SOCK_DGRAM:
        own.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, RECEIVE_BUFFER)
    own.bind((address, port))
    return own


class _Path:
    """The two sockets of a flow, opened through the NAT: the client speaks first."""

    def __init__(self, flow: Flow, number: int) -> None:
        self.flow = flow
        self.number = number
        self.result = Result()
        client = bound(plan.CLIENT, flow.client)
        server = bound(plan.INTERNET, flow.server)
        client.connect((flow.server, server.getsockname()[1]))
        server.settimeout(0.2)
        peer = self._meet(client, server)
        server.connect(peer)
        self.sender, self.receiver = (client, server) if flow.direction == "upload" else (server, client)
        self.receiver.settimeout(0.1)
        if flow.batch > 1:
            self.sender.setsockopt(socket.IPPROTO_UDP, UDP_SEGMENT, flow.payload_bytes)
            self.receiver.setsockopt(socket.IPPROTO_UDP, UDP_GRO, 1)

    def _meet(self, client: socket.socket, server: socket.socket) -> tuple[str, int]:
        """The address that the server sees the client at."""
        for _ in range(50):
            client.send(b"hello")
            try:
                peer: tuple[str, int] = server.recvfrom(64)[1][:2]
            except TimeoutError:
                continue
            return peer
        raise netns.LabError(f"no packet of {self.flow.client} arrives at {self.flow.server}")

    def close(self) -> None:
        self.sender.close()
        self.receiver.close()


def measure(flows: Sequence[Flow], *, warm_s: float = 1.0, seconds: float = 4.0) -> list[Result]:
    """Send all flows at once; count what arrives between `warm_s` and `warm_s + seconds`, at the receivers.

    The warm-up lets bursts and buffers fill, so that the steady rate is measured.
    """
    paths = [_Path(flow, number) for number, flow in enumerate(flows)]
    begin_s = time.monotonic() + 0.1
    window = (begin_s + warm_s, begin_s + warm_s + seconds)
    workers: list[threading.Thread] = []
    for path in paths:
        workers.append(threading.Thread(target=_receive, args=(path, window)))
        workers.append(threading.Thread(target=_send, args=(path, begin_s, window[1])))
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    for path in paths:
        path.close()
    return [path.result for path in paths]


def arriving_bps(flow: Flow, *, warm_s: float, seconds: float) -> float:
    """The rate at which a flow's packets arrive, by the kernel's count alone: nobody reads them.

    Reading each packet leaves emulated processors no time for the router at 50 Mbit/s. Here the receiver has
    no room, and the kernel counts what it drops for it, each segment of its own (RFC 4113,
    udpInErrors).
    """
    path = _Path(flow, 0)
    path.receiver.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 0)
    begin_s = time.monotonic() + 0.1
    sending = threading.Thread(target=_send, args=(path, begin_s, begin_s + warm_s + seconds + 1))
    sending.start()
    counted = []
    for due_s in (begin_s + warm_s, begin_s + warm_s + seconds):
        time.sleep(max(0.0, due_s - time.monotonic()))
        counted.append((time.monotonic(), _not_taken(flow)))
    sending.join()
    path.close()
    (first_s, first), (last_s, last) = counted
    return (last - first) * flow.ip_bytes * 8 / (last_s - first_s)


def _not_taken(flow: Flow) -> int:
    """Datagrams of IPv4 that a socket of the receiver's namespace had no room for."""
    with netns.inside(plan.INTERNET if flow.direction == "upload" else plan.CLIENT):
        lines = Path("/proc/thread-self/net/snmp").read_text(encoding="ascii").splitlines()
    names, values = (line.split() for line in lines if line.startswith("Udp:"))
    return int(values[names.index("InErrors")])


def arrived_s(control: list[tuple[int, int, bytes]]) -> float:
    """When a packet arrived (seconds of `time.time()`): the kernel's stamp, as the reader may be late."""
    stamp = next(
        data for level, kind, data in control if (level, kind) == (socket.SOL_SOCKET, SO_TIMESTAMPNS)
    )
    seconds, ns = TIMESPEC.unpack(stamp)
    return float(seconds + ns / 1e9)


def punctual() -> None:
    """Let the calling thread run when it is due: a sender that pauses 20 ms starves a policer's bucket."""
    with suppress(PermissionError):
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(10))


def _send(path: _Path, begin_s: float, end_s: float) -> None:
    punctual()
    batch = path.flow.batch
    payload = bytes(path.flow.payload_bytes * batch)
    interval_s = path.flow.ip_bytes * batch * 8 / path.flow.offered_bps
    due_s = begin_s
    while due_s < end_s:
        pause_s = due_s - time.monotonic()
        if pause_s > 0.0005:
            time.sleep(pause_s)
        due_s += interval_s
        try:
            path.sender.send(payload)
        except BrokenPipeError:
            return
        except OSError:
            continue
        path.result.sent += batch


def _receive(path: _Path, window: tuple[float, float]) -> None:
    """Count what arrived within the window, by the kernel's stamps.

    On emulated processors a sender that catches up keeps the interpreter from the receiver for a second, and
    the rate at which it then reads what waited is no limit's. The rate is taken from the first packet to the
    last one.
    """
    punctual()
    path.receiver.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
    to_stamps_s = time.time() - time.monotonic()
    first_s = last_s = stamp_s = 0.0
    count = first_count = 0
    while stamp_s < window[1]:
        try:
            data, control, _, _ = path.receiver.recvmsg(65536, CONTROL_BYTES)
        except OSError:
            if time.monotonic() > window[1]:
                break
            continue
        stamp_s = arrived_s(control) - to_stamps_s
        if not window[0] <= stamp_s < window[1]:
            continue
        datagrams = len(data) // path.flow.payload_bytes
        if count == 0:
            first_s, first_count = stamp_s, datagrams
        last_s = stamp_s
        count += datagrams
    path.result.received = count
    path.result.received_ip_bytes = (count - first_count) * path.flow.ip_bytes
    path.result.seconds = last_s - first_s


def poll(ready: Callable[[], bool], within_s: float = 10.0) -> bool:
    """Whether `ready` became true within the time (longer on emulated processors)."""
    deadline = time.monotonic() + within_s * PATIENCE
    while not ready():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def gaps(flow: Flow, *, warm_s: float, packets: int) -> list[float]:
    """Seconds between the arrivals of so many packets in a row, stamped by the kernel."""
    path = _Path(flow, 0)
    path.receiver.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
    begin_s = time.monotonic()
    need_s = warm_s + 2 * packets * flow.ip_bytes * 8 / flow.offered_bps + 5
    sending = threading.Thread(target=_send, args=(path, begin_s, begin_s + need_s))
    sending.start()
    try:
        stamps = list(_stamps(path.receiver, begin_s + warm_s, packets + 1))
    finally:
        path.sender.shutdown(socket.SHUT_RDWR)
        sending.join()
        path.close()
    return [later - earlier for earlier, later in pairwise(stamps)]


def _stamps(receiver: socket.socket, from_s: float, count: int) -> Iterator[float]:
    """Arrival times (seconds) of `count` packets after `from_s`."""
    receiver.settimeout(5)
    while count > 0:
        _, control, _, _ = receiver.recvmsg(2048, CONTROL_BYTES)
        if time.monotonic() < from_s:
            continue
        yield arrived_s(control)
        count -= 1
