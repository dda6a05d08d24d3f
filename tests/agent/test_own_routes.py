# SPDX-License-Identifier: Apache-2.0
"""Routes that the agent makes by itself, beside FRR: for both families, and what the kernel says of them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lab import netns
from weir.adapters import standing_routes, tunnel_routes
from weir.adapters.netlink import OUR_PROTO, Links
from weir.adapters.route_messages import Hop, KernelRoute, owned
from weir.adapters.standing_routes import MAIN_TABLE, METRIC
from weir.adapters.tunnel_routes import TunnelRoute
from weir.adapters.wireguard import PeerState, Tunnel
from weir.backends.uplinks import UplinksBackend, WantedUplink
from weir.backends.wireguard import WireguardBackend
from weir.model.problem import ApplyFailed
from weir.parts.uplinks import UplinkSpec
from weir.parts.wireguard import PeerSpec


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


class AsTunnels:
    """The port as a tunnel that has its peer; this kernel may know no tunnels."""

    def __init__(self, port: str, peer: PeerState) -> None:
        self._port = port
        self._tunnel = Tunnel(None, None, 0, {peer.public_key: peer})

    def links(self) -> dict[str, Any]:
        link = Links().links()[self._port]
        return {self._port: replace(link, kind="wireguard")}

    def read(self, _name: str) -> Tunnel:
        return self._tunnel


def test_why_the_kernel_takes_no_route_of_a_tunnel_is_told(port: str, tmp_path: Path) -> None:
    networks = ("10.9.0.0/16", "2001:db8:9::/48")
    tunnels: Any = AsTunnels(port, PeerState("key", None, None, 0, frozenset(networks), 0, 0, 0))
    backend = WireguardBackend(tunnels, tunnels, lambda _place, text: text, tmp_path / "memory")
    wanted = {"branch": PeerSpec("branch", port, "key", None, networks, None, 0, networks)}
    Path(f"/proc/sys/net/ipv6/conf/{port}/disable_ipv6").write_text("1")
    difference = backend.diff(backend.read(), wanted)
    backend.apply(difference)
    with pytest.raises(ApplyFailed) as caught:
        backend.verify(difference)
    said = (
        "the kernel does not hold what was asked: 2001:db8:9::/48 by d0 is still to do (IPv6 is disabled on "
    )
    assert caught.value.message.startswith(said)


def test_why_the_kernel_takes_no_route_of_a_check_is_told(port: str) -> None:
    backend = UplinksBackend(Links())
    spec = UplinkSpec("fibre", port, "192.0.2.2", 1, 3, 2, False, ())
    difference = backend.diff(backend.read(), {"fibre": WantedUplink(spec, "192.0.2.2", 1)})
    backend.apply(difference)
    with pytest.raises(ApplyFailed) as caught:
        backend.verify(difference)
    assert caught.value.message == (
        "the kernel does not hold what was asked: there is no route for checks via 192.0.2.2 dev d0 "
        "(Nexthop has invalid gateway)"
    )


def test_each_line_has_the_reason_of_its_own(port: str) -> None:
    good, odd, gone = (
        TunnelRoute("10.9.0.0/16", port, "254"),
        TunnelRoute("10.8.0.0/16", "nosuch", "254"),
        TunnelRoute("10.7.0.0/16", port, "254"),
    )
    assert tunnel_routes.change([good, odd], [gone]) == {
        odd: 'Cannot find device "nosuch"',
        gone: "No such process",
    }
    assert tunnel_routes.read() == {good}
