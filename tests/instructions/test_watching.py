# SPDX-License-Identifier: Apache-2.0
"""What looking costs a packet while somebody looks (lab/vm/run --count-instructions pytest ...)."""

from __future__ import annotations

import os
import socket
from contextlib import closing
from operator import attrgetter
from typing import Any

import pytest

from bench import forwarding
from bench.forwarding import ROUTER, Configuration, Port, Rig
from bench.instructions import LEAVES, NOWHERE, per_packet
from bench.trees import Trees
from lab import netns
from weir.adapters.datapath import Datapath
from weir.adapters.datapath_lib import find_library
from weir.probes.dropped_rows import DroppedRows
from weir.probes.fast_frames import FastFrames
from weir.probes.torch import LONGEST_S, LOOK_S
from weir.probes.torch_flows import Flows
from weir.tools.capture import MAPS as CAPTURE_MAPS
from weir.tools.capture import Capture
from weir.tools.torch import MAPS

pytestmark = pytest.mark.skipif(
    not os.environ.get("WEIR_IN_VM"), reason="needs the virtual machine that counts instructions"
)
MOST_OF_A_DROP = 0.10
MOST_OF_THE_FAST_PATH = 0.02
MOST_OF_A_FILTER, MOST_OF_A_COPY = 0.5, 0.6
"""While a capture runs."""


def by_rule(port: Port) -> None:
    chain = f"chain early {{ type filter hook prerouting priority -300; iifname {port.ingress} drop; }}"
    netns.run(["nft", "-f", "-"], stdin=f"table ip weir_bench_drop {{\n{chain}\n}}\n")


def without_route(port: Port) -> None:
    netns.run(["ip", "route", "del", f"{port.network}.0.0.0/8"])


def without_socket(port: Port) -> None:
    netns.run(["ip", "route", "replace", "local", f"{port.network}.0.0.0/8", "dev", "lo"])


def test_a_drop_costs_at_most_a_tenth_more_while_reasons_are_counted() -> None:
    """Of each kind: by a rule of the firewall, for want of a route, and of a socket."""
    forwarding.build()
    ways = {"rule": by_rule, "route": without_route, "socket": without_socket}
    configurations = [Configuration(name, prepare) for name, prepare in ways.items()]
    handled = attrgetter("handled")
    with Rig([*configurations, NOWHERE], LEAVES) as rig:
        plain = per_packet(rig, handled)
        with netns.inside(ROUTER), closing(DroppedRows(str(find_library()))) as rows:
            rows.watch(True)
            watched = per_packet(rig, handled)
            rows.watch(False)
            reasons = {row.reason for row in rows.read()}
    print({"plain": plain, "watched": watched})
    assert {"NETFILTER_DROP", "NO_SOCKET", "IP_INNOROUTES"} <= reasons
    costs = {name: watched[name] / plain[name] - 1 for name in plain}
    assert max(costs.values()) <= MOST_OF_A_DROP, costs


def test_torch_costs_the_fast_path_at_most_two_percent_in_its_longest_windows() -> None:
    """The reader's own time is not in it: it is a process beside those that forward."""
    forwarding.build()
    with Datapath.open(None, capacity=4096) as datapath:
        fast = Configuration("fast", Trees(datapath).fast(LEAVES), "wire", own_xdp=True)
        with Rig([fast, NOWHERE], LEAVES) as rig:
            plain = per_packet(rig)["fast"]
            with netns.inside(ROUTER):
                ifindex = socket.if_nametoindex(rig.ports[0][1].egress)
                maps = [datapath.map_fd(name) for name in MAPS]
                with closing(Flows(datapath.library, [ifindex], None, maps)) as flows:
                    assert flows.unseen == ""
                    flows.read()
                    watched = per_packet(rig)["fast"]
                    assert flows.sums().total.fast_packets > 0
    for descriptor in maps:
        os.close(descriptor)
    print({"plain": plain, "watched": watched})
    assert (watched / plain - 1) * (LONGEST_S + LOOK_S) <= MOST_OF_THE_FAST_PATH


@pytest.mark.parametrize(
    ("asked", "most"),
    [({"protocol": "tcp", "port": 1}, MOST_OF_A_FILTER), ({}, MOST_OF_A_COPY)],
    ids=["nothing passes the filter", "all are copied"],
)
def test_a_capture_costs_the_fast_path_what_its_decision_says(asked: dict[str, Any], most: float) -> None:
    """docs/adr/0250. The reader is not in it; once the ring is full, less is done than here."""
    forwarding.build()
    with Datapath.open(None, capacity=4096) as datapath:
        fast = Configuration("fast", Trees(datapath).fast(LEAVES), "wire", own_xdp=True)
        with Rig([fast, NOWHERE], LEAVES) as rig:
            plain = per_packet(rig)["fast"]
            maps = [datapath.map_fd(name) for name in CAPTURE_MAPS]
            with netns.inside(ROUTER):
                made = FastFrames(datapath.library, Capture(rig.ports[0][1].egress, **asked), maps)
            with closing(made) as frames:
                watched = per_packet(rig)["fast"]
                sums = frames.sums()
    for descriptor in maps:
        os.close(descriptor)
    print({"plain": plain, "watched": watched, **sums._asdict()})
    assert (sums.seen > 0) == (not asked)
    assert watched / plain - 1 <= most
