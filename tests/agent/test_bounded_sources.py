# SPDX-License-Identifier: Apache-2.0
"""Who scans is bounded before the router looks anything up for it, and nobody else is (E1)."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from lab import netns
from lab.measure import bound
from tests.agent.rig import Rig, lan, running, wan
from tests.polling import until
from weir.kinds.bounded_source import BoundedSource
from weir.kinds.firewall import Firewall

SCANNER, NEIGHBOUR = "10.64.0.2", "10.64.0.3"
BOUND = BoundedSource("b1", f"{SCANNER}/32", packets_per_second=10, burst=20)
SCAN = 2_000
AFTER_A_PAUSE = 21


@pytest.fixture(scope="module")
def rig() -> Iterator[Rig]:
    with running() as made:
        made.commit(lan(), wan(), Firewall(masquerade=False))
        netns.ip(made.client_ns, [f"addr add {NEIGHBOUR}/24 dev c0"])
        netns.ip(made.internet, ["route replace 10.64.0.0/16 via 203.0.113.2"])
        yield made


@pytest.fixture(autouse=True)
def unbounded(rig: Rig) -> Iterator[None]:
    yield
    rig.commit(delete=[("bounded-source", "b1")])


def scan(rig: Rig, source: str, packets: int = SCAN) -> None:
    """One packet to each of so many addresses of the LAN's own network, where each is a neighbor to find."""
    chance = random.Random(7)
    with bound(rig.client_ns, source) as link:
        for _ in range(packets):
            link.sendto(b"", (f"203.0.113.{chance.randrange(10, 250)}", chance.randrange(1, 60_000)))


def learnt(rig: Rig) -> dict[str, Any]:
    found: dict[str, Any] = rig.agent.call("state", {"kind": "bounded-source", "ids": ["b1"]})["objects"][
        "b1"
    ]
    return found


def answers(rig: Rig, source: str) -> bool:
    """Whether the router answers this host."""
    try:
        rig.run("ping", "-c1", "-W1", "-I", source, "10.64.0.1", namespace=rig.client_ns)
    except AssertionError:
        return False
    return True


def neighbours(rig: Rig) -> int:
    return len(rig.json("ip", "-j", "neigh", "show", "dev", "wan0"))


def test_a_scan_costs_the_router_nothing_beyond_its_bound(rig: Rig) -> None:
    """Of 2,000 packets to 240 neighbors the first ones are looked up, and no more; others go on as before."""
    rig.commit(BOUND)
    rig.run("ip", "neigh", "flush", "dev", "wan0")
    before = neighbours(rig)
    scan(rig, SCANNER)
    found = learnt(rig)
    assert found["passed"] + found["dropped"] == SCAN
    assert AFTER_A_PAUSE <= found["passed"] < 150  # 10 a second beside those, on whatever machine
    bounded = neighbours(rig) - before
    assert bounded <= found["passed"]
    assert answers(rig, NEIGHBOUR)
    rig.commit(delete=[("bounded-source", "b1")])
    scan(rig, SCANNER)
    print(f"neighbors of 240 asked for, with and without a bound: {bounded}, {neighbours(rig) - before}")
    assert neighbours(rig) - before > 150, "without a bound each address is asked for"


def test_a_bound_is_explained_and_changes_without_losing_its_count(rig: Rig) -> None:
    rig.commit(BOUND)
    scan(rig, SCANNER, 100)
    counted = learnt(rig)
    effects = rig.commit(replace(BOUND, packets_per_second=1_000))["effects"]
    assert effects == []
    assert learnt(rig) == counted
    explained = rig.explain("b1", "bounded-source")
    assert explained["agrees"] is True
    (line,) = (line for line in explained["lines"] if line["part"] == "bounded-sources")
    assert "1,000 packets a second" in line["compiled"] and "dropped" in line["system"]


def test_a_disabled_bound_bounds_nobody(rig: Rig) -> None:
    rig.commit(BOUND)
    rig.commit(replace(BOUND, disabled=True))
    assert rig.agent.call("state", {"kind": "bounded-source", "ids": ["b1"]})["objects"] == {}
    assert all(answers(rig, SCANNER) for _ in range(AFTER_A_PAUSE + 5))


def test_it_holds_while_the_agent_is_away_and_is_taken_over_by_the_next(rig: Rig) -> None:
    rig.commit(BOUND)
    scan(rig, SCANNER, 200)
    before = learnt(rig)
    rig.kill_agent()
    scan(rig, SCANNER, 200)
    rig.start_agent()
    until("the state is well", lambda: rig.status()["state"] == "ok")
    after = learnt(rig)
    assert after["passed"] + after["dropped"] == before["passed"] + before["dropped"] + 200
    assert after["dropped"] > before["dropped"] + 100
