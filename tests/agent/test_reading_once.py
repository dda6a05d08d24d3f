# SPDX-License-Identifier: Apache-2.0
"""A commit of a rule looks at ports, and all that asks about them goes by one reading: interfaces by netlink,
qdiscs by tc and attached programs cost milliseconds each."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any

import pytest

from lab import netns
from tests.agent.test_parts import Switched, configured
from weir.adapters import sessions
from weir.agent.configuration import Configuration
from weir.kinds.firewall_rule import FirewallRule
from weir.model.document import Change
from weir.model.problem import ApplyFailed
from weir.parts.registry import PARTS

RULE = FirewallRule("r1", chain="forward", action="drop", destination=("192.0.2.1/32",), position=1)
ADDED = [Change("firewall-rule", "r1", None, RULE)]


@pytest.fixture
def configuration(tmp_path: Path) -> Iterator[Configuration]:
    with configured(tmp_path, PARTS) as found:
        yield found


@pytest.fixture
def reads(configuration: Configuration, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """One for each reading of the ports."""
    found: list[int] = []
    monkeypatch.setattr(configuration.executor.ports, "read", lambda: (found.append(1), "as they are"))
    return found


def test_ports_are_read_once_in_a_commit_of_a_rule(configuration: Configuration, reads: list[int]) -> None:
    configuration.apply(0, 1, ADDED)
    assert len(reads) == 1
    configuration.settle(1)
    configuration.apply(1, 2, [change.inverse for change in ADDED])
    assert len(reads) == 2, "the next commit does not go by what the one before has read"


def test_rules_that_look_at_packets_alike_are_no_reason_to_read_ports(
    configuration: Configuration, reads: list[int]
) -> None:
    """What ports do follows from who must see which packets. Where that, or an interface, is another, they
    are looked at."""
    name = f"weir-agent-test-{os.getpid()}-reading"
    counts = replace(RULE, id="r3", rate_per_s=7, burst=7)
    netns.create(name)
    try:
        with netns.inside(name):
            before = committed(configuration, 1, RULE, reads)
            alike = committed(configuration, 2, replace(RULE, destination=("192.0.2.2/32",)), reads)
            more = committed(configuration, 3, replace(RULE, id="r2", position=2), reads)
            netns.run(["ip", "link", "add", "p1", "type", "veth", "peer", "name", "p2"])
            came = committed(configuration, 4, replace(RULE, destination=("192.0.2.3/32",)), reads)
            still = committed(configuration, 5, replace(RULE, destination=("192.0.2.4/32",)), reads)
            otherwise = committed(configuration, 6, counts, reads)
    finally:
        netns.remove(name)
    assert [before, alike, more, came, still, otherwise] == [1, 0, 0, 1, 0, 1]


def committed(configuration: Configuration, revision: int, rule: FirewallRule, reads: list[int]) -> int:
    """How often ports were read for it."""
    reads.clear()
    configuration.apply(revision - 1, revision, [Change("firewall-rule", rule.id, None, rule)])
    configuration.settle(revision)
    return len(reads)


def test_ports_are_read_once_in_a_comparison_of_all(configuration: Configuration, reads: list[int]) -> None:
    configuration.reconcile()
    assert len(reads) == 1


def test_a_port_that_was_changed_is_read_again(
    configuration: Configuration, reads: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    left = [Switched("slow", "fast")]
    ports: Any = configuration.executor.ports
    monkeypatch.setattr(ports, "diff", lambda *_: left.pop() if left else ())
    monkeypatch.setattr(ports, "apply", lambda _: None, raising=False)
    monkeypatch.setattr(ports, "verify", lambda _: None, raising=False)
    configuration.apply(0, 1, ADDED)
    assert not left
    assert len(reads) == 2


def test_after_a_failure_ports_are_read_again(
    configuration: Configuration, reads: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_difference: object) -> None:
        raise ApplyFailed("no")

    left = [Switched("old", "new")]
    firewall: Any = configuration.executor.firewall
    monkeypatch.setattr(firewall, "diff", lambda *_: left.pop() if left else ())
    monkeypatch.setattr(firewall, "apply", refuse, raising=False)
    with pytest.raises(ApplyFailed):
        configuration.apply(0, 1, ADDED)
    assert len(reads) == 2, "once for the commit, once to bring back what was before"


def test_connections_are_listed_once_however_many_rules_ask(monkeypatch: pytest.MonkeyPatch) -> None:
    listed: list[str] = []
    pair = (IPv4Address("192.0.2.1"), IPv4Address("198.51.100.1"))
    monkeypatch.setattr(sessions, "_own", lambda: listed.append("own") or [pair])
    monkeypatch.setattr(sessions, "_tracked", lambda: listed.append("tracked") or [pair, pair])
    connections = sessions.Connections()
    for _ in range(3):
        assert connections.own(["192.0.2.0/24"]) == 1
        assert connections.tracked(["0.0.0.0/0"]) == 2
        assert connections.tracked(["203.0.113.0/24", "::/0"]) == 0
    assert sorted(listed) == ["own", "tracked"]
