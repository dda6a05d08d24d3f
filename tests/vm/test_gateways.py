# SPDX-License-Identifier: Apache-2.0
"""Two ways out behind the default firewall, by a route with two gateways and by uplinks with weights:
connections stay with the one they began on, also in the flow table."""

from __future__ import annotations

import os
import re
import socket
import threading
from collections import defaultdict
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import replace

import pytest

from lab import netns
from lab.measure import bound
from tests.agent.likeness import ETH_P_ALL, SO_RCVBUFFORCE
from tests.agent.rig import Rig, lan, wan
from tests.polling import until
from weir.kinds.firewall import Firewall
from weir.kinds.static_route import StaticRoute
from weir.kinds.uplink import Uplink

pytestmark = pytest.mark.skipif(not os.environ.get("WEIR_IN_VM"), reason="needs the virtual machine's kernel")

SERVER, PORT = "198.18.0.9", 5300
FLOWS, PACKETS = 40, 12
UPLINKS = {"i0": "203.0.113.1", "i1": "203.0.114.1"}
WANS = ("wan0", "alt0")
CLIENTS = [f"10.64.0.{2 + flow}" for flow in range(FLOWS)]
NAMED = re.compile(rb"flow(\d+) ")
BUFFER_BYTES = 16 << 20
"""The taps are read when all is over."""


@pytest.fixture(scope="module")
def two_ways(bare_rig: Rig) -> Iterator[Rig]:
    made = bare_rig
    with made.fitted_for_xdp():
        netns.ip(made.client_ns, [f"addr add {address}/24 dev c0" for address in CLIENTS[1:]])
        made.cable("alt0", made.internet, "i1")
        made.run("ethtool", "-K", "i1", "tx", "off", "gro", "on", namespace=made.internet)
        netns.ip(made.internet, ["addr add 203.0.114.1/24 dev i1", f"addr add {SERVER}/32 dev lo"])
        made.run("sysctl", "-qw", "net.ipv4.fib_multipath_hash_policy=1")  # as the product does
        made.commit(lan(), wan(), replace(wan(), id="alt0", addresses=("203.0.114.2/24",)), Firewall())
        yield made
        netns.ip(made.client_ns, [f"addr delete {address}/24 dev c0" for address in CLIENTS[1:]])
        netns.ip(made.internet, ["link delete i1", f"addr delete {SERVER}/32 dev lo"])


@pytest.fixture(params=["routes", "uplinks"])
def rig(two_ways: Rig, request: pytest.FixtureRequest) -> Iterator[Rig]:
    pairs = list(zip(WANS, UPLINKS.values(), strict=True))
    if request.param == "routes":
        made = [StaticRoute(f"by-{port}", "198.18.0.0/15", gateway=gateway) for port, gateway in pairs]
        why = "over several gateways"
    else:
        made = [Uplink(f"by-{port}", port, gateway, weight=1) for port, gateway in pairs]
        why = "as connections keep their uplink"
    two_ways.commit(*made)
    until(
        "the fast path leaves both to the stack",
        lambda: all(_is_shared(two_ways, port, why) for port in WANS),
    )
    until("a route leads there", lambda: "via" in two_ways.run("ip", "route", "get", SERVER))
    yield two_ways
    two_ways.commit(delete=[(item.kind, item.id) for item in made])


def test_connections_stay_with_the_uplink_of_their_first_packet(
    rig: Rig, request: pytest.FixtureRequest
) -> None:
    """157 of 300 flows, and 46 of 100 connections behind NAT, left by another gateway than they began on."""
    with ExitStack() as stack:
        taps = {device: stack.enter_context(_tap(rig, device)) for device in UPLINKS}
        server = stack.enter_context(bound(rig.internet, SERVER, PORT))
        over = threading.Event()
        echo = threading.Thread(target=_echo, args=(server, over))
        echo.start()
        stack.callback(echo.join)
        stack.callback(over.set)
        clients = [stack.enter_context(bound(rig.client_ns, address)) for address in CLIENTS]
        _speak(clients, range(PACKETS // 2))
        if "uplinks" in request.node.callspec.id:
            rig.commit(Uplink("by-wan0", "wan0", UPLINKS["i0"], weight=100))
            until("the flow table forwards most", lambda: _offloaded(rig, clients) > FLOWS // 2)
        _speak(clients, range(PACKETS // 2, PACKETS))
        ways = defaultdict[int, set[str]](set)
        for device, tap in taps.items():
            for flow in _seen(tap):
                ways[flow].add(device)
    assert len(ways) == FLOWS
    assert {flow: found for flow, found in ways.items() if len(found) > 1} == {}
    assert set.union(*ways.values()) == set(UPLINKS), "both uplinks carry flows"


def _speak(clients: list[socket.socket], numbers: range) -> None:
    for flow, client in enumerate(clients):
        client.settimeout(20)
        for number in numbers:
            client.sendto(b"flow%d packet %d" % (flow, number), (SERVER, PORT))
            assert client.recv(64).startswith(b"flow%d " % flow)


def _offloaded(rig: Rig, clients: list[socket.socket]) -> int:
    """How many of them are in the flow table. The agent empties it once, as uplinks are new."""
    _speak(clients, range(1))
    return rig.run("cat", "/proc/net/nf_conntrack").count("[OFFLOAD]")


def _is_shared(rig: Rig, port: str, why: str) -> bool:
    items = rig.agent.call("interfaces")["value"]
    found = next(item["shaper"]["fast_path_reason"] for item in items if item["name"] == port)
    return f"leaves by {port} the stack routes, {why}" in found


def _tap(rig: Rig, device: str) -> socket.socket:
    """Frames at a device of the internet; those that it sends are passed over when they are read."""
    with netns.inside(rig.internet):
        tap = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
        tap.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, BUFFER_BYTES)
        tap.bind((device, ETH_P_ALL))
        tap.settimeout(0.5)
        return tap


def _seen(tap: socket.socket) -> Iterator[int]:
    while True:
        try:
            frame, (_, _, kind, *_) = tap.recvfrom(2048)
        except TimeoutError:
            return
        found = NAMED.search(frame)
        if found is not None and kind != socket.PACKET_OUTGOING:
            yield int(found[1])


def _echo(server: socket.socket, over: threading.Event) -> None:
    server.settimeout(0.2)
    while not over.is_set():
        with suppress(TimeoutError):
            said, peer = server.recvfrom(64)
            server.sendto(said, peer)
