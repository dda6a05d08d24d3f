# SPDX-License-Identifier: Apache-2.0
"""A distant server: behind the internet, with a round trip of some milliseconds.

    python -m lab.delay DELAY_MS

Where the kernel has netem (the virtual machine's), `netem` delays what the internet's servers send.
Development kernels often lack it: there `far_server` makes the distance of a wire of two TUN devices
between the internet's namespace and one more, joined by this process, which holds each packet towards
the client for the delay.
"""

from __future__ import annotations

import fcntl
import os
import socket
import struct
import sys
import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager

from lab import measure, netns, plan, process

FAR = plan.FAR
DEVICE = "wire0"
FAR_V4 = "198.51.100.129"
FAR_V6 = "2001:db8:100:1::1"
TUNSETIFF = 0x400454CA
IFF_TUN, IFF_NO_PI = 0x0001, 0x1000
LIMIT_PACKETS = 2000


@contextmanager
def netem(round_trip_ms: float) -> Iterator[None]:
    """Everything the internet sends to the router arrives that much later, while the block runs."""
    device = ["tc", "-n", plan.INTERNET, "qdisc"]
    where = ["dev", plan.WAN.peer_device, "root"]
    netns.run(
        [*device, "replace", *where, "netem", "delay", f"{round_trip_ms}ms", "limit", str(LIMIT_PACKETS)]
    )
    try:
        yield
    finally:
        netns.run([*device, "del", *where])


@contextmanager
def far_server(round_trip_ms: float) -> Iterator[tuple[str, str]]:
    """The IPv4 and IPv6 address of a server that far away (namespace FAR), while the block runs."""
    netns.create(FAR)
    joiner = None
    try:
        netns.ip(FAR, ["link set lo up"])
        joiner = process.start("delay", [sys.executable, "-m", "lab.delay", str(round_trip_ms)])
        process.wait_for("the wire to the far server", _wire_stands, [joiner])
        netns.ip(
            FAR,
            [
                f"link set {DEVICE} up",
                f"addr add {FAR_V4}/32 dev lo",
                f"addr add {FAR_V6}/128 dev lo nodad",
                f"route add default dev {DEVICE}",
                f"route add ::/0 dev {DEVICE}",
            ],
        )
        netns.ip(
            plan.INTERNET,
            [f"link set {DEVICE} up", f"route add {FAR_V4} dev {DEVICE}", f"route add {FAR_V6} dev {DEVICE}"],
        )
        netns.sysctl(plan.INTERNET, {"ipv4/ip_forward": "1", "ipv6/conf/all/forwarding": "1"})
        yield FAR_V4, FAR_V6
    finally:
        if joiner is not None:
            process.stop(joiner)
        netns.remove(FAR)


def _wire_stands() -> bool:
    for namespace in (FAR, plan.INTERNET):
        with netns.inside(namespace):
            if DEVICE not in (name for _, name in socket.if_nameindex()):
                return False
    return True


def _tun(namespace: str) -> int:
    """One end of the wire in a namespace; packets are read and written as the IP layer has them."""
    with netns.inside(namespace):
        descriptor = os.open("/dev/net/tun", os.O_RDWR)
        fcntl.ioctl(descriptor, TUNSETIFF, struct.pack("16sH22x", DEVICE.encode(), IFF_TUN | IFF_NO_PI))
    return descriptor


def _carry(source: int, sink: int, delay_s: float) -> None:
    """Read packets as they come; write each after the delay, in order."""
    waiting: deque[tuple[float, bytes]] = deque()
    more = threading.Condition()

    def deliver() -> None:
        while True:
            with more:
                while not waiting:
                    more.wait()
                due_s, packet = waiting.popleft()
            pause_s = due_s - time.monotonic()
            if pause_s > 0:
                time.sleep(pause_s)
            _write(sink, packet)

    threading.Thread(target=deliver, daemon=True).start()
    while True:
        try:
            packet = os.read(source, 65536)
        except OSError:  # the device is not up yet, or is going away
            time.sleep(0.01)
            continue
        if delay_s == 0:
            _write(sink, packet)
            continue
        with more:
            if len(waiting) < LIMIT_PACKETS:
                waiting.append((time.monotonic() + delay_s, packet))
                more.notify()


def _write(sink: int, packet: bytes) -> None:
    try:
        os.write(sink, packet)
    except OSError:
        return


def main() -> None:
    measure.punctual()  # its threads, too: a wire that others hold up brings bursts, which a policer drops
    near, far = _tun(plan.INTERNET), _tun(FAR)
    threading.Thread(target=_carry, args=(near, far, 0.0), daemon=True).start()
    _carry(far, near, float(sys.argv[1]) / 1000)


if __name__ == "__main__":
    main()
