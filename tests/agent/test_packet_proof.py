# SPDX-License-Identifier: Apache-2.0
"""What is foretold of a packet is what a frame of that kind does, through random configurations; the frame
leaves by no port, reaches no socket, and nothing stays of it, also when the agent is killed meanwhile."""

from __future__ import annotations

import fcntl
import os
import random
import socket
import struct
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import replace
from typing import Any

import pytest

from lab import netns
from lab.measure import bound
from tests.agent.rig import Rig, wan
from tests.agent.test_packet_path import (
    BY,
    INSIDE,
    NOWHERE,
    OWN,
    SPOOFED,
    Listeners,
    customer,
    plain,
    random_packet,
    random_rules,
    rig,
)
from tests.polling import until
from weir.http.context import Context
from weir.kinds.bounded_source import BoundedSource
from weir.kinds.firewall_rule import FirewallRule
from weir.model.interface import Interface
from weir.model.objects import Pair, Queue
from weir.model.problem import Conflict, Invalid, Problem
from weir.service.path_answers import PathAsked, Proved

__all__ = ["plain", "rig"]

CONFIGURATIONS = int(os.environ.get("WEIR_PROOFS", "3"))
PACKETS = 12
WORDS = b"weir path --prove"
PORT = 23_456
"""That a frame comes from, where one is looked for."""
_TUNSETIFF, _IFF_TUN, _IFF_NO_PI = 0x400454CA, 1, 0x1000
_ALL = 3
"""ETH_P_ALL."""


def proved(parts: Context, source: str, destination: str, **said: Any) -> Proved:
    packet = PathAsked(source, destination, **{"protocol": "udp", "port": 53, **said})
    return parts.service.path.prove(BY, parts.stats, packet)


def step(found: Proved, at: str) -> Any:
    return next((item for item in found.steps if item.at == at), None)


class Wires:
    """All that comes out of the router."""

    def __init__(self, made: Rig) -> None:
        self._held = ExitStack()
        self._sockets = []
        for namespace, device in ((made.client_ns, "c0"), (made.internet, "i0"), (made.internet, "i1")):
            with netns.inside(namespace):
                wire = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(_ALL))
            wire.bind((device, _ALL))
            wire.setblocking(False)
            self._sockets.append(self._held.enter_context(wire))

    def carried(self) -> list[bytes]:
        """Since it was asked last: what has the words of our frames in it, and refusals of TCP."""
        found = []
        for wire in self._sockets:
            with suppress(BlockingIOError):
                while True:
                    frame = wire.recv(2000)
                    is_refusal = frame[12:14] == b"\x08\0" and frame[23] == 6 and frame[47] & 4
                    if WORDS in frame or is_refusal:
                        found.append(frame)
        return found

    def close(self) -> None:
        self._held.close()


@pytest.fixture
def wires(rig: Rig) -> Iterator[Wires]:
    made = Wires(rig)
    yield made
    made.close()


@pytest.fixture(scope="module", autouse=True)
def stations(rig: Rig) -> None:
    """Whom the router knows, so that frames need not wait for an answer."""
    for namespace, source, own in (
        *((rig.client_ns, inside, OWN[0]) for inside in INSIDE),
        (rig.internet, "203.0.113.1", OWN[1]),
        (rig.internet, "198.51.100.1", OWN[2]),
    ):
        with bound(namespace, source) as sender:
            sender.sendto(b"x", (own, 9))
    for device, address in (("lan0", INSIDE[0]), ("wan0", "203.0.113.1"), ("opt0", "198.51.100.1")):
        until(
            f"{address} is known",
            lambda a=address, d=device: "lladdr" in rig.run("ip", "neigh", "show", a, "dev", d),
        )


def what_stays(made: Rig) -> list[str]:
    """Of a frame from `PORT`."""
    found = {
        "the table": "weir_proof" in made.run("nft", "list", "tables"),
        "the program": "prove_catch" in made.run("bpftool", "net"),
        "the connection": f"={PORT} " in made.run("conntrack", "-L"),
    }
    return [name for name, is_there in found.items() if is_there]


@pytest.mark.parametrize("is_upload", [True, False])
def test_a_frame_does_what_was_foretold(rig: Rig, parts: Context, wires: Wires, is_upload: bool) -> None:
    listeners = Listeners(rig)
    fates: Counter[str] = Counter()
    try:
        for number in range(CONFIGURATIONS):
            rng = random.Random(f"proof {number} {is_upload}")
            rig.commit(*random_rules(rng))
            for _ in range(PACKETS):
                _, packet = random_packet(rng, rig, is_upload)
                packet = replace(packet, protocol=rng.choice(("udp", "udp", "tcp", "icmp")))
                found = parts.service.path.prove(BY, parts.stats, packet)
                fates[found.fate] += 1
                assert (found.outcome, found.fate) == ("same", found.predicted.fate), (packet, found)
        assert wires.carried() == []
        assert listeners.heard() == {}
    finally:
        listeners.close()
    assert what_stays(rig) == []
    assert min(fates[fate] for fate in ("forwarded", "dropped", "delivered")) > 0, fates


def test_the_mark_counters_addresses_and_wait_are_the_frame_s(
    plain: Rig, parts: Context, wires: Wires
) -> None:
    before = plain.counters("two", "upload")["packets"]
    found = proved(parts, INSIDE[0], "8.8.8.8", in_interface="lan0", source_port=PORT)
    assert found.outcome == "same" and found.sentence == f"Proved: {found.predicted.sentence}"
    assert step(found, "queue-in").sentence == "Its mark is of the upload of queue two."
    assert step(found, "nat-out").sentence == f"It left the firewall with the source {OWN[1]}."
    assert step(found, "queue-out").sentence.startswith(
        "Its counter went up by this packet; it would have left"
    )
    assert plain.counters("two", "upload")["packets"] == before + 1, "as docs/diagnosis.md says"
    assert step(found, "fast-path").outcome == "unknown"
    assert wires.carried() == [] and what_stays(plain) == []


def test_ipv6_goes_the_same_way(plain: Rig, parts: Context, wires: Wires) -> None:
    plain.run("ip", "addr", "replace", "2001:db8:64::1/64", "dev", "lan0", "nodad")
    plain.run("ip", "addr", "replace", "2001:db8:1::1/64", "dev", "wan0", "nodad")
    plain.run("ip", "neigh", "replace", "2001:db8:1::9", "lladdr", "02:00:00:00:00:09", "dev", "wan0")
    until(
        "lan0 has its address",
        lambda: "tentative" not in plain.run("ip", "-6", "addr", "show", "dev", "lan0"),
    )
    for protocol in ("udp", "tcp", "icmp"):
        found = proved(parts, "2001:db8:64::7", "2001:db8:1::9", in_interface="lan0", protocol=protocol)
        assert (found.fate, found.outcome) == ("forwarded", "same"), found
        assert step(found, "neighbour").sentence.endswith("02:00:00:00:00:09.")
        none = proved(parts, "2001:db8:64::7", "2001:db8:99::9", in_interface="lan0", protocol=protocol)
        assert (none.fate, none.outcome) == ("dropped", "same"), none
        own = proved(parts, "2001:db8:1::1", "2001:db8:1::9", from_router=True, protocol=protocol)
        assert (own.fate, own.outcome) == ("sent", "same"), own
        here = proved(parts, "2001:db8:64::7", "2001:db8:64::1", in_interface="lan0", protocol=protocol)
        assert (here.fate, here.outcome) == ("delivered", "same"), here
    assert wires.carried() == [], "nor what the router would tell the sender"


@pytest.mark.parametrize(
    ("source", "destination", "fate", "words"),
    [
        ("10.64.0.2", "255.255.255.255", "delivered", "is a broadcast address"),
        ("10.64.0.2", "10.64.0.255", "delivered", "is a broadcast address"),
        ("10.64.0.2", "224.0.0.1", "delivered", "is a multicast address"),
        ("10.64.0.2", "224.0.0.251", "dropped", "no program of the router has joined 224.0.0.251 at lan0"),
        ("10.64.0.2", "127.0.0.1", "dropped", "nothing for 127.0.0.1 that comes from outside"),
        ("2001:db8:64::7", "ff02::1", "delivered", "is a multicast address"),
        ("2001:db8:64::7", "ff02::fb", "dropped", "no program of the router has joined ff02::fb at lan0"),
        ("2001:db8:64::7", "::1", "dropped", "nothing from outside may be for a loopback address"),
    ],
)
def test_what_is_for_all_or_for_a_group(
    plain: Rig, parts: Context, wires: Wires, source: str, destination: str, fate: str, words: str
) -> None:
    plain.run("ip", "addr", "replace", "2001:db8:64::1/64", "dev", "lan0", "nodad")
    found = proved(parts, source, destination, in_interface="lan0")
    assert words.lower() in " ".join(item.sentence for item in found.predicted.steps).lower()
    assert (found.fate, found.outcome) == (fate, "same"), found
    assert wires.carried() == [] and what_stays(plain) == []


def test_an_interface_without_hardware_addresses(plain: Rig, parts: Context, wires: Wires) -> None:
    """As PPP, WireGuard and tunnels are."""
    with netns.inside(plain.router):
        tunnel = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
        fcntl.ioctl(tunnel, _TUNSETIFF, struct.pack("16sH22x", b"tun0", _IFF_TUN | _IFF_NO_PI))
    try:
        plain.commit(Interface("tun0", "lan", ("10.77.0.1/24",)), customer("tunnelled", "10.77.0.2"))
        plain.run("ip", "link", "set", "tun0", "up")
        found = proved(parts, "10.77.0.2", "8.8.8.8", in_interface="tun0")
        assert (found.fate, found.outcome) == ("forwarded", "same"), found
        assert step(found, "queue-out").predicted.id == "tunnelled"
        found = proved(parts, INSIDE[0], "10.77.0.2", in_interface="lan0")
        assert (found.fate, found.outcome) == ("forwarded", "same"), found
        assert step(found, "neighbour").sentence == "It needed no hardware address."
        carried = []
        with suppress(BlockingIOError):
            while True:
                carried.append(os.read(tunnel, 2000))
        assert not [packet for packet in carried if WORDS in packet]
    finally:
        os.close(tunnel)
        plain.commit(delete=[("interface", "tun0"), ("queue", "tunnelled")])
    assert wires.carried() == [] and what_stays(plain) == []


def test_htb_counts_it_and_tells_no_wait(plain: Rig, parts: Context, wires: Wires) -> None:
    plain.commit(replace(wan(reverse_path="loose"), shaper="htb"))
    try:
        found = proved(parts, INSIDE[0], "8.8.8.8", in_interface="lan0")
        assert (found.fate, found.outcome) == ("forwarded", "same"), found
        told = "Its counter went up by this packet; how long it would have waited HTB does not tell."
        assert step(found, "queue-out").sentence == told
    finally:
        plain.commit(wan(reverse_path="loose"))
    assert wires.carried() == []


def test_both_customers_and_the_far_end_s_choice_are_charged(
    plain: Rig, parts: Context, wires: Wires
) -> None:
    limits = {"max_limit_bps": Pair(9_000_000, 9_000_000)}
    plain.commit(
        Queue("far", "far", ("8.8.8.8/32",), **limits),
        Queue("games", "games", ("10.64.0.3/32",), dst="192.0.2.0/24", **limits),
    )
    try:
        found = proved(parts, INSIDE[0], "8.8.8.8", in_interface="lan0")
        queues = [(item.predicted.id, item.outcome) for item in found.steps if item.at == "queue-out"]
        assert found.outcome == "same" and queues == [("far", "same"), ("two", "same")]
        found = proved(parts, INSIDE[1], "192.0.2.9", in_interface="lan0")
        assert found.outcome == "same", found
        assert step(found, "queue-in").predicted.id == step(found, "queue-out").predicted.id == "games"
    finally:
        plain.commit(delete=[("queue", "far"), ("queue", "games")])


def test_a_queue_that_is_not_charged_differs(
    plain: Rig, parts: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As if the class were chosen otherwise than is foretold: another queue's counter is looked at."""
    agent = parts.service.path._agent
    call = agent.call

    def wrong(method: str, params: dict[str, Any], **more: Any) -> Any:
        if method == "packet_prove":
            params = {**params, "behind": {**params["behind"], "source": INSIDE[1]}}
        return call(method, params, **more)

    monkeypatch.setattr(agent, "call", wrong)
    found = proved(parts, INSIDE[0], "8.8.8.8", in_interface="lan0")
    assert step(found, "queue-out").outcome == "unknown", "nothing of queue two was looked at"
    monkeypatch.setattr(agent, "call", _as_if_three(call))
    found = proved(parts, INSIDE[0], "8.8.8.8", in_interface="lan0")
    assert step(found, "queue-out").sentence == "Its counter did not go up." and found.outcome == "differs"


def _as_if_three(call: Any) -> Any:
    """What the agent says of queue three is said of queue two."""

    def renamed(method: str, params: dict[str, Any], **more: Any) -> Any:
        if method != "packet_prove":
            return call(method, params, **more)
        found = call(method, {**params, "behind": {**params["behind"], "source": INSIDE[1]}}, **more)
        charged = [{**item, "queue": "two"} for item in found["caught"]["charged"]]
        return {**found, "caught": {**found["caught"], "charged": charged}}

    return renamed


def test_a_source_over_its_bound_is_no_fault_and_not_known(plain: Rig, parts: Context, wires: Wires) -> None:
    plain.commit(BoundedSource("few", "10.64.0.2/32", packets_per_second=10, burst=1))
    with bound(plain.client_ns, "10.64.0.2") as sender:
        for _ in range(50):
            sender.sendto(b"", ("192.0.2.9", 9))
        found = proved(parts, "10.64.0.2", "192.0.2.9", in_interface="lan0")
        for _ in range(20):  # a machine that was busy meanwhile let it through
            if found.fate == "unknown":
                break
            for _ in range(50):
                sender.sendto(b"", ("192.0.2.9", 9))
            found = proved(parts, "10.64.0.2", "192.0.2.9", in_interface="lan0")
    assert (found.fate, found.outcome) == ("unknown", "unknown")
    assert "bounded" in found.sentence and "fault" not in found.sentence
    assert step(found, "source").outcome == "unknown"
    plain.commit(delete=[("bounded-source", "few")])
    assert proved(parts, "10.64.0.2", "192.0.2.9", in_interface="lan0").outcome == "same"


def test_a_rule_of_others_is_named_and_differs(plain: Rig, parts: Context, wires: Wires) -> None:
    chain = "{ type filter hook forward priority 10; }"
    plain.run("nft", "add table inet other; add chain inet other theirs " + chain)
    plain.run("nft", "add rule inet other theirs udp dport 5060 drop")
    try:
        found = proved(parts, INSIDE[0], "8.8.8.8", in_interface="lan0", port=5060)
        assert (found.predicted.fate, found.fate, found.outcome) == ("forwarded", "dropped", "differs")
        text = "It was dropped by chain theirs of the table other, which is not Weir's."
        assert step(found, "firewall").sentence == text
        assert "support file" in found.sentence
        assert step(found, "egress").outcome == "unknown"
    finally:
        plain.run("nft", "delete table inet other")


def test_another_route_than_foretold_stops_the_frame_in_the_firewall(
    plain: Rig, parts: Context, wires: Wires, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As if the prediction were wrong: it is not caught at opt0, and leaves neither there nor at wan0."""
    agent = parts.service.path._agent
    call = agent.call

    def wrong(method: str, params: dict[str, Any], **more: Any) -> Any:
        said = {**params, "leaves": "wan0"} if method == "packet_prove" else params
        return call(method, said, **more)

    monkeypatch.setattr(agent, "call", wrong)
    found = proved(parts, INSIDE[0], "192.0.2.9", in_interface="lan0", source_port=PORT)
    assert step(found, "route").sentence == "The kernel led it to opt0."
    assert found.fate == "unknown" and wires.carried() == [] and what_stays(plain) == []


def test_a_station_that_is_not_known_is_not_asked_for(plain: Rig, parts: Context, wires: Wires) -> None:
    found = proved(parts, OWN[0], NOWHERE[1], from_router=True)
    assert (found.fate, found.outcome) == ("unknown", "unknown")
    assert f"the next station {NOWHERE[1]} is not known" in step(found, "neighbour").sentence
    assert step(found, "route").outcome == "same"
    assert plain.run("ip", "neigh", "show", NOWHERE[1]) == "", "nobody asked for it"


def test_refusals_stay_here_and_are_told(plain: Rig, parts: Context, wires: Wires) -> None:
    rule = FirewallRule("no", "forward", "reject", 0, destination=("8.8.8.8/32",))
    plain.commit(rule)
    try:
        for protocol in ("tcp", "udp", "icmp"):
            found = proved(parts, INSIDE[0], "8.8.8.8", in_interface="lan0", protocol=protocol)
            assert (found.fate, found.outcome) == ("rejected", "same"), found
            assert step(found, "firewall").sentence == "It was dropped by rule no."
    finally:
        plain.commit(delete=[("firewall-rule", "no")])
    spoofed = proved(parts, SPOOFED, "8.8.8.8", in_interface="lan0")
    assert (spoofed.fate, spoofed.outcome, spoofed.steps[-1].at) == ("dropped", "same", "source")
    assert wires.carried() == []


def test_what_a_frame_cannot_prove_is_refused(plain: Rig, parts: Context) -> None:
    for said, path in (
        ({"state": "established"}, "state"),
        ({"candidate": True}, "candidate"),
        ({"protocol": "gre"}, "protocol"),
        ({"protocol": "icmp", "icmp_type": "redirect"}, "icmp_type"),
    ):
        with pytest.raises(Invalid) as refused:
            proved(parts, INSIDE[0], "8.8.8.8", in_interface="lan0", **said)
        assert (refused.value.code, refused.value.path) == ("not-provable", path)
    with bound(plain.client_ns, INSIDE[0], PORT + 1) as sender:
        sender.sendto(b"x", ("8.8.8.8", 53))
    until("there is a connection", lambda: f"={PORT + 1} " in plain.run("conntrack", "-L"))
    with pytest.raises(Conflict, match="a connection with these addresses and ports"):
        proved(parts, INSIDE[0], "8.8.8.8", in_interface="lan0", source_port=PORT + 1)
    assert f"={PORT + 1} " in plain.run("conntrack", "-L"), "which is left alone"


def test_nothing_stays_of_an_agent_that_is_killed_meanwhile(plain: Rig, parts: Context, wires: Wires) -> None:
    for _ in range(2):
        over = threading.Event()

        def prove(over: threading.Event = over) -> None:
            with suppress(Problem):
                while not over.is_set():
                    proved(parts, INSIDE[0], "8.8.8.8", in_interface="lan0", source_port=PORT)

        one = threading.Thread(target=prove)
        one.start()
        try:
            until("a frame is on its way", lambda: "weir_proof" in plain.run("nft", "list", "tables"))
        finally:
            plain.kill_agent()
            over.set()
            one.join()
        until("nothing is left", lambda: what_stays(plain) == [], 3.0)
        assert wires.carried() == []
        plain.start_agent()
