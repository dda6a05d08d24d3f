# SPDX-License-Identifier: Apache-2.0
"""What a change costs is said before it is made, and is what then happens to real TCP sessions."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

import pytest

from lab import netns
from tests.agent.rig import Rig, client_queue, lan, queue, running, wan
from tests.agent.sessions import Session, between
from tests.polling import until
from weir.kinds.firewall import Firewall
from weir.kinds.firewall_rule import FirewallRule
from weir.kinds.service import Service
from weir.kinds.sets import Set, SetEntry
from weir.kinds.static_route import StaticRoute
from weir.model.codec import to_json
from weir.model.document import Change
from weir.model.objects import ConfigObject

SERVER, BEYOND = "203.0.113.1", "198.18.0.9"
ROUTER_LAN = "10.64.0.1"
BUSY_S = 0.5
"""An echo may be late by so much on a machine that others use."""


@pytest.fixture
def rig() -> Iterator[Rig]:
    with running(frr=True) as made:
        made.commit(lan(), wan(), Firewall(allowed_wan_tcp_ports=(22, 443)), client_queue(50_000_000))
        yield made


@pytest.fixture
def open_session(rig: Rig) -> Iterator[Any]:
    with ExitStack() as stack:

        def begin(near: str, far: str, address: str, port: int) -> Session:
            session = stack.enter_context(between(near, far, address, port))
            until("the session answers", lambda: session.answers > 5)
            session.begin()
            return session

        yield begin


def foreseen(rig: Rig, *items: ConfigObject, delete: Any = ()) -> Any:
    """The effects that a preview says, by object."""
    lines = [encoded(change) for change in rig.changes(items, delete)]
    answer = rig.agent.call("preview", {}, lines=("changes", lines))
    return {(item["kind"], item["id"]): item for item in answer["effects"]}


def encoded(change: Change) -> bytes:
    new = None if change.new is None else to_json(change.new)
    return json.dumps({"kind": change.kind, "id": change.id, "new": new}).encode()


def committed(rig: Rig, *items: ConfigObject, delete: Any = ()) -> Any:
    """Commit; the answer says the same effects as the preview did."""
    said = foreseen(rig, *items, delete=delete)
    answer = rig.commit(*items, delete=delete)
    assert {(item["kind"], item["id"]): item for item in answer["effects"]} == said
    return said


def goes_on(session: Session) -> bool:
    answers = session.answers
    until("more answers", lambda: session.is_over or session.answers > answers + 5, 15.0)
    return not session.is_over


@pytest.mark.parametrize(
    "changed",
    [
        pytest.param(client_queue(20_000_000), id="another rate"),
        pytest.param(queue(7), id="another queue"),
        pytest.param(lan(mtu=1400), id="the MTU of a port that is no network card"),
        pytest.param(lan(description="uplink"), id="a description"),
        pytest.param(
            lan(addresses=("10.64.0.1/24", "2001:db8:64::1/64", "10.65.0.1/24")), id="another address"
        ),
        pytest.param(Firewall(allowed_wan_tcp_ports=(443,)), id="a closed port"),
        pytest.param(StaticRoute("r", "10.99.0.0/16", blackhole=True), id="a route"),
    ],
)
def test_what_is_hitless_is_said_so_and_no_session_notices(
    rig: Rig, open_session: Any, changed: ConfigObject
) -> None:
    through = open_session(rig.client_ns, rig.internet, SERVER, 5001)
    to_router = open_session(rig.internet, rig.router, "203.0.113.2", 22)
    assert committed(rig, changed) == {}
    assert goes_on(through) and goes_on(to_router)
    assert max(through.longest_s, to_router.longest_s) < BUSY_S


def test_an_interface_that_goes_down_drops_as_many_sessions_as_it_says(rig: Rig, open_session: Any) -> None:
    ends = [open_session(rig.client_ns, rig.internet, SERVER, 5001 + n) for n in range(3)]
    ends.append(open_session(rig.client_ns, rig.router, ROUTER_LAN, 5010))
    said = committed(rig, replace(lan(), disabled=True))["interface", "lan0"]
    assert (said["effect"], said["sessions"], said["sessions_complete"]) == ("drops-sessions", 4, True)
    assert "lan0 goes down" in said["text"]
    until("they are silent", lambda: all(end.is_over or end.silent_s > 5 for end in ends))


def test_an_address_that_goes_drops_the_sessions_with_it_and_no_other(rig: Rig, open_session: Any) -> None:
    rig.commit(lan(addresses=("10.64.0.1/24", "10.65.0.1/24")))
    rig.run("ip", "addr", "add", "10.65.0.2/24", "dev", "c0", namespace=rig.client_ns)
    stays = open_session(rig.client_ns, rig.router, ROUTER_LAN, 5010)
    ends = open_session(rig.client_ns, rig.router, "10.65.0.1", 5011)
    said = committed(rig, lan(addresses=("10.64.0.1/24",)))["interface", "lan0"]
    assert (said["effect"], said["sessions"]) == ("drops-sessions", 1)
    assert said["text"] == "lan0 loses the address 10.65.0.1/24"
    until("it is silent", lambda: ends.is_over or ends.silent_s > 3)
    assert goes_on(stays)


def test_masquerading_that_ends_drops_what_it_translated(rig: Rig, open_session: Any) -> None:
    translated = open_session(rig.client_ns, rig.internet, SERVER, 5001)
    said = committed(rig, Firewall(allowed_wan_tcp_ports=(22, 443), masquerade=False))["firewall", "firewall"]
    assert (said["effect"], said["sessions"]) == ("drops-sessions", 1)
    until("it is silent", lambda: translated.is_over or translated.silent_s > 3)


def test_an_entry_of_a_set_that_is_refused_drops_its_sessions_and_no_other(
    rig: Rig, open_session: Any
) -> None:
    block = FirewallRule("block", "forward", "drop", source_set="bad", log=True)
    rig.commit(Set("bad"), Set("other"), block)
    rig.run("ip", "addr", "add", "10.64.0.77/24", "dev", "c0", namespace=rig.client_ns)
    ends = open_session(rig.client_ns, rig.internet, SERVER, 5001)
    entries = [SetEntry("e", "other", f"{ROUTER_LAN}/32"), SetEntry("f", "bad", "10.64.0.77/32")]
    found = foreseen(rig, *entries)
    assert {key: item["sessions"] for key, item in found.items()} == {("set-entry", "f"): 0}
    rig.commit(*entries)
    assert goes_on(ends)
    said = foreseen(rig, SetEntry("g", "bad", "10.64.0.0/24"))["set-entry", "g"]
    assert (said["effect"], said["sessions"]) == ("drops-sessions", 1)
    (done,) = rig.commit(SetEntry("g", "bad", "10.64.0.0/24"))["effects"]
    assert (done["id"], done["effect"], done["sessions"]) == ("g", "drops-sessions", None)
    until("it is silent", lambda: ends.is_over or ends.silent_s > 3)


def test_a_route_that_goes_drops_what_it_leads_to_and_one_that_moves_nothing(
    rig: Rig, open_session: Any
) -> None:
    netns.ip(rig.internet, [f"addr add {BEYOND}/32 dev lo", "addr add 203.0.113.3/24 dev i0"])
    route = StaticRoute("beyond", "198.18.0.0/15", gateway=SERVER)
    rig.commit(route)
    until("the route is there", lambda: SERVER in rig.run("ip", "route", "show", "198.18.0.0/15"))
    beyond = open_session(rig.client_ns, rig.internet, BEYOND, 5001)
    beside = open_session(rig.client_ns, rig.internet, SERVER, 5002)
    said = committed(rig, replace(route, gateway="203.0.113.3"))["static-route", "beyond"]
    assert said["effect"] == "resets" and "reached by 203.0.113.3" in said["text"]
    assert goes_on(beyond) and beyond.longest_s * 1000 < max(said["lasts_ms"], BUSY_S * 1000)
    said = committed(rig, delete=[("static-route", "beyond")])["static-route", "beyond"]
    assert (said["effect"], said["sessions"]) == ("drops-sessions", 1)
    until("it is silent", lambda: beyond.is_over or beyond.silent_s > 3)
    assert goes_on(beside)


def test_a_rule_and_a_service_that_refuse_more_drop_as_many_sessions_as_they_say(
    rig: Rig, open_session: Any
) -> None:
    netns.ip(rig.internet, [f"addr add {BEYOND}/32 dev i0"])
    rig.commit(StaticRoute("beyond", f"{BEYOND}/32", gateway=SERVER), Service("web", ("5999",)))
    until("the route is there", lambda: SERVER in rig.run("ip", "route", "show", BEYOND))
    ends = open_session(rig.client_ns, rig.internet, BEYOND, 5001)
    stays = open_session(rig.client_ns, rig.internet, SERVER, 5001)
    block = FirewallRule("block", "forward", "drop", destination=(f"{BEYOND}/32",), service="web")
    assert committed(rig, block)["firewall-rule", "block"]["sessions"] == 1, "whatever its port is"
    assert goes_on(ends), "it has another port"
    said = committed(rig, Service("web", ("5001", "5999")))["service", "web"]
    assert (said["effect"], said["sessions"]) == ("drops-sessions", 1)
    until("it is silent", lambda: ends.is_over or ends.silent_s > 3)
    assert goes_on(stays)
    said = committed(rig, FirewallRule("all", "forward", "drop", source=("10.64.0.0/24",)))
    assert said["firewall-rule", "all"]["sessions"] >= 1
    until("the other one is silent", lambda: stays.is_over or stays.silent_s > 3)


def test_another_shaper_is_said_to_lose_what_waits_and_sessions_go_on(rig: Rig, open_session: Any) -> None:
    session = open_session(rig.client_ns, rig.internet, SERVER, 5001)
    said = committed(rig, replace(lan(), shaper="htb"))
    assert goes_on(session)
    longest_ms = session.longest_s * 1000
    found = said.get(("interface", "lan0"))
    if found is not None:  # the kernel has the qdiscs
        assert found["effect"] == "resets"
        assert longest_ms < found["lasts_ms"]


def test_where_nothing_is_tracked_the_number_is_said_to_be_incomplete() -> None:
    with running() as rig:
        rig.commit(lan())
        with between(rig.client_ns, rig.router, ROUTER_LAN, 5010) as session:
            until("the session answers", lambda: session.answers > 5)
            said = foreseen(rig, delete=[("interface", "lan0")])["interface", "lan0"]
        assert (said["sessions"], said["sessions_complete"]) == (1, False)


def test_a_wan_that_comes_says_that_sessions_may_end(rig: Rig) -> None:
    rig.commit(replace(wan(), role="lan"))
    said = foreseen(rig, wan())
    assert said["interface", "wan0"]["effect"] == "drops-sessions"
    assert "tracked from now on" in said["interface", "wan0"]["text"]


def test_a_question_changes_nothing(rig: Rig) -> None:
    def held() -> list[Any]:
        addresses = [rig.addresses(name) for name in ("lan0", "wan0")]
        return [rig.status()["shapers"], addresses, rig.run("nft", "-s", "list", "ruleset")]

    before = held()
    assert foreseen(rig, replace(lan(), disabled=True), replace(wan(), role="lan"))
    assert held() == before
