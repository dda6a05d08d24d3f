# SPDX-License-Identifier: Apache-2.0
"""Programs that make lookups of a listening socket long, and packets that meet them."""

from __future__ import annotations

import signal
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from lab import netns
from tests.agent.rig import Rig
from tests.polling import until

PORT, ROUTER = 7000, "10.64.0.1"
_LISTEN = """
import resource, socket, sys, time
resource.setrlimit(resource.RLIMIT_NOFILE, (20_000, 20_000))
held = []
for _ in range(int(sys.argv[1])):
    one = socket.socket()
    one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    one.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, b"wan0")
    one.bind((sys.argv[2], int(sys.argv[3]))); one.listen(1); held.append(one)
print("ready", flush=True); time.sleep(300)
"""


@contextmanager
def listeners(rig: Rig, count: int) -> Iterator[None]:
    """So many sockets of the router listen on one address and port, each for another interface than lan0: a
    lookup for a SYN walks all and takes none."""
    command = [sys.executable, "-c", _LISTEN, str(count), ROUTER, str(PORT)]
    log = rig.folder / "listeners.log"
    log.unlink(missing_ok=True)
    process = rig.spawn("listeners", command)
    try:
        until("they listen", lambda: process.poll() is not None or b"ready" in log.read_bytes())
        assert process.poll() is None, log.read_text()
        yield
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()


def send_syns(rig: Rig, count: int, gap_s: float = 0.0005) -> None:
    """From the client, one after the other."""
    with netns.inside(rig.client_ns):
        for _ in range(count):
            with socket.socket() as one:
                one.setblocking(False)
                one.connect_ex((ROUTER, PORT))
            time.sleep(gap_s)
