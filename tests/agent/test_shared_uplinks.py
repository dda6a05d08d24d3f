# SPDX-License-Identifier: Apache-2.0
"""Two internets with the same addresses behind two uplinks that share new connections by their weights."""

from __future__ import annotations

import socket
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import replace
from typing import Any

import pytest

from lab import netns
from lab.measure import bound
from tests.agent.rig import lan, running, wan
from tests.agent.test_uplinks import CHECKS, FIRST, OWN, SECOND, SERVER, WITHIN_S, Ways, sources
from tests.polling import until
from weir.adapters import uplink_marks, uplink_rules
from weir.adapters.kernel_routes import read_route_facts
from weir.kinds.nat_rule import NatRule
from weir.model.interface import Interface

PORT, INSIDE, OPEN = 8080, 9090, 8443
A = replace(FIRST, priority=1, weight=3)
B = replace(SECOND, priority=1, weight=1)
SERVERS = [f"192.0.2.{number}" for number in range(1, 201)]
NEAR = (0.62, 0.88)
"""What part of 200 pairs of addresses goes by a weight of 3 in 4: 0.75, and four times the spread of
chance (0.031)."""
FORWARD = NatRule(
    "inside", "destination", protocol="tcp", ports=(str(OPEN),), to_address="10.64.0.2", to_port=INSIDE
)


class Shared(Ways):
    """Each internet has 200 servers, that say by TCP by which uplink a connection reached them, and then give
    back what they hear."""

    def __init__(self, rig: Any) -> None:
        super().__init__(rig)
        for name, namespace in self.behind.items():
            netns.ip(namespace, ["route replace local 192.0.2.0/24 dev lo"])
            _listen(namespace, PORT, name)
        _listen(rig.client_ns, INSIDE, "client")

    def open(self, server: str = SERVER, patience_s: float = 1.0) -> tuple[socket.socket, str]:
        """A connection of the client's, and the uplink that it has; "" = nobody answered."""
        client = bound(self.rig.client_ns, "10.64.0.2", kind=socket.SOCK_STREAM)
        client.settimeout(patience_s)
        with suppress(OSError):
            client.connect((server, PORT))
            return client, client.recv(16).decode().strip()
        return client, ""

    def spread(self) -> Counter[str]:
        """How many new connections leave by each uplink."""
        found: Counter[str] = Counter()
        for server in SERVERS:
            one, way = self.open(server)
            one.close()
            found[way] += 1
        return found

    def one_of_each(self, stack: ExitStack) -> dict[str, tuple[socket.socket, str]]:
        """A connection by each uplink, and the server that it is with."""
        found: dict[str, tuple[socket.socket, str]] = {}
        for server in SERVERS:
            one, way = self.open(server)
            stack.callback(one.close)
            found.setdefault(way, (one, server))
            if len(found) == 2:
                return found
        raise AssertionError(f"all connections leave by {found}")

    def both_up(self) -> None:
        for one in (A, B):
            until(f"{one.id} is up", lambda one=one: self.state(one.id)["status"] == "up", 30.0)
            until("it is in use", lambda one=one: self.state(one.id)["in_use"], 10.0)
        until("both have a default route", lambda: self._explained(), 10.0)

    def _explained(self) -> bool:
        return all(self.rig.explain(one.id, "uplink")["agrees"] for one in (A, B))

    def kill_servers(self, name: str) -> None:
        super().kill(name)
        netns.ip(self.behind[name], ["route del local 192.0.2.0/24 dev lo"])

    def heal_servers(self, name: str) -> None:
        super().heal(name)
        netns.ip(self.behind[name], ["route replace local 192.0.2.0/24 dev lo"])


def _listen(namespace: str, port: int, name: str) -> None:
    server = bound(namespace, "0.0.0.0", port, socket.SOCK_STREAM)
    server.listen(64)
    threading.Thread(target=_accept, args=(server, name), daemon=True).start()


def _accept(server: socket.socket, name: str) -> None:
    with suppress(OSError):
        while True:
            one, _ = server.accept()
            threading.Thread(target=_echo, args=(one, name), daemon=True).start()


def _echo(one: socket.socket, name: str) -> None:
    with suppress(OSError), one:
        one.sendall(f"{name}\n".encode())
        while data := one.recv(64):
            one.sendall(data)


def _lives(one: socket.socket, patience_s: float = 2.0) -> bool:
    one.settimeout(patience_s)
    with suppress(OSError):
        one.sendall(b"still there\n")
        return one.recv(64) == b"still there\n"
    return False


@pytest.fixture(scope="module")
def ways() -> Iterator[Shared]:
    with running("--look-interval-s", "0.5", frr=True) as rig:
        made = Shared(rig)
        wan1 = Interface("wan1", role="wan", addresses=(f"{OWN['wan1']}/24",))
        rig.commit(lan(), wan(), wan1, FORWARD)
        rig.commit(A, B, *CHECKS)
        yield made


def test_new_connections_are_shared_by_weight_and_each_has_its_own_address(ways: Shared) -> None:
    ways.both_up()
    with sources(ways.rig.internet, "i0") as first, sources(ways.behind["wan1"], "i1") as second:
        found = ways.spread()
    print(found)
    assert sum(found.values()) == len(SERVERS) and "" not in found
    assert NEAR[0] < found["wan0"] / len(SERVERS) < NEAR[1]
    assert (first, second) == ({OWN["wan0"]}, {OWN["wan1"]}), "each is translated with its uplink's address"
    assert [ways.state(one.id)["share_percent"] for one in (A, B)] == [75, 25]
    assert ways.open()[1] == ways.open()[1], "a server sees a client by one address"


def test_what_is_told_of_a_packet_is_where_it_goes(ways: Shared) -> None:
    ways.both_up()
    for server in SERVERS[:40]:
        asked = {"source": "10.64.0.2", "destination": server, "protocol": "tcp", "port": PORT}
        told = ways.rig.agent.call("packet_path", asked)["egress"]["name"]
        line = ways.rig.agent.call("customer_line", {"address": "10.64.0.2", "towards": server})
        one, way = ways.open(server)
        one.close()
        assert told == line["uplink"]["interface"] == way, server


def test_xdp_leaves_to_the_stack_what_takes_a_default_route(ways: Shared) -> None:
    ways.both_up()
    with netns.inside(ways.rig.router):
        facts = read_route_facts()
        indexes = {name: socket.if_nametoindex(name) for name in ("lan0", "wan0", "wan1")}
    assert facts.kept == {indexes["wan0"], indexes["wan1"]}
    assert {name: facts.largest(index) > 0 for name, index in indexes.items()} == {
        "lan0": True,
        "wan0": False,
        "wan1": False,
    }


def test_a_connection_keeps_its_uplink_while_weights_change(ways: Shared) -> None:
    ways.both_up()
    with ExitStack() as stack:
        held = ways.one_of_each(stack)
        ways.rig.commit(replace(A, weight=1), replace(B, weight=100))
        assert ways.spread()["wan1"] > 180, "new ones leave by the other"
        assert all(_lives(one) for one, _ in held.values())
        ways.rig.commit(replace(A, weight=None), replace(B, priority=2))
        assert set(ways.spread()) == {"wan0"}
        assert all(_lives(one) for one, _ in held.values())
        ways.rig.commit(A, B)
        assert all(_lives(one) for one, _ in held.values())


def test_a_dead_uplink_is_left_and_comes_back_and_others_stay(ways: Shared) -> None:
    ways.both_up()
    with ExitStack() as stack:
        held = ways.one_of_each(stack)
        server = held["wan0"][1]
        ways.kill_servers("wan0")
        begun = time.monotonic()
        until("new connections leave by the other", lambda: ways.open(server, 0.2)[1] == "wan1", 30.0)
        took_s = time.monotonic() - begun
        print(f"{took_s:.2f} s until a new connection passed")
        assert took_s < WITHIN_S
        assert _lives(held["wan1"][0]), "the connections of the other are not touched"
        assert [ways.state(one.id)["share_percent"] for one in (A, B)] == [0, 100]
        meanwhile, _ = ways.open(server)
        stack.callback(meanwhile.close)
        ways.heal_servers("wan0")
        begun = time.monotonic()
        until("new connections leave by it again", lambda: ways.open(server, 0.2)[1] == "wan0", 30.0)
        print(f"{time.monotonic() - begun:.2f} s until it came back")
        assert _lives(held["wan1"][0]) and _lives(meanwhile), "what has an uplink keeps it"


def test_a_link_that_goes_is_left_at_once(ways: Shared) -> None:
    ways.both_up()
    with ExitStack() as stack:
        held = ways.one_of_each(stack)
        netns.ip(ways.rig.internet, ["link set i0 down"])
        until("new ones leave by the other", lambda: ways.open(held["wan0"][1], 0.2)[1] == "wan1", WITHIN_S)
        assert _lives(held["wan1"][0])
        with sources(ways.behind["wan1"], "i1") as seen:
            _lives(held["wan0"][0], 0.3)
        assert OWN["wan0"] not in seen, "no packet has the address of the other uplink"
    netns.ip(ways.rig.internet, ["link set i0 up", "addr replace 203.0.113.1/24 dev i0"])
    ways.both_up()


@pytest.mark.parametrize("name", ["wan0", "wan1"])
def test_what_comes_from_outside_is_answered_where_it_came_in(ways: Shared, name: str) -> None:
    """Through a port forward, and by the router itself."""
    ways.both_up()
    with bound(ways.behind[name], SERVER, kind=socket.SOCK_STREAM) as outside:
        outside.settimeout(3.0)
        outside.connect((OWN[name], OPEN))
        assert outside.recv(16) == b"client\n"
        assert _lives(outside)
    ping = ("ping", "-c", "1", "-W", "2", "-I", SERVER, OWN[name])
    assert " 0% packet loss" in ways.rig.run(*ping, namespace=ways.behind[name])


def test_when_all_are_dead_the_last_one_stays(ways: Shared) -> None:
    ways.both_up()
    for name in ("wan1", "wan0"):
        ways.kill_servers(name)
        down = {"wan0": "first", "wan1": "second"}[name]
        until("it is down", lambda down=down: ways.state(down)["status"] == "down", 15.0)
    assert ways.state("first")["in_use"] is True and ways.state("first")["share_percent"] is None
    for name in ("wan0", "wan1"):
        ways.heal_servers(name)
    ways.both_up()


def test_what_somebody_else_removes_comes_back(ways: Shared) -> None:
    ways.both_up()
    ways.rig.run("nft", "delete", "table", "inet", uplink_marks.TABLE)
    with netns.inside(ways.rig.router):
        rules = uplink_rules.read()
    uplink_rules_text = min(rule.text for rule in rules if rule.mask == uplink_rules.MASK)
    ways.rig.run("ip", "rule", "del", *uplink_rules_text.split())
    until("all is there again", lambda: ways._explained(), 20.0)


def test_without_weights_nothing_of_it_is_left(ways: Shared) -> None:
    ways.both_up()
    ways.rig.commit(replace(A, weight=None), replace(B, weight=None))
    until("new ones leave by the first", lambda: set(ways.spread()) == {"wan0"}, 20.0)
    assert "fwmark" not in ways.rig.run("ip", "rule")
    assert uplink_marks.TABLE not in ways.rig.run("nft", "list", "tables")
    assert [ways.state(one.id)["share_percent"] for one in (A, B)] == [None, None]
