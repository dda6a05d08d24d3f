# SPDX-License-Identifier: Apache-2.0
"""Two uplinks with a route each, behind the default firewall: connections stay with the one they began on."""

from __future__ import annotations

import os
import re
import socket
import threading
from collections import defaultdict
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace

import pytest

from lab import netns
from lab.measure import bound
from tests.agent.likeness import ETH_P_ALL, SO_RCVBUFFORCE
from tests.agent.rig import Rig, lan, running, wan
from tests.polling import until
from weir.kinds.firewall import Firewall
from weir.kinds.static_route import StaticRoute

pytestmark = pytest.mark.skipif(not os.environ.get("WEIR_IN_VM"), reason="needs the virtual machine's kernel")

CLIENT, SERVER, PORT = "10.64.0.2", "198.18.0.9", 5300
FLOWS, PACKETS = 40, 12
UPLINKS = {"i0": "203.0.113.1", "i1": "203.0.114.1"}
WANS = ("wan0", "alt0")
NAMED = re.compile(rb"flow(\d+) ")
BUFFER_BYTES = 16 << 20
"""The taps are read when all is over."""


@pytest.fixture(scope="module")
def rig() -> Iterator[Rig]:
    with running(frr=True, xdp=True) as made:
        made.cable("alt0", made.internet, "i1")
        made.run("ethtool", "-K", "i1", "tx", "off", "gro", "on", namespace=made.internet)
        netns.ip(made.internet, ["addr add 203.0.114.1/24 dev i1", f"addr add {SERVER}/32 dev lo"])
        made.run("sysctl", "-qw", "net.ipv4.fib_multipath_hash_policy=1")  # as the product does
        made.commit(
            lan(),
            wan(),
            replace(wan(), id="alt0", addresses=("203.0.114.2/24",)),
            Firewall(),
            *(
                StaticRoute(f"by-{device}", "198.18.0.0/15", gateway=gateway)
                for device, gateway in UPLINKS.items()
            ),
        )
        until(
            "the route has both gateways",
            lambda: made.run("ip", "route", "show", "198.18.0.0/15").count("via") == 2,
        )
        until("the fast path leaves both to the stack", lambda: all(_is_shared(made, port) for port in WANS))
        yield made


def test_connections_stay_with_the_uplink_of_their_first_packet(rig: Rig) -> None:
    """157 of 300 flows, and 46 of 100 connections behind NAT, left by another gateway than they began on."""
    with ExitStack() as stack:
        taps = {device: stack.enter_context(_tap(rig, device)) for device in UPLINKS}
        server = stack.enter_context(bound(rig.internet, SERVER, PORT))
        echo = threading.Thread(target=_echo, args=(server, FLOWS * PACKETS))
        echo.start()
        for flow in range(FLOWS):
            client = stack.enter_context(bound(rig.client_ns, CLIENT))
            client.settimeout(20)
            for number in range(PACKETS):
                client.sendto(b"flow%d packet %d" % (flow, number), (SERVER, PORT))
                assert client.recv(64).startswith(b"flow%d " % flow)
        echo.join()
        ways = defaultdict[int, set[str]](set)
        for device, tap in taps.items():
            for flow in _seen(tap):
                ways[flow].add(device)
    assert len(ways) == FLOWS
    assert {flow: found for flow, found in ways.items() if len(found) > 1} == {}
    assert set.union(*ways.values()) == set(UPLINKS), "both uplinks carry flows"


def _is_shared(rig: Rig, port: str) -> bool:
    items = rig.agent.call("interfaces")["value"]
    found = next(item["shaper"]["fast_path_reason"] for item in items if item["name"] == port)
    return f"leaves by {port} the stack routes, over several gateways" in found


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


def _echo(server: socket.socket, packets: int) -> None:
    server.settimeout(60)
    for _ in range(packets):
        said, peer = server.recvfrom(64)
        server.sendto(said, peer)
