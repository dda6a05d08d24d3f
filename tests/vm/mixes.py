# SPDX-License-Identifier: Apache-2.0
"""Many TCP connections between clients and a server, through queues as the product compiles them.

The router is the calling process's network namespace; the peers are `tests.datapath.topology`'s. They send
packets of one MTU (no segmentation offload), as a network does. What the server sends is delayed by the
band of its sender, so that clients have different round trips.
"""

from __future__ import annotations

import ctypes
import selectors
import socket
import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from types import TracebackType

from lab import netns
from tests.datapath.topology import SERVER, Peer, Topology, run
from weir.adapters.datapath import Datapath
from weir.adapters.datapath_records import Mode
from weir.adapters.share_controller import ShareController
from weir.adapters.tc import fq_lines
from weir.backends.tables import record_of
from weir.compiler import SlotAllocation, compile_document
from weir.model.document import Document
from weir.model.objects import Queue, QueueType

ROUND_TRIPS_MS = (20, 10, 40, 80, 0)
"""Of the bands 0 to 4; the last is what the emulated machine takes by itself, some 0.2 ms."""
NEAR, FAR = "mix-client", "mix-server"
HEADERS_SHARE = 1448 / 1500
"""Payload bytes per IP byte of full segments with timestamps."""
TCP_NOTSENT_LOWAT = 25
UNSENT_BYTES = 1 << 16
DATAGRAM_BYTES = 1200


def address_of(client: int) -> str:
    return f"10.64.0.{10 + client}"


@dataclass(frozen=True, slots=True)
class Bulk:
    """Connections of one client that send as fast as TCP lets them, or UDP at so many bit/s of IP packets."""

    client: int
    connections: int = 1
    direction: str = "download"
    congestion: str = "cubic"
    band: int = 0
    udp_bps: int = 0


class Router:
    """Both ports pace by `fq`, or police; the queues are those of the last `shape`."""

    def __init__(self, clients: int, mode: Mode = "edt") -> None:
        self._topology = Topology()
        for peer, name in ((self._topology.client, NEAR), (self._topology.server, FAR)):
            peer.name(name)
            for feature in ("tso", "gso", "gro"):
                peer.run("ethtool", "-K", "far0", feature, "off")
        for number in range(clients):
            self._topology.client.run("ip", "address", "add", f"{address_of(number)}/24", "dev", "far0")
        _delay(self._topology.server)
        self.datapath = Datapath.open(None, capacity=4096)
        self._sharing: ShareController | None = None
        for port in ("lan0", "wan0"):
            for line in fq_lines(port, 2) if mode == "edt" else ():
                run("tc", *line.split())
            self.datapath.attach(port, mode=mode)

    def shape(self, queues: Sequence[Queue], types: Sequence[QueueType] = ()) -> None:
        """These queues and no others, from nothing."""
        if self._sharing is not None:
            self._sharing.stop()
        self.datapath.change_prefixes(remove=list(self.datapath.read_prefixes()))
        for slot in self.datapath.read_classes():
            self.datapath.clear_class(slot)
        document = Document([*queues, *types])
        shaping = compile_document(document, SlotAllocation(), datetime(2026, 1, 1)).shaping
        specs = sorted(shaping.classes.values(), key=lambda spec: (spec.depth, not spec.is_total))
        self.datapath.write_classes((spec.slot, record_of(spec)) for spec in specs)
        self.datapath.change_prefixes([(*key, slot) for key, slot in shaping.prefixes.items()])
        self._sharing = ShareController(self.datapath)

    def close(self) -> None:
        if self._sharing is not None:
            self._sharing.stop()
        self.datapath.close()
        for name in (NEAR, FAR):
            run("ip", "netns", "del", name)
        self._topology.__exit__(None, None, None)


def _delay(server: Peer) -> None:
    bands = " ".join(str(min(priority, len(ROUND_TRIPS_MS) - 1)) for priority in range(16))
    root = f"tc qdisc add dev far0 root handle 1: prio bands {len(ROUND_TRIPS_MS)} priomap {bands}"
    server.run(*root.split())
    for band, delay_ms in enumerate(ROUND_TRIPS_MS, 1):
        leaf = f"tc qdisc add dev far0 parent 1:{band} netem delay {delay_ms}ms limit 4000"
        server.run(*leaf.split())


@contextmanager
def standing(clients: int, mode: Mode = "edt") -> Iterator[Router]:
    """A router in a network namespace of its own, which the calling process stays in."""
    assert ctypes.CDLL(None, use_errno=True).unshare(netns.CLONE_NEWNET) == 0
    router = Router(clients, mode)
    try:
        yield router
    finally:
        router.close()


class Mix:
    """Transfers side by side, all run by the calling thread."""

    def __init__(self, *transfers: Bulk) -> None:
        self._transfers = transfers
        self._sockets: list[socket.socket] = []
        self._senders: list[tuple[int, socket.socket]] = []
        self._ready = selectors.DefaultSelector()
        for number, bulk in enumerate(transfers):
            for _ in range(bulk.connections):
                self._connect(number, bulk)

    def __enter__(self) -> Mix:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ready.close()
        for own in self._sockets:
            own.close()

    def _connect(self, number: int, bulk: Bulk) -> None:
        near, far = _datagrams(bulk) if bulk.udp_bps else _stream(bulk)
        sender, receiver = (near, far) if bulk.direction == "upload" else (far, near)
        for own in (near, far):
            own.setblocking(False)
            self._sockets.append(own)
        self._senders.append((number, sender))
        self._ready.register(receiver, selectors.EVENT_READ, number)

    def rates_mbit(self, warm_s: float, seconds: float, silent: Collection[int] = ()) -> list[float]:
        """Of IP packets, for each transfer, after `warm_s`; those of `silent` send nothing meanwhile.

        What one call leaves on its way is there for the next, so calls in a row are phases of one run.
        """
        speaking = [(number, sender) for number, sender in self._senders if number not in silent]
        streams = [sender for number, sender in speaking if not self._transfers[number].udp_bps]
        paced = [
            _Paced(sender, self._transfers[n].udp_bps) for n, sender in speaking if sender not in streams
        ]
        for sender in streams:
            self._ready.register(sender, selectors.EVENT_WRITE)
        try:
            self._carry(paced, time.monotonic() + warm_s)
            begin_s = time.monotonic()
            received_bytes = self._carry(paced, begin_s + seconds)
            elapsed_s = time.monotonic() - begin_s
        finally:
            for sender in streams:
                self._ready.unregister(sender)
        return [
            count
            * 8
            / 1e6
            / elapsed_s
            / (DATAGRAM_BYTES / (DATAGRAM_BYTES + 28) if bulk.udp_bps else HEADERS_SHARE)
            for count, bulk in zip(received_bytes, self._transfers, strict=True)
        ]

    def _carry(self, paced: Sequence[_Paced], end_s: float) -> list[int]:
        received_bytes = [0] * len(self._transfers)
        chunk = bytes(UNSENT_BYTES)
        while (left_s := end_s - time.monotonic()) > 0:
            pause_s = min([left_s, *(sender.send_due() for sender in paced)])
            for key, _ in self._ready.select(pause_s):
                own = key.fileobj
                assert isinstance(own, socket.socket)
                try:
                    if key.data is None:
                        own.send(chunk)
                    else:
                        received_bytes[key.data] += len(own.recv(UNSENT_BYTES))
                except BlockingIOError:
                    continue
        return received_bytes


class _Paced:
    """A sender of datagrams who does not care for losses."""

    def __init__(self, sender: socket.socket, rate_bps: int) -> None:
        self._sender = sender
        self._gap_s = (DATAGRAM_BYTES + 28) * 8 / rate_bps
        self._due_s = time.monotonic()

    def send_due(self) -> float:
        """Send what is due; seconds until the next is."""
        while (left_s := self._due_s - time.monotonic()) <= 0:
            self._sender.send(bytes(DATAGRAM_BYTES))
            self._due_s += self._gap_s
        return left_s


def _bound(namespace: str, address: str, kind: socket.SocketKind) -> socket.socket:
    with netns.inside(namespace):
        own = socket.socket(socket.AF_INET, kind)
    own.bind((address, 0))
    return own


def _datagrams(bulk: Bulk) -> tuple[socket.socket, socket.socket]:
    near = _bound(NEAR, address_of(bulk.client), socket.SOCK_DGRAM)
    far = _bound(FAR, SERVER, socket.SOCK_DGRAM)
    near.connect(far.getsockname())
    far.connect(near.getsockname())
    return near, far


def _stream(bulk: Bulk) -> tuple[socket.socket, socket.socket]:
    near = _bound(NEAR, address_of(bulk.client), socket.SOCK_STREAM)
    with _bound(FAR, SERVER, socket.SOCK_STREAM) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_PRIORITY, bulk.band)
        for own in (near, listener):
            own.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, bulk.congestion.encode())
            own.setsockopt(socket.IPPROTO_TCP, TCP_NOTSENT_LOWAT, UNSENT_BYTES)
            own.settimeout(10)
        listener.listen(1)
        near.connect(listener.getsockname())
        return near, listener.accept()[0]
