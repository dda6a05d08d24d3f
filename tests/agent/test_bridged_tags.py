# SPDX-License-Identifier: Apache-2.0
"""Frames with several VLAN tags that a bridge passes on: limited, or dropped and counted, never unlimited."""

from __future__ import annotations

import select
import socket
import time
from collections.abc import Iterator

import pytest

from lab import netns
from tests.agent.raw_frames import mac_of, send_due, udp4, udp6
from tests.agent.rig import Rig
from tests.agent.test_members import stacked
from tests.datapath import packets as p
from weir.model.interface import Interface
from weir.model.objects import Pair, Queue

LIMIT_BPS, OFFERED_BPS, IP_BYTES = 1_000_000, 8_000_000, 1228
CLIENT = {4: "10.64.0.2", 6: "2001:db8:64::2"}
NEIGHBOUR = {4: "10.64.0.3", 6: "2001:db8:64::3"}
WARM_S, SECONDS = 0.5, 2.2
"""A sender that was held up finds a bucket of 300 ms full (docs/adr/0012): at most 14 % more in this time."""
ETH_P_ALL = 3
TARGETS = {"the customer's address": tuple(CLIENT.values()), "the bridge's member": ("lan0",)}


@pytest.fixture(scope="module", params=TARGETS)
def rig(request: pytest.FixtureRequest) -> Iterator[Rig]:
    limit = Queue("client", "client", TARGETS[request.param], max_limit_bps=Pair(LIMIT_BPS, LIMIT_BPS))
    with stacked(Interface("lan1", "lan"), limit) as made:
        netns.ip(made.router, ["link set br0 type bridge mcast_snooping 0"])
        yield made


def passed_bps(rig: Rig, family: int, vids: list[int], kind: int) -> float:
    """IP bits per second of the client's frames with these tags that reach the neighbour."""
    packet = (udp4 if family == 4 else udp6)(CLIENT[family], NEIGHBOUR[family], IP_BYTES)
    ethertype = p.IPV4 if family == 4 else p.IPV6
    neighbour = f"{rig.name}-s"
    tagged = p.ethernet(kind if vids else ethertype, p.tags(vids, ethertype, packet, kind))[12:]
    frame = mac_of(neighbour, "c1") + mac_of(rig.client_ns, "c0") + tagged
    with netns.inside(rig.client_ns):
        out = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
        out.bind(("c0", 0))
    with netns.inside(neighbour):
        sink = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
        sink.bind(("c1", ETH_P_ALL))
    interval_s, due = IP_BYTES * 8 / OFFERED_BPS, time.monotonic()
    arrived, begun = 0, due + WARM_S
    with out, sink:
        while due < begun + SECONDS:
            due = send_due(out, frame, due, interval_s)
            while select.select([sink], [], [], 0)[0]:
                arrived += len(sink.recv(4096)) > IP_BYTES and due > begun
        return arrived * IP_BYTES * 8 / (time.monotonic() - begun)


@pytest.mark.parametrize("kind", [p.VLAN, p.QINQ], ids=["802.1Q", "802.1ad"])
@pytest.mark.parametrize("family", [4, 6])
@pytest.mark.parametrize("tags", [1, 2, 3, 4, 5])
def test_tagged_frames_through_a_bridge_do_not_pass_the_limit(
    rig: Rig, tags: int, family: int, kind: int
) -> None:
    assert 0.3 * LIMIT_BPS < passed_bps(rig, family, [7] * tags, kind) < 1.15 * LIMIT_BPS


def test_more_tags_than_are_read_are_the_members_queues_or_dropped_and_counted(rig: Rig) -> None:
    passed = passed_bps(rig, 4, [7] * 12, p.VLAN)
    if own_queue(rig):
        assert passed < 1.15 * LIMIT_BPS
    else:
        assert passed == 0
        (port,) = (port for port in rig.agent.call("interfaces")["value"] if port["name"] == "lan1")
        assert port["unshaped_packets"]["deep-tags"] + port["unshaped_packets"]["unreadable"] > 100


def own_queue(rig: Rig) -> bool:
    return any(line["asked"] == "lan0" for line in rig.explain("client")["lines"])
