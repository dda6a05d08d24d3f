# SPDX-License-Identifier: Apache-2.0
"""TCP connections through an interface with a small MTU, by what each end was told that the other takes."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from dataclasses import replace

import pytest

from lab import netns
from tests.agent.test_decisions import in_force
from weir.adapters import nft
from weir.backends.fast import Sight
from weir.backends.firewall import FirewallBackend, FirewallWanted
from weir.kinds.firewall import Firewall
from weir.model.document import Document
from weir.model.interface import Interface, Vlan, Wireguard
from weir.parts.firewall import FIREWALL, rule_text

INSIDE = Interface("lan0", "lan", ("10.81.0.1/24", "2001:db8:81::1/64"))
OUTSIDE = Interface("far0", "lan", ("10.82.0.1/24", "2001:db8:82::1/64"), mtu=1400)
POLICY = Firewall(masquerade=False, connections_per_source=0)
FAR = {socket.AF_INET: "10.82.0.2", socket.AF_INET6: "2001:db8:82::2"}
NEAR = {socket.AF_INET: "10.81.0.2", socket.AF_INET6: "2001:db8:81::2"}
HEADERS = {socket.AF_INET: 40, socket.AF_INET6: 60}
TIMESTAMPS = 12
PORT = 7100


@pytest.fixture(scope="module")
def ends() -> Iterator[dict[str, str]]:
    """The namespaces of the router and of a host on each side, whose own links take 1,500 bytes."""
    prefix = f"weir-agent-test-{os.getpid()}-mss"
    made = {name: f"{prefix}-{name}" for name in ("router", "lan0", "far0")}
    for name in made.values():
        netns.create(name)
        netns.ip(name, ["link set lo up"])
    try:
        sysctls = {"ipv4/ip_forward": "1", "ipv6/conf/all/forwarding": "1"}
        netns.sysctl(made["router"], sysctls)
        for item, hosts in ((INSIDE, NEAR), (OUTSIDE, FAR)):
            host, (v4, v6) = made[item.id], hosts.values()
            netns.ip(
                made["router"],
                [
                    f"link add {item.id} type veth peer name h0 netns {host}",
                    f"link set {item.id} up",
                    *(
                        f"addr add {address} dev {item.id} nodad"
                        for address in item.addresses
                        if ":" in address
                    ),
                    *(
                        f"addr add {address} dev {item.id}"
                        for address in item.addresses
                        if ":" not in address
                    ),
                ],
            )
            gateways = [address.partition("/")[0] for address in item.addresses]
            netns.ip(
                host,
                [
                    "link set h0 up",
                    f"addr add {v4}/24 dev h0",
                    f"addr add {v6}/64 dev h0 nodad",
                    *(f"route add default via {gateway}" for gateway in gateways),
                ],
            )
        yield made
    finally:
        for name in made.values():
            netns.remove(name)


def told(ends: dict[str, str], family: socket.AddressFamily, *, outwards: bool) -> tuple[int, int]:
    """The bytes that each end puts into a packet of one connection: who asks, and who answers."""
    asks, answers = ("lan0", "far0") if outwards else ("far0", "lan0")
    target = (FAR if outwards else NEAR)[family]
    with netns.inside(ends[answers]):
        server = socket.create_server(("", PORT), family=family)
    with server, netns.inside(ends[asks]):
        client = socket.socket(family, socket.SOCK_STREAM)
        with client:
            client.settimeout(10)
            client.connect((target, PORT))
            taken, _ = server.accept()
            with taken:
                sizes = [end.getsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG) for end in (client, taken)]
    return sizes[0] + TIMESTAMPS, sizes[1] + TIMESTAMPS


def in_router(ends: dict[str, str], *interfaces: Interface) -> None:
    with netns.inside(ends["router"]):
        netns.run(["nft", "flush", "ruleset"])
        in_force(Document([*interfaces, POLICY]))


@pytest.mark.parametrize("family", FAR)
def test_both_ends_are_told_what_fits(ends: dict[str, str], family: socket.AddressFamily) -> None:
    fits = OUTSIDE.mtu - HEADERS[family] if OUTSIDE.mtu else 0
    whole = 1500 - HEADERS[family]
    in_router(ends, INSIDE, replace(OUTSIDE, mss_clamp="off"))
    assert told(ends, family, outwards=True) == (whole, whole)
    in_router(ends, INSIDE, OUTSIDE)
    assert told(ends, family, outwards=True) == (fits, fits)
    assert told(ends, family, outwards=False) == (fits, fits)


def test_what_is_in_force_is_read_back_and_explained(ends: dict[str, str]) -> None:
    in_router(ends, INSIDE, OUTSIDE)
    wanted = FirewallWanted(tuple(FIREWALL.wanted(Document([INSIDE, OUTSIDE, POLICY]))), ())
    with netns.inside(ends["router"]):
        backend = FirewallBackend()
        assert not backend.diff(backend.read(), wanted)
        table = nft.read_table()
    assert table is not None and len(table.chains["clamp"].rules) == 4


def sizes(*interfaces: Interface) -> list[str]:
    return [rule_text(rule) for rule in FIREWALL.wanted(Document([*interfaces, POLICY]))]


def test_interfaces_of_one_mtu_share_their_rules_and_a_vlan_has_its_parents() -> None:
    tunnel = Interface("wg0", "lan", ("10.9.0.1/24",), wireguard=Wireguard("x"))
    tagged = Interface("tagged", "lan", vlan=Vlan("far0", 7))
    found = sizes(INSIDE, OUTSIDE, tagged, tunnel)
    assert found[:2] == [
        "clamp mss 1360 IPv4 from far0 from tagged: TCP segments that fit into 1400 bytes",
        "clamp mss 1360 IPv4 to far0 to tagged: TCP segments that fit into 1400 bytes",
    ]
    assert len(found) == 8 and "clamp mss 1360 IPv6 to wg0" in found[-1]


@pytest.mark.parametrize(
    "item",
    [
        replace(OUTSIDE, mss_clamp="off"),
        replace(OUTSIDE, disabled=True),
        replace(OUTSIDE, mtu=None),
        replace(OUTSIDE, mtu=1500),
        replace(OUTSIDE, mtu=9000),
    ],
)
def test_others_are_left_as_they_are(item: Interface) -> None:
    assert sizes(INSIDE, item) == []


def test_no_ipv6_is_told_where_the_mtu_is_too_small_for_it() -> None:
    assert [text.split()[3] for text in sizes(replace(OUTSIDE, mtu=1000, addresses=()))] == ["IPv4", "IPv4"]


def test_first_packets_of_such_an_interface_do_not_pass_in_xdp() -> None:
    rules = FIREWALL.wanted(Document([INSIDE, OUTSIDE, POLICY]))
    sight = Sight.of(rules, "")
    assert sight.filters("far0") and not sight.filters("lan0") and not sight.each
