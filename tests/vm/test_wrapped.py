# SPDX-License-Identifier: Apache-2.0
"""Packets in tunnels and tags over a shaped port: charged once, to the right class, and paced.

Which roles the ports get is what the agent would find from the kernel's links.
"""

from __future__ import annotations

import ctypes
import os
import socket
import statistics
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import pairwise

import pytest

from lab import netns
from lab.measure import CONTROL_BYTES, SO_TIMESTAMPNS, arrived_s
from tests.datapath.loaded import DOWNLOAD, SECOND_NS, UPLOAD, Loaded
from tests.datapath.packets import value4
from tests.datapath.topology import CLIENT, PUBLIC, SERVER, Peer, Topology, run
from weir.adapters.datapath import ROUTED, Datapath
from weir.adapters.datapath_records import Mode
from weir.adapters.netlink import Links
from weir.adapters.tc import fq_lines
from weir.backends.stacking import stacking

pytestmark = [
    pytest.mark.on_ours,
    pytest.mark.counted,
    pytest.mark.skipif(not os.environ.get("WEIR_IN_VM"), reason="needs the virtual machine's kernel"),
]

NEAR_INNER, FAR_INNER = "192.0.2.1", "192.0.2.2"
"""The router's address in the tunnel, and who is behind it."""
OUTER_SLOT, INNER_SLOT = 3, 5
TUNNELS = {
    "gre": "t0 type gre local {} remote {}",
    "ipip": "t0 type ipip local {} remote {}",
    "vxlan": "t0 type vxlan id 7 dstport 4789 local {} remote {}",
}
TAG = 100
PINGS, PAYLOAD = 10, 472
IP_BYTES = PAYLOAD + 28
RATE_BPS, DATAGRAM_BYTES, BURST = 2_000_000, 1000, 80


@dataclass(frozen=True, slots=True)
class Side:
    """One of the router's ports, and the peer that a tunnel over it ends at."""

    port: str
    peer: Peer
    namespace: str
    router_address: str
    peer_address: str


class Rig:
    def __init__(self, topology: Topology, loaded: Loaded) -> None:
        self.loaded = loaded
        self.datapath = loaded.datapath
        self.lan = Side("lan0", topology.client, "wrapped-client", "10.64.0.1", CLIENT)
        self.wan = Side("wan0", topology.server, "wrapped-server", PUBLIC, SERVER)
        for side in (self.lan, self.wan):
            side.peer.name(side.namespace)
            for line in fq_lines(side.port, 2):
                run("tc", *line.split())
            run("ethtool", "-K", side.port, "txvlan", "off", "tso", "off", "gso", "off")
            side.peer.run("ethtool", "-K", "far0", "tso", "off", "gso", "off", "gro", "off")
        self.datapath.change_prefixes(
            [(0, 4, value4("10.64.0.0"), 24, OUTER_SLOT), (0, 4, value4("192.0.2.0"), 24, INNER_SLOT)]
        )

    def close(self) -> None:
        for name in (self.lan.namespace, self.wan.namespace):
            run("ip", "netns", "del", name)

    @contextmanager
    def tunnel(self, kind: str, side: Side) -> Iterator[str]:
        """Its interface on the router, which has the same name at the other end; FAR_INNER is there."""
        with ExitStack() as stack:
            _make(stack, kind, side)
            run("ip", "address", "add", f"{NEAR_INNER}/24", "dev", "t0")
            for words in (
                f"ip address add {FAR_INNER}/24 dev t0",
                f"ip rule add from {FAR_INNER} lookup {TAG} pref {TAG}",
                f"ip route add default via {NEAR_INNER} dev t0 table {TAG}",
            ):
                side.peer.run(*words.split())
            stack.callback(side.peer.run, *f"ip rule del pref {TAG}".split())
            yield "t0"

    def attach(self, *ports: str) -> None:
        """As the agent does; what has no queues polices."""
        for port in self.datapath.attached():
            if port not in ports:
                self.datapath.detach(port)
        links = Links().links()
        for port in ports:
            roles, tag = stacking(links[port], links, ports)
            mode: Mode = "edt" if port in (self.lan.port, self.wan.port) else "police"
            self.datapath.attach(port, ROUTED | roles, mode, tag=tag)

    def limit(self, rate_bps: int) -> None:
        """Both classes again, with counters at 0."""
        for slot in (OUTER_SLOT, INNER_SLOT):
            self.datapath.clear_class(slot)
            self.loaded.limit(slot, rate_bps, limit_ns=SECOND_NS)

    def packets(self, slot: int) -> list[tuple[int, int]]:
        found = [self.loaded.counters(slot, direction) for direction in (UPLOAD, DOWNLOAD)]
        return [(counted["packets"], counted["bytes"]) for counted in found]


def _make(stack: ExitStack, kind: str, side: Side) -> None:
    """Both ends, up."""
    if kind == "tag":
        _link(stack, run, f"t0 link {side.port} type vlan id {TAG}")
        _link(stack, side.peer.run, f"t0 link far0 type vlan id {TAG}")
    else:
        ends = (side.router_address, side.peer_address)
        _link(stack, run, TUNNELS[kind].format(*ends))
        _link(stack, side.peer.run, TUNNELS[kind].format(*reversed(ends)))


def _link(stack: ExitStack, where: Callable[..., str], described: str) -> None:
    where(*f"ip link add {described}".split())
    stack.callback(where, "ip", "link", "del", "t0")
    where("ip", "link", "set", "t0", "up")


@pytest.fixture(scope="module")
def rig() -> Iterator[Rig]:
    assert ctypes.CDLL(None, use_errno=True).unshare(netns.CLONE_NEWNET) == 0
    opened = Datapath.open(None, capacity=256)
    with Topology() as topology, opened as datapath, Loaded(datapath) as loaded:
        made = Rig(topology, loaded)
        try:
            yield made
        finally:
            made.close()


@pytest.mark.parametrize("kind", TUNNELS)
def test_who_is_behind_a_tunnel_pays_once_and_alone(rig: Rig, kind: str) -> None:
    """The tunnel's way out carries the class of its other end, which pays nothing for what is inside."""
    with rig.tunnel(kind, rig.lan) as port:
        rig.attach(port, "lan0", "wan0")
        rig.limit(50_000_000)
        ping = f"ping -q -c {PINGS} -i 0.02 -s {PAYLOAD} -W 5 -I {FAR_INNER} {SERVER}"
        assert " 0% packet loss" in rig.lan.peer.run(*ping.split())
        assert rig.packets(INNER_SLOT) == [(PINGS, PINGS * IP_BYTES)] * 2
        assert rig.packets(OUTER_SLOT)[1] == (0, 0)


@pytest.mark.parametrize("kind", TUNNELS)
def test_who_sends_into_a_tunnel_pays_once(rig: Rig, kind: str) -> None:
    with rig.tunnel(kind, rig.wan) as port:
        rig.attach(port, "lan0", "wan0")
        rig.datapath.change_prefixes(remove=[(0, 4, value4("192.0.2.0"), 24)])
        rig.limit(50_000_000)
        try:
            ping = f"ping -q -c {PINGS} -i 0.02 -s {PAYLOAD} -W 5 {FAR_INNER}"
            assert " 0% packet loss" in rig.lan.peer.run(*ping.split())
        finally:
            rig.datapath.change_prefixes([(0, 4, value4("192.0.2.0"), 24, INNER_SLOT)])
        assert rig.packets(OUTER_SLOT) == [(PINGS, PINGS * IP_BYTES)] * 2


def test_bulk_that_leaves_with_a_tag_is_paced(rig: Rig) -> None:
    """Only the port below is shaped: it finds the class inside, and fq has to find the departure time."""
    with rig.tunnel("tag", rig.lan):
        rig.attach("lan0", "wan0")
        rig.limit(RATE_BPS)
        gaps_s = gaps(rig)
    packet_s = DATAGRAM_BYTES * 8 / RATE_BPS
    assert len(gaps_s) > BURST / 2
    assert statistics.median(gaps_s) == pytest.approx(packet_s, rel=0.1)
    assert sum(gap < packet_s / 2 for gap in gaps_s) < BURST / 10


def gaps(rig: Rig, address: str = FAR_INNER) -> list[float]:
    """Seconds between the arrivals of packets that were sent all at once."""
    with netns.inside(rig.lan.namespace):
        receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    with netns.inside(rig.wan.namespace):
        sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    with receiver, sender:
        receiver.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        receiver.bind((address, 0))
        receiver.settimeout(2)
        for _ in range(BURST):
            sender.sendto(bytes(DATAGRAM_BYTES - 28), receiver.getsockname())
        stamps_s = list(_stamps(receiver))
    return [later - earlier for earlier, later in pairwise(stamps_s)]


def _stamps(receiver: socket.socket) -> Iterator[float]:
    while True:
        try:
            _, control, _, _ = receiver.recvmsg(2048, CONTROL_BYTES)
        except TimeoutError:
            return
        yield arrived_s(control)
