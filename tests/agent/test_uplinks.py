# SPDX-License-Identifier: Apache-2.0
"""Two internets with the same addresses behind two uplinks: what is behind a gateway dies while its link and
the gateway itself live, and new connections of a client go the other way."""

from __future__ import annotations

import socket
import struct
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from typing import Any

import pytest

from lab import netns
from lab.measure import bound
from tests.agent.rig import Rig, lan, running, wan
from tests.polling import until
from weir.kinds.uplink import Uplink
from weir.kinds.uplink_check import UplinkCheck
from weir.model.interface import Interface

TARGET, SERVER, PORT = "198.51.100.1", "192.0.2.80", 7
OWN = {"wan0": "203.0.113.2", "wan1": "203.0.114.2"}
GATEWAYS = {"wan0": "203.0.113.1", "wan1": "203.0.114.1"}
PEERS = {"wan0": "i0", "wan1": "i1"}
WITHIN_S = 10.0
"""So soon new connections go the other way: twice what is promised, as whatever runs beside is in it."""
FIRST = Uplink("first", "wan0", GATEWAYS["wan0"], priority=1, recover_after=3)
SECOND = Uplink("second", "wan1", GATEWAYS["wan1"], priority=2, recover_after=3)
CHECKS = (UplinkCheck("c1", "first", TARGET), UplinkCheck("c2", "second", TARGET))


class Ways:
    """The rig with a second internet. Each has a server that says by which uplink a packet reached it."""

    def __init__(self, rig: Rig) -> None:
        self.rig = rig
        self.behind = {"wan0": rig.internet, "wan1": f"{rig.name}-s"}
        netns.create(self.behind["wan1"])
        netns.ip(self.behind["wan1"], ["link set lo up"])
        rig.cable("wan1", self.behind["wan1"], "i1")
        netns.ip(self.behind["wan1"], [f"addr add {GATEWAYS['wan1']}/24 dev i1"])
        for name, namespace in self.behind.items():
            netns.ip(namespace, [f"route add blackhole {address}/32" for address in (TARGET, SERVER)])
            self.heal(name)
            threading.Thread(target=_serve, args=(bound(namespace, SERVER, PORT), name), daemon=True).start()

    def kill(self, name: str) -> None:
        """What is behind the gateway is silent; the gateway answers, and the link stays up."""
        netns.ip(self.behind[name], [f"addr del {address}/32 dev lo" for address in (TARGET, SERVER)])

    def heal(self, name: str) -> None:
        netns.ip(self.behind[name], [f"addr add {address}/32 dev lo" for address in (TARGET, SERVER)])

    def way(self, patience_s: float = 0.2) -> str:
        """By which uplink a new connection of the client is answered; "" = by none."""
        with bound(self.rig.client_ns, "10.64.0.2") as client:
            client.settimeout(patience_s)
            client.connect((SERVER, PORT))
            with suppress(OSError):
                client.send(b"?")
                return client.recv(16).decode()
        return ""

    def seconds_to(self, name: str) -> float:
        begun = time.monotonic()
        until(f"new connections go by {name}", lambda: self.way() == name, 30.0)
        return time.monotonic() - begun

    def state(self, uplink_id: str) -> dict[str, Any]:
        found = self.rig.agent.call("state", {"kind": "uplink", "ids": [uplink_id]})
        learnt: dict[str, Any] = found["objects"][uplink_id]
        return learnt

    def settled(self) -> None:
        for one in (FIRST, SECOND):
            until(f"{one.id} is up", lambda one=one: self.state(one.id)["status"] == "up", 30.0)
        assert self.seconds_to("wan0") < 20


def _serve(server: socket.socket, name: str) -> None:
    with suppress(OSError), server:
        while True:
            _, back = server.recvfrom(64)
            with suppress(OSError):
                server.sendto(name.encode(), back)


@contextmanager
def sources(namespace: str, device: str) -> Iterator[set[str]]:
    """The IPv4 sources of the packets that reach a device meanwhile."""
    with netns.inside(namespace):
        tap = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(0x0800))
    tap.bind((device, 0x0800))
    tap.setblocking(False)
    found: set[str] = set()
    with closing(tap):
        yield found
        with suppress(BlockingIOError):
            while True:
                data, (_, _, kind, *_) = tap.recvfrom(64)
                if kind != socket.PACKET_OUTGOING:
                    found.add(socket.inet_ntoa(struct.unpack_from("!4s", data, 12)[0]))


@pytest.fixture(scope="module")
def ways() -> Iterator[Ways]:
    with running("--look-interval-s", "0.5", frr=True) as rig:
        made = Ways(rig)
        wan1 = Interface("wan1", role="wan", addresses=(f"{OWN['wan1']}/24",))
        rig.commit(lan(), wan(), wan1)
        rig.commit(FIRST, SECOND, *CHECKS)
        yield made


def test_new_connections_leave_by_the_first_and_every_check_by_its_own(ways: Ways) -> None:
    ways.settled()
    first, second = ways.state("first"), ways.state("second")
    assert (first["in_use"], second["in_use"]) == (True, False)
    assert second["loss_percent"] == 0 and second["round_trip_us"] > 0, "it is asked while it waits"
    assert (first["via"], second["via"]) == (GATEWAYS["wan0"], GATEWAYS["wan1"])
    for uplink_id in ("first", "second"):
        assert ways.rig.explain(uplink_id, "uplink")["agrees"] is True, ways.rig.explain(uplink_id, "uplink")


def test_a_dead_target_moves_new_connections_and_back_when_it_lives(ways: Ways) -> None:
    ways.settled()
    ways.kill("wan0")
    took_s = ways.seconds_to("wan1")
    print(f"{took_s:.2f} s until a new connection passed")
    assert took_s < WITHIN_S
    assert "LOWER_UP" in ways.rig.run("ip", "link", "show", "wan0")
    assert ways.state("first")["status"] == "down"
    until("there is a finding", lambda: _finding(ways, "first"), 20.0)
    ways.heal("wan0")
    print(f"{ways.seconds_to('wan0'):.2f} s until it came back")
    assert ways.state("first")["status"] == "up"
    until("the finding is over", lambda: not _finding(ways, "first"), 20.0)


def test_a_customers_line_leaves_by_the_uplink_in_use(ways: Ways) -> None:
    ways.settled()
    assert _line(ways) == ("wan0", "first", "up")
    ways.kill("wan0")
    ways.seconds_to("wan1")
    assert _line(ways) == ("wan1", "second", "up")
    assert _line(ways, towards=GATEWAYS["wan0"]) == ("wan0", "first", "down"), "a route leads there by it"
    ways.heal("wan0")


def test_no_packet_has_the_address_of_the_other_uplink(ways: Ways) -> None:
    """Of a connection that was translated and goes on sending."""
    ways.settled()
    with sources(ways.behind["wan1"], "i1") as seen, bound(ways.rig.client_ns, "10.64.0.2") as client:
        client.connect((SERVER, PORT))
        client.settimeout(0.1)
        ways.kill("wan0")
        until("the connection goes on by the other", lambda: _asks(client) == b"wan1", 15.0)
    ways.heal("wan0")
    assert OWN["wan1"] in seen and OWN["wan0"] not in seen, seen


def test_when_all_are_dead_the_last_one_stays_and_is_said_to(ways: Ways) -> None:
    ways.settled()
    ways.kill("wan0")
    ways.seconds_to("wan1")
    ways.kill("wan1")
    until("it is down", lambda: ways.state("second")["status"] == "down", 15.0)
    assert ways.state("second")["in_use"] is True
    until("it is said", lambda: "no uplink works" in ways.rig.agent_log())
    ways.heal("wan1")
    assert ways.seconds_to("wan1") < WITHIN_S, "the route was there all the time"
    ways.heal("wan0")
    ways.settled()


def test_an_agent_that_starts_again_does_not_lead_back_to_the_dead_one(ways: Ways) -> None:
    ways.settled()
    ways.kill("wan0")
    ways.seconds_to("wan1")
    ways.rig.kill_agent()
    assert ways.way(2.0) == "wan1", "routes stay without an agent"
    ways.rig.start_agent("--look-interval-s", "0.5")
    while ways.state("first")["loss_percent"] is None:
        assert ways.way(2.0) == "wan1", "nothing is known yet but what the agent before knew"
        time.sleep(0.1)
    assert ways.way(2.0) == "wan1"
    assert ways.state("first")["status"] == "down"
    ways.rig.kill_agent()
    ways.heal("wan0")
    ways.kill("wan1")
    ways.rig.start_agent("--look-interval-s", "0.5")
    assert ways.seconds_to("wan0") < 20, "what happened meanwhile is found"
    ways.heal("wan1")


def test_a_link_that_goes_is_left_at_once(ways: Ways) -> None:
    ways.settled()
    netns.ip(ways.rig.internet, ["link set i0 down"])
    took_s = ways.seconds_to("wan1")
    netns.ip(ways.rig.internet, ["link set i0 up", "addr replace 203.0.113.1/24 dev i0"])
    print(f"{took_s:.2f} s without a link")
    assert took_s < WITHIN_S
    ways.settled()


def test_a_check_whose_answers_the_kernel_drops_says_so(ways: Ways) -> None:
    """Answers by an uplink that waits come by another interface than the way back."""
    ways.settled()
    ways.rig.run("sysctl", "-qw", "net.ipv4.conf.wan1.rp_filter=1")
    try:
        until("it is down", lambda: ways.state("second")["status"] == "down", 15.0)
        until("it says why", lambda: "rp_filter of wan1" in ways.state("second")["answers"], 5.0)
        assert "rp_filter" not in ways.state("first")["answers"]
    finally:
        ways.rig.run("sysctl", "-qw", "net.ipv4.conf.wan1.rp_filter=0")
    ways.settled()


def test_without_uplinks_nothing_of_them_is_left(ways: Ways) -> None:
    ways.rig.commit(
        delete=[("uplink-check", "c1"), ("uplink-check", "c2"), ("uplink", "first"), ("uplink", "second")]
    )
    until("no default route is left", lambda: "default" not in ways.rig.run("ip", "route"))
    assert ways.rig.agent.call("state", {"kind": "uplink"})["objects"] == {}


def _asks(client: socket.socket) -> bytes:
    with suppress(OSError):
        client.send(b"?")
        return client.recv(16)
    return b""


def _line(ways: Ways, **towards: str) -> tuple[str, str, str]:
    """Of the client: the interface it leaves by, the uplink that this is, and what its checks say of it."""
    found = ways.rig.agent.call("customer_line", {"address": "10.64.0.2", **towards})
    assert (found["towards"] is None) == (not towards)
    return found["uplink"]["interface"], found["checked"]["id"], found["checked"]["status"]


def _finding(ways: Ways, uplink_id: str) -> bool:
    found = ways.rig.agent.call("findings")["findings"]
    return any((item["code"], item["subject"]) == ("uplink-down", uplink_id) for item in found)
