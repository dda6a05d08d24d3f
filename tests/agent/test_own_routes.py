# SPDX-License-Identifier: Apache-2.0
"""Routes that the agent makes by itself, beside FRR: for both families, and what the kernel says of them."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from lab import netns
from weir.adapters import standing_routes, tunnel_routes
from weir.adapters.netlink import OUR_PROTO
from weir.adapters.route_messages import Hop, KernelRoute, owned
from weir.adapters.standing_routes import MAIN_TABLE, METRIC
from weir.adapters.tunnel_routes import TunnelRoute


@pytest.fixture
def port() -> Iterator[str]:
    """An interface that is up, in a namespace of its own, in which the test is."""
    name = f"weir-own-{os.getpid()}"
    netns.create(name)
    try:
        netns.ip(name, ["link set lo up", "link add d0 type veth peer name d1", "link set d1 up"])
        netns.ip(name, ["link set d0 up", "addr add 192.0.2.2/24 dev d0"])
        with netns.inside(name):
            yield "d0"
    finally:
        netns.remove(name)


@pytest.mark.parametrize("table", [MAIN_TABLE, "300"])
def test_routes_into_tunnels_are_made_and_removed_for_both_families(port: str, table: str) -> None:
    routes = [TunnelRoute(text, port, table) for text in ("10.9.0.0/16", "2001:db8:9::/48", "::/0")]
    tunnel_routes.change(routes, [])
    assert tunnel_routes.read() == {*routes}
    tunnel_routes.change([], routes)
    assert not tunnel_routes.read()


def test_copies_of_routes_are_made_and_removed_for_both_families(port: str) -> None:
    hop = Hop("fe80::9", port, onlink=False, weight=1)
    routes = [
        KernelRoute("10.8.0.0/16", MAIN_TABLE, "unicast", (Hop("192.0.2.1", port, False, 1),)),
        KernelRoute("2001:db8:8::/48", MAIN_TABLE, "unicast", (hop,)),
        KernelRoute("2001:db8:7::/48", MAIN_TABLE, "unicast", (hop, hop._replace(gateway="fe80::a"))),
    ]
    standing_routes.change(routes, [])
    assert {route.destination for metric, route in owned(OUR_PROTO) if metric == METRIC} == {
        route.destination for route in routes
    }
    standing_routes.change([], routes)
    assert not [*owned(OUR_PROTO)]
