# SPDX-License-Identifier: Apache-2.0
"""Static routes that the kernel keeps without FRR: they come and go with their port, FRR takes them for
routes of their distance, and none is missing while FRR takes one over."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.agent.rig import Rig, lan, wan
from tests.agent.test_routing_daemons import Daemons
from tests.polling import until
from weir.adapters import standing_routes
from weir.adapters.followed_routes import FollowedRoutes
from weir.adapters.route_messages import Entry
from weir.backends.routes import RoutesBackend
from weir.backends.routes_wanted import Asked, entry_of
from weir.kinds.bgp import Bgp
from weir.kinds.static_route import StaticRoute
from weir.model.problem import ApplyFailed
from weir.parts.delta import Delta
from weir.parts.routes import RouteSpec

FAR, FAR6 = "10.77.0.0/16", "2001:db8:77::/48"
ROUTE = StaticRoute("far", FAR, gateway="10.64.0.2", distance=5)
ROUTE6 = StaticRoute("far6", FAR6, gateway="2001:db8:64::2")
LINE = f"{FAR} via 10.64.0.2 dev lan0 proto 87 metric {standing_routes.own_metric(5)}"


@pytest.fixture(scope="module", autouse=True)
def configured(rig: Rig) -> None:
    rig.commit(lan(), wan(), ROUTE, ROUTE6)


def routes(rig: Rig) -> list[str]:
    """Of the kernel's main table, to one destination."""
    return [line.strip() for line in rig.run("ip", "route", "show", FAR).splitlines()]


def in_zebra(rig: Rig, command: str = f"show ip route {FAR} json") -> list[tuple[str, int, bool]]:
    """Protocol, distance and whether it is chosen."""
    printed = rig.run("vtysh", "--vty_socket", str(rig.folder / "frr"), "-d", "zebra", "-c", command)
    entries = [entry for found in json.loads(printed).values() for entry in found]
    return [(entry["protocol"], entry["distance"], bool(entry.get("selected"))) for entry in entries]


def configure(rig: Rig, line: str) -> None:
    rig.run("vtysh", "--vty_socket", str(rig.folder / "frr"), "-c", "configure terminal", "-c", line)


def learnt(rig: Rig, name: str) -> dict[str, Any]:
    return dict(rig.agent.call("state", {"kind": "static-route", "ids": [name]})["objects"][name])


USED = {"in_use": True, "leaves_by": "lan0", "kept": False, "next_hop_reachable": True}
WAITS = {**USED, "in_use": False, "leaves_by": None}


def test_the_kernel_has_it_once_and_frr_takes_it_for_a_route_of_its_distance(rig: Rig) -> None:
    until("its port is ready", lambda: routes(rig) == [LINE])
    until("zebra has it", lambda: in_zebra(rig) == [("kernel", 5, True)])
    assert in_zebra(rig, f"show ipv6 route {FAR6} json") == [("kernel", 1, True)]
    assert learnt(rig, "far") == learnt(rig, "far6") == USED
    assert rig.explain("far", "static-route")["agrees"] is True


def test_without_frr_it_stands_and_others_are_changed(rig: Rig) -> None:
    rig.stop_frr()
    more = StaticRoute("more", "10.79.0.0/16", gateway="10.64.0.2")
    rig.commit(more)
    assert routes(rig) == [LINE] and learnt(rig, "more") == USED
    assert rig.explain("more", "static-route")["agrees"] is True
    rig.commit(delete=[("static-route", "more")])
    assert learnt(rig, "far") == USED
    rig.start_frr()
    until("the new zebra has it", lambda: in_zebra(rig) == [("kernel", 5, True)])
    until("all is well", lambda: rig.status()["state"] == "ok")


@pytest.mark.parametrize(("distance", "is_better"), [(4, True), (6, False)])
def test_of_frrs_routes_only_a_better_one_takes_its_place(rig: Rig, distance: int, is_better: bool) -> None:
    foreign = f"ip route {FAR} 10.64.0.3 {distance}"
    configure(rig, foreign)
    try:
        chosen = sorted([("kernel", 5, not is_better), ("static", distance, is_better)])
        until("zebra has chosen", lambda: sorted(in_zebra(rig)) == chosen)
        until("so has the kernel", lambda: (len(routes(rig)) == 2) is is_better)
        assert LINE in routes(rig)
        assert learnt(rig, "far") == (WAITS if is_better else USED)
    finally:
        configure(rig, f"no {foreign}")
    until("it is alone again", lambda: routes(rig) == [LINE])


def test_it_goes_while_its_port_has_no_link(rig: Rig) -> None:
    rig.run("ip", "link", "set", "c0", "down", namespace=rig.client_ns)
    try:
        until("the route is gone", lambda: routes(rig) == [])
        assert learnt(rig, "far") == {**WAITS, "next_hop_reachable": False}
        (line,) = rig.explain("far", "static-route")["lines"]
        assert line["agrees"] is True and "lan0 is down or has no link" in line["system"]
        rig.commit(StaticRoute("far", FAR, gateway="10.64.0.3", distance=5))
        assert routes(rig) == []
        rig.commit(ROUTE)
    finally:
        rig.run("ip", "link", "set", "c0", "up", namespace=rig.client_ns)
    until("it is back", lambda: routes(rig) == [LINE])
    until("so is the other", lambda: learnt(rig, "far6") == USED)


def test_it_comes_back_with_its_port(rig: Rig) -> None:
    rig.run("ip", "link", "set", "lan0", "down")
    until("it is back", lambda: routes(rig) == [LINE] and learnt(rig, "far6") == USED)


ASTRAY = ("via", "10.64.0.9", "proto", "87", "metric")


@pytest.mark.parametrize(
    "command",
    [
        ("del", FAR),
        ("replace", FAR, *ASTRAY, str(standing_routes.own_metric(5))),
        ("add", FAR, *ASTRAY, str(standing_routes.own_metric(4))),
        ("add", "10.99.0.0/16", *ASTRAY, str(standing_routes.own_metric(1))),
    ],
    ids=["gone", "another-gateway", "another-distance", "nobody-wants-it"],
)
def test_what_somebody_does_to_it_is_undone_and_told(rig: Rig, command: tuple[str, ...]) -> None:
    told = len(rig.status()["drift"])
    rig.run("ip", "route", *command)
    until("it is as it was", lambda: routes(rig) == [LINE] and "10.99.0.0" not in rig.run("ip", "route"))
    until("it is told", lambda: len(rig.status()["drift"]) > told)
    assert rig.status()["drift"][0]["part"] == "routes"


def routed(rig: Rig, verb: str) -> bool:
    """For `ip monitor` to have something to tell."""
    rig.run("ip", "route", verb, "198.51.100.0/24", "dev", "lan0")
    return True


def fewest(log: str) -> int:
    """Of the entries to FAR, at any moment since `ip monitor` began, how many there were at least."""
    present, least = {str(standing_routes.own_metric(5))}, 1
    for line in log.splitlines():
        words = line.split()
        gone = words[:1] == ["Deleted"]
        if FAR in words[:2]:
            metric = words[words.index("metric") + 1]
            present = present - {metric} if gone else present | {metric}
            least = min(least, len(present))
    return least


def test_none_is_missing_while_frr_takes_it_over_and_gives_it_back(rig: Rig) -> None:
    monitor, log = rig.spawn("monitor", ["ip", "monitor", "route"]), rig.folder / "monitor.log"
    try:
        until("it watches", lambda: routed(rig, "replace") and log.stat().st_size)
        routed(rig, "del")
        rig.commit(Bgp("core", 65_000, router_id="203.0.113.2", redistribute_static=True))
        until("FRR has taken it over", lambda: routes(rig) and LINE not in routes(rig))
        assert in_zebra(rig) == [("static", 5, True)] and len(routes(rig)) == 2
        rig.commit(delete=[("bgp", "core")])
        until("it is the kernel's again", lambda: routes(rig) == [LINE])
    finally:
        monitor.terminate()
        monitor.wait()
    told = log.read_text()
    assert f"Deleted {FAR}" in told and fewest(told) == 1


def spec(number: int, gateway: str = "10.64.0.2", port: str | None = "lan0") -> RouteSpec:
    return RouteSpec(f"r{number}", f"192.0.2.{number}/32", gateway, None, False, 1, port=port)


class Kernel(FollowedRoutes):
    """One whose port is ready, and that takes what it is given, but for what it refuses."""

    def __init__(self) -> None:
        super().__init__()
        self.refuses: set[Entry] = set()
        self.ready = frozenset(("lan0",))
        self.looked = 0
        self.is_followed = True

    def look(self) -> None:
        self.looked += 1

    def follow(self) -> bool:
        return self.is_followed

    def change(self, put: Any, remove: Any) -> dict[Entry, str]:
        for entry in remove:
            self._take_own(25, entry)
        for entry in put:
            if entry not in self.refuses:
                self._take_own(24, entry)
        return {entry: "no way" for entry in put if entry in self.refuses}


@pytest.fixture
def kernel(monkeypatch: pytest.MonkeyPatch) -> Kernel:
    made = Kernel()
    monkeypatch.setattr(standing_routes, "change", lambda _put, _remove: None)
    monkeypatch.setattr(standing_routes, "change_entries", made.change)
    return made


def test_what_the_kernel_refuses_fails_the_change_with_its_reason(kernel: Kernel) -> None:
    backend = RoutesBackend(Daemons(), kernel=kernel)
    kernel.refuses = {entry_of(spec(1))}
    difference = backend.diff(backend.read(), {"r1": spec(1)})
    backend.apply(difference)
    with pytest.raises(ApplyFailed, match=r"has not taken the route 192\.0\.2\.1/32 .*: no way"):
        backend.verify(difference)
    kernel.ready = frozenset()
    backend.apply(difference)
    backend.verify(difference)  # its port went meanwhile, which is an event, and another look


def test_one_among_many_costs_no_look_at_the_others(kernel: Kernel) -> None:
    backend = RoutesBackend(Daemons(), kernel=kernel)
    wanted = {f"r{number}": spec(number) for number in range(200)}
    first = backend.diff(backend.read(), wanted)
    assert len(first.put) == 200 and not (first.add or first.remove)
    backend.apply(first)
    backend.verify(first)
    assert not backend.diff(backend.read(), wanted)
    looked, new = kernel.looked, spec(7, "10.64.0.3")
    found = backend.diff_changed(Delta([(spec(7), new)], [spec(8)]))
    assert found is not None
    assert (found.put, found.drop) == ({entry_of(new)}, {entry_of(spec(8))})
    backend.apply(found)
    backend.verify(found)
    assert kernel.looked == looked
    assert kernel.own_moved == {entry_of(one).route.place for one in (new, spec(8))}


def test_routes_that_change_places_are_both_asked_for() -> None:
    asked = Asked()
    first, second = spec(1), spec(2)
    asked.move(Delta([(None, first), (None, second)]))
    swapped = [
        RouteSpec(one.id, other.destination, one.gateway, None, False, 1, port="lan0")
        for one, other in ((first, second), (second, first))
    ]
    asked.move(Delta([(first, swapped[0]), (second, swapped[1])]))
    assert asked.own.keys() == {entry_of(one).route.place for one in (first, second)}


def test_what_one_look_found_is_open_until_it_is_done(kernel: Kernel) -> None:
    """Somebody who only asks looks as well, and does nothing about it."""
    backend = RoutesBackend(Daemons(), kernel=kernel)
    wanted = {"r1": spec(1)}
    backend.diff(backend.read(), {})
    assert backend.diff(backend.read(), wanted).put == {entry_of(spec(1))}
    found = backend.diff(backend.read(), wanted)
    assert found.put == {entry_of(spec(1))}
    backend.apply(found)
    backend.verify(found)
    assert not backend.diff(backend.read(), wanted)
    kernel._take_own(25, entry_of(spec(1)))
    backend.read()
    assert backend.diff(backend.read(), wanted).put == {entry_of(spec(1))}


def test_a_link_that_moves_before_a_change_is_not_lost_to_the_change(kernel: Kernel) -> None:
    backend = RoutesBackend(Daemons(), kernel=kernel)
    wanted, kernel.ready = {"r1": spec(1)}, frozenset()
    assert not backend.diff(backend.read(), wanted).put
    kernel.ready, kernel.is_followed = frozenset(("lan0",)), False
    assert backend.diff_changed(Delta([(None, spec(2))], [])) is None
    kernel.is_followed = True
    both = {"r1": spec(1), "r2": spec(2)}
    found = backend.diff(backend.read(), both)
    assert found.put == {entry_of(one) for one in both.values()}
    assert [step.text for step in found.steps()] == ["192.0.2.2/32 via 10.64.0.2 dev lan0 distance 1"], (
        "the first follows its port, which is nobody's doing"
    )
