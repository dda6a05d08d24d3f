# SPDX-License-Identifier: Apache-2.0
"""BGP by FRR, BIRD as neighbours: policies hold, one change leaves the others up, costs are what was said,
and a daemon that dies, hangs or is somebody else's is dealt with."""

from __future__ import annotations

import base64
import os
import signal
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from tests.agent.bird import ROUTER_AS, Bird, unchanged
from tests.agent.rig import Rig, lan, running, wan
from tests.agent.test_effects import committed
from tests.polling import until
from weir.kinds.bfd_profile import BfdProfile
from weir.kinds.bgp import Bgp
from weir.kinds.bgp_neighbor import BgpNeighbor
from weir.kinds.prefix_list import PrefixList
from weir.kinds.prefix_list_entry import PrefixListEntry
from weir.kinds.route_map import RouteMap
from weir.kinds.route_map_entry import RouteMapEntry
from weir.kinds.secrets import place_of
from weir.kinds.static_route import StaticRoute
from weir.model.problem import Problem
from weir.sealing import seal

OURS, HIDDEN = "198.51.100.0/24", "198.51.101.0/24"
CORE = Bgp("core", ROUTER_AS, router_id="203.0.113.2", redistribute_static=True)
POLICY = (
    BfdProfile("fast", transmit_ms=100),
    PrefixList("ours"),
    PrefixListEntry("ours-1", "ours", OURS),
    PrefixList("theirs"),
    PrefixListEntry("theirs-1", "theirs", "10.0.0.0/8", max_length=16),
    RouteMap("take"),
    RouteMapEntry("take-1", "take", set_local_preference=200, set_communities="no-export 65000:7"),
    RouteMap("tell"),
    RouteMapEntry("tell-1", "tell", match_prefix_list="ours"),
    StaticRoute("ours", OURS, blackhole=True),
    StaticRoute("hidden", HIDDEN, blackhole=True),
)


@pytest.fixture(scope="module")
def rig() -> Iterator[Rig]:
    with running("--scan-interval-s", "1", frr=True) as made:
        made.commit(lan(), wan(), *POLICY, CORE)
        yield made


@pytest.fixture(scope="module")
def birds(rig: Rig) -> list[Bird]:
    """The first is the one that is changed."""
    found = [
        Bird(rig, f"203.0.113.{10 + n}", 65100 + n, f"10.{n}.0.0/16", f"172.{16 + n}.0.0/16") for n in (0, 1)
    ]
    rig.commit(*map(neighbor, found))
    until("the sessions are up", lambda: all(bird.since for bird in found), 30.0)
    return found


def neighbor(bird: Bird, **more: Any) -> BgpNeighbor:
    usual = {"import_route_map": "take", "import_prefix_list": "theirs", "export_route_map": "tell"}
    name = f"n{bird.asn}"
    return BgpNeighbor(
        name, "core", bird.address, bird.asn, **{"description": f"AS {bird.asn}", **usual, **more}
    )


def vtysh(rig: Rig, *commands: str) -> str:
    asked = [argument for command in commands for argument in ("-c", command)]
    return rig.run("vtysh", "--vty_socket", str(rig.folder / "frr"), *asked)


def learnt(rig: Rig, bird: Bird) -> Any:
    found = rig.agent.call("state", {"kind": "bgp-neighbor"})["objects"]
    return found.get(f"n{bird.asn}", {})


def bgpd(rig: Rig) -> int:
    return int((rig.folder / "daemons" / "bgpd" / "pid").read_text().split()[0])


def test_policies_hold_both_ways_and_the_sessions_are_told(rig: Rig, birds: list[Bird]) -> None:
    until("only the own network is told", lambda: all(bird.learned() == {OURS} for bird in birds))
    until("theirs are taken", lambda: learnt(rig, birds[0])["prefixes_received"] == 1)
    state = learnt(rig, birds[0])
    assert (state["session"], state["prefixes_sent"]) == ("Established", 1) and 0 <= state["up_s"] < 60
    table = vtysh(rig, "show bgp ipv4 unicast 10.0.0.0/16")
    assert "localpref 200" in table and "65000:7" in table and "no-export" in table
    assert "172.16.0.0" not in vtysh(rig, "show bgp ipv4 unicast")


@pytest.mark.parametrize(
    ("changed", "effect"),
    [
        pytest.param({"description": "another"}, None, id="description"),
        pytest.param({"hold_s": 30, "keepalive_s": 5}, None, id="timers"),
        pytest.param({"maximum_prefixes": 50}, None, id="most prefixes"),
        pytest.param({"next_hop_self": True, "send_community": False}, None, id="what it is told"),
        pytest.param({"default_originate": True}, None, id="default route"),
        pytest.param({"export_route_map": None, "export_prefix_list": "ours"}, None, id="export policy"),
        pytest.param({"import_route_map": None}, None, id="import policy"),
        pytest.param({"bfd": "fast"}, None, id="BFD"),
        pytest.param({"multihop": 3}, "resets", id="multihop"),
        pytest.param({"passive": True}, "resets", id="passive"),
        pytest.param({"update_source": "wan0"}, "resets", id="update source"),
        pytest.param({"family": "both", "import_prefix_list": None}, "resets", id="family"),
        pytest.param({"disabled": True}, "drops-sessions", id="disabled"),
    ],
)
def test_a_change_costs_what_was_said_and_no_other_session(
    rig: Rig, birds: list[Bird], changed: dict[str, Any], effect: str | None
) -> None:
    rig.commit(neighbor(birds[0]))
    until("it is up", lambda: birds[0].since, 30.0)
    before = [bird.since for bird in birds]
    said = committed(rig, neighbor(birds[0], **changed))
    assert {key: item["effect"] for key, item in said.items()} == (
        {("bgp-neighbor", "n65100"): effect} if effect else {}
    )
    if effect:
        until("the session has ended", lambda: birds[0].since != unchanged(before[0]))
    else:
        state = learnt(rig, birds[0])
        assert state["session"] == "Established" and birds[0].since == unchanged(before[0])
    assert birds[1].since == unchanged(before[1])


def test_a_list_that_changes_holds_for_routes_that_were_told_before(rig: Rig, birds: list[Bird]) -> None:
    rig.commit(neighbor(birds[0]))
    until("it is up", lambda: learnt(rig, birds[0]).get("prefixes_received") == 1, 30.0)
    before = birds[0].since
    assert committed(rig, PrefixListEntry("theirs-2", "theirs", "172.16.0.0/12", max_length=16)) == {}
    until("the other network is taken, too", lambda: learnt(rig, birds[0])["prefixes_received"] == 2)
    rig.commit(PrefixListEntry("ours-2", "ours", HIDDEN))
    until("another one is told", lambda: birds[0].learned() == {OURS, HIDDEN}, 15.0)
    rig.commit(delete=[("prefix-list-entry", "theirs-2"), ("prefix-list-entry", "ours-2")])
    until("as before", lambda: birds[0].learned() == {OURS}, 15.0)
    until("as before", lambda: learnt(rig, birds[0])["prefixes_received"] == 1)
    assert birds[0].since == unchanged(before)


def test_what_somebody_types_into_a_block_is_found_removed_and_logged(rig: Rig) -> None:
    vtysh(
        rig,
        *("configure terminal", "router bgp 65000", "neighbor 203.0.113.99 remote-as 65999", "exit"),
        *("route-map take deny 3", "exit", "ip prefix-list typed seq 5 permit any"),
        *("ip route 10.200.0.0/16 blackhole",),
    )
    typed = ("203.0.113.99", "take deny", "typed")
    until("it is gone", lambda: not any(words in vtysh(rig, "show running-config") for words in typed))
    found = vtysh(rig, "show running-config")
    assert "ip route 10.200.0.0/16 blackhole" in found, "what is in no block of ours stays"
    told = str(rig.status()["drift"]) + rig.agent_log()
    assert "neighbor 203.0.113.99 remote-as 65999" in told and "prefix-list typed" in told


def test_a_password_signs_the_session_and_is_shown_to_nobody(rig: Rig, birds: list[Bird]) -> None:
    signed = Bird(rig, "203.0.113.30", 65130, "10.30.0.0/16", more='password "s3cret-word";')
    public = base64.b64decode(rig.agent.call("secrets_key")["key"])
    text = seal(public, place_of("bgp-neighbor", "n65130", "password"), "s3cret-word")
    answer = rig.commit(neighbor(signed, password=text))
    until("it is up", lambda: signed.since, 30.0)
    vtysh(rig, "configure terminal", "router bgp 65000", "neighbor 203.0.113.30 password wr0ng-word")
    until("it is repaired", lambda: "password s3cret-word" in vtysh(rig, "show running-config"))
    for shown in (str(answer), rig.agent_log(), str(rig.status())):
        assert "s3cret-word" not in shown and "wr0ng-word" not in shown
    rig.commit(delete=[("bgp-neighbor", "n65130")])
    assert not list(rig.folder.glob("*routes.conf*"))


def test_a_bgpd_that_died_is_started_with_all_that_it_had(rig: Rig, birds: list[Bird]) -> None:
    rig.commit(neighbor(birds[0]))
    killed = bgpd(rig)
    os.kill(killed, signal.SIGKILL)
    until("another one runs", lambda: bgpd(rig) != killed)
    until("the sessions are back", lambda: all(bird.since for bird in birds), 30.0)
    until("with their policies", lambda: all(bird.learned() == {OURS} for bird in birds), 15.0)
    until("the state is well", lambda: rig.status()["state"] == "ok")


def test_a_bgpd_that_hangs_costs_two_seconds_and_static_routes_nothing(rig: Rig, birds: list[Bird]) -> None:
    pid = bgpd(rig)
    os.kill(pid, signal.SIGSTOP)
    try:
        began_s = time.monotonic()
        with pytest.raises(Problem, match="bgpd does not answer"):
            rig.commit(neighbor(birds[0], description="not now"))
        assert time.monotonic() - began_s < 8, "a bounded time, on a machine that others use"
        rig.commit(StaticRoute("while", "10.201.0.0/16", blackhole=True))
        assert "10.201.0.0/16" in rig.run("ip", "route")
    finally:
        os.kill(pid, signal.SIGCONT)
    until("the state is well", lambda: rig.status()["state"] == "ok", 30.0)
    assert "not now" not in vtysh(rig, "show running-config") and bgpd(rig) == pid


def test_another_as_number_begins_all_sessions_again_and_no_bgp_ends_them(
    rig: Rig, birds: list[Bird]
) -> None:
    until("they are up", lambda: all(bird.since for bird in birds), 30.0)
    said = committed(rig, replace(CORE, router_id="203.0.113.200"))
    assert said["bgp", "core"]["effect"] == "resets" and "2 sessions" in said["bgp", "core"]["text"]
    until("they are up", lambda: all(bird.since for bird in birds), 30.0)
    said = committed(rig, replace(CORE, disabled=True))["bgp", "core"]
    assert (said["effect"], said["sessions"]) == ("drops-sessions", 2)
    until("no session is up", lambda: not any(bird.since for bird in birds))
    assert "router bgp" not in vtysh(rig, "show running-config")
    assert "route-map" not in vtysh(rig, "show running-config")
    assert learnt(rig, birds[0]) == {}


def test_a_bgpd_of_somebody_else_is_named_and_left_alone(rig: Rig) -> None:
    rig.start_frr_daemon("bgpd")
    with pytest.raises(Problem, match="a bgpd that Weir has not started is running"):
        rig.commit(CORE)
    rig.kill_frr_daemon("bgpd")
    rig.commit(CORE)
    assert "router bgp 65000" in vtysh(rig, "show running-config")
