# SPDX-License-Identifier: Apache-2.0
"""What passes between zones and to the router, by packets, and the same by what "which rule?" says."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

import pytest

from lab import netns
from lab.measure import bound
from tests.agent.test_decisions import in_force
from tests.polling import until
from weir.adapters import nft
from weir.backends.firewall import FirewallBackend, FirewallWanted
from weir.kinds.firewall import Firewall
from weir.kinds.zone import Zone, ZonePolicy
from weir.model.codec import from_json
from weir.model.document import Document
from weir.model.interface import Interface
from weir.model.objects import ConfigObject
from weir.parts.decision import Members, Packet, Rules, Walk
from weir.parts.firewall import FIREWALL

ENDS = ("lan0", "guest0", "none0", "wan0")
NUMBER = {name: at for at, name in enumerate(ENDS)}
LOGIN, DNS, APP = 8080, 53, 7000
ROUTER = "router"


@dataclass(frozen=True)
class Network:
    router: str
    hosts: dict[str, str]

    def address(self, end: str) -> str:
        return f"10.80.{NUMBER[end]}.2"

    def gateway(self, end: str) -> str:
        return f"10.80.{NUMBER[end]}.1"


@pytest.fixture(scope="module")
def network() -> Iterator[Network]:
    prefix = f"weir-agent-test-{os.getpid()}-zone"
    found = Network(f"{prefix}-r", {name: f"{prefix}-{name}" for name in ENDS})
    for name in (found.router, *found.hosts.values()):
        netns.create(name)
        netns.ip(name, ["link set lo up"])
    try:
        netns.sysctl(found.router, {"ipv4/ip_forward": "1"})
        for end, host in found.hosts.items():
            netns.ip(
                found.router,
                [
                    f"link add {end} type veth peer name h0 netns {host}",
                    f"link set {end} up",
                    f"addr add {found.gateway(end)}/24 dev {end}",
                ],
            )
            netns.ip(
                host,
                [
                    "link set h0 up",
                    f"addr add {found.address(end)}/24 dev h0",
                    f"route add default via {found.gateway(end)}",
                ],
            )
        yield found
    finally:
        for name in (found.router, *found.hosts.values()):
            netns.remove(name)


def document(*more: ConfigObject, **roles: str) -> Document:
    """The router with a role for each end; masquerading would hide who sent."""
    said = {"lan0": "lan", "guest0": "guests", "none0": "none", "wan0": "wan", **roles}
    ports = (Interface(end, role, (f"10.80.{NUMBER[end]}.1/24",)) for end, role in said.items())
    policy = Firewall(masquerade=False, allow_ping_from_wan=False, connections_per_source=0)
    return Document([*ports, policy, *more])


def reached(network: Network, asked: Document) -> set[tuple[str, str, int]]:
    """Who reaches whom by which port, by a packet each; and no packet goes where "which rule?" denies it."""
    with netns.inside(network.router):
        netns.run(["nft", "flush", "ruleset"])
        in_force(asked)
    places = {end: (host, network.address(end)) for end, host in network.hosts.items()}
    heard = {(end, APP): bound(host, address, APP) for end, (host, address) in places.items()}
    heard |= {(ROUTER, port): bound(network.router, "0.0.0.0", port) for port in (LOGIN, DNS)}
    rules = Rules(FIREWALL.wanted(asked), Members.of(asked))
    foreseen = set()
    for end, (host, address) in places.items():
        for to, port in heard:
            if to != end:
                target = network.gateway(end) if to == ROUTER else network.address(to)
                with bound(host, address) as sender, suppress(OSError):
                    sender.sendto(f"{end} {to} {port}".encode(), (target, port))
                if foreseen_to_pass(rules, end, address, to, target, port):
                    foreseen.add((end, to, port))
    seen: set[tuple[str, str, int]] = set()

    def all_there() -> bool:
        for one in heard.values():
            with suppress(BlockingIOError):
                while True:
                    came, to, port = one.recv(100, socket.MSG_DONTWAIT).decode().split()
                    seen.add((came, to, int(port)))
        return seen >= foreseen

    try:
        until("what is let pass arrives", all_there, 5.0)
        # What is refused went before a packet that is let pass: it would have come by now.
    finally:
        for one in heard.values():
            one.close()
    assert seen == foreseen
    return seen


def foreseen_to_pass(rules: Rules, end: str, source: str, to: str, target: str, port: int) -> bool:
    leaves = frozenset[str]() if to == ROUTER else frozenset((to,))
    packet = Packet(
        4, source, target, "udp", port, in_names=frozenset((end,)), out_names=leaves, to_router=to == ROUTER
    )
    found = rules.decide("input" if to == ROUTER else "forward", packet, Walk())
    return found is None or found.verdict == "accept"


GUESTS = Zone("guests", ("dns",))
TO_WAN = ZonePolicy("out", "guests", "wan")


def test_guests_reach_the_wan_and_the_resolver_but_neither_login_nor_lan(network: Network) -> None:
    seen = reached(network, document(GUESTS, TO_WAN))
    assert {to for to in seen if to[0] == "guest0"} == {("guest0", "wan0", APP), ("guest0", ROUTER, DNS)}
    assert {to for to in seen if to[0] == "lan0"} == {
        ("lan0", "wan0", APP),
        ("lan0", ROUTER, LOGIN),
        ("lan0", ROUTER, DNS),
    }


def test_nothing_passes_an_interface_without_a_zone_and_nothing_is_reached_by_it(network: Network) -> None:
    everything = [ZonePolicy(f"{a}-{b}", a, b) for a in ("lan", "wan") for b in ("lan", "wan")]
    seen = reached(network, document(Zone("guests", ("any",)), *everything))
    assert seen and not any("none0" in way for way in seen)


def test_policies_open_and_close_pairs_of_zones(network: Network) -> None:
    seen = reached(
        network,
        document(GUESTS, ZonePolicy("in", "lan", "guests"), ZonePolicy("no", "lan", "wan", "drop", log=True)),
    )
    ways = {(came, to) for came, to, port in seen if port == APP}
    assert ways == {("lan0", "guest0")}
    with netns.inside(network.router):
        backend = FirewallBackend()
        assert backend.policies(None)["in"]["packets"] == 1 and backend.policies(None)["no"]["packets"] == 1
        assert backend.zones(None)["guests"]["packets"] == 3  # to the LAN, the WAN and the login page


def test_answers_come_back_between_zones_of_which_one_may_ask(network: Network) -> None:
    asked = document(GUESTS, ZonePolicy("in", "lan", "guests"))
    with netns.inside(network.router):
        netns.run(["nft", "flush", "ruleset"])
        in_force(asked)
    lan, guest = network.address("lan0"), network.address("guest0")
    with (
        bound(network.hosts["lan0"], lan, 5000) as asks,
        bound(network.hosts["guest0"], guest, APP) as answers,
    ):
        for end in (asks, answers):
            end.settimeout(10.0)
        asks.sendto(b"question", (guest, APP))
        _, who = answers.recvfrom(100)
        answers.sendto(b"answer", who)
        assert asks.recvfrom(100) == (b"answer", (guest, APP))


def test_what_an_earlier_release_stored_without_a_role_keeps_what_passed(network: Network) -> None:
    """Before there were zones, what came from anywhere but a WAN passed."""
    old = {"addresses": ["10.80.2.1/24"]}
    migrated = from_json("interface", old, "none0", is_stored=True)
    assert isinstance(migrated, Interface) and migrated.role == "open"
    seen = reached(network, Document([*document(none0="open", guest0="lan"), migrated]))
    inside = ("lan0", "guest0", "none0")
    assert seen == {
        *((a, b, APP) for a in inside for b in (*inside, "wan0") if a != b),
        *((a, ROUTER, port) for a in inside for port in (LOGIN, DNS)),
    }
    fresh = from_json("interface", old, "none0")
    assert isinstance(fresh, Interface) and fresh.role == "none"


def test_a_rule_set_in_force_is_read_back_as_it_was_written(network: Network) -> None:
    """Every kind of generated rule, also in IPv6 and for a VRF."""
    reaches = ("management", "dns", "dhcp", "ntp", "ping", "routing", "tunnels")
    asked = document(Zone("guests", reaches), TO_WAN, Interface("blue", vrf_table=9))
    with netns.inside(network.router):
        netns.run(["nft", "flush", "ruleset"])
        in_force(asked)
        assert nft.read_table() is not None
        backend = FirewallBackend()
        assert not backend.diff(backend.read(), FirewallWanted(FIREWALL.wanted(asked), ()))
