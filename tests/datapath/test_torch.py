# SPDX-License-Identifier: Apache-2.0
"""Torch: flows are counted on the kernel's path and on the fast path, within bounds, and nothing stays."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.datapath import bpf_run
from tests.datapath.fast_router import FAST, OWN_MAC, SLOT, Fast
from tests.datapath.topology import CLIENT, CLIENT6, PUBLIC, SERVER, SERVER6, Peer, Topology
from tests.polling import until
from weir.adapters.datapath import Datapath
from weir.adapters.datapath_records import Role
from weir.probes.torch import watch
from weir.probes.torch_flows import MOST_FLOWS, RECEIVED, SENT, Count, Flow, Flows
from weir.tools.torch import MAPS

SEND = """
import socket, sys
family, source, address, port, count, size, ports = sys.argv[1:]
s = socket.socket(int(family), socket.SOCK_DGRAM)
s.bind((source, 4000))
for number in range(int(count)):
    s.sendto(bytes(int(size)), (address, int(port) + number % int(ports)))
"""
PORT, ALL_OF_THEM = 9, 300
IDLE_NS = 300_000_000


@contextmanager
def torch(datapath: Datapath, *ifnames: str, slot: int | None = None) -> Iterator[Flows]:
    maps = [datapath.map_fd(name) for name in MAPS]
    slots = None if slot is None else (1 << slot).to_bytes(64, "little")
    made = Flows(datapath.library, [socket.if_nametoindex(name) for name in ifnames], slots, maps)
    try:
        yield made
    finally:
        made.close()
        for descriptor in maps:
            os.close(descriptor)


def flow_of(source: str, destination: str, way: int) -> Flow:
    family = socket.AF_INET6 if ":" in source else socket.AF_INET
    packed = [socket.inet_pton(family, end).ljust(16, b"\0") for end in (source, destination)]
    return Flow(
        packed[0],
        packed[1],
        *(port.to_bytes(2, "big") for port in (4000, PORT)),
        6 if ":" in source else 4,
        17,
        way,
    )


def sends(
    peer: Peer,
    source: str,
    destination: str,
    *,
    size: int = 72,
    count: int = ALL_OF_THEM,
    ports: int = 1,
) -> None:
    family = int(socket.AF_INET6 if ":" in source else socket.AF_INET)
    sender = peer.start(SEND, family, source, destination, PORT, count, size, ports)
    assert sender.wait(20) == 0


@pytest.fixture
def peers(fast: Fast, fast_topology: Topology) -> Topology:
    """Whose stations know the router, so that no packet waits for it."""
    for peer, gateways in (
        (fast_topology.client, ("10.64.0.1", "2001:db8:64::1")),
        (fast_topology.server, ("198.51.100.1", "2001:db8:100::1")),
    ):
        for gateway in gateways:
            peer.run("ip", "neigh", "replace", gateway, "lladdr", OWN_MAC, "dev", "far0", "nud", "permanent")
    return fast_topology


def received(ifname: str) -> int:
    """Packets, also those that XDP took."""
    lines = Path("/proc/net/dev").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[2]) for line in lines if line.split()[0] == f"{ifname}:")


def leave_to_the_stack(datapath: Datapath) -> None:
    for ifname in ("lan0", "wan0"):
        datapath.attach(ifname, FAST & ~Role.FAST, "edt")


def count(size: int, packets: int, is_fast: bool) -> Count:
    return Count(0, 0, size, packets) if is_fast else Count(size, packets, 0, 0)


@pytest.mark.parametrize("is_fast", [False, True], ids=["the kernel's path", "the fast path"])
@pytest.mark.parametrize(("here", "there", "headers"), [(CLIENT, SERVER, 28), (CLIENT6, SERVER6, 48)])
def test_what_a_port_counts_is_what_was_sent(
    fast: Fast, peers: Topology, is_fast: bool, here: str, there: str, headers: int
) -> None:
    datapath = fast.loaded.datapath
    if not is_fast:
        leave_to_the_stack(datapath)
    fast.loaded.limit(SLOT, 0)
    before = bpf_run.tcx_program_ids("lan0")
    wanted = {
        flow_of(here, there, RECEIVED): count(ALL_OF_THEM * (72 + headers), ALL_OF_THEM, is_fast),
        flow_of(there, here, SENT): count(ALL_OF_THEM * (200 + headers), ALL_OF_THEM, is_fast),
    }
    with torch(datapath, "lan0") as made:
        assert made.unseen == ""
        assert len(bpf_run.tcx_program_ids("lan0")) == len(before) + 2
        sends(peers.client, here, there)
        sends(peers.server, there, here, size=200)
        until("all are counted", lambda: wanted.items() <= made.read()[1].items())
        sums, flows = made.read()
    assert sums.estimated == 0
    assert sums.total == Count(*(sum(column) for column in zip(*flows.values(), strict=True)))
    assert bpf_run.tcx_program_ids("lan0") == before, "off, no program runs that did not run before"


@pytest.mark.parametrize("is_fast", [False, True], ids=["the kernel's path", "the fast path"])
def test_a_queue_has_its_own_packets_by_direction(fast: Fast, peers: Topology, is_fast: bool) -> None:
    datapath = fast.loaded.datapath
    if not is_fast:
        leave_to_the_stack(datapath)
    fast.loaded.limit(SLOT, 0)
    one = count(ALL_OF_THEM * 100, ALL_OF_THEM, is_fast)
    wanted = {flow_of(CLIENT, SERVER, RECEIVED): one, flow_of(SERVER, CLIENT, SENT): one}
    with torch(datapath, "lan0", "wan0", slot=SLOT) as made:
        sends(peers.server, SERVER, PUBLIC)
        sends(peers.client, CLIENT, SERVER)
        sends(peers.server, SERVER, CLIENT)
        until("all are counted", lambda: wanted.items() <= made.read()[1].items())
        found = {flow: item for flow, item in made.read()[1].items() if flow.protocol == 17}
    assert found == wanted, "nothing of those that are in no queue"


def test_the_fast_path_is_not_counted_while_it_is_not_watched(fast: Fast, peers: Topology) -> None:
    fast.loaded.limit(SLOT, 0)
    with torch(fast.loaded.datapath, "lan0") as made:
        made.watch_fast(False)
        sends(peers.client, CLIENT, SERVER)
        assert made.sums().total.fast_packets == 0
        made.watch_fast(True)
        sends(peers.client, CLIENT, SERVER)
        until("it is watched", lambda: made.sums().total.fast_packets == ALL_OF_THEM)


def test_what_other_ports_forward_is_known_as_load_and_in_no_flow(fast: Fast, peers: Topology) -> None:
    fast.loaded.limit(SLOT, 0)
    with torch(fast.loaded.datapath, "lo") as made:
        sends(peers.client, CLIENT, SERVER)
        until("it is known", lambda: made.sums().fast_passed >= ALL_OF_THEM)
        sums, flows = made.read()
    assert (sums.total.fast_packets, [flow for flow in flows if flow.protocol == 17]) == (0, [])


def test_a_quiet_port_does_not_keep_the_tracepoint_on_under_load(fast: Fast, peers: Topology) -> None:
    """What is much is taken from what this machine forwards: an emulated one makes less than the product's
    bound."""
    fast.loaded.limit(SLOT, 0)

    def part_s(busy_pps: float) -> float:
        """Of a second."""
        until_s = time.monotonic() + 1
        made.read()
        return watch(
            made, lambda at_s: time.sleep(min(max(at_s - time.monotonic(), 0), 0.09)), until_s, busy_pps
        )

    def forwarded_pps() -> float:
        came, begun_s = received("lan0"), time.monotonic()
        until("more comes", lambda: received("lan0") > came + ALL_OF_THEM)
        return (received("lan0") - came) / (time.monotonic() - begun_s)

    def counts_no_more() -> bool:
        """A packet that is on its way through the program meanwhile is still counted."""
        off = made.sums()
        forwarded_pps()
        return made.sums() == off

    with torch(fast.loaded.datapath, "lo") as made:
        assert part_s(1) == 0, "all of a second without load"
        sender = peers.client.start(SEND, int(socket.AF_INET), CLIENT, SERVER, PORT, 10**7, 72, 1)
        try:
            busy_pps = forwarded_pps() / 10
            until("load is noticed", lambda: 0 < part_s(busy_pps) < 0.8)
            until("it is off", counts_no_more)
        finally:
            sender.kill()
        assert made.sums().total.fast_packets == 0


def test_a_look_that_comes_late_sees_the_same_load(fast: Fast, peers: Topology) -> None:
    """Few packets a second are all counted, however long the reader waited for a processor."""
    fast.loaded.limit(SLOT, 0)
    with torch(fast.loaded.datapath, "lan0") as made:
        made.read()

        def late(_at_s: float) -> None:
            for _ in range(5):
                sends(peers.client, CLIENT, SERVER)
            until("all came", lambda: made.sums().fast_passed >= 5 * ALL_OF_THEM)

        begun_s = time.monotonic()
        assert watch(made, late, begun_s + 0.01) == 0
        assert made.sums().fast_passed >= 5 * ALL_OF_THEM


def test_the_watched_time_is_that_in_which_packets_came(fast: Fast, peers: Topology) -> None:
    """Not what attaching takes, nor how late the reader is."""
    fast.loaded.limit(SLOT, 0)
    before_ns = time.monotonic_ns()
    with torch(fast.loaded.datapath, "lan0") as made:
        made.read()
        until("a while is over", lambda: time.monotonic_ns() > before_ns + IDLE_NS)
        begun_ns = time.monotonic_ns()
        sends(peers.client, CLIENT, SERVER, count=10 * ALL_OF_THEM)
        until("all are counted", lambda: made.sums().total.fast_packets > 5 * ALL_OF_THEM)
        most_ns = time.monotonic_ns() - begun_ns
        assert 0 < made.sums().watched_ns < most_ns
        made.read()
        sends(peers.client, CLIENT, SERVER, count=1)
        until("a new second", lambda: made.sums().watched_ns == 0)


def test_a_hundred_thousand_flows_fill_the_table_and_are_in_the_sums(fast: Fast, peers: Topology) -> None:
    sent = 100_000
    fast.loaded.limit(SLOT, 0)
    with torch(fast.loaded.datapath, "lan0") as made:
        for here, there in ((CLIENT, SERVER), (CLIENT6, SERVER6)):
            sends(peers.client, here, there, count=sent // 2, ports=sent // 2)
        until("all have come", lambda: made.sums().total.fast_packets > 0.85 * sent)
        sums, flows = made.read()
    assert 1000 < len(flows) <= MOST_FLOWS
    assert sums.total.fast_packets == pytest.approx(sent, rel=0.15)
    assert sums.estimated > 0


def test_interfaces_that_are_not_there_are_refused(datapath: Datapath) -> None:
    maps = [datapath.map_fd(name) for name in MAPS]
    for indexes in ([], [4_000_000], [1] * 5000):
        with pytest.raises(OSError, match="interface"):
            Flows(datapath.library, indexes, None, maps)
    for descriptor in maps:
        os.close(descriptor)
