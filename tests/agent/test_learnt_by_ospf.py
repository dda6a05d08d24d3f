# SPDX-License-Identifier: Apache-2.0
"""Packets on routes that OSPF has learnt, while ospfd and bfdd are killed. BIRD is the
neighbour, and what it was told by this router stands there as well. The link is point to point: where this
router is the designated one, a neighbour may take that over for a moment (docs/adr/0179).

`WEIR_KILLS=50` kills as often as the figure asks (docs/benchmarks.md).
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from lab import netns
from tests.agent.bird import OspfBird
from tests.agent.meter import metered
from tests.agent.rig import Rig, lan, running
from tests.agent.test_learnt_routes import FAR, IP_BYTES, KILLS, LEARNT, OFFERED_BPS, is_taken
from tests.agent.test_ospf import CORE, FAST, OURS, UPSTREAM, WAN, changes, vtysh
from tests.polling import until
from weir.adapters.daemon import STABLE_S
from weir.adapters.standing_routes import OSPF_METRIC
from weir.kinds.prefix_list import PrefixList
from weir.kinds.prefix_list_entry import PrefixListEntry
from weir.kinds.route_map import RouteMap
from weir.kinds.route_map_entry import RouteMapEntry
from weir.kinds.static_route import StaticRoute

LINK = replace(WAN, point_to_point=True)
ACKNOWLEDGED_S = 3.0
"""ospfd acknowledges what it is told within a second. A neighbour that still waits for that does not help one
that restarts (RFC 3623, 3.1, 2): a kill just after a change is another test."""


@pytest.fixture(scope="module")
def rig() -> Iterator[Rig]:
    with running("--scan-interval-s", "1", frr=True, own_run_folder=True) as made:
        netns.ip(made.internet, [f"addr add {FAR}/32 dev lo"])
        yield made


@pytest.fixture(scope="module")
def bird(rig: Rig) -> OspfBird:
    found = OspfBird(rig, rig.internet, "i0", "203.0.113.1", LEARNT, "type ptp;")
    told = (
        *(lan(), UPSTREAM, StaticRoute("ours", OURS, blackhole=True), FAST),
        *(PrefixList("ours"), PrefixListEntry("ours-1", "ours", OURS)),
        *(RouteMap("tell"), RouteMapEntry("tell-1", "tell", match_prefix_list="ours"), CORE, LINK),
    )
    until("it is committed", lambda: is_taken(rig, *told), 90.0)
    until("it is full", lambda: changes(rig, "wan"), 60.0)
    until("the route is learnt", lambda: LEARNT in rig.run("ip", "route"), 30.0)
    until("ours is told", lambda: OURS in found.learned(), 30.0)
    return found


def pid_of(rig: Rig, daemon: str) -> int:
    """0 = it does not run."""
    try:
        pid = int((rig.folder / "frr" / f"{daemon}.pid").read_text())
        return pid if Path(f"/proc/{pid}/cmdline").read_bytes() else 0
    except (OSError, ValueError):
        return 0


def kill(rig: Rig, daemon: str) -> None:
    killed = until(f"{daemon} runs", lambda: pid_of(rig, daemon))
    os.kill(killed, signal.SIGKILL)
    until("another one runs", lambda: pid_of(rig, daemon) not in (0, killed), 60.0)


def killed(rig: Rig, bird: OspfBird, daemon: str) -> tuple[int, int]:
    """How many packets were lost, and how often of the looks the neighbour lacked our route."""
    withdrawn = looks = 0
    with metered(rig, OFFERED_BPS, far=FAR, ip_bytes=IP_BYTES) as meter:
        meter.watch(ACKNOWLEDGED_S)
        for _ in range(KILLS):
            kill(rig, daemon)
            deadline_s = time.monotonic() + STABLE_S
            while time.monotonic() < deadline_s:
                looks += 1
                withdrawn += OURS not in bird.learned()
                meter.watch(0.2)
            until("it is full", lambda: changes(rig, "wan"), 60.0)
        sent = meter.stop_sending()
        lost = sent - meter.arrived(0)
    print(
        f"{lost} of {sent} packets lost by {KILLS} kills of {daemon};",
        f"{withdrawn} of {looks} looks without our route",
    )
    return lost, withdrawn


def copies(rig: Rig) -> list[str]:
    return [line for line in rig.run("ip", "route").splitlines() if f"metric {OSPF_METRIC}" in line]


def test_a_copy_follows_its_route_and_goes_with_it(rig: Rig, bird: OspfBird) -> None:
    until("there is a copy", lambda: len(copies(rig)) == 1)
    bird.ask("disable static1")
    until("the route that was withdrawn goes, and its copy", lambda: LEARNT not in rig.run("ip", "route"))
    bird.ask("enable static1")
    until("there is a copy", lambda: len(copies(rig)) == 1, 30.0)


def test_no_packet_is_lost_by_kills_of_ospfd_and_the_neighbour_keeps_what_it_was_told(
    rig: Rig, bird: OspfBird
) -> None:
    assert killed(rig, bird, "ospfd") == (0, 0)
    assert "could not be asked" not in rig.agent_log()
    until("the state is well", lambda: rig.status()["state"] == "ok", 60.0)


def test_no_packet_that_we_forward_is_lost_by_kills_of_bfdd(rig: Rig, bird: OspfBird) -> None:
    """The neighbour takes the silence for a failure: what it sends us meanwhile is not counted."""
    until("it is committed", lambda: is_taken(rig, replace(LINK, bfd="fast")), 90.0)
    up = '"status":"up"'
    until("BFD is up", lambda: up in vtysh(rig, "show bfd peers json").replace(" ", ""), 15.0)
    assert killed(rig, bird, "bfdd")[0] == 0
    until("the state is well", lambda: rig.status()["state"] == "ok", 60.0)


def test_copies_go_with_ospf(rig: Rig, bird: OspfBird) -> None:
    assert bird and copies(rig)
    rig.commit(replace(CORE, disabled=True))
    until("they are gone", lambda: not copies(rig))
