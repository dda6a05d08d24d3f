# SPDX-License-Identifier: Apache-2.0
"""What lookups cost: the meter tells an empty table from a full one and one socket from a crowd, and sends
nothing."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lab import ills, netns
from lab.ills import PORT
from tests.agent.rig import Rig, lan, running, wan
from tests.polling import until
from weir.agent.lookup_times import EVERY_LOOKS, LookupTimes
from weir.agent.sampler import Sampler
from weir.model.problem import Unavailable
from weir.probes import lookup_meter
from weir.probes.lookup_meter import LookupMeter, RouteTimes, route_count

ROUTES = int(os.environ.get("WEIR_ROUTES", "100000"))
"""A million take a minute, and are a finding."""
CROWD = 2000
ROUTER = "10.64.0.1"


@pytest.fixture(scope="module")
def rig() -> Iterator[Rig]:
    with running("--look-interval-s", "0.2") as made:
        made.commit(lan(), wan())
        yield made


@pytest.fixture(scope="module")
def library(rig: Rig) -> str:
    maps = Path(f"/proc/{rig.agent_process.pid}/maps").read_text()
    return next(line.split()[-1] for line in maps.splitlines() if "libweir.so" in line)


def measured(rig: Rig) -> dict[str, Any]:
    """What the tool tells, by `what`."""
    wanted = {"tool": "meter", "arguments": {"count": 1}, "by": "admin"}
    _, (output,) = rig.agent.call_for_fds("tool_start", wanted)
    with os.fdopen(output, "rb") as file:
        events = [json.loads(line) for line in file]
    assert events[-1]["reason"] == "done", events
    return {event["what"]: event for event in events if event["event"] == "lookup"}


def packets(rig: Rig) -> list[int]:
    """Of each interface, received and sent."""
    links = rig.json("ip", "-j", "-s", "link")
    return [link["stats64"][way]["packets"] for link in links for way in ("rx", "tx")]


def slow_lookups(rig: Rig) -> str:
    """The finding's sentence, "" without one."""
    found = rig.agent.call("findings")["findings"]
    return next((item["sentence"] for item in found if item["code"] == "slow-route-lookup"), "")


def test_random_destinations_take_longer_in_a_full_table(rig: Rig) -> None:
    before = measured(rig)
    empty = before["route, random ones"]
    assert 0 < empty["took_ns"] < 1000 and empty["entries"] < 100
    with ills.many_routes(rig.router, "203.0.113.1", ROUTES) as count:
        full = measured(rig)
        if ROUTES >= ills.MANY:
            print(until("the finding", lambda: slow_lookups(rig)))
    assert full["route, random ones"]["entries"] == empty["entries"] + count
    assert full["route, random ones"]["took_ns"] > 1.3 * empty["took_ns"]
    assert full["route, random ones"]["took_ns"] > full["route, one destination"]["took_ns"]
    until("no finding", lambda: not slow_lookups(rig))
    healed = measured(rig)
    for what in ("route, random ones", "route, one destination"):
        print(f"{what}, ns:", *(found[what]["took_ns"] for found in (before, full, healed)))
    assert healed["route, random ones"]["entries"] == empty["entries"]


def test_a_crowd_of_sockets_takes_longer_than_one_in_tool_and_finding(rig: Rig) -> None:
    address = f"{ROUTER}:{PORT}"
    with ills.listeners(rig.router, ROUTER, 1):
        one = measured(rig)[f"listener {address}"]
    assert one["took_ns"] < 3000 and one["entries"] == 1
    with ills.listeners(rig.router, ROUTER, CROWD):
        crowd = measured(rig)[f"listener {address}"]
        assert crowd["took_ns"] > 5 * max(one["took_ns"], 1000) and crowd["entries"] == CROWD

        def said() -> dict[str, Any] | None:
            found = rig.agent.call("findings")["findings"]
            return next((item for item in found if item["code"] == "crowded-listener"), None)

        finding = until("the finding", said)
    assert finding["sentence"].startswith(f"{CROWD:,} sockets listen on {address}")
    numbers = {number["name"]: number for number in finding["numbers"]}
    assert numbers["lookup_ns"]["value"] > numbers["lookup_ns"]["threshold"] == 5000


def test_every_kind_of_address_is_asked_for(rig: Rig, library: str) -> None:
    with netns.inside(rig.router):
        meter = LookupMeter(library)
        took = [meter.listener(at) for at in ("0.0.0.0:53", "[::]:53", "[2001:db8::7]:443", "10.64.0.1:1")]
        meter.close()
    assert all(ns < 20_000 for ns in took)


def test_no_packet_is_sent_and_no_neighbor_asked(rig: Rig, library: str) -> None:
    with netns.inside(rig.router):
        meter = LookupMeter(library)
        meter.routes()
        before, known = packets(rig), rig.run("ip", "neighbor")
        for _ in range(20):
            meter.routes()
            meter.listener(f"{ROUTER}:{PORT}")
        assert packets(rig) == before
        assert rig.run("ip", "neighbor") == known
        meter.close()


def test_where_nothing_is_forwarded_it_says_so(rig: Rig, library: str) -> None:
    with netns.inside(rig.client_ns):
        meter = LookupMeter(library)
        with pytest.raises(OSError, match="forwarding is off"):
            meter.routes()
        assert route_count() is not None
        meter.close()


def test_a_router_in_order_tells_the_figure_and_no_finding(rig: Rig) -> None:
    def figure() -> str:
        looks = rig.agent.call("findings")["looked_at"]
        return next((item["figure"] for item in looks if item["id"] == "route_lookups"), "")

    assert "ns for random ones" in until("the figure", figure)
    assert "slow-route-lookup" not in {item["code"] for item in rig.agent.call("findings")["findings"]}


class Slow:
    """A meter that tells what it was given."""

    def __init__(self, *times: int) -> None:
        self.left = list(times)

    def routes(self) -> RouteTimes:
        return RouteTimes(50, self.left.pop(0))


def test_it_is_measured_again_at_each_look_only_while_it_is_slow(monkeypatch: pytest.MonkeyPatch) -> None:
    counted: list[int] = []
    monkeypatch.setattr("weir.agent.lookup_times.route_count", lambda: counted.append(1) or 7)
    meter = Slow(900, 800, 100, 90)
    times = LookupTimes(lambda: meter)
    assert [times.routes().random_ns for _ in range(EVERY_LOOKS)] == [900, 800, *[100] * (EVERY_LOOKS - 2)]
    assert len(counted) == 1
    assert (times.routes().random_ns, len(counted)) == (90, 2)


def test_what_the_kernel_refuses_is_said_and_the_rest_is_looked_at() -> None:
    def refused() -> LookupMeter:
        raise PermissionError(1, "the kernel refuses the programs that look up: not permitted")

    times = LookupTimes(refused)
    with pytest.raises(Unavailable, match="the kernel refuses"):
        times.routes()
    sampler = Sampler(10.0, lookups=times)
    sampler.look()
    said = sampler.table()["findings"]({}, None)
    unseen = {item["id"]: item["reason"] for item in said["not_looked_at"]}
    assert unseen["route_lookups"].startswith("the kernel refuses")
    assert {"cores", "chains"} <= {item["id"] for item in said["looked_at"]}


def test_a_kernel_that_does_not_count_routes_is_no_fault(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(lookup_meter, "_TRIE", tmp_path / "none")
    assert route_count() is None
