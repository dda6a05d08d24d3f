# SPDX-License-Identifier: Apache-2.0
"""The preset *home* with real clients: they get addresses and names and reach the internet, and from outside
nothing answers."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import pytest

from lab import netns
from tests.agent.rig import Rig, running
from tests.agent.test_dhcp_server import learnt, udhcpc
from tests.agent.test_dns import asked, serve
from tests.polling import until
from weir.kinds.dns import Dns
from weir.kinds.dns_upstream import DnsUpstream
from weir.model.interface import Interface
from weir.service.presets import Choices, Network, Uplink, made_of
from weir.service.setup import LAN_ADDRESS

OUTSIDE, LOGIN = "203.0.113.1", 8080
PORTS = ("lan0", "wan0", "lan1")


@pytest.fixture(scope="module")
def rig() -> Iterator[Rig]:
    """A new router: its first port has the first start's address, a visitor came by it and chose *home*."""
    with running(frr=True) as made:
        made.run("ip", "address", "flush", "dev", "c0", namespace=made.client_ns)
        neighbour = f"{made.name}-s"
        netns.create(neighbour)
        made.cable("lan1", neighbour, "c1")
        netns.ip(neighbour, ["addr add 192.168.88.20/24 dev c1", "route add default via 192.168.88.1"])
        serve(made, OUTSIDE, ("www.example.com. 300 IN A 203.0.113.1",), "upstream")
        made.start_dhcp_server("--dhcp-option=option:dns-server,203.0.113.1")
        made.commit(Interface("lan0", "lan", (LAN_ADDRESS,), reverse_path="strict"))
        lan = Network(("lan0", "lan1"), (LAN_ADDRESS,))
        chosen = made_of(Choices("home", Uplink("wan0", "dhcp"), lan), PORTS)
        assert chosen.findings == []
        made.commit(*chosen.objects, delete=[("interface", "lan0")])
        until("the provider gave an address", lambda: made.addresses("wan0"), 20.0)
        until("Kea listens", lambda: learnt(made).get("serving"), 20.0)
        yield made


def pings(rig: Rig, target: str, namespace: str) -> bool:
    run = ("ip", "netns", "exec", namespace, "ping", "-c1", "-W1", target)
    return subprocess.run(run, capture_output=True, check=False).returncode == 0


def test_a_client_gets_an_address_and_reaches_the_internet(rig: Rig) -> None:
    given = udhcpc(rig)
    assert given["ip"].startswith("192.168.88.") and given["router"] == given["dns"] == "192.168.88.1"
    netns.ip(
        rig.client_ns,
        [f"addr replace {given['ip']}/24 dev c0", f"route replace default via {given['router']}"],
    )
    until("it answers", lambda: pings(rig, OUTSIDE, rig.client_ns), 20.0)
    assert pings(rig, "192.168.88.20", rig.client_ns), "the other port is of the same network"
    until("behind the other port, too", lambda: pings(rig, OUTSIDE, f"{rig.name}-s"), 10.0)


def test_names_resolve_by_the_router(rig: Rig) -> None:
    """The namespaces have no root servers: the name service is told whom to ask, as it may be afterwards."""
    rig.commit(Dns(enabled=True, servers=(DnsUpstream(OUTSIDE),)))
    until(
        "a name resolves",
        lambda: asked(rig, "www.example.com", of="192.168.88.1") == ["NOERROR", OUTSIDE],
        20.0,
    )


def opens(rig: Rig, target: str, port: int, namespace: str) -> bool:
    """Whether a TCP connection comes about."""
    code = f"import socket; socket.create_connection(({target!r}, {port}), 1).close()"
    run = ("ip", "netns", "exec", namespace, sys.executable, "-c", code)
    return subprocess.run(run, capture_output=True, check=False).returncode == 0


def test_from_outside_nothing_answers(rig: Rig) -> None:
    """The same probes answer from inside, so that silence outside says something."""
    for port in (22, LOGIN):
        code = (
            f"import socket, time; s = socket.create_server(('', {port}), reuse_port=True); time.sleep(600)"
        )
        rig.spawn(f"listener-{port}", (sys.executable, "-c", code))
    until("the login page listens", lambda: opens(rig, "192.168.88.1", LOGIN, rig.client_ns), 10.0)
    until("so does SSH", lambda: opens(rig, "192.168.88.1", 22, rig.client_ns), 10.0)
    assert pings(rig, "192.168.88.1", rig.client_ns)
    (wan,) = (text.partition("/")[0] for text in rig.addresses("wan0") if "." in text)
    netns.ip(rig.internet, [f"route replace 192.168.88.0/24 via {wan}"])
    for target in (wan, "192.168.88.1", "192.168.88.20"):
        assert not pings(rig, target, rig.internet), target
        for port in (22, 53, LOGIN):
            assert not opens(rig, target, port, rig.internet), (target, port)
    assert asked(rig, "www.example.com", of=wan, inside=False) == []
