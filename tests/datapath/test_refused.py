# SPDX-License-Identifier: Apache-2.0
"""Packets that a device does not take from XDP are counted for it, and for no other of the same number."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import NamedTuple

from tests.datapath.fast_router import FAST, known_neighbours
from tests.datapath.test_fast_hops import fresh_namespace
from tests.datapath.topology import SERVER, Topology
from tests.polling import until
from weir.adapters.datapath import Datapath


class Counted(NamedTuple):
    datapath: Datapath
    topology: Topology
    wan: int

    def refused(self) -> int:
        return self.datapath.port_counters()["wan0"].refused


@contextmanager
def counted() -> Iterator[Counted]:
    """A router whose `wan0` has the same number in each namespace."""
    with known_neighbours() as topology, Datapath.open(None, capacity=64, domains=1) as datapath:
        for ifname in ("lan0", "wan0"):
            datapath.attach(ifname, FAST, "police")
        datapath.refuse_sources([])
        datapath.watch_refused()
        yield Counted(datapath, topology, socket.if_nametoindex("wan0"))
        for ifname in ("lan0", "wan0"):
            datapath.detach(ifname)


def test_what_a_device_of_another_namespace_refuses_is_not_counted_here(own_namespace: None) -> None:
    with ExitStack() as stack:
        stack.enter_context(fresh_namespace())
        here = stack.enter_context(counted())
        with fresh_namespace(), counted() as there:
            assert there.wan == here.wan
            server = there.topology.server
            for words in ("ip link set far0 down", "ethtool -K far0 gro off", "ip link set far0 up"):
                server.run(*words.split())

            def is_refused() -> int:
                send = f"exec 3<>/dev/udp/{SERVER}/5001; for _ in 1 2 3; do echo packet >&3; done"
                there.topology.client.run("bash", "-c", send)
                return there.refused()

            until("it is refused", is_refused, within_s=20)
            assert here.refused() == 0
