# SPDX-License-Identifier: Apache-2.0
"""What counting a source's connections costs a new one (lab/vm/run --count-instructions pytest ...)."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Iterator
from socket import socket

import pytest

from lab import netns
from lab.measure import bound
from weir.adapters import connection_limits, nft
from weir.adapters.connection_limits import Limits

pytestmark = pytest.mark.skipif(
    not os.environ.get("WEIR_IN_VM"), reason="needs the virtual machine that counts instructions"
)
ROUTER, CLIENT = "weir-instructions-router", "weir-instructions-client"
BOUND = 5120
"""Sixteen parts of 320. Of `MANY` and the samples 225 fall into one, and seldom 15 more: none is full."""
MANY, SAMPLES = 3_500, 100
JIFFY_S = 0.005
"""One connection in each: the kernel walks once in a jiffy (250 a second)."""
MOST = 150_000
"""Instructions that those which exist may cost a new connection."""


@pytest.fixture
def client() -> Iterator[socket]:
    """A socket behind a router that counts; what it sends is forwarded to nobody."""
    for namespace in (ROUTER, CLIENT):
        netns.create(namespace)
    try:
        netns.ip(ROUTER, [f"link add lan0 type veth peer name c0 netns {CLIENT}", "link add wan0 type dummy"])
        netns.ip(ROUTER, [f"link set {name} up" for name in ("lan0", "wan0")])
        netns.ip(ROUTER, ["addr add 10.64.0.1/24 dev lan0", "addr add 192.0.2.1/24 dev wan0"])
        netns.ip(
            ROUTER,
            ["route add 100.64.0.0/10 dev wan0", "neigh add 100.64.0.1 lladdr 02:00:00:00:00:01 dev wan0"],
        )
        netns.ip(
            CLIENT, ["link set c0 up", "addr add 10.64.0.2/24 dev c0", "route add default via 10.64.0.1"]
        )
        netns.sysctl(ROUTER, {"ipv4/ip_forward": "1"})
        with bound(CLIENT, "10.64.0.2") as made:
            yield made
    finally:
        for namespace in (ROUTER, CLIENT):
            netns.remove(namespace)


def new_one(client: socket, number: int) -> int:
    """Instructions until the router has done with its packet; where they are counted, each is 1 ns."""
    begun = time.perf_counter_ns()
    client.sendto(b"x", ("100.64.0.1", 1 + number))
    return time.perf_counter_ns() - begun


def usual(client: socket, first: int) -> float:
    """The median of some, in a jiffy of its own each."""
    took = []
    for number in range(first, first + SAMPLES):
        time.sleep(JIFFY_S)
        took.append(new_one(client, number))
    return statistics.median(took)


def without_a_timeout(script: str) -> None:
    """A machine whose clock is its instructions jumps to the next timer while it waits for a disk: while nft
    waits for modules to be read, to that after which it is given up."""
    netns.run(["nft", "-f", "-"], stdin=script)


def test_thousands_of_connections_cost_a_new_one_little(
    client: socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nft, "apply_text", without_a_timeout)
    with netns.inside(ROUTER):
        connection_limits.apply(Limits(("wan0",), BOUND))
    alone = usual(client, 0)
    for number in range(SAMPLES, MANY):
        new_one(client, number)
    among_many = usual(client, MANY)
    with netns.inside(ROUTER):
        beyond = connection_limits.refused_packets()
    print(f"instructions of a new connection: {alone:,.0f} alone, {among_many:,.0f} among {MANY:,}")
    assert beyond == (0, 0), "none of them was one too many"
    assert among_many - alone < MOST
