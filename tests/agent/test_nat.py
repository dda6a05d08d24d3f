# SPDX-License-Identifier: Apache-2.0
"""NAT rules in the kernel: who reaches what by which address, and what a change leaves alone.

internet (i0) -- wan0 router lan0 -- client_ns (br0: the server, and a neighbour n0)
                             lan1 -- the neighbour again, in a LAN of its own
"""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any

import pytest

from lab import netns
from lab.measure import bound
from tests.agent.rig import Rig, client_queue, lan, running, wan
from tests.agent.sessions import Session
from tests.polling import until
from weir.adapters import nft
from weir.backends.firewall import FirewallBackend, FirewallWanted
from weir.backends.sets import SetsBackend
from weir.kinds.firewall import Firewall
from weir.kinds.nat_rule import NatRule
from weir.kinds.service import Service
from weir.kinds.sets import Set, SetEntry
from weir.model.document import Document
from weir.model.interface import Interface
from weir.model.objects import ConfigObject
from weir.parts.firewall import FIREWALL
from weir.parts.sets import SETS

SERVER, NEIGHBOUR, ELSEWHERE = "10.64.0.2", "10.64.0.3", "10.65.0.2"
WAN, INTERNET = "203.0.113.2", "203.0.113.1"
POLICY = Firewall()
WAIT_S = 1.0
HOST = "02:00:00:00:00:07"


def forward(name: str = "web", **said: Any) -> NatRule:
    return NatRule(
        name, "destination", **{"protocol": "tcp", "ports": ("8443",), "to_address": f"{SERVER}/32", **said}
    )


RULES: list[NatRule] = [
    forward("f1"),
    forward("f2", protocol="tcp-udp", ports=("53", "100-200"), to_port=5353),
    forward("f3", source=("198.51.100.0/24", "2001:db8::/32"), hairpin=False),
    forward("f4", source_set="many", to_port=80),
    forward("f5", source_set="many", protocol="tcp-udp", to_port=80, allow=False),
    forward("f6", protocol="any", ports=(), service="sip", to_port=7),
    forward("f7", protocol="sctp", ports=("9",), interface="lan0"),
    forward("f8", to_address="2001:db8:64::2/128", destination=("2001:db8:77::1/128",)),
    forward("f9", to_address="2001:db8:64::2/128"),
    forward("f10", protocol="any", ports=(), destination_set="many"),
    NatRule("r1", "redirect", protocol="udp", ports=("53",), interface="lan0"),
    NatRule("r2", "redirect", protocol="tcp", ports=("8080",), to_port=443, family="any"),
    NatRule("m1", "masquerade"),
    NatRule("m2", "masquerade", interface="lan0", family="any", source=("10.0.0.0/8",)),
    NatRule("m3", "masquerade", interface="lan0", family="ipv6"),
    NatRule("s1", "source", to_address="203.0.113.9/32", protocol="tcp", ports=("25",)),
    NatRule("s2", "source", to_address="203.0.113.8/30", source=("10.64.0.0/16",)),
    NatRule("o1", "one-to-one", destination=("198.51.100.0/28",), to_address="10.64.9.0/28"),
    NatRule("o2", "one-to-one", destination=("198.51.100.77/32",), to_address="10.64.9.77/32"),
    NatRule("p1", "prefix", destination=("2001:db8:1::/48",), to_address="fd00:1::/48"),
    NatRule("n1", "none", source=("10.64.7.0/24",)),
    NatRule("n2", "none", interface="wan0", family="any"),
    forward("b1", source=("198.51.100.0/24",), negated=("source", "ports"), interface="wan0"),
    forward("b2", source_set="many", source_mac=HOST, to_port=80, negated=("source_set", "source_mac")),
    forward("b3", protocol="udp", ports=(), negated=("protocol",), hairpin=False),
    NatRule(
        *("b4", "redirect"),
        interface="lan0",
        protocol="udp",
        ports=("53",),
        source_mac=HOST,
        destination=("10.64.0.1/32",),
        negated=("destination",),
    ),
    NatRule("b5", "masquerade", destination=("10.0.0.0/8",), negated=("destination",)),
    NatRule("e1", "source", to_address="203.0.113.9/32", source_set="empty"),
]
OBJECTS: tuple[ConfigObject, ...] = (
    lan(),
    Interface("lan1", role="lan", addresses=("10.65.0.1/24",)),
    wan(),
    Set("many"),
    SetEntry("e1", "many", "198.51.100.0/24"),
    SetEntry("e2", "many", "198.51.200.7/32"),
    Set("empty"),
    Service("sip", ("5060-5061",), "tcp-udp"),
)


@pytest.mark.parametrize("outer", [wan(), wan(addressing="dhcp"), wan(addresses=())])
def test_every_rule_is_read_back_as_it_was_written(outer: Interface) -> None:
    name = f"weir-agent-test-{os.getpid()}-nat-r"
    netns.create(name)
    try:
        with netns.inside(name):
            sets, firewall = SetsBackend(), FirewallBackend()
            for count in range(len(RULES), 0, -6):
                document = Document([*OBJECTS, outer, *RULES[:count]])
                filled = sets.diff(sets.read(), SETS.wanted(document))
                sets.apply(filled)
                wanted = FirewallWanted(FIREWALL.wanted(document), ())
                difference = firewall.diff(firewall.read(), wanted)
                firewall.apply(difference)
                firewall.verify(difference)
                assert not firewall.diff(firewall.read(), wanted)
    finally:
        netns.remove(name)


# -- packets ---------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def rig() -> Iterator[Rig]:
    with running() as made:
        near = f"{made.name}-s"
        netns.create(near)
        server = made.client_ns
        netns.ip(
            server,
            [
                "addr flush dev c0",
                "link add br0 type bridge",
                "link set c0 master br0",
                f"link add n1 type veth peer name n0 netns {near}",
                "link set n1 master br0",
                "link set n1 up",
                "link set br0 up",
                f"addr add {SERVER}/24 dev br0",
                "route replace default via 10.64.0.1",
            ],
        )
        made.cable("lan1", near, "l0")
        netns.ip(
            near,
            [
                "link set lo up",
                "link set n0 up",
                f"addr add {NEIGHBOUR}/24 dev n0",
                f"addr add {ELSEWHERE}/24 dev l0",
            ],
        )
        yield made


@pytest.fixture(autouse=True)
def beginning(request: pytest.FixtureRequest) -> Iterator[None]:
    if "rig" not in request.fixturenames:
        yield
        return
    made: Rig = request.getfixturevalue("rig")
    made.commit(lan(), Interface("lan1", role="lan", addresses=("10.65.0.1/24",)), wan(), POLICY)
    yield
    with made.store.write() as transaction:
        left = [rule.id for rule in RULES if transaction.stored("nat-rule", rule.id)]
    made.commit(lan(), wan(), POLICY, delete=[("nat-rule", name) for name in left])


@contextmanager
def having(rig: Rig, *objects: ConfigObject) -> Iterator[None]:
    rig.commit(*objects)
    try:
        yield
    finally:
        rig.commit(delete=[(item.kind, item.id) for item in reversed(objects)])


def listening(namespace: str, address: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with netns.inside(namespace):
        return socket.create_server((address, port), family=family)


@contextmanager
def serving(namespace: str, address: str, port: int) -> Iterator[None]:
    """Who connects is told what its address is there."""
    listener = listening(namespace, address, port)

    def answer() -> None:
        with suppress(OSError):
            while True:
                peer, where = listener.accept()
                with peer:
                    peer.sendall(where[0].encode())

    thread = threading.Thread(target=answer, daemon=True)
    thread.start()
    try:
        yield
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join()


def seen_as(namespace: str, address: str, port: int, own: str = "") -> str:
    """By which address the one who answers there sees a client; "" = nobody answers."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with netns.inside(namespace):
        client = socket.socket(family, socket.SOCK_STREAM)
    with client:
        client.settimeout(WAIT_S)
        if own:
            client.bind((own, 0))
        try:
            client.connect((address, port))
            return client.recv(100).decode()
        except OSError:
            return ""


def near(rig: Rig, *, own_lan: bool) -> str:
    """The neighbour's namespace, once it asks from the server's LAN or from the other one."""
    name = f"{rig.name}-s"
    way = "via 10.64.0.1 dev n0" if own_lan else "via 10.65.0.1 dev l0"
    netns.ip(name, [f"route replace default {way}"])
    return name


def counted(rig: Rig, name: str) -> int:
    found = rig.agent.call("state", {"kind": "nat-rule", "ids": [name]})["objects"]
    return int(found[name]["connections"])


@pytest.mark.parametrize("outer", [wan(), wan(addressing="dhcp")], ids=["static", "dhcp"])
def test_a_forwarded_port_is_reached_from_outside_and_by_the_same_address_from_inside(
    rig: Rig, outer: Interface
) -> None:
    rig.commit(outer)
    with having(rig, forward(to_port=443)), serving(rig.client_ns, SERVER, 443):
        assert seen_as(rig.internet, WAN, 8443) == INTERNET
        assert seen_as(near(rig, own_lan=False), WAN, 8443) == ELSEWHERE
        assert seen_as(near(rig, own_lan=True), WAN, 8443) == "10.64.0.1", "else it would answer directly"
        assert seen_as(rig.client_ns, WAN, 8443) == "10.64.0.1", "the server itself"
        assert counted(rig, "web") == 4
        assert seen_as(near(rig, own_lan=True), "10.64.0.1", 8443) == "", (
            "an address inside is no other host's"
        )
        rig.commit(forward(to_port=443, hairpin=False))
        assert seen_as(rig.internet, WAN, 8443) == INTERNET
        assert seen_as(near(rig, own_lan=False), WAN, 8443) == ""


def test_what_a_rule_forwards_passes_the_firewall_and_nothing_else(rig: Rig) -> None:
    netns.ip(
        rig.internet, ["route replace 10.64.0.0/24 via 203.0.113.2", "addr replace 203.0.113.7/24 dev i0"]
    )
    rule = forward(to_port=443, source=("203.0.113.1/32",))
    with having(rig, rule), serving(rig.client_ns, SERVER, 443), serving(rig.client_ns, SERVER, 444):
        assert seen_as(rig.internet, WAN, 8443, INTERNET) == INTERNET
        assert seen_as(rig.internet, WAN, 8443, "203.0.113.7") == "", "it is not from there"
        assert seen_as(rig.internet, SERVER, 443) == "", "it was not sent to the forwarded port"
        assert seen_as(rig.internet, WAN, 444) == ""
        assert counted(rig, "web") == 1
        rig.commit(replace(rule, allow=False))
        assert seen_as(rig.internet, WAN, 8443, INTERNET) == ""


def test_a_forward_for_one_host_is_for_no_other_with_its_address(rig: Rig) -> None:
    """And one for all but that host is for those inside, too, whose answers come back by the router."""
    netns.ip(rig.internet, [f"link set i0 address {HOST}"])
    rule = forward(to_port=443, source_mac=HOST)
    with having(rig, rule), serving(rig.client_ns, SERVER, 443):
        assert seen_as(rig.internet, WAN, 8443) == INTERNET
        assert seen_as(near(rig, own_lan=True), WAN, 8443) == ""
        rig.commit(replace(rule, negated=("source_mac",)))
        assert seen_as(rig.internet, WAN, 8443) == ""
        assert seen_as(near(rig, own_lan=True), WAN, 8443) == "10.64.0.1"
        netns.ip(rig.internet, ["link set i0 address 02:00:00:00:00:09"])
        assert seen_as(rig.internet, WAN, 8443) == INTERNET
        assert counted(rig, "web") == 3


def test_a_forward_of_all_ports_but_some_takes_those_to_other_addresses_than_some(rig: Rig) -> None:
    rule = forward(ports=("443",), source=("203.0.113.7/32",), negated=("ports", "source"))
    with having(rig, rule), serving(rig.client_ns, SERVER, 443), serving(rig.client_ns, SERVER, 444):
        assert seen_as(rig.internet, WAN, 444) == INTERNET
        assert seen_as(rig.internet, WAN, 443) == ""
        rig.commit(replace(rule, source=(f"{INTERNET}/32",)))
        assert seen_as(rig.internet, WAN, 444) == ""


def test_a_redirect_leads_to_the_router_and_opens_the_port_that_it_names(rig: Rig) -> None:
    rule = NatRule("way", "redirect", protocol="tcp", ports=("8022",), to_port=22)
    with serving(rig.router, "0.0.0.0", 22), having(rig, rule):
        assert seen_as(rig.internet, WAN, 8022) == INTERNET
        assert seen_as(rig.internet, WAN, 22) == ""
    same = NatRule("way", "redirect", protocol="tcp", ports=("22",))
    with serving(rig.router, "0.0.0.0", 22), having(rig, same):
        assert seen_as(rig.internet, WAN, 22) == INTERNET, (
            "nothing of it changes, and it is let in all the same"
        )
    inside = NatRule("way", "redirect", protocol="tcp", ports=("53",), interface="lan1")
    with having(rig, inside), serving(rig.router, "0.0.0.0", 53), serving(rig.internet, INTERNET, 53):
        assert seen_as(near(rig, own_lan=False), INTERNET, 53) == ELSEWHERE, "the router answers"
        assert seen_as(near(rig, own_lan=True), INTERNET, 53) == WAN, (
            "the internet answers, which sees the WAN"
        )


def test_one_address_outside_is_one_inside_both_ways(rig: Rig) -> None:
    rig.commit(wan(addresses=(f"{WAN}/24", *(f"203.0.113.{last}/24" for last in range(64, 68)))))
    rig.commit(replace(POLICY, drop_new_from_wan=False))
    rule = NatRule("pair", "one-to-one", destination=("203.0.113.64/30",), to_address="10.64.0.0/30")
    with (
        having(rig, rule),
        serving(rig.client_ns, SERVER, 5000),
        serving(rig.internet, INTERNET, 5000),
        serving(rig.client_ns, SERVER, 5001),
    ):
        assert seen_as(rig.internet, "203.0.113.66", 5000) == INTERNET
        assert seen_as(rig.client_ns, INTERNET, 5000) == "203.0.113.66"
        assert seen_as(near(rig, own_lan=True), INTERNET, 5000) == "203.0.113.67"
        assert counted(rig, "pair") == 3
        rig.commit(POLICY)
        assert seen_as(rig.internet, "203.0.113.66", 5000) == "", "it opens nothing"


def test_a_source_rule_comes_before_the_policys_and_none_before_both(rig: Rig) -> None:
    netns.ip(rig.internet, ["route replace 10.64.0.0/24 via 203.0.113.2"])
    rig.commit(wan(addresses=("203.0.113.2/24", "203.0.113.9/24")))
    mail = NatRule("mail", "source", to_address="203.0.113.9/32", protocol="tcp", ports=("25",), position=5)
    plain = NatRule(
        "plain", "none", protocol="tcp", ports=("25",), destination=(f"{INTERNET}/32",), position=1
    )
    with having(rig, mail), serving(rig.internet, INTERNET, 25), serving(rig.internet, INTERNET, 26):
        assert seen_as(rig.client_ns, INTERNET, 25) == "203.0.113.9"
        assert seen_as(rig.client_ns, INTERNET, 26) == WAN
        with having(rig, plain):
            assert seen_as(rig.client_ns, INTERNET, 25) == SERVER
            assert counted(rig, "plain") > 0


def test_an_ipv6_network_is_another_one_outside_both_ways(rig: Rig) -> None:
    rig.commit(
        lan(addresses=("10.64.0.1/24", "fd00:1::1/64")), wan(addresses=("203.0.113.2/24", "2001:db8:9::2/64"))
    )
    netns.ip(
        rig.internet,
        ["addr replace 2001:db8:9::1/64 dev i0 nodad", "route replace 2001:db8:1::/64 via 2001:db8:9::2"],
    )
    netns.ip(
        rig.client_ns, ["addr replace fd00:1::2/64 dev br0 nodad", "route replace default via fd00:1::1"]
    )
    rig.commit(replace(POLICY, drop_new_from_wan=False))
    rule = NatRule("six", "prefix", destination=("2001:db8:1::/64",), to_address="fd00:1::/64")
    with (
        having(rig, rule),
        serving(rig.internet, "2001:db8:9::1", 5000),
        serving(rig.client_ns, "fd00:1::2", 5000),
    ):
        until("it is translated", lambda: seen_as(rig.client_ns, "2001:db8:9::1", 5000) == "2001:db8:1::2")
        assert seen_as(rig.internet, "2001:db8:1::2", 5000) == "2001:db8:9::1"


def test_counters_outlive_commits_and_a_restart(rig: Rig) -> None:
    with having(rig, forward(to_port=443)), serving(rig.client_ns, SERVER, 443):
        assert seen_as(rig.internet, WAN, 8443) == INTERNET
        rig.commit(forward(to_port=443, comment="still it"), replace(POLICY, allowed_wan_tcp_ports=(22,)))
        with having(rig, forward("other", ports=("99",))):
            assert counted(rig, "web") == 1
        rig.kill_agent()
        rig.start_agent()
        assert counted(rig, "web") == 1


def handles(rig: Rig) -> dict[tuple[str, str, int], int]:
    """Of each rule in the table, by chain, comment and number among those of one comment."""
    with netns.inside(rig.router):
        table = nft.read_table()
    assert table is not None
    found: dict[tuple[str, str, int], int] = {}
    for name, chain in table.chains.items():
        for (comment, _), handle in zip(chain.rules, chain.handles, strict=True):
            number = sum(1 for key in found if key[:2] == (name, comment))
            found[name, comment, number] = handle
    return found


def test_a_changed_rule_of_many_touches_no_other(rig: Rig) -> None:
    rules = [forward(f"k{number}", ports=(str(5000 + number),), position=number) for number in range(40)]
    with having(rig, *rules):
        before = handles(rig)
        rig.commit(replace(rules[20], ports=("6000",)))
        after = handles(rig)
        assert after.keys() == before.keys()
        assert {comment for _, comment, _ in (key for key in after if after[key] != before[key])} == {
            "NAT rule k20"
        }


def test_limits_hold_before_nat_for_what_is_forwarded(rig: Rig) -> None:
    with having(rig, forward(to_port=443), client_queue(50_000_000)), serving(rig.client_ns, SERVER, 443):
        assert seen_as(rig.internet, WAN, 8443) == INTERNET
        for direction in ("upload", "download"):
            until("it is counted", lambda way=direction: rig.counters("client", way)["packets"] > 0)


@contextmanager
def session(rig: Rig, port: int) -> Iterator[Session]:
    """From the internet through a forwarded port, in use all the time."""
    with listening(rig.client_ns, SERVER, 443) as listener:
        client = bound(rig.internet, INTERNET, 0, socket.SOCK_STREAM)
        client.settimeout(5)
        client.connect((WAN, port))
        server, _ = listener.accept()
    found = Session(client, server)
    try:
        until("it answers", lambda: found.answers > 5)
        yield found
    finally:
        found.close()


def test_a_removed_forward_keeps_its_sessions_unless_nothing_is_translated_any_more(rig: Rig) -> None:
    rule = forward(to_port=443)
    assert rig.commit(rule)["effects"] == [], "a new rule costs nothing"
    with session(rig, 8443) as kept:
        assert rig.commit(delete=[("nat-rule", "web")])["effects"] == []
        before = kept.answers
        until("it goes on", lambda: kept.answers > before + 20)
        assert seen_as(rig.internet, WAN, 8443) == ""
    open_policy = replace(POLICY, masquerade=False)
    rig.commit(open_policy, rule)
    with session(rig, 8443) as lost:
        (said,) = rig.commit(delete=[("nat-rule", "web")])["effects"]
        assert (said["kind"], said["id"], said["effect"]) == ("nat-rule", "web", "drops-sessions")
        until("it is silent", lambda: lost.is_over or lost.silent_s > 3)


def test_a_rule_is_explained_line_by_line(rig: Rig) -> None:
    with having(rig, forward(to_port=443)):
        told = rig.explain("web", "nat-rule")
        lines = told["lines"]
        fields = {line["field"] for line in lines}
        assert {"type", "hairpin", "allow"} <= fields, lines
        assert all(line["agrees"] for line in lines)
