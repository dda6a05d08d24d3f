# SPDX-License-Identifier: Apache-2.0
"""TCP transfers between a client of the lab and a server: goodput as the application sees it."""

from __future__ import annotations

import socket
import threading
import time

from lab import measure, plan

MSS_SHARE = {4: 1448 / 1500, 6: 1428 / 1500}
"""Payload bytes per IP byte of full segments with timestamps, at an MTU of 1500."""


def goodput_bps(
    client: str, server: str, direction: str, *, namespace: str = plan.INTERNET, warm_s: float, seconds: float
) -> float:
    """Payload bit/s of one bulk transfer after `warm_s`; the client connects, whatever the direction."""
    listener = measure.bound(namespace, server, kind=socket.SOCK_STREAM)
    listener.listen(1)
    listener.settimeout(10)
    near = measure.bound(plan.CLIENT, client, kind=socket.SOCK_STREAM)
    near.settimeout(10)
    near.connect((server, listener.getsockname()[1]))
    far = listener.accept()[0]
    listener.close()
    sender, receiver = (near, far) if direction == "upload" else (far, near)
    stop = threading.Event()
    pushing = threading.Thread(target=_push, args=(sender, stop))
    pushing.start()
    try:
        return _pull(receiver, warm_s, seconds)
    finally:
        stop.set()
        receiver.close()
        pushing.join()
        sender.close()


def _push(sender: socket.socket, stop: threading.Event) -> None:
    chunk = bytes(65536)
    sender.settimeout(0.5)
    while not stop.is_set():
        try:
            sender.send(chunk)
        except TimeoutError:
            continue
        except OSError:
            return


def _pull(receiver: socket.socket, warm_s: float, seconds: float) -> float:
    receiver.settimeout(0.5)
    begin_s = time.monotonic() + warm_s
    first_s = 0.0
    received_bytes = 0
    while (now_s := time.monotonic()) < begin_s + seconds:
        try:
            chunk = receiver.recv(262144)
        except TimeoutError:
            continue
        if not chunk:
            break
        if now_s < begin_s:
            continue
        if first_s == 0.0:
            first_s = now_s
        else:
            received_bytes += len(chunk)
    elapsed_s = time.monotonic() - first_s if first_s else seconds
    return received_bytes * 8 / elapsed_s
