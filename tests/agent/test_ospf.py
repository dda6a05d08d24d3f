# SPDX-License-Identifier: Apache-2.0
"""OSPF and BFD by FRR, BIRD as neighbours on two cables: routes both ways, one change leaves the other
adjacency up, costs are what was said."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from tests.agent.bird import OspfBird
from tests.agent.rig import Rig, lan, running
from tests.agent.test_effects import committed
from tests.polling import until
from weir.kinds.bfd_profile import BfdProfile
from weir.kinds.ospf import Ospf
from weir.kinds.ospf_interface import OspfInterface
from weir.kinds.prefix_list import PrefixList
from weir.kinds.prefix_list_entry import PrefixListEntry
from weir.kinds.route_map import RouteMap
from weir.kinds.route_map_entry import RouteMapEntry
from weir.kinds.secrets import place_of
from weir.kinds.static_route import StaticRoute
from weir.model.interface import Interface
from weir.sealing import seal

OURS = "198.51.100.0/24"
CORE = Ospf("core", router_id="203.0.113.2", redistribute_static=True, redistribute_route_map="tell")
UPSTREAM = Interface("wan0", "lan", addresses=("203.0.113.2/24",))
"""Not of the role `wan`, behind which nobody may begin anything."""
FAST = BfdProfile("fast", transmit_ms=200, receive_ms=200)
LAN = OspfInterface("lan", "core", "lan0", hello_s=1, dead_s=4)
WAN = OspfInterface("wan", "core", "wan0", hello_s=1, dead_s=4)


@pytest.fixture(scope="module")
def birds() -> dict[str, OspfBird]:
    return {}


@pytest.fixture(scope="module")
def rig(birds: dict[str, OspfBird]) -> Iterator[Rig]:
    with running("--scan-interval-s", "1", frr=True) as made:
        birds["wan"] = OspfBird(made, made.internet, "i0", "203.0.113.1", "172.16.0.0/16")
        birds["lan"] = OspfBird(made, made.client_ns, "c0", "10.64.0.2", "172.17.0.0/16")
        made.commit(
            *(lan(), UPSTREAM, StaticRoute("ours", OURS, blackhole=True), FAST),
            *(PrefixList("ours"), PrefixListEntry("ours-1", "ours", OURS)),
            *(RouteMap("tell"), RouteMapEntry("tell-1", "tell", match_prefix_list="ours"), CORE, LAN, WAN),
        )
        yield made


def vtysh(rig: Rig, *commands: str) -> str:
    asked = [argument for command in commands for argument in ("-c", command)]
    return rig.run("vtysh", "--vty_socket", str(rig.folder / "frr"), *asked)


def learnt(rig: Rig, name: str) -> Any:
    return rig.agent.call("state", {"kind": "ospf-interface"})["objects"].get(name, {})


def changes(rig: Rig, name: str) -> Any:
    """How often the state of the neighbour has changed, "" = there is none that is full."""
    told = vtysh(rig, f"show ip ospf neighbor {name}0 detail")
    found = re.search(r"(\d+) state changes", told)
    return found[1] if found and "State is Full" in told else ""


def test_routes_go_both_ways_and_the_adjacencies_are_told(rig: Rig, birds: dict[str, OspfBird]) -> None:
    until("both are full", lambda: changes(rig, "lan") and changes(rig, "wan"), 40.0)
    until("theirs are taken", lambda: "172.16.0.0/16" in rig.run("ip", "route"), 15.0)
    until("ours is told", lambda: OURS in birds["wan"].learned(), 15.0)
    until("and the LAN's network", lambda: "10.64.0.0/24" in birds["wan"].learned(), 15.0)
    state = learnt(rig, "wan")
    assert (state["neighbors"], state["adjacencies"]) == (1, 1) and state["role"] in ("DR", "Backup")


@pytest.mark.parametrize(
    ("changed", "effect"),
    [
        pytest.param({"cost": 77}, None, id="cost"),
        pytest.param({"priority": 7}, None, id="priority"),
        pytest.param({"dead_s": 5}, "resets", id="dead"),
        pytest.param({"area": 7}, "resets", id="area"),
        pytest.param({"passive": True}, "resets", id="passive"),
        pytest.param({"disabled": True}, "drops-sessions", id="disabled"),
        # The last: when BFD is taken away, BIRD takes its end for a failure.
        pytest.param({"bfd": "fast"}, None, id="BFD"),
    ],
)
def test_a_change_costs_what_was_said_and_no_other_adjacency(
    rig: Rig, changed: dict[str, Any], effect: str | None
) -> None:
    rig.commit(WAN)
    until("both are full", lambda: changes(rig, "lan") and changes(rig, "wan"), 40.0)
    before, other = changes(rig, "wan"), changes(rig, "lan")
    said = committed(rig, replace(WAN, **changed))
    assert {key: item["effect"] for key, item in said.items()} == (
        {("ospf-interface", "wan"): effect} if effect else {}
    )
    if effect:
        until("the adjacency has ended", lambda: changes(rig, "wan") != before, 15.0)
    else:
        assert changes(rig, "wan") == before
    if changed.get("bfd"):
        up = '"status":"up"'
        until("BFD is up", lambda: up in vtysh(rig, "show bfd peers json").replace(" ", ""), 15.0)
    assert changes(rig, "lan") == other


def test_a_password_is_shown_to_nobody_and_what_is_typed_is_repaired(rig: Rig) -> None:
    public = base64.b64decode(rig.agent.call("secrets_key")["key"])
    text = seal(public, place_of("ospf-interface", "wan", "password"), "s3cret-word")
    answer = rig.commit(replace(WAN, password=text))
    assert "md5 s3cret-word" in vtysh(rig, "show running-config")
    vtysh(rig, "configure terminal", "interface wan0", "ip ospf cost 99")
    until("it is repaired", lambda: "cost 99" not in vtysh(rig, "show running-config"))
    for shown in (str(answer), rig.agent_log(), str(rig.status())):
        assert "s3cret-word" not in shown


def test_another_router_id_is_taken_at_once_and_no_ospf_ends_all(rig: Rig) -> None:
    rig.commit(WAN)
    until("both are full", lambda: changes(rig, "lan") and changes(rig, "wan"), 40.0)
    said = committed(rig, replace(CORE, router_id="203.0.113.77"))["ospf", "core"]
    assert said["effect"] == "resets" and "2 adjacencies" in said["text"]
    until("it has it", lambda: "Router ID: 203.0.113.77" in vtysh(rig, "show ip ospf"), 15.0)
    until("both are full", lambda: changes(rig, "lan") and changes(rig, "wan"), 40.0)
    said = committed(rig, replace(CORE, disabled=True))["ospf", "core"]
    assert (said["effect"], said["sessions"]) == ("drops-sessions", 2)
    found = vtysh(rig, "show running-config")
    assert "router ospf" not in found and "ip ospf" not in found and "profile fast" not in found
    assert learnt(rig, "wan") == {}
