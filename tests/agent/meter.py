# SPDX-License-Identifier: Apache-2.0
"""How long a limit did not hold: a stream far above it, and what of it arrived in each short span."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from ipaddress import ip_address
from typing import Any

from lab.measure import CONTROL_BYTES, SO_TIMESTAMPNS, arrived_s, bound
from tests.agent.rig import Rig
from tests.polling import until

SPAN_S = 0.05
IP_BYTES = 1228
NEAR, FAR = "10.64.0.2", "203.0.113.1"
RATE_BPS, OFFERED_BPS = 1_000_000, 10_000_000
"""Of the customer whose limit somebody tampers with."""
WATCHED_S = 4.0
BUCKET_S = 0.3
"""The least bucket where nothing waits (ADR 12), which a class that is new begins with in full."""
MOST_PACKETS = int((BUCKET_S + 2 * SPAN_S) * RATE_BPS / (IP_BYTES * 8)) + 4
"""In one span: the whole bucket, what the limit lets out in it and in the one beside it, and a few packets
that had begun."""


class Meter:
    """An upload of the rig's client at `offered_bps` of IP bytes, in packets of `ip_bytes`, counted in spans
    of 50 ms on arrival."""

    def __init__(
        self, rig: Rig, offered_bps: int, *, near: str = NEAR, far: str = FAR, ip_bytes: int = IP_BYTES
    ) -> None:
        self._far = bound(rig.internet, far)
        self._near = bound(rig.client_ns, near)
        self._near.connect(self._far.getsockname())
        self._far.settimeout(0.05)
        self._far.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        self._ip_bytes = ip_bytes
        self._payload = bytes(ip_bytes - (48 if ip_address(near).version == 6 else 28))
        self._interval_s = ip_bytes * 8 / offered_bps
        self._over, self._silent = threading.Event(), threading.Event()
        self.spans: dict[int, int] = {}
        self.sent = 0
        self.last_s = 0.0
        self._threads = [threading.Thread(target=work) for work in (self._send, self._receive)]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join()
        self._near.close()
        self._far.close()

    def stop_sending(self) -> int:
        """Send no more, and let arrive what is on its way; how many were sent."""
        self._silent.set()
        self._threads[0].join()
        self._over.wait(1.0)
        return self.sent

    def watch(self, seconds: float) -> None:
        """Let the stream go on for so long."""
        self._over.wait(seconds)

    def unlimited_s(self, from_s: float, rate_bps: int) -> float:
        """For how long since then (as `time.time`) more than four times the rate arrived, which no credit
        of a bucket explains."""
        most = 4 * rate_bps * SPAN_S / (self._ip_bytes * 8)
        return SPAN_S * sum(n > most for span, n in list(self.spans.items()) if span >= int(from_s / SPAN_S))

    def most(self, from_s: float) -> int:
        """The most packets of one span since then (as `time.time`)."""
        return max((n for span, n in list(self.spans.items()) if span >= int(from_s / SPAN_S)), default=0)

    def arrived(self, from_s: float) -> int:
        return sum(n for span, n in list(self.spans.items()) if span >= int(from_s / SPAN_S))

    def _send(self) -> None:
        due_s = time.monotonic()
        while not (self._over.is_set() or self._silent.is_set()):
            now_s = time.monotonic()
            if now_s < due_s:
                self._over.wait(min(due_s - now_s, 0.01))
                continue
            due_s = max(due_s + self._interval_s, now_s - 0.05)
            with suppress(OSError):  # there is no way just now
                self._near.send(self._payload)
                self.sent += 1

    def _receive(self) -> None:
        while not self._over.is_set():
            try:
                _, control, _, _ = self._far.recvmsg(2048, CONTROL_BYTES)
            except TimeoutError:
                continue
            self.last_s = arrived_s(control)
            span = int(self.last_s / SPAN_S)
            self.spans[span] = self.spans.get(span, 0) + 1


@contextmanager
def metered(rig: Rig, offered_bps: int, **how: Any) -> Iterator[Meter]:
    """`how` as `Meter`'s."""
    meter = Meter(rig, offered_bps, **how)
    meter.start()
    try:
        until("packets arrive", lambda: meter.arrived(0))
        yield meter
    finally:
        meter.stop()


def unlimited_after(rig: Rig, hand: Callable[[Rig], None], *, near: str = NEAR, far: str = FAR) -> float:
    """For how many seconds of the `WATCHED_S` after what was done a customer of `RATE_BPS` was unlimited."""
    with metered(rig, OFFERED_BPS, near=near, far=far) as meter:
        meter.watch(0.5)  # the credit of an idle class goes
        quiet_s = time.time()
        meter.watch(0.5)
        assert meter.unlimited_s(quiet_s, RATE_BPS) == 0
        begun_s = time.time()
        hand(rig)
        meter.watch(WATCHED_S)
        found = meter.unlimited_s(begun_s, RATE_BPS)
    print(f"unlimited for {found:.2f} s")
    return found


def told_since(rig: Rig, begun_s: float) -> bool:
    """Whether the drift list has something that was mended since then (as `time.time`)."""
    return any(item["repaired"] and item["at_ms"] >= begun_s * 1000 - 10 for item in rig.status()["drift"])
