# SPDX-License-Identifier: Apache-2.0
"""A loaded router with two fast ports, for tests of the XDP program."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from tests.datapath import bpf_run
from tests.datapath import packets as p
from tests.datapath.loaded import Loaded
from tests.datapath.topology import CLIENT, CLIENT6, SERVER, SERVER6, Topology, run_batch
from weir.adapters.datapath import Datapath
from weir.adapters.datapath_records import Mode, Role

SLOT = 3
XDP_DROP, XDP_PASS, XDP_REDIRECT = 1, 2, 4
FAST = Role.CLASSIFY | Role.SHAPE | Role.FAST


OWN_MAC, PEER_MAC = "02:00:00:00:00:01", "02:00:00:00:00:0a"
"""Of the router's ports (what the frames of packets.py are for), and of everybody behind them."""
NEIGHBOURS = ((CLIENT, "lan0"), (SERVER, "wan0"), (CLIENT6, "lan0"), (SERVER6, "wan0"))


@dataclass
class Fast:
    """A loaded router with two fast ports, and frames sent through the program by hand."""

    loaded: Loaded
    program_fd: int

    def mode(self, mode: Mode) -> None:
        for ifname in ("lan0", "wan0"):
            self.loaded.datapath.attach(ifname, FAST, mode)

    def from_lan(self, frame: bytes) -> tuple[int, bytes]:
        return bpf_run.run_xdp(self.program_fd, frame, socket.if_nametoindex("lan0"))

    def from_wan(self, frame: bytes) -> tuple[int, bytes]:
        return bpf_run.run_xdp(self.program_fd, frame, socket.if_nametoindex("wan0"))

    def sent_up(self, ifname: str) -> dict[str, int]:
        """Packets that the port's program left to the stack, by reason; without what did not occur."""
        up = self.loaded.datapath.port_counters()[ifname].up
        return {reason: count for reason, count in up.items() if count}

    def sent_up_of_ours(self, ifname: str) -> dict[str, int]:
        """As `sent_up`, for frames that are not unusual: the far end's own kernel sends some that are
        (multicast listener reports, router solicitations), whenever it likes."""
        return {reason: count for reason, count in self.sent_up(ifname).items() if reason != "unusual"}


def know_neighbours() -> None:
    run_batch(
        [
            f"neigh replace {address} lladdr {PEER_MAC} dev {ifname} nud permanent"
            for address, ifname in NEIGHBOURS
        ]
    )


@contextmanager
def known_neighbours() -> Iterator[Topology]:
    with Topology() as topology:
        for peer in (topology.client, topology.server):
            # Frames of XDP carry no offload state: senders compute checksums, receivers poll.
            peer.run("ethtool", "-K", "far0", "tx", "off", "gro", "on")
        run_batch([f"link set {ifname} address {OWN_MAC}" for ifname in ("lan0", "wan0")])
        know_neighbours()
        yield topology


@contextmanager
def fast_router(datapath: Datapath) -> Iterator[Fast]:
    loaded = Loaded(datapath)
    fast = Fast(loaded, datapath.program_fd("weir_fast"))
    fast.mode("edt")
    loaded.forget_what_went_up()
    loaded.limit(SLOT, 8_000_000, burst_bytes=20_000)
    loaded.classify(4, p.value4(CLIENT), 32, SLOT)
    loaded.classify(6, p.value6("2001:db8:64::"), 64, SLOT)
    yield fast
    os.close(fast.program_fd)


def download(source_port: int, size: int = 1000) -> bytes:
    """UDP from the server to the client, a flow of its own for each port."""
    return p.ethernet(p.IPV4, p.ipv4(SERVER, CLIENT, p.udp(source_port, 5001, bytes(size - 28))))


def pause(duration_ns: int) -> None:
    """Let the kernel's clock advance, which is what the program goes by."""
    until_ns = time.monotonic_ns() + duration_ns
    while time.monotonic_ns() < until_ns:
        pass
