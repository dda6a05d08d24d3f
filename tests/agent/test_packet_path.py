# SPDX-License-Identifier: Apache-2.0
"""What a router is said to do with a packet is what it does: real packets through random configurations with
zones, rules, NAT, two ways out and queues. Compared are where each arrives, by which interface, from whom,
and which queues counted it."""

from __future__ import annotations

import os
import random
import socket
import struct
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from itertools import count
from typing import Any

import pytest

from lab import netns
from lab.measure import bound
from tests.agent.rig import Rig, lan, running, wan
from tests.polling import until
from weir.accounts.principal import Principal
from weir.http.context import Context
from weir.kinds.bounded_source import BoundedSource
from weir.kinds.firewall import Firewall
from weir.kinds.firewall_rule import FirewallRule
from weir.kinds.nat_rule import NatRule
from weir.kinds.static_route import StaticRoute
from weir.kinds.zone import Zone, ZonePolicy
from weir.model.interface import Interface
from weir.model.objects import ConfigObject, Pair, Queue
from weir.model.problem import Invalid, NotFound
from weir.service.path_answers import PathAsked, Predicted
from weir.service.types import Edit

CONFIGURATIONS = int(os.environ.get("WEIR_PATHS", "4"))
PACKETS = 30
M = 1_000_000
BY = Principal(0, "test", "admin", "local", "test", "test", 0)
PORTS = (53, 443, 5060)
INSIDE = ("10.64.0.2", "10.64.0.3", "10.64.0.77")
SPOOFED = "172.16.5.5"
OUTSIDE = ("203.0.113.1", "198.51.100.1", "8.8.8.8", "192.0.2.9")
OWN = ("10.64.0.1", "203.0.113.2", "198.51.100.2")
NOWHERE = ("10.99.0.1", "10.64.0.200")
"""Of a blackhole; and of no host, which nobody answers for."""
CUSTOMERS = ("two", "three")
FORWARD = "forward"
_IP_PKTINFO = 8
_flows = count(20_000)


@pytest.fixture(scope="module")
def rig() -> Iterator[Rig]:
    with running(frr=True) as made:
        made.cable("opt0", made.internet, "i1")
        netns.ip(made.client_ns, [f"addr add {text}/24 dev c0" for text in INSIDE[1:]])
        netns.ip(made.client_ns, [f"addr add {SPOOFED}/32 dev c0"])
        netns.ip(made.internet, ["addr add 198.51.100.1/24 dev i1", "addr add 8.8.8.8/32 dev lo"])
        netns.ip(made.internet, ["addr add 192.0.2.9/32 dev lo", "route add 10.64.0.0/16 via 203.0.113.2"])
        netns.ip(made.internet, ["route add 172.16.0.0/16 via 203.0.113.2"])
        made.commit(
            lan(reverse_path="strict"),
            wan(reverse_path="loose"),
            Interface("opt0", "partner", ("198.51.100.2/24",)),
            Zone("partner", ("ping",)),
            ZonePolicy("out", "lan", "partner", "accept"),
            StaticRoute("out", "0.0.0.0/0", gateway="203.0.113.1"),
            StaticRoute("other", "192.0.2.0/24", gateway="198.51.100.1"),
            StaticRoute("hole", "10.99.0.0/16", blackhole=True),
            NatRule(
                "web", "destination", ports=("443",), protocol="udp", to_address="10.64.0.2/32", to_port=5060
            ),
            *(customer(name, f"10.64.0.{number}") for number, name in enumerate(CUSTOMERS, 2)),
        )
        until("the routes are there", lambda: "192.0.2.0/24" in made.run("ip", "route"))
        yield made


def customer(name: str, address: str) -> Queue:
    return Queue(name, name, (f"{address}/32",), max_limit_bps=Pair(50 * M, 50 * M))


def asked(parts: Context, source: str, destination: str, **said: Any) -> Predicted:
    packet = PathAsked(source, destination, **{"protocol": "udp", "port": 53, **said})
    return parts.service.path.predict(BY, parts.stats, packet)


def step(found: Predicted, at: str) -> Any:
    return next((item for item in found.steps if item.at == at), None)


def random_rules(rng: random.Random) -> list[ConfigObject]:
    made: list[ConfigObject] = []
    for number in range(6):
        chain = rng.choice((FORWARD, FORWARD, FORWARD, "input", "output"))
        said: dict[str, Any] = {}
        if rng.random() < 0.6:
            said["source"] = (f"{rng.choice((*INSIDE, *OUTSIDE))}/32",)
        if rng.random() < 0.4:
            said["destination"] = (
                rng.choice(("192.0.2.0/24", "8.0.0.0/8", "10.64.0.2/32", "203.0.113.0/24")),
            )
        if rng.random() < 0.6:
            said |= {"protocol": "udp", "ports": (str(rng.choice(PORTS)),)}
        if chain == FORWARD and rng.random() < 0.4:
            said["out_interface"] = rng.choice(("lan0", "wan0", "opt0"))
        action = rng.choice(("drop", "reject", "accept"))
        made.append(FirewallRule(f"r{number}", chain, action, number, **said))
    policy = Firewall(masquerade=rng.random() < 0.7, drop_new_from_wan=rng.random() < 0.5)
    unknown = rng.choice(("allow", "drop"))
    return [*made, policy, lan(reverse_path=rng.choice(("strict", "off")), unknown=unknown)]


class Listeners:
    """Sockets on every address of a namespace, which say by which interface a packet came."""

    def __init__(self, rig: Rig) -> None:
        self._sockets = []
        for namespace in (rig.router, rig.client_ns, rig.internet):
            for port in PORTS:
                own = bound(namespace, "0.0.0.0", port)
                own.setblocking(False)
                own.setsockopt(socket.IPPROTO_IP, _IP_PKTINFO, 1)
                self._sockets.append((namespace, port, own))
        self._names = {
            (namespace, item["ifindex"]): item["ifname"]
            for namespace in (rig.router, rig.client_ns, rig.internet)
            for item in rig.json("nsenter", f"--net=/run/netns/{namespace}", "ip", "-j", "link")
        }

    def heard(self) -> dict[bytes, tuple[str, int, str, str]]:
        """By a packet's words: address, port, from whom, and by which interface."""
        found = {}
        for namespace, port, own in self._sockets:
            with suppress(BlockingIOError):
                while True:
                    words, told, _, peer = own.recvmsg(100, 100)
                    index, _, address = struct.unpack("=I4s4s", told[0][2])
                    place = self._names[namespace, index]
                    found[words] = (socket.inet_ntoa(address), port, peer[0], place)
        return found

    def close(self) -> None:
        for _, _, own in self._sockets:
            own.close()


def random_packet(rng: random.Random, rig: Rig, is_upload: bool) -> tuple[str, PathAsked]:
    """The namespace that it is sent from, and the packet. Not an upload: from outside, or by the router."""
    port = rng.choice(PORTS)
    said: dict[str, Any] = {"protocol": "udp", "port": port, "source_port": next(_flows)}
    if is_upload:
        source = rng.choice((*INSIDE, *INSIDE, SPOOFED))
        destination = rng.choice((*OUTSIDE, *OUTSIDE, *OWN, NOWHERE[0]))
        return rig.client_ns, PathAsked(source, destination, in_interface="lan0", **said)
    if rng.random() < 0.3:
        destination = rng.choice((*INSIDE, *OUTSIDE, NOWHERE[0]))
        source = rng.choice(OWN)
        return rig.router, PathAsked(source, destination, from_router=True, **said)
    source = rng.choice(OUTSIDE)
    destination = rng.choice((*INSIDE, OWN[1], OWN[1]))
    # The internet's routes to the inside all lead to wan0.
    return rig.internet, PathAsked(source, destination, in_interface="wan0", **said)


FAR_ENDS = {"lan0": "c0", "wan0": "i0", "opt0": "i1"}


def expected_of(found: Predicted, packet: PathAsked) -> tuple[str, int, str, str] | None:
    if found.fate == "delivered":
        route, nat = step(found, "route"), step(found, "nat-in")
        assert route is not None and nat is None, found
        return packet.destination, packet.port, packet.source, packet.in_interface or ""
    if found.leaves is None:
        return None
    leaves = found.leaves
    return leaves.destination, leaves.port, leaves.source, FAR_ENDS[leaves.interface]


def counted(rig: Rig) -> Counter[tuple[str, str]]:
    return Counter(
        {
            (name, way): rig.counters(name, way)["packets"]
            for name in CUSTOMERS
            for way in ("upload", "download")
        }
    )


def charged(found: Predicted) -> Iterator[tuple[str, str]]:
    for item in found.steps:
        if item.at == "queue-out" and item.kind == "queue":
            yield item.id or "", "upload" if "upload:" in item.sentence else "download"


@pytest.mark.parametrize("is_upload", [True, False])
def test_a_router_does_with_packets_what_it_is_said_to_do(rig: Rig, parts: Context, is_upload: bool) -> None:
    listeners = Listeners(rig)
    fates: Counter[str] = Counter()
    ends: Counter[str] = Counter()
    seed = int(os.environ.get("WEIR_SEED", "1"))
    try:
        for number in range(CONFIGURATIONS):
            rng = random.Random(f"{seed} {number} {is_upload}")
            rig.commit(*random_rules(rng))
            before, charges = counted(rig), Counter[tuple[str, str]]()
            expected: dict[bytes, tuple[str, int, str, str]] = {}
            told: dict[bytes, Predicted] = {}
            for each in range(PACKETS):
                namespace, packet = random_packet(rng, rig, is_upload)
                words = f"{number} {each} {is_upload}".encode()
                found = told[words] = asked(parts, packet.source, packet.destination, **_rest(packet))
                fates[found.fate] += 1
                ends[found.steps[-1].at] += found.fate in ("dropped", "rejected")
                charges.update(charged(found) if found.leaves else ())
                place = expected_of(found, packet)
                if place is not None:
                    expected[words] = place
                with bound(namespace, packet.source, packet.source_port) as sender, suppress(OSError):
                    sender.sendto(words, (packet.destination, packet.port))
            seen: dict[bytes, tuple[str, int, str, str]] = {}

            def all_there() -> bool:
                seen.update(listeners.heard())  # noqa: B023
                return seen.keys() >= expected.keys()  # noqa: B023

            with suppress(AssertionError):
                until("what passes arrives", all_there, 3.0)
            for words in told.keys() & (seen.keys() | expected.keys()):
                assert seen.get(words) == expected.get(words), (number, words, told[words])
            ways = ("upload",) if is_upload else ("download",)  # refusals to customers are downloads, too
            after = counted(rig)
            moved = {key: after[key] - before[key] for key in after if key[1] in ways}
            assert moved == {key: charges[key] for key in moved}, number
    finally:
        listeners.close()
    assert fates["unknown"] == 0
    assert min(fates[fate] for fate in ("forwarded", "dropped", "delivered")) > CONFIGURATIONS, fates
    assert ends["firewall"] and (not is_upload or (ends["source"] and ends["route"])), ends


def _rest(packet: PathAsked) -> dict[str, Any]:
    names = ("protocol", "port", "source_port", "in_interface", "from_router")
    return {name: getattr(packet, name) for name in names}


@pytest.fixture
def plain(rig: Rig) -> Rig:
    """Without rules of its own."""
    rules = [("firewall-rule", f"r{number}") for number in range(6)]
    kept = [(kind, name) for kind, name in rules if rig._stored(kind, name) is not None]
    rig.commit(Firewall(), lan(reverse_path="strict"), delete=kept)
    return rig


def test_each_step_names_what_decided_there(plain: Rig, parts: Context) -> None:
    found = asked(parts, "10.64.0.2", "192.0.2.9", in_interface="lan0")
    assert (found.fate, found.leaves and found.leaves.interface) == ("forwarded", "opt0")
    decided = {item.at: (item.kind, item.id) for item in found.steps}
    assert decided["route"] == ("static-route", "other")
    assert decided["firewall"] == ("zone-policy", "out")
    assert decided["queue-in"] == decided["queue-out"] == ("queue", "two")
    assert decided["ingress"] == ("interface", "lan0") and decided["egress"] == ("interface", "opt0")
    assert "50 Mbit/s" in step(found, "queue-out").sentence
    assert step(found, "fast-path").sentence.startswith("Not on the fast path: ")
    hole = asked(parts, "10.64.0.2", "10.99.0.1", in_interface="lan0")
    assert (hole.fate, hole.steps[-1].kind, hole.steps[-1].id) == ("dropped", "static-route", "hole")
    nat = asked(parts, "8.8.8.8", OWN[1], in_interface="wan0", port=443)
    assert (step(nat, "nat-in").id, nat.leaves and nat.leaves.destination) == ("web", "10.64.0.2")
    spoofed = asked(parts, SPOOFED, "8.8.8.8", in_interface="lan0")
    assert spoofed.fate == "dropped" and "wan0" in spoofed.sentence, "the way back is the default route"


def test_without_an_interface_the_way_back_tells_it(plain: Rig, parts: Context) -> None:
    found = asked(parts, "10.64.0.2", "8.8.8.8")
    assert step(found, "ingress").id == "lan0" and "way back" in step(found, "ingress").sentence
    assert asked(parts, OWN[1], "8.8.8.8").fate == "sent"
    with pytest.raises(Invalid, match="tag 7 on lan0"):
        asked(parts, "10.64.0.2", "8.8.8.8", in_interface="lan0", vlan=7)


def test_a_bounded_source_is_said_by_its_longest_prefix(plain: Rig, parts: Context) -> None:
    wide, narrow = BoundedSource("wide", "10.64.0.0/24"), BoundedSource("own", "10.64.0.2/32", 1_000)
    plain.commit(wide, narrow, BoundedSource("off", "10.64.0.2/31", disabled=True))
    found = step(asked(parts, "10.64.0.2", "192.0.2.9", in_interface="lan0"), "source")
    assert (found.state, found.kind, found.id) == ("passes", "bounded-source", "own")
    assert any("1,000 packets a second" in text for text in found.details) and found.not_known
    assert step(asked(parts, "10.64.0.9", "192.0.2.9", in_interface="lan0"), "source").id == "wide"
    plain.commit(delete=[("bounded-source", name) for name in ("wide", "own", "off")])
    assert step(asked(parts, "10.64.0.2", "192.0.2.9", in_interface="lan0"), "source").id == "lan0"


def test_a_neighbour_that_is_not_known_holds_the_packet(plain: Rig, parts: Context) -> None:
    found = asked(parts, OWN[0], NOWHERE[1], from_router=True)
    near = step(found, "neighbour")
    assert near.state == "waits" and near.not_known == (f"whether {NOWHERE[1]} answers",)
    assert f"once {NOWHERE[1]} answers" in found.sentence
    plain.run("ip", "neigh", "replace", NOWHERE[1], "lladdr", "02:00:00:00:00:09", "dev", "lan0")
    assert step(asked(parts, OWN[0], NOWHERE[1], from_router=True), "neighbour").state == "passes"
    plain.run("ip", "neigh", "del", NOWHERE[1], "dev", "lan0")


def test_the_far_end_chooses_among_queues_of_one_target(plain: Rig, parts: Context) -> None:
    plain.commit(
        Queue(
            "games",
            "games",
            ("10.64.0.3/32",),
            dst="8.8.8.0/24",
            max_limit_bps=Pair(9 * M, 9 * M),
        )
    )
    try:
        before = plain.counters("games", "upload")["packets"]
        found = asked(parts, "10.64.0.3", "8.8.8.8", in_interface="lan0")
        assert found.leaves is not None and found.leaves.queues == ("games",)
        with bound(plain.client_ns, "10.64.0.3") as sender:
            sender.sendto(b"x", ("8.8.8.8", 53))
        counts = lambda: plain.counters("games", "upload")["packets"] == before + 1  # noqa: E731
        until("it is counted there", counts)
        other = asked(parts, "10.64.0.3", "192.0.2.9", in_interface="lan0")
        assert other.leaves is not None and other.leaves.queues == ("three",)
    finally:
        plain.commit(delete=[("queue", "games")])


def test_a_customer_s_packet_to_a_customer_is_charged_to_both(plain: Rig, parts: Context) -> None:
    plain.commit(Queue("far", "far", ("8.8.8.8/32",), max_limit_bps=Pair(9 * M, 9 * M)))
    try:
        found = asked(parts, "10.64.0.2", "8.8.8.8", in_interface="lan0")
        assert found.leaves is not None and found.leaves.queues == ("far", "two")
    finally:
        plain.commit(delete=[("queue", "far")])


def test_a_candidate_is_told_as_far_as_the_kernel_knows_it(plain: Rig, parts: Context) -> None:
    candidates = parts.service.candidates
    with pytest.raises(NotFound):
        asked(parts, "10.64.0.2", "8.8.8.8", candidate=True)
    candidates.open(BY)
    try:
        rule = FirewallRule("pending", FORWARD, "drop", 0, source=("10.64.0.2/32",))
        candidates.stage(BY, [Edit("firewall-rule", "pending", rule)])
        found = asked(parts, "10.64.0.2", "8.8.8.8", in_interface="lan0", candidate=True)
        assert (found.fate, found.steps[-1].id) == ("dropped", "pending")
        assert asked(parts, "10.64.0.2", "8.8.8.8", in_interface="lan0").fate == "forwarded"
        route = StaticRoute("pending", "8.8.8.0/24", gateway="198.51.100.1")
        candidates.stage(BY, [Edit("static-route", "pending", route)])
        found = asked(parts, "10.64.0.3", "8.8.8.8", in_interface="lan0", candidate=True)
        assert found.fate == "unknown" and "opt0" in step(found, "route").sentence
        assert "static-route" in step(found, "route").not_known[0]
    finally:
        candidates.discard(BY)


def test_without_the_agent_nothing_is_stated_that_only_it_knows(plain: Rig, parts: Context) -> None:
    plain.kill_agent()
    try:
        found = asked(parts, "10.64.0.2", "8.8.8.8", in_interface="lan0")
        assert found.fate == "unknown" and found.leaves is None
        unknown = [item.at for item in found.steps if item.state == "unknown"]
        assert unknown == ["ingress", "source", "queue-in", "route", "egress"]
        assert all("agent" in item.not_known[0] for item in found.steps if item.state == "unknown")
        assert "wan0" in step(found, "route").sentence, "as the configuration says"
    finally:
        plain.start_agent()
