# SPDX-License-Identifier: Apache-2.0
"""FRR's daemons die and come back: routes stay, and what could not be done is tried again at once."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, cast

import pytest

from lab.netns import inside
from tests.agent.frr_routes import by_frr
from tests.agent.rig import Rig, lan, wan
from tests.polling import until
from weir.adapters import standing_routes
from weir.adapters.followed_routes import FollowedRoutes
from weir.adapters.route_messages import Hop, KernelRoute
from weir.backends import routes as routes_backend
from weir.backends import routes_learnt, routes_wanted
from weir.backends.routes import SEEN_S, SETTLED_S, WHOLE_LOOK_S, RoutesBackend, RoutesDifference
from weir.backends.routes_state import RoutesState
from weir.backends.routes_wanted import line_of
from weir.kinds.static_route import StaticRoute
from weir.model.problem import ApplyFailed
from weir.parts.delta import Delta
from weir.parts.routes import RouteSpec

FAR = "10.77.0.0/16"
COPY = f"proto 87 metric {standing_routes.METRIC}"


@pytest.fixture(scope="module", autouse=True)
def configured(rig: Rig) -> None:
    rig.commit(lan(), wan(), *by_frr("far", FAR))
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
    rig.commit(delete=[("static-route", "far"), ("static-route", "far-spare")])
    until("both are gone", lambda: routes(rig) == [])
    assert rig.status()["state"] == "ok"


@pytest.mark.parametrize("spares", [[by_frr("far", FAR)[1]], []], ids=["frr", "kernel"])
def test_a_route_gets_another_distance_and_back(rig: Rig, spares: list[StaticRoute]) -> None:
    rig.commit(*spares)
    for distance in (1, 9, 4, 1):
        rig.commit(StaticRoute("far", FAR, gateway="10.64.0.3", distance=distance))
    rig.commit(StaticRoute("far", FAR, gateway="10.64.0.2", distance=7))
    rig.commit(delete=[("static-route", name) for name in ("far", *(spare.id for spare in spares))])
    assert rig.status()["state"] == "ok"


def learnt(rig: Rig, *ids: str) -> dict[str, dict[str, Any]]:
    found = rig.agent.call("state", {"kind": "static-route", "ids": list(ids)})["objects"]
    return {name: dict(fields) for name, fields in found.items()}


USED = {"in_use": True, "leaves_by": "lan0", "kept": False, "next_hop_reachable": True}
WAITS = {"in_use": False, "leaves_by": None, "kept": False}


def test_a_route_tells_whether_it_is_in_use_and_by_which_way(rig: Rig) -> None:
    rig.commit(
        StaticRoute("used", "10.80.0.0/16", gateway="10.64.0.2"),
        StaticRoute("behind", "10.80.0.0/16", gateway="10.64.0.3", distance=9),
        StaticRoute("nowhere", "10.81.0.0/16", gateway="192.0.2.99"),
        StaticRoute("hole", "10.82.0.0/16", blackhole=True),
        StaticRoute("off", "10.83.0.0/16", gateway="10.64.0.2", disabled=True),
    )
    ids = ("used", "behind", "nowhere", "hole", "off")
    wanted = {
        "used": USED,
        "behind": {**WAITS, "next_hop_reachable": True},
        "nowhere": {**WAITS, "next_hop_reachable": False},
        "hole": {**USED, "leaves_by": None},
    }
    until("FRR has done it", lambda: learnt(rig, *ids) == wanted)


def test_a_route_that_weir_keeps_is_said_to_be_kept(rig: Rig) -> None:
    rig.commit(*by_frr("kept", "10.84.0.0/16"))
    until("there is a copy", lambda: len(rig.run("ip", "route", "show", "10.84.0.0/16").splitlines()) == 2)
    rig.kill_frr_daemon("staticd")
    try:
        kept = {**USED, "kept": True, "next_hop_reachable": None}
        until("FRR's own is gone", lambda: learnt(rig, "kept") == {"kept": kept})
    finally:
        rig.start_frr_daemon("staticd")
    until("it is FRR's again", lambda: learnt(rig, "kept") == {"kept": USED}, 15.0)
    until("all is well", lambda: rig.status()["state"] == "ok")


def test_zebra_is_asked_only_for_routes_that_are_not_in_the_kernel(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A list of a thousand routes asks every two seconds, and each question is one of zebra's."""
    specs = {
        name: RouteSpec(name, destination, "10.64.0.2", None, False, 1)
        for name, destination in (("used", "10.80.0.0/16"), ("nowhere", "10.81.0.0/16"))
    }
    hop = Hop("10.64.0.2", "lan0", onlink=False, weight=1)
    route = KernelRoute("10.80.0.0/16", standing_routes.MAIN_TABLE, "unicast", (hop,))
    monkeypatch.setattr(FollowedRoutes, "look", lambda self: self.installed.update({route.place: route}))
    asked: list[str] = []

    class Zebra:
        def down_reason(self) -> str:
            return ""

        def reached(self, lines: Sequence[str]) -> frozenset[str]:
            asked.extend(lines)
            return frozenset()

    found = routes_learnt.learn(cast(Any, Zebra()), lambda: specs)(None)
    assert asked == [line_of(specs["nowhere"])]
    assert {name: state["next_hop_reachable"] for name, state in found.items()} == {
        "used": True,
        "nowhere": False,
    }


class Daemons:
    """FRR as the backend sees it; counts how often it is asked for everything."""

    def __init__(self, lines: Iterable[str] = ()) -> None:
        self.started = 0
        self.lines = set(lines)
        self.read = 0
        self.checked: list[str] = []
        self.refuses: set[str] = set()
        self.unreachable: set[str] = set()

    def identity(self) -> tuple[object, ...]:
        return (self.started,)

    def down_reason(self) -> str:
        return ""

    def read_lines(self) -> frozenset[str]:
        self.read += 1
        return frozenset(self.lines)

    def shown(self, lines: Sequence[str]) -> frozenset[str]:
        return frozenset(self.lines.intersection(lines) - self.unreachable)

    def check(self, lines: Sequence[str]) -> None:
        self.checked += lines

    def change(self, add: Sequence[str], remove: Sequence[str]) -> None:
        self.lines -= set(remove)
        self.lines |= set(add) - self.refuses


class Kernel(FollowedRoutes):
    """One that nobody but the test changes; counts how often all of it is read."""

    def __init__(self) -> None:
        super().__init__()
        self.looked = 0
        self.is_followed = True

    def look(self) -> None:
        self.looked += 1
        self.odd, self.moved = set(), set()

    def follow(self) -> bool:
        return self.is_followed


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
    state = RoutesState.whole(frozenset(lines), frozenset(), frozenset({HELD}), settled)
    difference = RoutesBackend(Daemons()).diff(state, WANTED)
    assert (HELD not in difference.forget) is stays


def test_frr_is_itself_when_no_daemon_was_started_for_a_while() -> None:
    now_s, frr = [100.0], Daemons()
    backend = RoutesBackend(frr, lambda: now_s[0], kernel=Kernel())
    assert not backend.read().settled
    now_s[0] += SETTLED_S
    assert backend.read().settled
    frr.started += 1
    assert not backend.read().settled


def spec(number: int, gateway: str = "10.64.0.2", distance: int = 1) -> RouteSpec:
    return RouteSpec(f"r{number}", f"192.0.{number >> 8}.{number & 255}/32", gateway, None, False, distance)


MANY = 2000


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> Quick:
    monkeypatch.setattr(standing_routes, "change", lambda _put, _remove: None)
    return Quick(monkeypatch)


class Quick:
    """A backend that has looked at many routes and found nothing to do; counts the lines that are made."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.wanted = {f"r{n}": spec(n) for n in range(MANY)}
        self.frr = Daemons(line_of(s) for s in self.wanted.values())
        self.kernel = Kernel()
        self.now_s = 100.0
        self.backend = RoutesBackend(self.frr, self.tick, kernel=self.kernel)
        assert not self.look()
        self.made = 0

        def counted(route: RouteSpec) -> str:
            self.made += 1
            return line_of(route)

        for module in (routes_backend, routes_wanted):
            monkeypatch.setattr(module, "line_of", counted)

    def tick(self) -> float:
        self.now_s += SEEN_S / 10
        return self.now_s

    def look(self) -> RoutesDifference:
        return self.backend.diff(self.backend.read(), dict(self.wanted))

    def change(self, new: RouteSpec | None, old: RouteSpec | None) -> RoutesDifference | None:
        """As a commit does; None when everything has to be compared."""
        if new is None:
            assert old is not None
            del self.wanted[old.id]
        else:
            self.wanted[new.id] = new
        delta: Delta[RouteSpec] = Delta([] if new is None else [(old, new)], [old] if old and not new else [])
        found = self.backend.diff_changed(delta)
        if found:
            self.backend.apply(found)
            self.backend.verify(found)
        return found


@pytest.mark.parametrize(
    ("new", "old"),
    [(spec(7, distance=9), spec(7)), (spec(MANY + 1), None), (None, spec(7))],
    ids=["changed", "added", "removed"],
)
def test_one_route_among_many_costs_its_own_lines_and_no_look_at_the_others(
    quick: Quick, new: RouteSpec | None, old: RouteSpec | None
) -> None:
    asked, looked = quick.frr.read, quick.kernel.looked
    assert quick.change(new, old)
    assert quick.made <= 4 and quick.frr.lines == {line_of(s) for s in quick.wanted.values()}
    assert not quick.look(), "the look that follows has nothing to do"
    assert quick.made <= 4
    assert (quick.frr.read, quick.kernel.looked) == (asked, looked)


def test_a_route_that_leads_nowhere_now_is_verified_by_all_of_frrs_lines(quick: Quick) -> None:
    new = spec(7, "10.64.0.99")
    quick.frr.unreachable = {line_of(new)}
    asked = quick.frr.read
    assert quick.change(new, spec(7))
    assert quick.frr.read == asked + 1


def test_a_line_that_frr_does_not_take_fails_the_change(quick: Quick) -> None:
    new = spec(7, "10.64.0.99")
    quick.frr.refuses = {line_of(new)}
    with pytest.raises(ApplyFailed, match="has not taken"):
        quick.change(new, spec(7))
    assert quick.look().add == (line_of(new),)


def test_a_route_that_somebody_else_moved_makes_it_look_at_all_of_frrs_lines(quick: Quick) -> None:
    quick.frr.lines.discard(line_of(spec(8)))
    assert not quick.look(), "nothing told of it yet"
    quick.kernel.moved = {spec(8).destination}
    assert quick.look().add == (line_of(spec(8)),)


def test_what_nobody_tells_of_is_found_by_the_next_whole_look(quick: Quick) -> None:
    quick.frr.lines.add("ip route 198.51.100.0/24 10.64.0.2 tag 87")
    quick.now_s += WHOLE_LOOK_S
    assert quick.look().remove == ("ip route 198.51.100.0/24 10.64.0.2 tag 87",)


def test_a_change_is_compared_as_a_whole_when_it_is_not_known_what_is_there(quick: Quick) -> None:
    quick.frr.started += 1
    assert quick.change(spec(7, distance=9), spec(7)) is None
    assert quick.look().add == (line_of(spec(7, distance=9)),)
    quick.kernel.is_followed = False
    assert quick.change(spec(7, distance=8), spec(7, distance=9)) is None


def test_a_line_that_another_route_needs_stays(quick: Quick) -> None:
    twin = replace(spec(7), id="dhcp/wan0/x")
    quick.wanted[twin.id] = twin
    assert not quick.look()
    found = quick.change(None, spec(7))
    assert found is not None and not found


def test_only_what_comes_is_checked_however_many_routes_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(standing_routes, "change", lambda _put, _remove: None)
    frr = Daemons()
    wanted = {f"r{n}": RouteSpec(f"r{n}", f"192.0.2.{n}/32", "10.64.0.2", None, False, 1) for n in range(200)}
    held = frozenset(f"ip route 192.0.2.{n}/32 10.64.0.2 tag 87" for n in range(199))
    backend = RoutesBackend(frr)
    backend.apply(backend.diff(RoutesState.whole(held, frozenset(), frozenset(), True), wanted))
    assert frr.checked == ["ip route 192.0.2.199/32 10.64.0.2 tag 87"]


def test_the_kernels_routes_are_followed_and_read_again_where_it_says_nothing(rig: Rig) -> None:
    """In the router's namespace: FRR's routes are known by their protocol number."""

    def ip(*words: str) -> None:
        rig.run("ip", "route", *words)

    with inside(rig.router):
        kernel = FollowedRoutes()
        assert not kernel.follow(), "nothing was read yet"
        kernel.look()
    place = ("254", "198.51.100.0/24")
    ip("add", place[1], "via", "10.64.0.2", "proto", "196", "metric", "20")
    assert kernel.follow()
    assert kernel.installed[place].hops == (Hop("10.64.0.2", "lan0", False, 1),)
    assert place in kernel.odd and kernel.moved == {place[1]}
    ip("replace", place[1], "via", "10.64.0.3", "proto", "196", "metric", "20")
    assert kernel.follow() and kernel.installed[place].hops[0].gateway == "10.64.0.3"
    with inside(rig.router):
        standing_routes.change([kernel.installed[place]], [])
    assert kernel.follow() and place not in kernel.odd and kernel.copies[place] == kernel.installed[place]
    ip("del", place[1], "proto", "196", "metric", "20")
    assert kernel.follow() and place not in kernel.installed
    assert (place in kernel.odd) == (place in kernel.copies), (
        "a copy alone is odd; the agent may have taken it"
    )
    ways = ["nexthop", "via", "10.64.0.2", "nexthop", "via", "10.64.0.3", "weight", "3"]
    ip("add", "198.51.100.0/25", "proto", "196", "metric", "20", *ways)
    ip("add", "blackhole", "203.0.113.128/25", "proto", "196", "metric", "20")
    rig.run("ip", "-6", "route", "add", "2001:db8:77::/48", "dev", "lan0", "proto", "196", "metric", "20")
    assert kernel.follow()
    told = dict(kernel.installed)
    with inside(rig.router):
        kernel.look()
    assert kernel.installed == told and len(told) >= 3, "what is told is what is read"
    rig.run("ip", "address", "add", "10.65.0.1/24", "dev", "lan0")
    assert not kernel.follow(), "routes go with an address, and the kernel does not say so"
