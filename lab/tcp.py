# SPDX-License-Identifier: Apache-2.0
"""TCP transfers between a client of the lab and a server: goodput as the application sees it."""

from __future__ import annotations

import selectors
import socket
import time

from lab import measure, plan

MSS_SHARE = {4: 1448 / 1500, 6: 1428 / 1500}
"""Payload bytes per IP byte of full segments with timestamps, at an MTU of 1500."""

CHUNK_BYTES = 65536
TCP_NOTSENT_LOWAT = 25


def goodput_bps(
    client: str,
    server: str,
    direction: str,
    *,
    namespace: str = plan.INTERNET,
    warm_s: float,
    seconds: float,
    flows: int = 1,
    congestion: str = "",
) -> float:
    """Payload bit/s of so many bulk transfers together after `warm_s`.

    The client connects, whatever the direction.
    `congestion` is the senders' way to react to losses; the machine's own unless one is named.
    """
    ready = selectors.DefaultSelector()
    pairs = [_connected(client, server, namespace, congestion) for _ in range(flows)]
    try:
        for near, far in pairs:
            sender, receiver = (near, far) if direction == "upload" else (far, near)
            ready.register(sender, selectors.EVENT_WRITE)
            ready.register(receiver, selectors.EVENT_READ)
        _carry(ready, time.monotonic() + warm_s)
        begin_s = time.monotonic()
        received_bytes = _carry(ready, begin_s + seconds)
        return received_bytes * 8 / (time.monotonic() - begin_s)
    finally:
        ready.close()
        for pair in pairs:
            for own in pair:
                own.close()


def _connected(
    client: str, server: str, namespace: str, congestion: str
) -> tuple[socket.socket, socket.socket]:
    with measure.bound(namespace, server, kind=socket.SOCK_STREAM) as listener:
        near = measure.bound(plan.CLIENT, client, kind=socket.SOCK_STREAM)
        for own in (listener, near):
            own.settimeout(10)
            own.setsockopt(socket.IPPROTO_TCP, TCP_NOTSENT_LOWAT, CHUNK_BYTES)
            if congestion:
                own.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, congestion.encode())
        listener.listen(1)
        near.connect((server, listener.getsockname()[1]))
        far = listener.accept()[0]
    for own in (near, far):
        own.setblocking(False)
    return near, far


def _carry(ready: selectors.BaseSelector, end_s: float) -> int:
    """Send and receive what there is until then; the bytes that arrived."""
    received_bytes = 0
    chunk = bytes(CHUNK_BYTES)
    while (left_s := end_s - time.monotonic()) > 0:
        for key, _ in ready.select(left_s):
            own = key.fileobj
            assert isinstance(own, socket.socket)
            try:
                if key.events == selectors.EVENT_WRITE:
                    own.send(chunk)
                else:
                    received_bytes += len(own.recv(4 * CHUNK_BYTES))
            except BlockingIOError:
                continue
    return received_bytes
