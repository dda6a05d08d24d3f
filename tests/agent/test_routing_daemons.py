# SPDX-License-Identifier: Apache-2.0
"""FRR's daemons die and come back: routes stay, and what could not be done is tried again at once."""

from __future__ import annotations

import time
from collections.abc import Sequence

import pytest

from tests.agent.rig import Rig, lan, wan
from tests.polling import until
from weir.adapters import standing_routes
from weir.adapters.standing_routes import Hop, KernelRoute
from weir.backends.routes import SETTLED_S, RoutesBackend, RoutesState
from weir.kinds.static_route import StaticRoute
from weir.parts.routes import RouteSpec

FAR = "10.77.0.0/16"
COPY = f"proto 87 metric {standing_routes.METRIC}"


@pytest.fixture(scope="module", autouse=True)
def configured(rig: Rig) -> None:
    rig.commit(lan(), wan(), StaticRoute("far", FAR, gateway="10.64.0.2"))
    until("the route and its copy are there", lambda: len(routes(rig)) == 2)


def routes(rig: Rig) -> list[str]:
    return rig.run("ip", "route", "show", FAR).splitlines()


def test_a_route_stands_while_staticd_is_dead_and_is_given_to_the_next_one_at_once(rig: Rig) -> None:
    rig.kill_frr_daemon("staticd")
    until("zebra has taken its route away", lambda: len(routes(rig)) == 1)
    assert COPY in routes(rig)[0]
    until("the agent says so", lambda: rig.status()["state"] == "failed")
    rig.start_frr_daemon("staticd")
    begun_s = time.monotonic()
    until("the route is FRR's again", lambda: len(routes(rig)) == 2)
    assert time.monotonic() - begun_s < 15, "the scan, which comes every 30 s, was waited for"
    until("all is well", lambda: rig.status()["state"] == "ok")


def test_a_copy_goes_with_its_route_and_follows_it(rig: Rig) -> None:
    rig.commit(StaticRoute("far", FAR, gateway="10.64.0.3"))
    until("both lead elsewhere", lambda: all("via 10.64.0.3" in line for line in routes(rig)) and routes(rig))
    rig.commit(delete=[("static-route", "far")])
    until("both are gone", lambda: routes(rig) == [])
    assert rig.status()["state"] == "ok"


def test_a_route_gets_another_distance_and_back(rig: Rig) -> None:
    for distance in (1, 9, 4, 1):
        rig.commit(StaticRoute("far", FAR, gateway="10.64.0.3", distance=distance))
    rig.commit(StaticRoute("far", FAR, gateway="10.64.0.2", distance=7))
    rig.commit(delete=[("static-route", "far")])
    assert rig.status()["state"] == "ok"


class Daemons:
    """FRR as the backend sees it."""

    def __init__(self) -> None:
        self.started = 0
        self.checked: list[str] = []

    def identity(self) -> tuple[object, ...]:
        return (self.started,)

    def down_reason(self) -> str:
        return ""

    def read_lines(self) -> frozenset[str]:
        return frozenset()

    def check(self, lines: Sequence[str]) -> None:
        self.checked += lines

    def change(self, add: object, remove: object) -> None: ...


HELD = KernelRoute(FAR, "254", "unicast", (Hop("10.64.0.2", "lan0", False, 1),))
WANTED = {"far": RouteSpec("far", FAR, "10.64.0.2", None, False, 1)}
LINE = f"ip route {FAR} 10.64.0.2 tag 87"


@pytest.mark.parametrize(
    ("lines", "settled", "stays"),
    [((LINE,), True, False), ((LINE,), False, True), ((), True, True)],
    ids=["frr-dropped-it", "frr-is-starting", "frr-knows-nothing-yet"],
)
def test_a_copy_without_its_route_stays_only_while_frr_is_not_itself(
    lines: tuple[str, ...], settled: bool, stays: bool
) -> None:
    state = RoutesState(frozenset(lines), frozenset(), frozenset({HELD}), settled)
    difference = RoutesBackend(Daemons()).diff(state, WANTED)
    assert (HELD not in difference.forget) is stays


def test_frr_is_itself_when_no_daemon_was_started_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(standing_routes, "read", lambda: (frozenset(), frozenset()))
    now_s, frr = [100.0], Daemons()
    backend = RoutesBackend(frr, lambda: now_s[0])
    assert not backend.read().settled
    now_s[0] += SETTLED_S
    assert backend.read().settled
    frr.started += 1
    assert not backend.read().settled


def test_only_what_comes_is_checked_however_many_routes_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(standing_routes, "change", lambda _put, _remove: None)
    frr = Daemons()
    wanted = {f"r{n}": RouteSpec(f"r{n}", f"192.0.2.{n}/32", "10.64.0.2", None, False, 1) for n in range(200)}
    held = frozenset(f"ip route 192.0.2.{n}/32 10.64.0.2 tag 87" for n in range(199))
    backend = RoutesBackend(frr)
    backend.apply(backend.diff(RoutesState(held, frozenset(), frozenset(), True), wanted))
    assert frr.checked == ["ip route 192.0.2.199/32 10.64.0.2 tag 87"]
