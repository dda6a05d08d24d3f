# SPDX-License-Identifier: Apache-2.0
"""A frame that is given to a port is caught behind the program of another one, with its wait; others pass."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest

from tests.datapath.fast_router import OWN_MAC, SLOT, Fast
from tests.datapath.topology import CLIENT, SERVER, Topology
from tests.polling import until
from weir.adapters.frame_catcher import Caught, FrameCatcher
from weir.adapters.proof_frame import Ends, ProofFrame

DOWNLOAD = SLOT * 2 + 1
BYTES_PS = 1_000
LISTEN = """
import socket
wire = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x0800))
wire.bind(("far0", 0x0800))
print("listening", flush=True)
while True:
    frame = wire.recv(2000)
    if frame[23] == 17:
        print(frame[42:50].hex(), flush=True)
        break
"""


@pytest.fixture
def catcher(fast: Fast, fast_topology: Topology) -> Iterator[FrameCatcher]:
    fast.loaded.limit(SLOT, BYTES_PS * 8, burst_bytes=100)
    made = FrameCatcher(fast.loaded.datapath)
    assert made.attach(socket.if_nametoindex("lan0")) == ""
    yield made
    made.close()


def sent(catcher: FrameCatcher, *, asked: ProofFrame | None = None) -> tuple[ProofFrame, Caught]:
    """`asked`: the frame that is waited for, if another one is sent."""
    frame = ProofFrame.made(Ends(SERVER, 5000, CLIENT, 53), "udp")
    catcher.ask(asked or frame, [DOWNLOAD])
    catcher.send(frame.frame(OWN_MAC), socket.if_nametoindex("wan0"))
    return frame, catcher.seen()


def test_it_has_the_wait_of_its_class_and_is_counted(fast: Fast, catcher: FrameCatcher) -> None:
    waits = []
    for _ in range(6):
        frame, _ = sent(catcher)
        until("it is caught", lambda: catcher.seen().passed)
        found = catcher.seen()
        assert found.counted == (1,) and frame.read(found.header) == frame.ends
        waits.append(found.waits_ns)
    size = len(frame.packet())
    assert waits[0] == 0 and waits[-1] > 0
    # Five before it, less the burst and what the loop took.
    assert waits[-1] <= 5 * size * 1_000_000_000 // BYTES_PS
    assert sorted(waits) == waits


def test_another_frame_passes(catcher: FrameCatcher, fast_topology: Topology) -> None:
    wire = fast_topology.client.start(LISTEN)
    assert wire.stdout is not None and wire.stdout.readline() == "listening\n"
    ours, _ = sent(catcher)
    until("it is caught", lambda: catcher.seen().passed)
    other, _ = sent(catcher, asked=ours)
    assert wire.stdout.readline().strip() == other.nonce.hex(), "and no frame before it"
    assert not catcher.seen().passed
    assert wire.wait(20) == 0
