# SPDX-License-Identifier: Apache-2.0
"""Firewall rules with hours: packets meet them at these times only, also those of connections that exist."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from lab import netns
from lab.measure import bound
from tests.agent.ends import INSIDE, OUTSIDE, ROUTER_OUT, three_ends
from tests.agent.test_parts import configured
from tests.agent.test_schedules import EVERY_DAY, HOUR, WORKDAYS, Clock
from weir.adapters import nft
from weir.agent.configuration import Configuration
from weir.agent.explain import explain_object
from weir.backends.firewall import FirewallBackend, FirewallWanted, table_of
from weir.kinds.firewall import Firewall
from weir.kinds.firewall_rule import FirewallRule
from weir.kinds.nat_rule import NatRule
from weir.model.document import Change, Document
from weir.model.interface import Interface
from weir.model.objects import ConfigObject, TimeWindow
from weir.parts.firewall import FIREWALL
from weir.parts.registry import PARTS

MONDAY = datetime(2026, 1, 5)
WORK = TimeWindow(8 * HOUR, 18 * HOUR, WORKDAYS)
CLIENT, SERVER = INSIDE[0], OUTSIDE[0]
OUTER = (
    Interface("wan0", role="wan", addresses=(f"{ROUTER_OUT}/24",)),
    Firewall(masquerade=False, drop_new_from_wan=False),
)


@pytest.fixture(scope="module")
def ends() -> Iterator[tuple[str, str, str]]:
    with three_ends("hours") as names:
        yield names


class Timed:
    """A router whose clock is set by hand, and a pair of UDP sockets through it."""

    def __init__(self, configuration: Configuration, clock: Clock, ends: tuple[str, str, str]) -> None:
        self.configuration, self.clock = configuration, clock
        self.router, inside, outside = ends
        self.server = bound(outside, SERVER)
        self._inside = inside
        self.client = bound(inside, CLIENT)
        self.seen_as = ""
        """From which address the server had the last packet that passed."""
        self._sent = 0

    def at(self, local: datetime) -> None:
        """It is so late now, and the reconciler looks."""
        self.clock.instant = Clock(local).instant
        with netns.inside(self.router):
            self.configuration.pass_time()

    def passes(self, client: socket.socket | None = None) -> bool:
        """Whether a packet of the connection gets there and is answered: what passes does so before `sendto`
        returns, as all of it is one machine's stack."""
        sender = self.client if client is None else client
        self._sent += 1
        words = str(self._sent).encode()
        sender.sendto(words, self.server.getsockname())
        for end in (self.server, sender):
            end.settimeout(0.05)
        try:
            while (heard := self.server.recvfrom(64))[0] != words:
                pass
            self.seen_as = str(heard[1][0])
            self.server.sendto(words, heard[1])
            return sender.recv(64) == words
        except TimeoutError:
            return False

    def opens(self) -> bool:
        """Whether a new connection passes."""
        with bound(self._inside, CLIENT) as client:
            return self.passes(client)

    def counted(self, name: str) -> int:
        with netns.inside(self.router):
            return int(self.configuration.executor.firewall.counted([name])[name]["packets"])

    def close(self) -> None:
        self.server.close()
        self.client.close()


@contextmanager
def running(
    folder: Path, ends: tuple[str, str, str], starts: datetime, *rules: ConfigObject
) -> Iterator[Timed]:
    clock = Clock(starts)
    with netns.inside(ends[0]):
        netns.run(["nft", "flush", "ruleset"])
        with configured(folder, PARTS, clock, firewall=FirewallBackend()) as configuration:
            configuration.apply(0, 1, [Change(rule.kind, rule.id, None, rule) for rule in rules])
            timed = Timed(configuration, clock, ends)
            try:
                yield timed
            finally:
                timed.close()


def forward(name: str, action: str = "drop", position: int = 0, **said: Any) -> FirewallRule:
    return FirewallRule(name, "forward", action, position, **said)


def test_packets_meet_a_rule_in_its_hours_only_and_its_counter_stays(
    tmp_path: Path, ends: tuple[str, str, str]
) -> None:
    rule = forward("busy", protocol="udp", source=(f"{CLIENT}/32",), time=WORK)
    with running(tmp_path, ends, MONDAY.replace(hour=7, minute=59), rule) as router:
        assert router.opens()
        router.at(MONDAY.replace(hour=8))
        assert not router.opens() and not router.opens()
        router.at(MONDAY.replace(hour=17, minute=59))
        assert not router.opens()
        router.at(MONDAY.replace(hour=18))
        assert router.opens()
        assert router.counted("busy") == 3, "its counter is there outside its hours, and was not set back"
        router.at(MONDAY.replace(day=10, hour=9))
        assert router.opens(), "a Saturday"
        assert router.configuration.drift.to_json() == []


@pytest.mark.parametrize("month", [1, 7])
def test_hours_are_those_of_the_place_in_summer_and_in_winter(
    tmp_path: Path, ends: tuple[str, str, str], month: int
) -> None:
    """The kernel matches hours in UTC: there this midnight is 22 or 23 o'clock of the day before."""
    rule = forward("night", protocol="udp", time=TimeWindow(0, 30, ("thu",)))
    midnight = datetime(2026, month, 8 if month == 1 else 9)
    with running(tmp_path, ends, midnight.replace(day=midnight.day - 1, hour=23, minute=59), rule) as router:
        assert router.opens()
        router.at(midnight)
        assert not router.opens()
        router.at(midnight.replace(minute=30))
        assert router.opens()


def test_the_next_packet_of_a_connection_is_judged_by_the_rules_of_its_time(
    tmp_path: Path, ends: tuple[str, str, str]
) -> None:
    rules = (
        forward("hours", "accept", 1, protocol="udp", time=WORK),
        forward("else", "drop", 2, protocol="udp", destination=(f"{SERVER}/32",)),
    )
    with running(tmp_path, ends, MONDAY.replace(hour=17), *rules) as router:
        assert all(router.passes() for _ in range(4))
        router.at(MONDAY.replace(hour=18))
        assert not router.passes() and not router.opens()
        router.at(MONDAY.replace(day=6, hour=8))
        assert router.passes(), "it goes on, as its hosts never knew"
        assert router.opens()


def test_no_connection_stays_in_the_flow_table_when_hours_begin_or_end() -> None:
    """Rules do not see the packets of those that are in it."""
    rules, ports = FIREWALL.wanted(Document([forward("busy", protocol="udp", time=WORK)])), ("lan0", "wan0")
    inside, outside = (FirewallWanted(rules, ports, closed) for closed in (frozenset(), frozenset({WORK})))
    for before, after in ((outside, inside), (inside, outside)):
        steps = nft.commands(table_of(before), table_of(after))
        assert [name for step in steps for name in step.get("delete", {})] == ["flowtable"]


def test_a_rule_before_it_that_accepts_what_is_established_keeps_connections(
    tmp_path: Path, ends: tuple[str, str, str]
) -> None:
    rules = (
        forward("known", "accept", 1, ct_state=("established", "related")),
        forward("busy", "drop", 2, protocol="udp", time=WORK),
    )
    with running(tmp_path, ends, MONDAY.replace(hour=7), *rules) as router:
        assert router.passes()
        router.at(MONDAY.replace(hour=8))
        assert router.passes() and not router.opens()


def test_connections_are_known_when_the_first_hours_begin(tmp_path: Path, ends: tuple[str, str, str]) -> None:
    """Also where no rule in force looked at connections before."""
    rule = forward("busy", protocol="udp", ct_state=("new",), time=WORK)
    with running(tmp_path, ends, MONDAY.replace(hour=7), rule) as router:
        assert router.passes()
        router.at(MONDAY.replace(hour=8))
        assert router.passes() and not router.opens()


def test_an_edge_that_nobody_has_looked_at_yet_is_no_drift(
    tmp_path: Path, ends: tuple[str, str, str]
) -> None:
    rule = forward("busy", protocol="udp", time=WORK)
    with running(tmp_path, ends, MONDAY.replace(hour=7, minute=59), rule) as router:
        router.clock.advance(1)
        router.configuration.reconcile(("firewall",))
        assert router.configuration.drift.to_json() == []
        router.at(MONDAY.replace(hour=8))
        router.configuration.reconcile(("firewall",))
        assert not router.opens() and router.configuration.drift.to_json() == []


def test_a_rule_that_comes_outside_its_hours_is_explained_so(
    tmp_path: Path, ends: tuple[str, str, str]
) -> None:
    rule = forward("busy", protocol="udp", time=TimeWindow(8 * HOUR, 18 * HOUR, EVERY_DAY), log=True)
    with running(tmp_path, ends, MONDAY.replace(hour=7), rule) as router:
        found = explain_object(router.configuration, "firewall-rule", "busy")
        assert found["agrees"] and "outside its hours" in found["lines"][0]["system"]
        assert "08:00-18:00 mon,tue,wed,thu,fri,sat,sun" in found["lines"][0]["compiled"]
        router.at(MONDAY.replace(hour=8))
        found = explain_object(router.configuration, "firewall-rule", "busy")
        assert found["agrees"] and found["lines"][0]["system"] == "in chain forward"
        netns.run(["nft", "flush chain inet weir forward"])
        assert not explain_object(router.configuration, "firewall-rule", "busy")["agrees"]


def test_a_nat_rule_translates_what_begins_in_its_hours_to_the_end(
    tmp_path: Path, ends: tuple[str, str, str]
) -> None:
    """Also where it is the only one: without a chain of NAT the kernel forgets what it gave whom."""
    rule = NatRule("work", "source", interface="wan0", to_address=f"{ROUTER_OUT}/32", time=WORK)
    with running(tmp_path, ends, MONDAY.replace(hour=7, minute=59), *OUTER, rule) as router:
        assert router.opens() and router.seen_as == CLIENT
        router.at(MONDAY.replace(hour=8))
        assert router.passes() and router.seen_as == ROUTER_OUT
        router.at(MONDAY.replace(hour=18))
        assert router.passes() and router.seen_as == ROUTER_OUT, "it goes on as it began"
        assert router.opens() and router.seen_as == CLIENT
        found = explain_object(router.configuration, "nat-rule", "work")
        assert found["agrees"] and "outside its hours" in found["lines"][0]["system"]
        assert "08:00-18:00 mon,tue,wed,thu,fri" in found["lines"][0]["compiled"]
        with netns.inside(router.router):
            counted = router.configuration.executor.firewall.connections(["work"])
        assert counted == {"work": {"connections": 1}}
        assert router.configuration.drift.to_json() == []


def test_hosts_outside_are_led_to_one_server_by_day_and_to_another_by_night(
    tmp_path: Path, ends: tuple[str, str, str]
) -> None:
    def to(name: str, address: str, time: TimeWindow | None) -> NatRule:
        return NatRule(
            name,
            "destination",
            interface="wan0",
            protocol="udp",
            ports=("5000",),
            to_address=f"{address}/32",
            hairpin=False,
            time=time,
        )

    rules = to("a", INSIDE[0], TimeWindow(8 * HOUR, 18 * HOUR, EVERY_DAY)), to("b", INSIDE[1], None)
    with running(tmp_path, ends, MONDAY.replace(hour=7), *OUTER, *rules) as router:
        for hour, address in ((7, INSIDE[1]), (8, INSIDE[0]), (18, INSIDE[1])):
            router.at(MONDAY.replace(hour=hour))
            with bound(ends[1], address, 5000) as server, bound(ends[2], OUTSIDE[1]) as caller:
                caller.sendto(b"?", (ROUTER_OUT, 5000))
                server.settimeout(1.0)
                assert server.recvfrom(8)[0] == b"?"
